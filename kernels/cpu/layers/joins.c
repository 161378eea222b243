/* add, mul, concat: one value of several. */
#include <string.h>

#include "kernels/cpu/layers/layers.h"

static void forward_add(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                        ep_real *y) {
  for (int64_t i = 0; i < pass->rows * op->out_features; i++) {
    ep_real sum = x[0][i];
    for (int k = 1; k < op->inputs; k++) sum += x[k][i];
    y[i] = sum;
  }
}

static void backward_add(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                         const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                         double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  for (int k = 0; k < op->inputs; k++)
    if (grad_x[k])
      memcpy(grad_x[k], grad_y, (size_t)(pass->rows * op->out_features) * sizeof *grad_y);
}

EP_REFERENCE_LAYER(ADD, forward_add, backward_add);

static void forward_mul(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                        ep_real *y) {
  for (int64_t i = 0; i < pass->rows * op->out_features; i++) {
    ep_real product = x[0][i];
    for (int k = 1; k < op->inputs; k++) product *= x[k][i];
    y[i] = product;
  }
}

static void backward_mul(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                         const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                         double *grad_parameters) {
  (void)y, (void)grad_parameters;
  for (int k = 0; k < op->inputs; k++)
    for (int64_t i = 0; grad_x[k] && i < pass->rows * op->out_features; i++) {
      ep_real product = grad_y[i];
      for (int other = 0; other < op->inputs; other++)
        if (other != k) product *= x[other][i];
      grad_x[k][i] = product;
    }
}

EP_REFERENCE_LAYER(MUL, forward_mul, backward_mul);

static void forward_concat(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                           ep_real *y) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  for (int k = 0; k < op->inputs; k++) {
    const int64_t own = op->length[k] * runs.place;
    for (int64_t run = 0; run < pass->rows * runs.count; run++)
      memcpy(y + run * runs.whole, x[k] + run * own, (size_t)own * sizeof *y);
    y += own;
  }
}

static void backward_concat(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                            const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                            double *grad_parameters) {
  (void)x, (void)y, (void)grad_parameters;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  for (int k = 0; k < op->inputs; k++) {
    const int64_t own = op->length[k] * runs.place;
    for (int64_t run = 0; grad_x[k] && run < pass->rows * runs.count; run++)
      memcpy(grad_x[k] + run * own, grad_y + run * runs.whole, (size_t)own * sizeof *grad_y);
    grad_y += own;
  }
}

EP_REFERENCE_LAYER(CONCAT, forward_concat, backward_concat);
