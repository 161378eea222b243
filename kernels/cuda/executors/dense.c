#include "kernels/cuda/executors/dense.h"

#include <stddef.h>

#include "kernels/formulas/activations.h"

/* Where an op behind a layer goes; NULL where it can go nowhere. */
static const ep_op **place_of(ep_cuda_dense_layer *layer, ep_layer_type type) {
  if (layer->dropout) return NULL;
  if (type == EP_LAYER_DROPOUT) return &layer->dropout;
  if (layer->activation) return NULL;
  if (ep_activation_is(type)) return &layer->activation;
  return type == EP_LAYER_LAYER_NORM && !layer->norm ? &layer->norm : NULL;
}

int ep_cuda_dense_layers(const ep_program *program, int64_t widest, int most,
                         ep_cuda_dense_layer *out) {
  int count = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type == EP_LAYER_FLATTEN) continue;
    if (op->in_features > widest || op->out_features > widest) return 0;
    if (op->type == EP_LAYER_LINEAR) {
      if (count == most) return 0;
      out[count++] = (ep_cuda_dense_layer){.linear = op};
      continue;
    }
    const ep_op **place = count > 0 ? place_of(&out[count - 1], op->type) : NULL;
    if (!place) return 0;
    *place = op;
  }
  return count;
}

bool ep_cuda_dense_suits(const ep_program *program) {
  return ep_program_is_resident(program) && ep_program_takes_numbers(program) &&
         program->optimizer.clip_norm == 0;
}

ep_op ep_cuda_dense_activation(const ep_cuda_dense_layer *layer) {
  return layer->activation ? *layer->activation : (ep_op){.type = (ep_layer_type)-1};
}
