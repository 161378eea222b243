/* executor.c: the executor "cuda/images": networks of images whose convolutions are worth cuDNN's.
 * Evaluation and predictions are the network's own, in float32. */
#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/images/network.h"
#include "kernels/cuda/executors/images/plan.h"

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  ep_images_network *self;
  ep_status status = ep_images_network_create(network, &self, error);
  *out = self;
  return status;
}

static void destroy(void *self) {
  ep_images_network_destroy(self);
}

static ep_status gradients(void *self, int64_t rows, ep_error *error) {
  return ep_images_gradients_queue(self, rows, error);
}

const ep_cuda_executor ep_cuda_images_executor = {
    .profile = &ep_cuda_images_profile,
    .available = ep_convolutions_exist,
    .create = create,
    .destroy = destroy,
    .gradients = gradients,
};
