/* forward.c: the forward pass through a network. */
#include "kernels/cuda/network/operator.h"

ep_status ep_cuda_network_forward_from(ep_cuda_network *network, int first, const float *x,
                                       int64_t rows, bool training, const float **output,
                                       ep_error *error) {
  ep_cuda_pass pass = {.network = network, .input = x, .rows = rows, .first = first};
  ep_status status = EP_OK;
  if (first > 0) network->layers[first - 1].value = (float *)x;
  for (pass.i = first; status == EP_OK && pass.i < network->share.end; pass.i++) {
    ep_cuda_layer *layer = ep_cuda_pass_layer(&pass);
    layer->value = layer->in_place ? ep_cuda_value(network, layer->op->input[0], x) : layer->memory;
    status = ep_cuda_pass_forward(&pass, training, error);
  }
  if (status == EP_OK) *output = ep_cuda_value(network, network->share.end, x);
  return status;
}

ep_status ep_cuda_network_forward(ep_cuda_network *network, const float *x, int64_t rows,
                                  bool training, const float **output, ep_error *error) {
  return ep_cuda_network_forward_from(network, 0, x, rows, training, output, error);
}
