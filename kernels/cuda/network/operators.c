/* operators.c: the rows of all types, and the call that each function of a row gets. */
#include <assert.h>
#include <stdio.h>

#include "kernels/cuda/network/operator.h"

#define ROW(code, ...) &ep_cuda_operator_##code,
static const ep_cuda_operator *const rows[EP_LAYER_COUNT] = {EP_LAYER_TABLE(ROW)};

const ep_cuda_operator *ep_cuda_operator_of(ep_layer_type type) {
  assert(type >= 0 && type < EP_LAYER_COUNT);
  return rows[type];
}

static void call_fill(ep_cuda_pass *pass, bool training) {
  const ep_cuda_network *network = pass->network;
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_op *op = layer->op;
  const int64_t buffers = network->program->parameters;
  pass->call = (ep_cuda_call){
      .stream = network->stream,
      .op = op,
      .rows = pass->rows,
      .training = training,
      .y = layer->value,
      .weight = ep_cuda_parameters_at(network, op->weight),
      .bias = ep_cuda_parameters_at(network, op->bias),
      .running = op->running >= 0 ? network->parameters + buffers + op->running : NULL,
      .saved = layer->saved,
      .gradient = layer->gradient,
      .slices = layer->slices,
      .first = network->slice_first,
      .seed = network->program->seed,
      .clock = network->clock};
  for (int k = 0; k < op->inputs; k++)
    pass->call.x[k] = ep_cuda_value(network, op->input[k], pass->input);
}

static ep_status run(const ep_cuda_pass *pass, ep_cuda_call_queue *queue, const char *way,
                     ep_error *error) {
  const cudaError_t code = queue ? queue(&pass->call) : cudaSuccess;
  if (code == cudaSuccess) return EP_OK;
  char doing[64];
  snprintf(doing, sizeof doing, "layer %d, %s, %s", pass->i,
           ep_layer_type_name((int)pass->call.op->type), way);
  return ep_cuda_fail(error, code, doing);
}

ep_status ep_cuda_pass_forward(ep_cuda_pass *pass, bool training, ep_error *error) {
  const ep_cuda_operator *row = ep_cuda_operator_of(ep_cuda_pass_layer(pass)->op->type);
  call_fill(pass, training);
  if (row->network) return row->network->forward(pass, error);
  return run(pass, row->forward, "forward", error);
}

ep_status ep_cuda_pass_backward(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_network *network = pass->network;
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_operator *row = ep_cuda_operator_of(layer->op->type);
  call_fill(pass, true);
  pass->call.grad = ep_cuda_grad_at(network, network->values[pass->i + 1].gradient);
  for (int k = 0; k < layer->op->inputs; k++)
    pass->call.grad_x[k] = ep_cuda_grad_at(network, layer->part[k]);
  if (row->network) return row->network->backward(pass, error);
  return run(pass, row->backward, "backward", error);
}
