/* forward.c: the forward pass through a network. */
#include "kernels/cuda/layers/activation_chains.h"
#include "kernels/cuda/network/network.h"
#include "kernels/formulas/activations.h"

bool ep_cuda_network_drops_with(const ep_cuda_network *network, int first, int i) {
  const int before = i - 1;
  if (before < first || i >= network->share.end) return false;
  const ep_cuda_layer *layer = &network->layers[before];
  return layer[1].op->type == EP_LAYER_DROPOUT && layer[1].op->input[0] == i &&
         ep_activation_is(layer->op->type) && !layer->fused && !network->values[i].shared;
}

/* Of epochs of at most so many steps, the last batch, which may be smaller, is searched too. */
enum { TAIL_SEARCHED_STEPS = 8 };

bool ep_cuda_network_searches(const ep_cuda_network *network, int64_t rows) {
  const ep_program *program = network->program;
  return network->searches && (rows == program->batch_size ||
                               ep_program_steps_per_epoch(program) <= TAIL_SEARCHED_STEPS);
}

static ep_status product_init(ep_cuda_network *network, const ep_cuda_gemm_shape *shape,
                              bool searched, ep_cuda_gemm *gemm, ep_error *error) {
  const size_t bytes = EP_CUDA_GEMM_WORKSPACE_BYTES;
  if (!searched) return ep_cuda_gemm_init(network->backend, shape, bytes, gemm, error);
  return ep_cuda_gemm_search(network->backend, shape, network->workspace, bytes, network->stream,
                             gemm, error);
}

static bool aligned_alike(const void *a, const void *b) {
  return ep_cuda_gemm_alignment_bytes(a) == ep_cuda_gemm_alignment_bytes(b);
}

/* Whether two shapes of one layer's products of a kind have the same algorithm. */
static bool computed_alike(const ep_cuda_gemm_shape *a, const ep_cuda_gemm_shape *b) {
  return a->rows == b->rows && a->depth == b->depth && a->tf32 == b->tf32 &&
         aligned_alike(a->a, b->a) && aligned_alike(a->b, b->b) && aligned_alike(a->out, b->out);
}

ep_status ep_cuda_network_multiply(ep_cuda_network *network, ep_cuda_products *products,
                                   const ep_cuda_gemm_shape *shape, bool searched,
                                   ep_error *error) {
  ep_cuda_gemm *gemm = NULL;
  for (int i = 0; i < EP_CUDA_PRODUCTS && !gemm; i++) {
    if (products->gemm[i].product && products->searched[i] == searched &&
        computed_alike(&products->gemm[i].shape, shape))
      gemm = &products->gemm[i];
  }
  if (!gemm) {
    const int at = products->next;
    gemm = &products->gemm[at];
    products->next = (at + 1) % EP_CUDA_PRODUCTS;
    products->searched[at] = searched;
    ep_cuda_gemm_deinit(gemm);
    ep_status status = product_init(network, shape, searched, gemm, error);
    if (status != EP_OK) {
      ep_cuda_gemm_deinit(gemm);
      return status;
    }
  }
  gemm->shape = *shape; /* an input may lie in another place than before */
  return ep_cuda_gemm_run(network->backend, gemm, network->workspace, network->stream, error);
}

/* --- layers -------------------------------------------------------------------------------- */

/* One layer of a forward pass. x: its input; y: its output, which is x's place when in place. */
typedef struct {
  ep_cuda_network *network;
  int first, i; /* where the pass began; the layer */
  const float *x;
  float *y;
  int64_t rows;
  bool training;
} passage;

static ep_status linear_pass(const passage *p, ep_error *error) {
  ep_cuda_network *network = p->network;
  ep_cuda_layer *layer = &network->layers[p->i];
  const ep_op *op = layer->op;
  const float *weight = network->parameters + op->weight;
  const float *bias = ep_cuda_parameters_at(network, op->bias);
  if (!layer->thin) {
    ep_cuda_gemm_shape shape = {.rows = p->rows,
                                .columns = op->out_features,
                                .depth = op->in_features,
                                .a = p->x,
                                .b = weight,
                                .bias = bias,
                                .out = p->y,
                                .transpose_b = true,
                                .tf32 = p->training && ep_cuda_network_is_coarse(network)};
    const bool searched = p->training && ep_cuda_network_searches(network, p->rows);
    return ep_cuda_network_multiply(network, &layer->forward, &shape, searched, error);
  }
  ep_cuda_linear_forward linear = {.rows = p->rows,
                                   .in = op->in_features,
                                   .out = op->out_features,
                                   .x = p->x,
                                   .weight = weight,
                                   .bias = bias,
                                   .output = p->y};
  if (p->i + 1 < network->share.end && layer[1].fused) {
    linear.activated = layer[1].in_place ? p->y : layer[1].memory;
    linear.activation = *layer[1].op;
    if (layer[1].in_place) linear.output = NULL;
  }
  EP_CUDA_TRY(ep_cuda_linear_forward_run(network->stream, &linear), "a linear layer");
  return EP_OK;
}

static ep_status conv_pass(const passage *p, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const ep_cuda_layer *layer = &network->layers[p->i];
  const ep_op *op = layer->op;
  ep_cuda_conv conv = {.op = *op,
                       .rows = p->rows,
                       .taps = layer->taps,
                       .weight = network->parameters + op->weight,
                       .bias = ep_cuda_parameters_at(network, op->bias),
                       .x = p->x,
                       .y = p->y};
  if (p->i + 1 < network->share.end && layer[1].fused) {
    conv.activated = true;
    conv.activation = *layer[1].op;
  }
  EP_CUDA_TRY(ep_cuda_conv_forward(network->stream, &conv), "a convolution");
  return EP_OK;
}

