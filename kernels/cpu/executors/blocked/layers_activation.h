/* layers_activation.h: the layers that act on one number at a time; the formulas are inlined, one
 * loop a layer, so that the compiler can use its vectors. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/formulas/activations.h"

#define ACTIVATION_LOOP(expression)                         \
  for (int64_t i = 0; i < count; i++) to[i] = (expression); \
  break

static void activation_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const int64_t count = call->rows * op->in_features;
  const float *restrict x = call->x, slope = op->negative_slope, alpha = op->alpha;
  float *restrict to = call->y;
  switch (op->type) {
  case EP_LAYER_RELU: ACTIVATION_LOOP(ep_relu(x[i]));
  case EP_LAYER_LEAKY_RELU: ACTIVATION_LOOP(ep_leaky_relu(x[i], slope));
  case EP_LAYER_ELU: ACTIVATION_LOOP(ep_elu(x[i], alpha));
  default: ACTIVATION_LOOP(ep_activation(op, x[i]));
  }
}

/* grad_x = grad_y * f'(x) */
static void activation_backward(const ep_blocked_call *call) {
  if (!call->grad_x) return;
  const ep_op *op = call->op;
  const int64_t count = call->rows * op->in_features;
  const float *restrict x = call->x, *restrict y = call->y, *restrict grad = call->grad_y;
  const float slope = op->negative_slope;
  float *restrict to = call->grad_x;
  switch (op->type) {
  case EP_LAYER_RELU: ACTIVATION_LOOP(grad[i] * ep_relu_derivative(x[i]));
  case EP_LAYER_LEAKY_RELU: ACTIVATION_LOOP(grad[i] * ep_leaky_relu_derivative(x[i], slope));
  case EP_LAYER_TANH: ACTIVATION_LOOP(grad[i] * ep_tanh_derivative(y[i]));
  case EP_LAYER_SIGMOID: ACTIVATION_LOOP(grad[i] * ep_sigmoid_derivative(y[i]));
  default: ACTIVATION_LOOP(grad[i] * ep_activation_derivative(op, x[i], y[i]));
  }
}

#endif
