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
  int first, i;                /* where it ends; the layer */
  float *grad;                 /* by its output */
  float *grad_x[EP_OP_INPUTS]; /* by its inputs, as far as it adds to them; NULL: nobody asks */
  int next;                    /* the layer that follows on the way back */
  bool summed;                 /* the gradient of the bias of layer i is there */
} retreat;

static const ep_cuda_layer *layer_of(const retreat *r) {
  return &r->network->layers[r->i];
}

/* The layer's first input. */
static const float *input_of(const retreat *r) {
  return ep_cuda_value(r->network, layer_of(r)->op->input[0], r->x);
}

static float *grad_at(const ep_cuda_network *network, int number) {
  return number >= 0 ? network->grads[number].memory : NULL;
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
                                  .b = input_of(r),
                                  .out = layer->gradient,
                                  .transpose_a = true,
                                  .tf32 = ep_cuda_network_is_coarse(network)};
  ep_cuda_gemm_shape of_x = {.rows = r->rows,
                             .columns = op->in_features,
                             .depth = op->out_features,
                             .a = r->grad,
                             .b = network->parameters + op->weight,
                             .out = r->grad_x[0],
                             .tf32 = ep_cuda_network_is_coarse(network)};
  const bool searched = ep_cuda_network_searches(network, r->rows);
  ep_status status = EP_OK;
  if (layer->trained && op->bias >= 0 && !r->summed)
    EP_CUDA_TRY(ep_cuda_column_sums(network->stream, r->rows, op->out_features, r->grad,
                                    layer->bias_slices, layer->bias_gradient),
                "a bias's gradient");
  if (layer->trained)
    status = ep_cuda_network_multiply(network, &layer->weight, &of_weight, searched, error);
  if (status != EP_OK || !r->grad_x[0]) return status;
  return ep_cuda_network_multiply(network, &layer->backward, &of_x, searched, error);
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
                                    .x = input_of(r),
                                    .grad = r->grad,
                                    .weight = network->parameters + op->weight,
                                    .gradient = layer->trained ? layer->gradient : NULL,
                                    .slices = layer->slices,
                                    .by_tile = ep_cuda_linear_by_tile(op),
                                    .with_bias = op->bias >= 0,
                                    .grad_x = r->grad_x[0]};
  if (!linear.gradient && !linear.grad_x) return EP_OK;
  if (linear.grad_x && r->i > network->share.first && op->input[0] == r->i &&
      ep_activation_is(layer[-1].op->type) && !network->values[r->i].shared) {
    linear.before = ep_cuda_value(network, layer[-1].op->input[0], r->x);
    linear.activation = *layer[-1].op;
    r->next = r->i - 2;
  }
  EP_CUDA_TRY(ep_cuda_linear_backward_run(network->stream, &linear), "a linear layer, backward");
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
                       .x = input_of(r),
                       .grad = r->grad,
                       .grad_x = r->grad_x[0],
                       .partials = layer->partials,
                       .gradient = layer->gradient,
                       .slices = layer->conv_slices};
  if (layer->trained)
    EP_CUDA_TRY(ep_cuda_conv_weights(network->stream, &conv), "a convolution's weights");
  if (!conv.grad_x) return EP_OK;
  conv.taps = layer->back_taps;
  EP_CUDA_TRY(ep_cuda_conv_backward(network->stream, &conv), "a convolution, backward");
  return EP_OK;
}

static ep_status norm_back(retreat *r, ep_error *error) {
  const ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const ep_op *op = layer->op;
  ep_cuda_norm norm = {.op = *op,
                       .rows = r->rows,
                       .training = true,
                       .x = input_of(r),
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
                                    r->grad_x[0]),
              "a pool, backward");
  return EP_OK;
}

/* The gradient goes to all inputs: copies, but for the one that has it in its place. */
static ep_status add_back(retreat *r, ep_error *error) {
  const ep_op *op = layer_of(r)->op;
  const size_t bytes = (size_t)(r->rows * op->out_features) * sizeof(float);
  for (int k = 0; k < op->inputs; k++)
    if (r->grad_x[k] && r->grad_x[k] != r->grad)
      EP_CUDA_TRY(cudaMemcpyAsync(r->grad_x[k], r->grad, bytes, cudaMemcpyDeviceToDevice,
                                  r->network->stream),
                  "a sum, backward");
  return EP_OK;
}

static ep_status mul_back(retreat *r, ep_error *error) {
  const ep_op *op = layer_of(r)->op;
  const float *x[EP_OP_INPUTS];
  for (int k = 0; k < op->inputs; k++) x[k] = ep_cuda_value(r->network, op->input[k], r->x);
  EP_CUDA_TRY(ep_cuda_mul_backward(r->network->stream, op, r->rows, x, r->grad, r->grad_x),
              "a product, backward");
  return EP_OK;
}

