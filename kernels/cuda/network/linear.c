/* linear.c: linear layers: by kernels of our own where they are thin, else by cuBLASLt. */
#include "kernels/cuda/network/operator.h"
#include "kernels/formulas/activations.h"
#include "kernels/plans/work.h"

/* Rows that are summed apart: a warp goes along a slice, or, where a row is wide enough, a block
 * reads some of its inputs as a tile. */
enum { SLICE_ROWS = 512, TILE_SLICE_ROWS = 32, WIDE_INPUTS = 32 };

/* Whether a thin layer goes back by tiles: its rows are as wide as one. */
static bool is_by_tile(const ep_op *op) {
  return op->in_features >= WIDE_INPUTS;
}

static ep_status take(ep_cuda_network *network, ep_cuda_layer *layer, ep_error *error) {
  const ep_op *op = layer->op;
  int64_t batch = network->program->batch_size, weights = ep_op_own_weights(op);
  layer->thin = ep_op_is_thin(op, batch);
  layer->slices =
      layer->thin ? ep_cuda_row_slices(batch, is_by_tile(op) ? TILE_SLICE_ROWS : SLICE_ROWS) : 1;
  layer->bias_slices = ep_cuda_column_slices(batch);
  int64_t biases = op->bias >= 0 ? op->out_features : 0;
  bool apart = !layer->thin && biases;
  const ep_cuda_buffer buffers[] = {
      {&layer->gradient, layer->trained ? layer->slices : 0, weights + (layer->thin ? biases : 0),
       sizeof(float)},
      {&layer->bias_gradient, layer->trained && apart ? layer->bias_slices : 0, biases,
       sizeof(float)},
      {&network->workspace, layer->thin || network->workspace ? 0 : 1, EP_CUDA_GEMM_WORKSPACE_BYTES,
       1}, /* unless it is there already */
  };
  return ep_cuda_memory_take_all(&network->memory, buffers, sizeof buffers / sizeof *buffers,
                                 error);
}

static bool activates(const ep_cuda_network *network, int i) {
  const ep_program *program = network->program;
  return ep_op_is_thin(&program->ops[i - 1], program->batch_size);
}

static ep_status forward(ep_cuda_pass *pass, ep_error *error) {
  ep_cuda_network *network = pass->network;
  ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const ep_op *op = layer->op;
  if (call->training && layer->form != EP_CUDA_OPERAND_PLAIN)
    return ep_cuda_packed_forward(pass, error);
  if (!layer->thin) {
    ep_cuda_gemm_shape shape = {.rows = call->rows,
                                .columns = op->out_features,
                                .depth = op->in_features,
                                .a = call->x[0],
                                .b = call->weight,
                                .bias = call->bias,
                                .out = call->y,
                                .transpose_b = true,
                                .tf32 = call->training && ep_cuda_network_is_coarse(network)};
    const bool searched = call->training && ep_cuda_network_searches(network, call->rows);
    return ep_cuda_network_multiply(network, &layer->forward, &shape, searched, error);
  }
  ep_cuda_linear_forward linear = {.rows = call->rows,
                                   .in = op->in_features,
                                   .out = op->out_features,
                                   .x = call->x[0],
                                   .weight = call->weight,
                                   .bias = call->bias,
                                   .output = call->y};
  if (pass->i + 1 < network->share.end && layer[1].fused) {
    linear.activated = layer[1].in_place ? call->y : layer[1].memory;
    linear.activation = *layer[1].op;
    if (layer[1].in_place) linear.output = NULL;
  }
  EP_CUDA_TRY(ep_cuda_linear_forward_run(call->stream, &linear), "a linear layer");
  return EP_OK;
}

/* The gradients by the parameters, but for a packed weight's. */
static ep_status parameters_back(ep_cuda_pass *pass, bool searched, ep_error *error) {
  ep_cuda_network *network = pass->network;
  ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const ep_op *op = layer->op;
  const ep_cuda_gemm_shape of_weight = {.rows = op->out_features,
                                        .columns = op->in_features,
                                        .depth = call->rows,
                                        .a = call->grad,
                                        .b = call->x[0],
                                        .out = layer->gradient,
                                        .transpose_a = true,
                                        .tf32 = ep_cuda_network_is_coarse(network)};
  if (op->bias >= 0 && !pass->summed)
    EP_CUDA_TRY(ep_cuda_column_sums(network->stream, call->rows, op->out_features, call->grad,
                                    layer->bias_slices, layer->bias_gradient),
                "a bias's gradient");
  if (layer->form != EP_CUDA_OPERAND_PLAIN) return EP_OK;
  return ep_cuda_network_multiply(network, &layer->weight, &of_weight, searched, error);
}

/* By cuBLASLt. */
static ep_status wide_back(ep_cuda_pass *pass, ep_error *error) {
  ep_cuda_network *network = pass->network;
  ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const ep_op *op = layer->op;
  const ep_cuda_gemm_shape of_x = {.rows = call->rows,
                                   .columns = op->in_features,
                                   .depth = op->out_features,
                                   .a = call->grad,
                                   .b = call->weight,
                                   .out = call->grad_x[0],
                                   .tf32 = ep_cuda_network_is_coarse(network)};
  const bool searched = ep_cuda_network_searches(network, call->rows);
  ep_status status = ep_cuda_side_join(network, error); /* whose operands are packed in one place */
  if (status == EP_OK && layer->trained) {
    status = ep_cuda_pass_side_begin(pass, error);
    if (status != EP_OK) return status;
    status = ep_cuda_side_end(network, parameters_back(pass, searched, error), error);
  }
  if (status != EP_OK) return status;
  if (layer->form != EP_CUDA_OPERAND_PLAIN) return ep_cuda_packed_backward(pass, error);
  if (!call->grad_x[0]) return EP_OK;
  return ep_cuda_network_multiply(network, &layer->backward, &of_x, searched, error);
}

/* With the activation before it, if there is one that nobody else looks at. */
static ep_status backward(ep_cuda_pass *pass, ep_error *error) {
  ep_cuda_network *network = pass->network;
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  const ep_op *op = layer->op;
  const int i = pass->i;
  if (!layer->thin) return wide_back(pass, error);
  ep_cuda_linear_backward linear = {.rows = call->rows,
                                    .in = op->in_features,
                                    .out = op->out_features,
                                    .x = call->x[0],
                                    .grad = call->grad,
                                    .weight = call->weight,
                                    .gradient = call->gradient,
                                    .slices = call->slices,
                                    .by_tile = is_by_tile(op),
                                    .with_bias = op->bias >= 0,
                                    .grad_x = call->grad_x[0]};
  if (!linear.gradient && !linear.grad_x) return EP_OK;
  if (linear.grad_x && i > network->share.first && op->input[0] == i &&
      ep_activation_is(layer[-1].op->type) && !network->values[i].shared) {
    linear.before = ep_cuda_value(network, layer[-1].op->input[0], pass->input);
    linear.activation = *layer[-1].op;
    pass->next = i - 2;
  }
  EP_CUDA_TRY(ep_cuda_linear_backward_run(call->stream, &linear), "a linear layer, backward");
  return EP_OK;
}

static const ep_cuda_network_operator row = {take, activates, forward, backward};
EP_CUDA_NETWORK_OPERATOR(LINEAR, APART, &row);
