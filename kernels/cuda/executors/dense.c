#include "kernels/cuda/executors/dense.h"

#include "kernels/formulas/activations.h"

int ep_cuda_dense_layers(const ep_program *program, int64_t widest, int most,
                         ep_cuda_dense_layer *out) {
  int count = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type == EP_LAYER_FLATTEN) continue;
    if (op->in_features > widest || op->out_features > widest) return 0;
    if (op->type == EP_LAYER_LINEAR && count < most)
      out[count++] = (ep_cuda_dense_layer){.linear = op};
    else if (ep_activation_is(op->type) && count > 0 && !out[count - 1].activation)
      out[count - 1].activation = op;
    else
      return 0;
  }
  return count;
}

bool ep_cuda_dense_suits(const ep_program *program) {
  bool precise = program->precision == EP_PRECISION_FP32 || program->precision == EP_PRECISION_TF32;
  return precise && ep_program_is_resident(program) && ep_program_takes_numbers(program) &&
         program->optimizer.clip_norm == 0;
}

ep_op ep_cuda_dense_activation(const ep_cuda_dense_layer *layer) {
  return layer->activation ? *layer->activation : (ep_op){.type = (ep_layer_type)-1};
}
