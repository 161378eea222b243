/* layers.h: the layers in plain loops: y = f(x) and the way back, one row of a table each, one file
 * a family.
 *
 * All arrays are row-major. Sums are taken in double, in the order of the rows and columns: the
 * product of two floats is exact there, so that no instruction set and no cut of the batch changes
 * a bit. */
#ifndef EP_KERNELS_CPU_LAYERS_LAYERS_H
#define EP_KERNELS_CPU_LAYERS_LAYERS_H

#include <stddef.h>

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
  double *scratch;                 /* [the layer's scratch]; anything is in it */
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
  int64_t (*scratch)(const ep_op *op); /* numbers that it needs for itself; NULL: none */
} ep_reference_layer;

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type);
int64_t ep_reference_scratch(const ep_op *op);

/* Whether a layer of the program must see a training batch as a whole, not in pieces. */
bool ep_reference_needs_whole_batch(const ep_program *program);

/* The row of a type: EP_REFERENCE_LAYER(CODE, forward, backward) of one without scratch. A type
 * without a row does not link. */
#define EP_REFERENCE_LAYER(code, forward_, backward_) \
  const ep_reference_layer ep_reference_##code = {forward_, backward_, NULL}

#endif
