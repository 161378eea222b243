/* layers_activation.h: the layers that act on one number at a time; the formulas are inlined, one
 * loop a layer, so that the compiler can use its vectors. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/formulas/activations.h"

#define ACTIVATION_FORWARD(code, value, ...) \
  case EP_LAYER_##code:                      \
    for (int64_t i = 0; i < count; i++) {    \
      const float x = from[i];               \
      to[i] = value;                         \
    }                                        \
    break;

static void activation_forward(const ep_blocked_call *call) {
  const ep_op own = *call->op, *op = &own; /* own: no store can change it */
  const int64_t count = call->rows * op->in_features;
  const float *restrict from = call->x;
  float *restrict to = call->y;
  switch (op->type) {
    EP_ACTIVATIONS(ACTIVATION_FORWARD)
  default: break;
  }
}

#define ACTIVATION_BACKWARD(code, value, derivative) \
  case EP_LAYER_##code:                              \
    for (int64_t i = 0; i < count; i++) {            \
      const float x = before[i], y = after[i];       \
      (void)x, (void)y;                              \
      to[i] = grad[i] * (derivative);                \
    }                                                \
    break;

/* grad_x = grad_y * f'(x) */
static void activation_backward(const ep_blocked_call *call) {
  if (!call->grad_x) return;
  const ep_op own = *call->op, *op = &own;
  const int64_t count = call->rows * op->in_features;
  const float *restrict before = call->x, *restrict after = call->y, *restrict grad = call->grad_y;
  float *restrict to = call->grad_x;
  switch (op->type) {
    EP_ACTIVATIONS(ACTIVATION_BACKWARD)
  default: break;
  }
}

#endif
