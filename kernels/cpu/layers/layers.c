#include "kernels/cpu/layers/layers.h"

#include <assert.h>

/* Words that become another operator (operators.c). */
#define ep_reference_RESIDUAL ep_reference_ADD
#define ep_reference_CONV1D ep_reference_CONV2D

#define DECLARE(code, ...) extern const ep_reference_layer ep_reference_##code;
EP_LAYER_TABLE(DECLARE)

#define ROW(code, ...) &ep_reference_##code,
static const ep_reference_layer *const layers[EP_LAYER_COUNT] = {EP_LAYER_TABLE(ROW)};

const ep_reference_layer *ep_reference_layer_of(ep_layer_type type) {
  assert(type >= 0 && type < EP_LAYER_COUNT);
  return layers[type];
}

int64_t ep_reference_scratch(const ep_op *op) {
  const ep_reference_layer *layer = ep_reference_layer_of(op->type);
  return layer->scratch ? layer->scratch(op) : 0;
}

bool ep_reference_needs_whole_batch(const ep_program *program) {
  for (int i = 0; i < program->ops_count; i++) {
    if (program->ops[i].type == EP_LAYER_BATCH_NORM) return true;
  }
  return false;
}
