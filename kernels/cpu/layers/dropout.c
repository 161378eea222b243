/* dropout and dropout2d: program.h says which element of the mask a number has. */
#include "kernels/formulas/dropout.h"
#include "kernels/cpu/layers/layers.h"

/* y = keep ? scale * x : 0, one element of the mask for every `block` numbers. Backwards it is the
 * same, from grad_y to grad_x. */
static void drop(const ep_reference_pass *pass, const ep_op *op, int64_t block, const ep_real *x,
                 ep_real *y) {
  ep_real scale = ep_dropout_scale(op->p);
  int64_t blocks = op->in_features / block, first = pass->first_row * blocks;
  for (int64_t i = 0; i < pass->rows * blocks; i++) {
    bool keep =
        !pass->training || ep_dropout_keeps(pass->seed, pass->step, op->layer, first + i, op->p);
    ep_real factor = !pass->training ? 1 : scale;
    for (int64_t j = i * block; j < (i + 1) * block; j++) y[j] = keep ? factor * x[j] : 0;
  }
}

static void forward_dropout(const ep_reference_pass *pass, const ep_op *op,
                            const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  drop(pass, op, 1, x, y);
}

static void backward_dropout(const ep_reference_pass *pass, const ep_op *op,
                             const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                             ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)x, (void)y, (void)grad_parameters;
  if (grad_x) drop(pass, op, 1, grad_y, grad_x);
}

/* Whole channels. */
static void forward_dropout2d(const ep_reference_pass *pass, const ep_op *op,
                              const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  drop(pass, op, op->in.height * op->in.width, x, y);
}

static void backward_dropout2d(const ep_reference_pass *pass, const ep_op *op,
                               const ep_real *const *inputs, const ep_real *y,
                               const ep_real *grad_y, ep_real *const *grad_inputs,
                               double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)x, (void)y, (void)grad_parameters;
  if (grad_x) drop(pass, op, op->in.height * op->in.width, grad_y, grad_x);
}

EP_REFERENCE_LAYER(DROPOUT, forward_dropout, backward_dropout);
EP_REFERENCE_LAYER(DROPOUT2D, forward_dropout2d, backward_dropout2d);
