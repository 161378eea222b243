/* variant.h: one variant of cpu/blocked, whole: its loops over the numbers of a layer. A file that
 * includes it defines the ep_blocked_variant with VARIANT_OPS. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_VARIANT_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_VARIANT_H

#include "kernels/cpu/executors/blocked/layers_activation.h"
#include "kernels/cpu/executors/blocked/layers_norm.h"
#include "kernels/cpu/executors/blocked/layers_pool.h"
#include "kernels/cpu/executors/blocked/layers_product.h"
#include "kernels/cpu/executors/blocked/layers_rest.h"
#include "kernels/formulas/augment.h"

/* `type` is a constant at each call. */
static inline __attribute__((always_inline)) void update_by(const ep_blocked_update *update,
                                                            const ep_optimizer_type type) {
  ep_optimizer optimizer = *update->optimizer;
  const ep_optimizer_step step = *update->step;
  const float decay = update->decay, scale = update->scale;
  const int64_t count = update->count, stride = update->stride;
  const float *grad = update->grad;
  float *parameters = update->parameters, *state = update->state;
  optimizer.type = type;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++)
    parameters[i] =
        ep_optimizer_update(&optimizer, &step, decay, parameters[i],
                            ep_clip(&optimizer, scale, grad[i]), state ? state + i : NULL, stride);
}

#define VARIANT_UPDATE(code, ...) \
  case EP_OPTIMIZER_##code: update_by(update, EP_OPTIMIZER_##code); break;

static void update(const ep_blocked_update *update) {
  switch (update->optimizer->type) {
    EP_OPTIMIZERS(VARIANT_UPDATE)
  case EP_OPTIMIZER_COUNT: break;
  }
}

static void add(float *restrict to, const float *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static double sum_of_squares(const float *from, int64_t count) {
  return norm_squares(from, count, 0);
}

static void bytes(float *restrict to, const uint8_t *restrict from, int64_t channels,
                  int64_t pixels, const float *scale, const float *shift) {
  for (int64_t c = 0; c < channels; c++, to += pixels, from += pixels) {
    const float factor = scale[c], offset = shift[c];
    for (int64_t i = 0; i < pixels; i++) to[i] = ep_byte_value(from[i], factor, offset);
  }
}

#define VARIANT_ACTIVATION(code, ...) [EP_LAYER_##code] = {activation_forward, activation_backward},
#define VARIANT_OPS                                                                            \
  .layers = {[EP_LAYER_LINEAR] = {linear_forward, linear_backward},                            \
             [EP_LAYER_CONV2D] = {conv_forward, conv_backward},                                \
             [EP_LAYER_MAX_POOL2D] = {max_pool_forward, max_pool_backward},                    \
             [EP_LAYER_AVG_POOL2D] = {avg_pool_forward, avg_pool_backward},                    \
             [EP_LAYER_ADAPTIVE_AVG_POOL2D] = {adaptive_pool_forward, adaptive_pool_backward}, \
             [EP_LAYER_DROPOUT] = {dropout_forward, dropout_backward},                         \
             [EP_LAYER_DROPOUT2D] = {dropout_forward, dropout_backward},                       \
             [EP_LAYER_BATCH_NORM] = {batch_norm_forward, batch_norm_backward},                \
             [EP_LAYER_LAYER_NORM] = {layer_norm_forward, layer_norm_backward},                \
             [EP_LAYER_EMBEDDING] = {embedding_forward, embedding_backward},                   \
             [EP_LAYER_ADD] = {add_forward, NULL},                                             \
             EP_ACTIVATIONS(VARIANT_ACTIVATION)},                                              \
  .moments_add = moments_add, .products_add = products_add, .mask = dropout_mask,              \
  .update = update, .add = add, .sum_of_squares = sum_of_squares, .bytes = bytes

#endif
