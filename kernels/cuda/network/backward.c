/* backward.c: the way back through a network: the gradients of its parameters. */
#include "kernels/cuda/network/operator.h"

/* Of values whose last part the layers from pass->i to that behind pass->next have left. */
static ep_status parts_sum(const ep_cuda_pass *pass, int *next, ep_error *error) {
  const ep_cuda_network *network = pass->network;
  for (; *next < network->part_sums_count && network->part_sums[*next].op > pass->next; ++*next) {
    const ep_cuda_part_sum *sum = &network->part_sums[*next];
    float *to = ep_cuda_grad_at(network, sum->to);
    ep_status status = ep_cuda_side_join(pass->network, error);
    if (status != EP_OK) return status;
    EP_CUDA_TRY(ep_cuda_add(network->stream, pass->rows * sum->features, to,
                            ep_cuda_grad_at(network, sum->from), to),
                "a gradient of several parts");
  }
  return EP_OK;
}

/* Whether the layer leaves a gradient where one lies that is read beside the way back. */
static bool writes_over(const ep_cuda_pass *pass) {
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  bool found = false;
  for (int k = 0; k < layer->op->inputs; k++)
    found = found || layer->part[k] == pass->network->side.reads;
  return found;
}

static ep_status op_back(ep_cuda_pass *pass, ep_error *error) {
  const ep_cuda_network *network = pass->network;
  const ep_cuda_layer *layer = ep_cuda_pass_layer(pass);
  const bool summed = pass->summed;
  if (!network->values[pass->i + 1].learns) return EP_OK;
  ep_status status = writes_over(pass) ? ep_cuda_side_join(pass->network, error) : EP_OK;
  if (status == EP_OK) status = ep_cuda_pass_backward(pass, error);
  if (summed) pass->summed = false; /* it was for this layer */
  if (status == EP_OK && layer->trained && layer->op->weight >= 0)
    status = ep_cuda_network_found(network, layer->op->weight, error);
  return status;
}

ep_status ep_cuda_network_backward_to(ep_cuda_network *network, int first, const float *x,
                                      int64_t rows, const float **grad, ep_error *error) {
  ep_cuda_pass pass = {.network = network, .input = x, .rows = rows, .first = first};
  ep_status status = EP_OK;
  int sums = 0;
  for (pass.i = network->share.end - 1; status == EP_OK && pass.i >= first; pass.i = pass.next) {
    pass.next = pass.i - 1;
    status = op_back(&pass, error);
    if (status == EP_OK) status = parts_sum(&pass, &sums, error);
  }
  *grad = ep_cuda_grad_at(network, network->values[first].gradient);
  return status == EP_OK ? ep_cuda_side_join(network, error) : status;
}

ep_status ep_cuda_network_backward(ep_cuda_network *network, const float *x, int64_t rows,
                                   ep_error *error) {
  const float *grad;
  return ep_cuda_network_backward_to(network, 0, x, rows, &grad, error);
}
