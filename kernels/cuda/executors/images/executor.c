/* executor.c: the executor "cuda/images": networks of images whose convolutions are worth cuDNN's.
 * Evaluation and predictions are the network's own, in float32. */
#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/images/images.h"

static bool accepts(const ep_backend *backend, const ep_program *program) {
  return backend->generation >= EP_IMAGES_CAPABILITY && ep_images_takes(program) &&
         ep_convolutions_exist();
}

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  ep_images *images;
  ep_status status = ep_images_create(network, &images, error);
  *out = images;
  return status;
}

static void destroy(void *self) {
  ep_images_destroy(self);
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_images_step_queue(self, rows, error);
}

const ep_cuda_executor ep_cuda_images = {
    .name = "cuda/images",
    .capabilities = EP_CAPABLE_OF_ALL, /* ep_images_takes looks closer */
    .accepts = accepts,
    .create = create,
    .destroy = destroy,
    .step = step,
};
