/* products.c: the matrix products of a network, three a layer, for a full batch and for an epoch's
 * last. */
#include "kernels/cuda/wide/wide.h"

static cudaDataType operands_of(const ep_wide *wide) {
  return wide->half ? CUDA_R_16BF : CUDA_R_32F;
}

static const void *weight_of(const ep_wide *wide, const ep_wide_layer *layer) {
  return layer->weight ? layer->weight : wide->network->parameters + layer->linear->weight;
}

/* Hidden layers: with bias, and relu. The last leaves float32 sums. */
static ep_cuda_gemm_shape forward_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  bool last = i == wide->layers_count - 1;
  ep_cuda_gemm_shape shape = {.rows = rows,
                              .columns = layer->out_pitch,
                              .depth = layer->in_pitch,
                              .a = ep_wide_input(wide, i),
                              .b = weight_of(wide, layer),
                              .out = last ? wide->sums : layer->output,
                              .transpose_b = true,
                              .tf32 = !wide->half,
                              .operands = operands_of(wide),
                              .result = last ? CUDA_R_32F : operands_of(wide)};
  if (last || layer->bare) return shape;
  if (layer->linear->bias >= 0)
    shape.bias = layer->bias ? layer->bias : wide->network->parameters + layer->linear->bias;
  shape.relu = layer->activation && layer->activation->type == EP_LAYER_RELU;
  if (layer->before) shape.out = layer->before;
  return shape;
}

/* The gradient by layer i's input, which is the output of layer i - 1. */
static ep_cuda_gemm_shape back_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  return (ep_cuda_gemm_shape){.rows = rows,
                              .columns = layer->in_pitch,
                              .depth = layer->out_pitch,
                              .a = ep_wide_grad(wide, i),
                              .b = weight_of(wide, layer),
                              .out = ep_wide_grad(wide, i - 1),
                              .tf32 = !wide->half,
                              .operands = operands_of(wide),
                              .result = operands_of(wide)};
}

static ep_cuda_gemm_shape weight_product_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  ep_cuda_gemm_shape shape = {.rows = layer->out_pitch,
                              .columns = layer->in_pitch,
                              .depth = rows,
                              .out = layer->gradient,
                              .tf32 = !wide->half,
                              .operands = operands_of(wide)};
  if (layer->moves) {
    shape.out = wide->network->parameters + layer->linear->weight;
    shape.scales = wide->scales + 2 * i;
  }
  if (wide->half) {
    shape.a = ep_wide_grad(wide, i);
    shape.b = ep_wide_input(wide, i);
    shape.transpose_a = true;
  } else {
    shape.a = wide->grad_turned;
    shape.b = layer->input_turned;
    shape.transpose_b = true;
  }
  return shape;
}

static ep_status product_make(ep_wide *wide, const ep_cuda_gemm_shape *shape, ep_cuda_gemm *gemm,
                              ep_error *error) {
  return ep_cuda_gemm_search(wide->network->backend, shape, wide->workspace,
                             EP_CUDA_GEMM_WORKSPACE_BYTES, wide->network->stream, gemm, error);
}

static ep_status layer_make(ep_wide *wide, int i, int kind, int64_t rows, ep_error *error) {
  ep_wide_layer *layer = &wide->layers[i];
  if (layer->thin) return EP_OK;
  ep_cuda_gemm_shape forward = forward_of(wide, i, rows);
  ep_status status = product_make(wide, &forward, &layer->forward[kind], error);
  if (status == EP_OK && layer->trains_weight) {
    ep_cuda_gemm_shape shape = weight_product_of(wide, i, rows);
    status = product_make(wide, &shape, &layer->weight_product[kind], error);
  }
  if (status == EP_OK && i > wide->first_trained) {
    ep_cuda_gemm_shape shape = back_of(wide, i, rows);
    status = product_make(wide, &shape, &layer->back[kind], error);
  }
  return status;
}

ep_status ep_wide_products_make(ep_wide *wide, ep_error *error) {
  const ep_program *program = wide->network->program;
  int64_t full = program->batch_size;
  int64_t last = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  ep_status status = EP_OK;
  for (int i = 0; i < wide->layers_count && status == EP_OK; i++) {
    status = layer_make(wide, i, 0, full, error);
    if (status == EP_OK && last < full) status = layer_make(wide, i, 1, last, error);
  }
  return status;
}