static ep_status embedding_back(retreat *r, ep_error *error) {
  const ep_cuda_layer *layer = layer_of(r);
  EP_CUDA_TRY(ep_cuda_embedding_weights(r->network->stream, layer->op, r->rows, input_of(r),
                                        r->grad, layer->slices, layer->gradient),
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
  const float *x = input_of(r);
  const bool drops = drops_with(r, r->i + 1);
  const ep_cuda_layer *under = r->i > r->first && layer->op->input[0] == r->i ? layer - 1 : NULL;
  r->summed = r->rows <= TOGETHER_ROWS && ep_activation_is(layer->op->type) && under &&
              under->op->type == EP_LAYER_LINEAR && !under->thin && !network->values[r->i].shared &&
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
  cudaStream_t stream = network->stream;
  switch (op->type) {
  case EP_LAYER_LINEAR: return linear_back(r, error);
  case EP_LAYER_CONV2D: return conv_back(r, error);
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM: return norm_back(r, error);
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: return pool_back(r, error);
  case EP_LAYER_ADD: return add_back(r, error);
  case EP_LAYER_MUL: return mul_back(r, error);
  case EP_LAYER_EMBEDDING: return embedding_back(r, error);
  case EP_LAYER_FLATTEN:
  case EP_LAYER_RESHAPE: return EP_OK;
  case EP_LAYER_CONCAT:
    EP_CUDA_TRY(ep_cuda_concat_backward(stream, op, r->rows, r->grad, r->grad_x),
                "a concat, backward");
    return EP_OK;
  case EP_LAYER_SLICE:
    EP_CUDA_TRY(ep_cuda_slice_backward(stream, op, r->rows, r->grad, r->grad_x[0]),
                "a slice, backward");
    return EP_OK;
  case EP_LAYER_PERMUTE:
    EP_CUDA_TRY(ep_cuda_permute_backward(stream, op, r->rows, r->grad, r->grad_x[0]),
                "a permute, backward");
    return EP_OK;
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D:
    if (drops_with(r, r->i)) return EP_OK; /* with the activation */
    EP_CUDA_TRY(ep_cuda_dropout(stream, op, network->slice_first, r->rows, network->program->seed,
                                network->clock, true, r->grad, r->grad),
                "a dropout, backward");
    return EP_OK;
  default: return activation_back(r, error);
  }
}

/* Of values whose last part the layers from r->i to that behind r->next have left. */
static ep_status parts_sum(const retreat *r, int *next, ep_error *error) {
  const ep_cuda_network *network = r->network;
  for (; *next < network->part_sums_count && network->part_sums[*next].op > r->next; ++*next) {
    const ep_cuda_part_sum *sum = &network->part_sums[*next];
    float *to = grad_at(network, sum->to);
    EP_CUDA_TRY(
        ep_cuda_add(network->stream, r->rows * sum->features, to, grad_at(network, sum->from), to),
        "a gradient of several parts");
  }
  return EP_OK;
}

static ep_status op_back(retreat *r, ep_error *error) {
  ep_cuda_network *network = r->network;
  const ep_cuda_layer *layer = layer_of(r);
  const bool summed = r->summed;
  if (!network->values[r->i + 1].learns) return EP_OK;
  r->grad = grad_at(network, network->values[r->i + 1].gradient);
  for (int k = 0; k < layer->op->inputs; k++) r->grad_x[k] = grad_at(network, layer->part[k]);
  ep_status status = layer_back(r, error);
  if (summed) r->summed = false; /* it was for this layer */
  if (status == EP_OK && layer->trained && layer->op->weight >= 0)
    status = ep_cuda_network_found(network, layer->op->weight, error);
  return status;
}

ep_status ep_cuda_network_backward_to(ep_cuda_network *network, int first, const float *x,
                                      int64_t rows, const float **grad, ep_error *error) {
  retreat r = {.network = network, .x = x, .rows = rows, .first = first};
  ep_status status = EP_OK;
  int sums = 0;
  for (r.i = network->share.end - 1; status == EP_OK && r.i >= first; r.i = r.next) {
    r.next = r.i - 1;
    status = op_back(&r, error);
    if (status == EP_OK) status = parts_sum(&r, &sums, error);
  }
  *grad = grad_at(network, network->values[first].gradient);
  return status;
}

ep_status ep_cuda_network_backward(ep_cuda_network *network, const float *x, int64_t rows,
                                   ep_error *error) {
  const float *grad;
  return ep_cuda_network_backward_to(network, 0, x, rows, &grad, error);
}
