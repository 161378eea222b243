/* conv2d.c: convolutions, with the activation behind them. */
#include <stdlib.h>

#include "kernels/cuda/network/operator.h"

static ep_status taps_take(ep_cuda_network *network, const ep_op *op, bool backward,
                           ep_cuda_tap **out, ep_error *error) {
  int64_t count = ep_cuda_conv_taps_count(op, backward);
  ep_cuda_tap *taps = calloc((size_t)count, sizeof *taps);
  if (!taps) return ep_fail(error, EP_NO_MEMORY, "no memory for a convolution");
  ep_cuda_conv_taps(op, backward, taps);
  ep_status status =
      ep_cuda_memory_take_copy(&network->memory, out, taps, count, sizeof *taps, error);
  free(taps);
  return status;
}

static ep_status take(ep_cuda_network *network, ep_cuda_layer *layer, ep_error *error) {
  const ep_op *op = layer->op;
  int64_t parameters = ep_op_own_weights(op) + ep_op_own_biases(op);
  ep_status status = taps_take(network, op, false, &layer->taps, error);
  if (status == EP_OK && layer->part[0] >= 0)
    status = taps_take(network, op, true, &layer->back_taps, error);
  if (status != EP_OK || !layer->trained) return status;
  layer->slices = 1;
  layer->conv_slices = ep_cuda_conv_slices(op, network->program->batch_size);
  const ep_cuda_buffer buffers[] = {
      {&layer->partials, layer->conv_slices, parameters, sizeof(float)},
      {&layer->gradient, 1, parameters, sizeof(float)}};
  return ep_cuda_memory_take_all(&network->memory, buffers, 2, error);
}

static bool activates(const ep_cuda_network *network, int i) {
  return network->layers[i].in_place;
}

static ep_status forward(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  ep_cuda_conv conv = {.op = *call->op,
                       .rows = call->rows,
                       .taps = layer->taps,
                       .weight = call->weight,
                       .bias = call->bias,
                       .x = call->x[0],
                       .y = call->y};
  if (pass->i + 1 < pass->network->share.end && layer[1].fused) {
    conv.activated = true;
    conv.activation = *layer[1].op;
  }
  EP_CUDA_TRY(ep_cuda_conv_forward(call->stream, &conv), "a convolution");
  return EP_OK;
}

static ep_status backward(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const ep_cuda_call *call = &pass->call;
  ep_cuda_conv conv = {.op = *call->op,
                       .rows = call->rows,
                       .taps = layer->taps,
                       .weight = call->weight,
                       .x = call->x[0],
                       .grad = call->grad,
                       .grad_x = call->grad_x[0],
                       .partials = layer->partials,
                       .gradient = call->gradient,
                       .slices = layer->conv_slices};
  if (layer->trained)
    EP_CUDA_TRY(ep_cuda_conv_weights(call->stream, &conv), "a convolution's weights");
  if (!conv.grad_x) return EP_OK;
  conv.taps = layer->back_taps;
  EP_CUDA_TRY(ep_cuda_conv_backward(call->stream, &conv), "a convolution, backward");
  return EP_OK;
}

static const ep_cuda_network_operator row = {take, activates, forward, backward};
EP_CUDA_NETWORK_OPERATOR(CONV2D, APART, &row);
