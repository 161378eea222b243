/* backward.c: the way back through a network: the gradients of its parameters. */
#include "kernels/cuda/layers/activation_chains.h"
#include "kernels/cuda/network/layout.h"
#include "kernels/cuda/network/network.h"
#include "kernels/formulas/activations.h"

/* Where the way back stands. */
typedef struct {
  ep_cuda_network *network;
  const float *x; /* the network's input */
  int64_t rows;
  int first, i; /* where it ends; the layer */
  float *grad;  /* by its output; once it is done, by the output of layer `next` */
  float *other; /* as large, free */
  int next;     /* the layer whose output `grad` is by then */
  bool summed;  /* the gradient of the bias of layer i is there */
} retreat;

static const ep_cuda_layer *layer_of(const retreat *r) {
  return &r->network->layers[r->i];
}

static bool goes_on(const retreat *r) {
  return r->i > r->network->first_trained;
}

static void swap(retreat *r) {
  float *grad = r->grad;
  r->grad = r->other;
  r->other = grad;
}

/* By cuBLASLt. */
static ep_status wide_back(retreat *r, ep_error *error) {
  ep_cuda_network *network = r->network;
  ep_cuda_layer *layer = &network->layers[r->i];
  const ep_op *op = layer->op;
  ep_cuda_gemm_shape of_weight = {.rows = op->out_features,
                                  .columns = op->in_features,
                                  .depth = r->rows,
                                  .a = r->grad,
                                  .b = ep_cuda_layer_input(network, r->i, r->x),
                                  .out = layer->gradient,
                                  .transpose_a = true,
                                  .tf32 = ep_cuda_network_is_coarse(network)};
  ep_cuda_gemm_shape of_x = {.rows = r->rows,
                             .columns = op->in_features,
                             .depth = op->out_features,
                             .a = r->grad,
                             .b = network->parameters + op->weight,
                             .out = r->other,
                             .tf32 = ep_cuda_network_is_coarse(network)};
  const bool searched = ep_cuda_network_searches(network, r->rows);
  ep_status status = EP_OK;
  if (layer->trained && op->bias >= 0 && !r->summed)
    EP_CUDA_TRY(ep_cuda_column_sums(network->stream, r->rows, op->out_features, r->grad,
                                    layer->bias_slices, layer->bias_gradient),
                "a bias's gradient");
  if (layer->trained)
    status = ep_cuda_network_multiply(network, &layer->weight, &of_weight, searched, error);
  if (status != EP_OK || !goes_on(r)) return status;
  status = ep_cuda_network_multiply(network, &layer->backward, &of_x, searched, error);
  swap(r);
  return status;
}

/* With the activation before it, if there is one that nobody else looks at. */
static ep_status linear_back(retreat *r, ep_error *error) {
  ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const ep_op *op = layer->op;
  if (!layer->thin) return wide_back(r, error);
  ep_cuda_linear_backward linear = {.rows = r->rows,
                                    .in = op->in_features,
                                    .out = op->out_features,
                                    .x = ep_cuda_layer_input(network, r->i, r->x),
                                    .grad = r->grad,
                                    .weight = network->parameters + op->weight,
                                    .gradient = layer->trained ? layer->gradient : NULL,
                                    .slices = layer->slices,
                                    .by_tile = ep_cuda_linear_by_tile(op),
                                    .with_bias = op->bias >= 0,
                                    .grad_x = goes_on(r) ? r->other : NULL};
  if (!linear.gradient && !linear.grad_x) return EP_OK;
  if (goes_on(r) && r->i > network->share.first && ep_activation_is(layer[-1].op->type) &&
      !layer[-1].shared) {
    linear.before = ep_cuda_layer_input(network, r->i - 1, r->x);
    linear.activation = *layer[-1].op;
    r->next = r->i - 2;
  }
  EP_CUDA_TRY(ep_cuda_linear_backward_run(network->stream, &linear), "a linear layer, backward");
  if (goes_on(r)) swap(r);
  return EP_OK;
}

static ep_status conv_back(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const ep_op *op = layer->op;
  ep_cuda_conv conv = {.op = *op,
                       .rows = r->rows,
                       .taps = layer->taps,
                       .weight = network->parameters + op->weight,
                       .x = ep_cuda_layer_input(network, r->i, r->x),
                       .grad = r->grad,
                       .grad_x = r->other,
                       .partials = layer->partials,
                       .gradient = layer->gradient,
                       .slices = layer->conv_slices};
  if (layer->trained)
    EP_CUDA_TRY(ep_cuda_conv_weights(network->stream, &conv), "a convolution's weights");
  if (!goes_on(r)) return EP_OK;
  conv.taps = layer->back_taps;
  EP_CUDA_TRY(ep_cuda_conv_backward(network->stream, &conv), "a convolution, backward");
  swap(r);
  return EP_OK;
}

static ep_status norm_back(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const ep_op *op = layer->op;
  ep_cuda_norm norm = {.op = *op,
                       .rows = r->rows,
                       .training = true,
                       .x = ep_cuda_layer_input(network, r->i, r->x),
                       .weight = ep_cuda_parameters_at(network, op->weight),
                       .bias = ep_cuda_parameters_at(network, op->bias),
                       .saved = layer->saved,
                       .grad = r->grad,
                       .gradient = layer->trained ? layer->gradient : NULL,
                       .sums = layer->sums,
                       .slices = layer->slices};
  EP_CUDA_TRY(ep_cuda_norm_backward(network->stream, &norm), "a norm, backward");
  return EP_OK;
}

