/* products.c: the matrix products of a network, three a layer, for a full batch and for an epoch's
 * last. */
#include "kernels/cuda/executors/gemm/network.h"

/* --- by cuBLASLt --------------------------------------------------------------------------- */

static cudaDataType operands_of(const ep_gemm_network *self) {
  return self->half ? CUDA_R_16BF : CUDA_R_32F;
}

static const void *weight_of(const ep_gemm_network *self, const ep_gemm_layer *layer) {
  return layer->weight ? layer->weight : self->network->parameters + layer->linear->weight;
}

/* Hidden layers: with bias, and relu. The last leaves float32 sums. */
static ep_cuda_gemm_shape forward_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  bool last = i == self->layers_count - 1;
  ep_cuda_gemm_shape shape = {.rows = rows,
                              .columns = layer->out_pitch,
                              .depth = layer->in_pitch,
                              .a = ep_gemm_input(self, i),
                              .b = weight_of(self, layer),
                              .out = last ? self->sums : layer->output,
                              .transpose_b = true,
                              .tf32 = !self->half,
                              .operands = operands_of(self),
                              .result = last ? CUDA_R_32F : operands_of(self)};
  if (last || layer->bare) return shape;
  if (layer->linear->bias >= 0)
    shape.bias = layer->bias ? layer->bias : self->network->parameters + layer->linear->bias;
  shape.relu = layer->activation && layer->activation->type == EP_LAYER_RELU;
  if (layer->derivative) shape.out = layer->derivative;
  return shape;
}

/* The gradient by layer i's input, which is the output of layer i - 1. */
static ep_cuda_gemm_shape back_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  return (ep_cuda_gemm_shape){.rows = rows,
                              .columns = layer->in_pitch,
                              .depth = layer->out_pitch,
                              .a = ep_gemm_grad(self, i),
                              .b = weight_of(self, layer),
                              .out = ep_gemm_grad(self, i - 1),
                              .tf32 = !self->half,
                              .operands = operands_of(self),
                              .result = operands_of(self)};
}

static ep_cuda_gemm_shape weight_product_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  ep_cuda_gemm_shape shape = {.rows = layer->out_pitch,
                              .columns = layer->in_pitch,
                              .depth = rows,
                              .out = layer->gradient,
                              .tf32 = !self->half,
                              .operands = operands_of(self)};
  if (layer->moves) {
    shape.out = self->network->parameters + layer->linear->weight;
    shape.scales = self->scales + 2 * i;
  }
  if (self->half) {
    shape.a = ep_gemm_grad(self, i);
    shape.b = ep_gemm_input(self, i);
    shape.transpose_a = true;
  } else {
    shape.a = ep_gemm_grad_transposed(self, i);
    shape.b = layer->input_transposed;
    shape.transpose_b = true;
  }
  return shape;
}

static ep_status found(ep_gemm_network *self, ep_cuda_gemm_shape shape, ep_gemm_product *product,
                       ep_error *error) {
  return ep_cuda_gemm_search(self->network->backend, &shape, self->workspace,
                             EP_CUDA_GEMM_WORKSPACE_BYTES, self->network->stream, &product->gemm,
                             error);
}

/* --- by our own ---------------------------------------------------------------------------- */

/* What all three of layer i have in common. */
static ep_gemm_hopper_product own_of(const ep_gemm_network *self, int i, ep_gemm_kind kind,
                                     int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  return (ep_gemm_hopper_product){.kind = kind,
                                  .half = self->half,
                                  .batch = (int)rows,
                                  .in = (int)layer->in_pitch,
                                  .out = (int)layer->out_pitch};
}

static ep_gemm_hopper_product own_forward_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  ep_gemm_hopper_product own = own_of(self, i, EP_GEMM_FORWARD, rows);
  own.first = ep_gemm_input(self, i);
  own.second = weight_of(self, layer);
  own.result = layer->output;
  own.width = (int)layer->linear->out_features;
  own.bias = ep_cuda_parameters_at(self->network, layer->linear->bias);
  own.relu = layer->activation != NULL;
  own.mask = layer->mask;
  return own;
}

/* The gradient by the output of the layer below, through its activation. */
static ep_gemm_hopper_product own_back_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i], *under = layer - 1;
  ep_gemm_hopper_product own = own_of(self, i, EP_GEMM_BACKWARD, rows);
  own.first = self->half ? ep_gemm_grad(self, i) : weight_of(self, layer);
  own.second = self->half ? weight_of(self, layer) : ep_gemm_grad(self, i);
  if (self->half || i - 1 > self->first_trained) own.result = ep_gemm_grad(self, i - 1);
  if (!self->half && under->trains_weight) own.transposed = ep_gemm_grad_transposed(self, i - 1);
  own.width = (int)layer->linear->in_features;
  own.mask = under->mask;
  own.sums = under->trains_bias ? under->bias_gradient : NULL;
  own.slices = under->bias_slices;
  return own;
}

static ep_gemm_hopper_product own_weight_of(const ep_gemm_network *self, int i, int64_t rows) {
  const ep_gemm_layer *layer = &self->layers[i];
  ep_gemm_hopper_product own = own_of(self, i, EP_GEMM_WEIGHT, rows);
  own.first = self->half ? ep_gemm_grad(self, i) : ep_gemm_input(self, i);
  own.second = self->half ? ep_gemm_input(self, i) : ep_gemm_grad_transposed(self, i);
  own.gradient = layer->gradient;
  if (!layer->moves) return own;
  own.weight = self->network->parameters + layer->linear->weight;
  own.copy = layer->weight;
  own.clock = self->network->clock;
  own.decay = layer->decay;
  return own;
}

static ep_status prepared(const ep_gemm_network *self, ep_gemm_hopper_product own,
                          ep_gemm_product *product, ep_error *error) {
  product->hopper = true;
  product->own = own;
  EP_CUDA_TRY(ep_gemm_hopper_prepare(self->network->backend->gpu.multiprocessors, &product->own),
              "preparing a matrix product");
  return EP_OK;
}

/* --- all ----------------------------------------------------------------------------------- */

static ep_status layer_make(ep_gemm_network *self, int i, int kind, int64_t rows, ep_error *error) {
  ep_gemm_layer *layer = &self->layers[i];
  ep_gemm_product *forward = &layer->forward[kind], *weight = &layer->weight_product[kind];
  ep_gemm_product *back = &layer->back[kind];
  bool last = i == self->layers_count - 1;
  if (layer->thin) return EP_OK;
  ep_status status = self->hopper && !last
                         ? prepared(self, own_forward_of(self, i, rows), forward, error)
                         : found(self, forward_of(self, i, rows), forward, error);
  if (status == EP_OK && layer->trains_weight)
    status = layer->hopper_weight ? prepared(self, own_weight_of(self, i, rows), weight, error)
                                  : found(self, weight_product_of(self, i, rows), weight, error);
  if (status == EP_OK && i > self->first_trained)
    status = self->hopper ? prepared(self, own_back_of(self, i, rows), back, error)
                          : found(self, back_of(self, i, rows), back, error);
  return status;
}

ep_status ep_gemm_products_make(ep_gemm_network *self, ep_error *error) {
  const ep_program *program = self->network->program;
  int64_t full = program->batch_size;
  int64_t last = ep_program_batch_rows(program, ep_program_steps_per_epoch(program) - 1);
  ep_status status = EP_OK;
  for (int i = 0; i < self->layers_count && status == EP_OK; i++) {
    status = layer_make(self, i, 0, full, error);
    if (status == EP_OK && last < full) status = layer_make(self, i, 1, last, error);
  }
  return status;
}
