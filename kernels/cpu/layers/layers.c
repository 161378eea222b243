#include "kernels/cpu/layers/layers.h"

#include <assert.h>
#include <stddef.h>

#include "kernels/formulas/activations.h"

#define ACTIVATION_ROW(code, ...) [EP_LAYER_##code] = &ep_reference_activation,

static const ep_reference_layer *const layers[] = {
    [EP_LAYER_LINEAR] = &ep_reference_linear,
    [EP_LAYER_SOFTMAX] = &ep_reference_softmax,
    [EP_LAYER_LOG_SOFTMAX] = &ep_reference_log_softmax,
    [EP_LAYER_FLATTEN] = &ep_reference_reshape,
    [EP_LAYER_CONV2D] = &ep_reference_conv2d,
    [EP_LAYER_MAX_POOL2D] = &ep_reference_max_pool2d,
    [EP_LAYER_AVG_POOL2D] = &ep_reference_avg_pool2d,
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = &ep_reference_adaptive_avg_pool2d,
    [EP_LAYER_DROPOUT] = &ep_reference_dropout,
    [EP_LAYER_DROPOUT2D] = &ep_reference_dropout2d,
    [EP_LAYER_BATCH_NORM] = &ep_reference_batch_norm,
    [EP_LAYER_LAYER_NORM] = &ep_reference_layer_norm,
    [EP_LAYER_EMBEDDING] = &ep_reference_embedding,
    [EP_LAYER_ADD] = &ep_reference_add,
    [EP_LAYER_MUL] = &ep_reference_mul,
    [EP_LAYER_CONCAT] = &ep_reference_concat,
    [EP_LAYER_SLICE] = &ep_reference_slice,
    [EP_LAYER_RESHAPE] = &ep_reference_reshape,
    [EP_LAYER_PERMUTE] = &ep_reference_permute,
    [EP_LAYER_RESIDUAL] = NULL, /* an add */
    [EP_LAYER_CONV1D] = NULL,   /* a conv2d */
    EP_ACTIVATIONS(ACTIVATION_ROW)};
_Static_assert(sizeof layers / sizeof layers[0] == EP_LAYER_COUNT, "a layer has no row");

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type) {
  assert(type < EP_LAYER_COUNT && layers[type]);
  return layers[type];
}

bool ep_reference_needs_whole_batch(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) {
    if (program->ops[i].type == EP_LAYER_BATCH_NORM) return true;
  }
  return false;
}
