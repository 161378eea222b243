/* layers.h: the layers in plain loops: y = f(x) and the way back, one row of a table each, one file
 * a family.
 *
 * All arrays are row-major. Sums are taken in double, in the order of the rows and columns: the
 * product of two floats is exact there, so that no instruction set and no cut of the batch changes
 * a bit. */
#ifndef EP_KERNELS_CPU_LAYERS_LAYERS_H
#define EP_KERNELS_CPU_LAYERS_LAYERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"

/* Sums over the replicas of a training. */
typedef struct {
  void *context;
  /* values: [count], of this replica; on return of all, the same bits on each. All replicas call it
   * with as many values. */
  void (*add)(void *context, double *values, int64_t count);
} ep_replica_sums;

/* What a layer is told of the rows that it works on: all of a batch, or a piece of one. */
typedef struct {
  const ep_real *parameters; /* the whole program's */
  ep_real *buffers;          /* the whole program's; batch_norm moves its own in training */
  int64_t rows;
  int64_t first_row; /* where the piece begins in its batch: keys dropout's masks, as … */
  int64_t step;      /* … the step does, counted from the start of training … */
  uint64_t seed;     /* … and the program's seed */
  bool training;
  const ep_replica_sums *replicas; /* for what is to sync; NULL: there is one replica */
  void *context;                   /* of a layer that is not of this table; or NULL */
} ep_reference_pass;

typedef struct {
  /* x: [op->inputs]: [rows, the input's features]; y: [rows, out_features], written. */
  void (*forward)(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                  ep_real *y);
  /* After a forward pass in training. x, y: of forward. grad_y: [rows, out_features]. grad_x: as x,
   * written; NULL where nobody asks. grad_parameters: the whole program's, added to. */
  void (*backward)(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                   const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                   double *grad_parameters);
} ep_reference_layer;

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type);

/* Whether a layer of the program must see a training batch as a whole, not in pieces. */
bool ep_reference_needs_whole_batch(const ep_program *program);

/* The rows of the table. */
extern const ep_reference_layer ep_reference_linear, ep_reference_activation, ep_reference_softmax,
    ep_reference_log_softmax, ep_reference_conv2d, ep_reference_max_pool2d, ep_reference_avg_pool2d,
    ep_reference_adaptive_avg_pool2d, ep_reference_dropout, ep_reference_dropout2d,
    ep_reference_batch_norm, ep_reference_layer_norm, ep_reference_embedding, ep_reference_reshape,
    ep_reference_permute, ep_reference_slice, ep_reference_add, ep_reference_mul,
    ep_reference_concat;

#endif
