/* layers.h: the layers in plain loops: y = f(x) and the way back, one row of a table each.
 *
 * All arrays are row-major. Sums are taken in double, in the order of the rows and columns: the
 * product of two floats is exact there, so that no instruction set and no cut of the batch changes
 * a bit. */
#ifndef EP_KERNELS_CPU_REFERENCE_LAYERS_H
#define EP_KERNELS_CPU_REFERENCE_LAYERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"

typedef struct {
  /* x: [rows, in_features]; y: [rows, out_features], written. parameters: the whole program's. */
  void (*forward)(const ep_op *op, const ep_real *parameters, const ep_real *x, int64_t rows,
                  ep_real *y);
  /* x, y: of forward. grad_y: [rows, out_features]. grad_x: [rows, in_features], written; NULL when
   * nobody asks. grad_parameters: the whole program's, added to. */
  void (*backward)(const ep_op *op, const ep_real *parameters, const ep_real *x, const ep_real *y,
                   const ep_real *grad_y, int64_t rows, ep_real *grad_x, double *grad_parameters);
} ep_reference_layer;

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type);

#endif