static ep_status pool_back(retreat *r, ep_error *error) {
  const ep_cuda_layer *layer = layer_of(r);
  EP_CUDA_TRY(ep_cuda_pool_backward(r->network->stream, layer->op, r->rows, r->grad, layer->places,
                                    r->other),
              "a pool, backward");
  swap(r);
  return EP_OK;
}

/* The gradient goes both ways: a copy waits for the block's input. */
static ep_status residual_back(retreat *r, ep_error *error) {
  const ep_cuda_layer *layer = layer_of(r);
  if (!layer->skip) return EP_OK;
  size_t bytes = (size_t)(r->rows * layer->op->out_features) * sizeof(float);
  EP_CUDA_TRY(
      cudaMemcpyAsync(layer->skip, r->grad, bytes, cudaMemcpyDeviceToDevice, r->network->stream),
      "a residual, backward");
  return EP_OK;
}

/* Adds what came past a block to the gradient by the block's input. */
static ep_status skips_add(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  if (r->next < 0 || !network->layers[r->next].shared) return EP_OK;
  for (int i = network->program->ops_count - 1; i > r->next; i--) {
    const ep_op *op = &network->program->ops[i];
    if (op->type != EP_LAYER_ADD || op->input[1] != r->next + 1 || !network->layers[i].skip)
      continue;
    EP_CUDA_TRY(ep_cuda_add(network->stream, r->rows * op->out_features, r->grad,
                            network->layers[i].skip, r->grad),
                "a residual, backward");
  }
  return EP_OK;
}

static ep_status embedding_back(retreat *r, ep_error *error) {
  const ep_cuda_layer *layer = layer_of(r);
  EP_CUDA_TRY(ep_cuda_embedding_weights(r->network->stream, layer->op, r->rows,
                                        ep_cuda_layer_input(r->network, r->i, r->x), r->grad,
                                        layer->slices, layer->gradient),
              "an embedding's weights");
  return EP_OK;
}

/* Of more rows, each pass has work for the whole device, and what shares blocks by columns has
 * not. */
enum { TOGETHER_ROWS = 2048 };

/* Whether dropout i goes with the activation before it on the way back. */
static bool drops_with(const retreat *r, int i) {
  return r->rows <= TOGETHER_ROWS && ep_cuda_network_drops_with(r->network, r->first, i);
}

/* With the dropout behind it, if it goes with that, and the sums for the bias of a linear layer
 * before it. */
static ep_status activation_back(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const float *x = ep_cuda_layer_input(network, r->i, r->x);
  const bool drops = drops_with(r, r->i + 1);
  const ep_cuda_layer *under = r->i > r->first ? layer - 1 : NULL;
  r->summed = r->rows <= TOGETHER_ROWS && ep_activation_is(layer->op->type) && under &&
              under->op->type == EP_LAYER_LINEAR && !under->thin && !under->shared &&
              under->trained && under->op->bias >= 0;
  if (drops || r->summed)
    EP_CUDA_TRY(ep_cuda_activation_undo(
                    network->stream, layer->op, drops ? layer[1].op : NULL, network->slice_first,
                    r->rows, network->program->seed, network->clock, x, layer->value, r->grad,
                    r->summed ? under->bias_slices : ep_cuda_row_slices(r->rows),
                    r->summed ? under->bias_gradient : NULL),
                "an activation, backward");
  else
    EP_CUDA_TRY(
        ep_cuda_activation_backward(network->stream, layer->op, r->rows, x, layer->value, r->grad),
        "an activation, backward");
  return EP_OK;
}

static ep_status layer_back(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const ep_op *op = layer->op;
  switch (op->type) {
  case EP_LAYER_LINEAR: return linear_back(r, error);
  case EP_LAYER_CONV2D: return conv_back(r, error);
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM: return norm_back(r, error);
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: return pool_back(r, error);
  case EP_LAYER_ADD: return residual_back(r, error);
  case EP_LAYER_EMBEDDING: return embedding_back(r, error);
  case EP_LAYER_FLATTEN: return EP_OK;
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D:
    if (drops_with(r, r->i)) return EP_OK; /* with the activation */
    EP_CUDA_TRY(ep_cuda_dropout(network->stream, op, network->slice_first, r->rows,
                                network->program->seed, network->clock, true, r->grad, r->grad),
                "a dropout, backward");
    return EP_OK;
  default: return activation_back(r, error);
  }
}

ep_status ep_cuda_network_backward_to(ep_cuda_network *network, int first, const float *x,
                                      int64_t rows, const float **grad, ep_error *error) {
  retreat r = {.network = network,
               .x = x,
               .rows = rows,
               .first = first,
               .i = network->share.end - 1,
               .grad = network->grad[0],
               .other = network->grad[1]};
  for (; r.i >= network->first_trained && r.i >= first; r.i = r.next) {
    const bool summed = r.summed;
    r.next = r.i - 1;
    ep_status status = layer_back(&r, error);
    if (summed) r.summed = false; /* it was for this layer */
    if (status == EP_OK && network->layers[r.i].trained && network->program->ops[r.i].weight >= 0)
      status = ep_cuda_network_found(network, network->program->ops[r.i].weight, error);
    if (status == EP_OK) status = skips_add(&r, error);
    if (status != EP_OK) return status;
  }
  *grad = r.grad;
  return EP_OK;
}

ep_status ep_cuda_network_backward(ep_cuda_network *network, const float *x, int64_t rows,
                                   ep_error *error) {
  const float *grad;
  return ep_cuda_network_backward_to(network, 0, x, rows, &grad, error);
}
