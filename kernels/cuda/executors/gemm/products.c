/* products.c: the matrix products of a network, three a layer, for a full batch and for an epoch's
 * last. */
#include "kernels/cuda/executors/gemm/wide.h"

/* --- by cuBLASLt --------------------------------------------------------------------------- */

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
    shape.a = ep_wide_grad_turned(wide, i);
    shape.b = layer->input_turned;
    shape.transpose_b = true;
  }
  return shape;
}

static ep_status found(ep_wide *wide, ep_cuda_gemm_shape shape, ep_wide_product *product,
                       ep_error *error) {
  return ep_cuda_gemm_search(wide->network->backend, &shape, wide->workspace,
                             EP_CUDA_GEMM_WORKSPACE_BYTES, wide->network->stream, &product->gemm,
                             error);
}

/* --- by our own ---------------------------------------------------------------------------- */

/* What all three of layer i have in common. */
static ep_wide_fused own_of(const ep_wide *wide, int i, ep_wide_kind kind, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  return (ep_wide_fused){.kind = kind,
                         .half = wide->half,
                         .batch = (int)rows,
                         .in = (int)layer->in_pitch,
                         .out = (int)layer->out_pitch};
}

static ep_wide_fused own_forward_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  ep_wide_fused own = own_of(wide, i, EP_WIDE_FORWARD, rows);
  own.first = ep_wide_input(wide, i);
  own.second = weight_of(wide, layer);
  own.result = layer->output;
  own.width = (int)layer->linear->out_features;
  own.bias = ep_cuda_parameters_at(wide->network, layer->linear->bias);
  own.relu = layer->activation != NULL;
  own.mask = layer->mask;
  return own;
}

/* The gradient by the output of the layer below, through its activation. */
static ep_wide_fused own_back_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i], *under = layer - 1;
  ep_wide_fused own = own_of(wide, i, EP_WIDE_BACK, rows);
  own.first = wide->half ? ep_wide_grad(wide, i) : weight_of(wide, layer);
  own.second = wide->half ? weight_of(wide, layer) : ep_wide_grad(wide, i);
  if (wide->half || i - 1 > wide->first_trained) own.result = ep_wide_grad(wide, i - 1);
  if (!wide->half && under->trains_weight) own.turned = ep_wide_grad_turned(wide, i - 1);
  own.width = (int)layer->linear->in_features;
  own.mask = under->mask;
  own.sums = under->trains_bias ? under->bias_gradient : NULL;
  own.slices = under->bias_slices;
  return own;
}

static ep_wide_fused own_weight_of(const ep_wide *wide, int i, int64_t rows) {
  const ep_wide_layer *layer = &wide->layers[i];
  ep_wide_fused own = own_of(wide, i, EP_WIDE_WEIGHT, rows);
  own.first = wide->half ? ep_wide_grad(wide, i) : ep_wide_input(wide, i);
  own.second = wide->half ? ep_wide_input(wide, i) : ep_wide_grad_turned(wide, i);
  own.gradient = layer->gradient;
  if (!layer->moves) return own;
  own.weight = wide->network->parameters + layer->linear->weight;
  own.copy = layer->weight;
  own.clock = wide->network->clock;
  own.decay = layer->decay;
  return own;
}

static ep_status prepared(const ep_wide *wide, ep_wide_fused own, ep_wide_product *product,
                          ep_error *error) {
  product->fused = true;
  product->own = own;
  EP_CUDA_TRY(ep_wide_fused_prepare(wide->network->backend->multiprocessors, &product->own),
              "preparing a matrix product");
  return EP_OK;
}

/* --- all ----------------------------------------------------------------------------------- */

static ep_status layer_make(ep_wide *wide, int i, int kind, int64_t rows, ep_error *error) {
  ep_wide_layer *layer = &wide->layers[i];
  ep_wide_product *forward = &layer->forward[kind], *weight = &layer->weight_product[kind];
  ep_wide_product *back = &layer->back[kind];
  bool last = i == wide->layers_count - 1;
  if (layer->thin) return EP_OK;
  ep_status status = wide->fused && !last
                         ? prepared(wide, own_forward_of(wide, i, rows), forward, error)
                         : found(wide, forward_of(wide, i, rows), forward, error);
  if (status == EP_OK && layer->trains_weight)
    status = layer->fused_weight ? prepared(wide, own_weight_of(wide, i, rows), weight, error)
                                 : found(wide, weight_product_of(wide, i, rows), weight, error);
  if (status == EP_OK && i > wide->first_trained)
    status = wide->fused ? prepared(wide, own_back_of(wide, i, rows), back, error)
                         : found(wide, back_of(wide, i, rows), back, error);
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
