/* The layers of EP_ACTIVATIONS (kernels/formulas/activations.h). */
#include "kernels/cpu/layers/layers.h"
#include "kernels/formulas/activations.h"

/* One number at a time: f of kernels/formulas/activations.h. */
static void forward_activation(const ep_reference_pass *pass, const ep_op *op,
                               const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  for (int64_t i = 0; i < pass->rows * op->in_features; i++) {
    y[i] = ep_activation(op, x[i]);
  }
}

/* grad_x = grad_y * f'(x) */
static void backward_activation(const ep_reference_pass *pass, const ep_op *op,
                                const ep_real *const *inputs, const ep_real *y,
                                const ep_real *grad_y, ep_real *const *grad_inputs,
                                double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)grad_parameters;
  if (!grad_x) return;
  for (int64_t i = 0; i < pass->rows * op->in_features; i++) {
    grad_x[i] = grad_y[i] * ep_activation_derivative(op, x[i], y[i]);
  }
}

#define ROW(code, ...) EP_REFERENCE_LAYER(code, forward_activation, backward_activation);
EP_ACTIVATIONS(ROW)
