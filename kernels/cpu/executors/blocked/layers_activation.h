/* layers_activation.h: the layers that act on one number at a time. Those that have vectors of
 * their own go by these; of the others the formulas are inlined, one loop a layer, so that the
 * compiler can use its vectors. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_ACTIVATION_H

#include "kernels/cpu/executors/blocked/blocked.h"
#include "kernels/cpu/runtime/activations.h"
#include "kernels/formulas/activations.h"

#define ACTIVATION_FORWARD(code, value, ...) \
  case EP_LAYER_##code:                      \
    for (int64_t i = 0; i < count; i++) {    \
      const float x = from[i];               \
      to[i] = value;                         \
    }                                        \
    break;

#define ACTIVATION_FORWARD_LANES(code, name)                                                  \
  case EP_LAYER_##code:                                                                       \
    for (int64_t i = 0; i < count; i += EP_LANES)                                             \
      lanes_store_most(to + i,                                                                \
                       lanes_##name##_forward(lane_op, lanes_load_most(from + i, count - i)), \
                       count - i);                                                            \
    return;

static void activation_forward(const ep_blocked_call *call) {
  const ep_op own = *call->op, *op = &own; /* own: no store can change it */
  const lanes_activation lane_op = {op->negative_slope};
  const int64_t count = call->rows * op->in_features;
  const float *restrict from = call->x;
  float *restrict to = call->y;
  switch (op->type) {
    LANES_ACTIVATIONS(ACTIVATION_FORWARD_LANES)
  default: break;
  }
  switch (op->type) {
    EP_ACTIVATIONS(ACTIVATION_FORWARD)
  default: break;
  }
}

#define ACTIVATION_BACKWARD(code, value, derivative, ...) \
  case EP_LAYER_##code:                                   \
    for (int64_t i = 0; i < count; i++) {                 \
      const float x = before[i], y = after[i];            \
      (void)x, (void)y;                                   \
      to[i] = grad[i] * (derivative);                     \
    }                                                     \
    break;

#define ACTIVATION_BACKWARD_LANES(code, name)                                                   \
  case EP_LAYER_##code:                                                                         \
    for (int64_t i = 0; i < count; i += EP_LANES)                                               \
      lanes_store_most(to + i,                                                                  \
                       lanes_##name##_backward(lane_op, lanes_load_most(before + i, count - i), \
                                               lanes_load_most(after + i, count - i),           \
                                               lanes_load_most(grad + i, count - i)),           \
                       count - i);                                                              \
    return;

/* grad_x = grad_y * f'(x) */
static void activation_backward(const ep_blocked_call *call) {
  if (!call->grad_x) return;
  const ep_op own = *call->op, *op = &own;
  const lanes_activation lane_op = {op->negative_slope};
  const int64_t count = call->rows * op->in_features;
  const float *restrict before = call->x, *restrict after = call->y, *restrict grad = call->grad_y;
  float *restrict to = call->grad_x;
  switch (op->type) {
    LANES_ACTIVATIONS(ACTIVATION_BACKWARD_LANES)
  default: break;
  }
  switch (op->type) {
    EP_ACTIVATIONS(ACTIVATION_BACKWARD)
  default: break;
  }
}

#endif
