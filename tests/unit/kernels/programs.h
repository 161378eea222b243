/* programs.h: programs to try a backend on, each with its data and first weights: every layer with
 * every loss, awkward sizes, batches, optimizers. For any test program, C or C++, with or without
 * libcheck. All numbers come from Philox: the same on every machine. */
#ifndef EP_TESTS_KERNELS_PROGRAMS_H
#define EP_TESTS_KERNELS_PROGRAMS_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EP_CASE_OPS = 16 };

typedef struct {
  char name[128];
  ep_op ops[EP_CASE_OPS];
  ep_program program;       /* .ops points at the array above */
  float *parameters;        /* [program.parameters]: the first weights, to import */
  float *x[EP_SPLIT_COUNT]; /* [rows[split], in_features] */
  void *y[EP_SPLIT_COUNT];  /* float [rows, target_columns] or int32 [rows] */
  int64_t rows[EP_SPLIT_COUNT];
  int64_t steps; /* how many are worth training */
  float *lr;     /* [steps] */
  bool lr_constant;
} ep_case;

/* How a case is trained. Zeros mean: full batch, no shuffle, plain SGD, seed 0. */
typedef struct {
  int64_t rows;       /* of training; validation has 5 rows, test 37 */
  int64_t batch_size; /* 0, or more than rows: full */
  bool shuffle;
  uint64_t seed;
  int64_t steps;
  float lr;
  bool lr_falls; /* from lr down to half of it, step by step */
  ep_optimizer optimizer;
} ep_case_training;

/* A case of one's own: create, add layers, finish. All end the process when memory is out or there
 * are more than EP_CASE_OPS layers. The caller destroys it (NULL is fine). */
ep_case *ep_case_create(const char *name, int64_t in_features, ep_loss_type loss);
void ep_case_add_linear(ep_case *self, int64_t out_features, bool bias);
void ep_case_add(ep_case *self, ep_layer_type type);
/* Makes data that fit the loss: bce wants 0 or 1 and classes are below out_features. */
void ep_case_finish(ep_case *self, const ep_case_training *training);
void ep_case_destroy(ep_case *self);

/* The list: cases 0 … count-1, finished. */
int ep_case_count(void);
ep_case *ep_case_create_number(int number);

#ifdef __cplusplus
}
#endif
#endif
