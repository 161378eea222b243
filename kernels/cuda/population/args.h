/* args.h: what a launch of a population's kernel is given: the host's side and the kernels', which
 * are compiled at run time, share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_POPULATION_ARGS_H
#define EP_KERNELS_CUDA_POPULATION_ARGS_H

#include "kernels/formulas/optimizers.h"

/* The numbers of an op in which members differ. */
typedef struct {
  float negative_slope, alpha, beta, threshold;
  float p;
  float weight_decay, bias_decay; /* negative: frozen */
} ep_population_op;

/* The same of a member. */
typedef struct {
  int64_t first_step, steps;
  int64_t lr, lr_count; /* lr: the first of all members' rates; count: 1 or steps */
  uint64_t seed;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
} ep_population_member;

typedef struct {
  double loss;
  int32_t finite;
} ep_population_result;

typedef struct {
  const float *x;                      /* [train_rows, in_features] */
  const float *y;                      /* [train_rows, target_columns]; int32 of classes */
  const ep_population_member *members; /* [count] */
  const ep_population_op *ops;         /* [count, ops] */
  const float *lr;                     /* of all members, one after the other */
  float *parameters;                   /* [count, parameters] */
  float *state;                        /* [count, slots, parameters] */
  float *activations;                  /* of each block, where shared memory has no room for them */
  ep_population_result *results;       /* [count], written */
  const int32_t *order;                /* [count]: who is trained first */
  unsigned *queue;                     /* how many of the order were taken beyond the first ones */
  int64_t count;
  /* Where predict_x is there, members first … first + count - 1 are not trained, but predict: to
   * outputs, [count, predict_rows, out_features]. */
  const float *predict_x; /* [predict_rows, in_features] */
  float *outputs;
  int64_t predict_rows, first;
} ep_population_args;

#endif
