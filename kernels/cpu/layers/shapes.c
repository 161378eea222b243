/* reshape, flatten, permute, slice: numbers go elsewhere, and are none other. */
#include <string.h>

#include "kernels/cpu/layers/layers.h"

static void forward_reshape(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                            ep_real *y) {
  memcpy(y, x[0], (size_t)(pass->rows * op->in_features) * sizeof *y);
}

static void backward_reshape(const ep_reference_pass *pass, const ep_op *op,
                             const ep_real *const *x, const ep_real *y, const ep_real *grad_y,
                             ep_real *const *grad_x, double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  if (grad_x[0]) memcpy(grad_x[0], grad_y, (size_t)(pass->rows * op->in_features) * sizeof *grad_y);
}

EP_REFERENCE_LAYER(RESHAPE, forward_reshape, backward_reshape);
EP_REFERENCE_LAYER(FLATTEN, forward_reshape, backward_reshape);

/* Where in a row of x the number lies that is number `at` of a row of y. */
static int64_t permuted_place(const ep_op *op, int64_t at) {
  int64_t place[EP_SHAPE_SIDES];
  for (int side = EP_SHAPE_SIDES - 1; side >= 0; side--) {
    const int64_t length = ep_shape_side(op->out, side);
    place[op->order[side]] = at % length;
    at /= length;
  }
  return (place[0] * op->in.height + place[1]) * op->in.width + place[2];
}

static void forward_permute(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                            ep_real *y) {
  for (int64_t i = 0; i < op->out_features; i++) {
    const int64_t from = permuted_place(op, i);
    for (int64_t row = 0; row < pass->rows; row++)
      y[row * op->out_features + i] = x[0][row * op->in_features + from];
  }
}

static void backward_permute(const ep_reference_pass *pass, const ep_op *op,
                             const ep_real *const *x, const ep_real *y, const ep_real *grad_y,
                             ep_real *const *grad_x, double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  for (int64_t i = 0; grad_x[0] && i < op->out_features; i++) {
    const int64_t to = permuted_place(op, i);
    for (int64_t row = 0; row < pass->rows; row++)
      grad_x[0][row * op->in_features + to] = grad_y[row * op->out_features + i];
  }
}

EP_REFERENCE_LAYER(PERMUTE, forward_permute, backward_permute);

static void forward_slice(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                          ep_real *y) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  const ep_real *from = x[0] + op->start * runs.place;
  for (int64_t run = 0; run < pass->rows * runs.count; run++)
    memcpy(y + run * own, from + run * runs.whole, (size_t)own * sizeof *y);
}

static void backward_slice(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                           const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                           double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  if (!grad_x[0]) return;
  memset(grad_x[0], 0, (size_t)(pass->rows * op->in_features) * sizeof *grad_y);
  for (int64_t run = 0; run < pass->rows * runs.count; run++)
    memcpy(grad_x[0] + op->start * runs.place + run * runs.whole, grad_y + run * own,
           (size_t)own * sizeof *grad_y);
}

EP_REFERENCE_LAYER(SLICE, forward_slice, backward_slice);
