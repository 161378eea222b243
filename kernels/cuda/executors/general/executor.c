/* executor.c: the executor "cuda/general": all layers, losses and optimizers, full and
 * mini-batches, layer by layer, by the network's own kernels. */
#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/general/plan.h"
#include "kernels/cuda/network/ahead.h"
#include "kernels/cuda/network/operands.h"
#include "kernels/cuda/network/side.h"

/* Of fewer rows, products wait for memory: two at once wait for each other. */
enum { SIDE_ROWS = 64 };

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = network;
  ep_status status = ep_cuda_operands_enable(network, error);
  if (status == EP_OK && network->workspace && network->program->batch_size >= SIDE_ROWS)
    status = ep_cuda_side_enable(network, error);
  if (status != EP_OK) return status;
  return ep_cuda_ahead_enable(network, network->program->in_features, (int64_t)sizeof(float), true,
                              error);
}

static ep_status gradients(void *self, int64_t rows, ep_error *error) {
  return ep_cuda_network_gradients(self, rows, error);
}

const ep_cuda_executor ep_cuda_general_executor = {
    .profile = &ep_cuda_general_profile, .create = create, .gradients = gradients};