static ep_status norm_pass(const passage *p, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const ep_cuda_layer *layer = &network->layers[p->i];
  const ep_op *op = layer->op;
  bool has_running = op->type == EP_LAYER_BATCH_NORM;
  ep_cuda_norm norm = {.op = *op,
                       .rows = p->rows,
                       .training = p->training,
                       .x = p->x,
                       .weight = ep_cuda_parameters_at(network, op->weight),
                       .bias = ep_cuda_parameters_at(network, op->bias),
                       .y = p->y,
                       .saved = layer->saved,
                       .running = has_running ? network->parameters + network->program->parameters +
                                                    op->running
                                              : NULL};
  EP_CUDA_TRY(ep_cuda_norm_forward(network->stream, &norm), "a norm");
  return EP_OK;
}

/* Alone, or with the dropout behind it. */
static ep_status activation_pass(const passage *p, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const ep_cuda_layer *layer = &network->layers[p->i];
  if (layer->fused) return EP_OK;
  if (p->training && ep_cuda_network_drops_with(network, p->first, p->i + 1))
    EP_CUDA_TRY(ep_cuda_activation_drop(network->stream, layer->op, layer[1].op,
                                        network->slice_first, p->rows, network->program->seed,
                                        network->clock, p->x, p->y,
                                        layer[1].in_place ? p->y : layer[1].memory),
                "an activation and a dropout");
  else
    EP_CUDA_TRY(ep_cuda_activation_forward(network->stream, layer->op, p->rows, p->x, p->y),
                "an activation");
  return EP_OK;
}

static ep_status dropout_pass(const passage *p, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const ep_op *op = network->layers[p->i].op;
  if (p->training && ep_cuda_network_drops_with(network, p->first, p->i)) return EP_OK;
  if (p->training) {
    EP_CUDA_TRY(ep_cuda_dropout(network->stream, op, network->slice_first, p->rows,
                                network->program->seed, network->clock, false, p->x, p->y),
                "a dropout");
  } else if (p->x != p->y) { /* a copy: what follows may write over it */
    EP_CUDA_TRY(cudaMemcpyAsync(p->y, p->x, (size_t)(p->rows * op->out_features) * sizeof(float),
                                cudaMemcpyDeviceToDevice, network->stream),
                "a dropout");
  }
  return EP_OK;
}

static ep_status add_pass(const passage *p, const float *const *x, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const ep_op *op = network->layers[p->i].op;
  for (int k = 1; k < op->inputs; k++)
    EP_CUDA_TRY(
        ep_cuda_add(network->stream, p->rows * op->out_features, k == 1 ? p->x : p->y, x[k], p->y),
        "a sum");
  return EP_OK;
}

/* input: the network's. */
static ep_status layer_pass(const passage *p, const float *input, ep_error *error) {
  ep_cuda_network *network = p->network;
  ep_cuda_layer *layer = &network->layers[p->i];
  const ep_op *op = layer->op;
  cudaStream_t stream = network->stream;
  const float *x[EP_OP_INPUTS];
  for (int k = 0; k < op->inputs; k++) x[k] = ep_cuda_value(network, op->input[k], input);
  switch (op->type) {
  case EP_LAYER_LINEAR: return linear_pass(p, error);
  case EP_LAYER_CONV2D: return conv_pass(p, error);
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM: return norm_pass(p, error);
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D: return dropout_pass(p, error);
  case EP_LAYER_ADD: return add_pass(p, x, error);
  case EP_LAYER_FLATTEN:
  case EP_LAYER_RESHAPE: return EP_OK;
  case EP_LAYER_MUL:
    EP_CUDA_TRY(ep_cuda_mul_forward(stream, op, p->rows, x, p->y), "a product");
    return EP_OK;
  case EP_LAYER_CONCAT:
    EP_CUDA_TRY(ep_cuda_concat_forward(stream, op, p->rows, x, p->y), "a concat");
    return EP_OK;
  case EP_LAYER_SLICE:
    EP_CUDA_TRY(ep_cuda_slice_forward(stream, op, p->rows, p->x, p->y), "a slice");
    return EP_OK;
  case EP_LAYER_PERMUTE:
    EP_CUDA_TRY(ep_cuda_permute_forward(stream, op, p->rows, p->x, p->y), "a permute");
    return EP_OK;
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D:
    EP_CUDA_TRY(
        ep_cuda_pool_forward(stream, op, p->rows, p->x, p->y, p->training ? layer->places : NULL),
        "a pool");
    return EP_OK;
  case EP_LAYER_EMBEDDING:
    EP_CUDA_TRY(ep_cuda_embedding_forward(stream, op, p->rows, p->x,
                                          network->parameters + op->weight, p->y),
                "an embedding");
    return EP_OK;
  default: return activation_pass(p, error);
  }
}

ep_status ep_cuda_network_forward_from(ep_cuda_network *network, int first, const float *x,
                                       int64_t rows, bool training, const float **output,
                                       ep_error *error) {
  if (first > 0) network->layers[first - 1].value = (float *)x;
  for (int i = first; i < network->share.end; i++) {
    ep_cuda_layer *layer = &network->layers[i];
    float *from = ep_cuda_value(network, layer->op->input[0], x);
    passage p = {network, first, i, from, layer->in_place ? from : layer->memory, rows, training};
    layer->value = p.y;
    ep_status status = layer_pass(&p, x, error);
    if (status != EP_OK) return status;
  }
  *output = ep_cuda_value(network, network->share.end, x);
  return EP_OK;
}

ep_status ep_cuda_network_forward(ep_cuda_network *network, const float *x, int64_t rows,
                                  bool training, const float **output, ep_error *error) {
  return ep_cuda_network_forward_from(network, 0, x, rows, training, output, error);
}
