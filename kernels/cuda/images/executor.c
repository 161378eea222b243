/* executor.c: the executor "cuda/images": networks of images whose convolutions are worth cuDNN's.
 * Evaluation and predictions are the network's own, in float32. */
#include "kernels/cuda/images/images.h"
#include "kernels/cuda/instance.h"

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

static int64_t bytes(const void *self) {
  return ((const ep_images *)self)->bytes;
}

/* Each step copies the weights that it works with. */
static ep_status begin(void *self, ep_error *error) {
  (void)self;
  (void)error;
  return EP_OK;
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_images_step_queue(self, rows, error);
}

static const ep_cuda_method method = {
    .create = create, .destroy = destroy, .bytes = bytes, .begin = begin, .step = step};

static ep_status instance_create(ep_backend *backend, const ep_program *program, void **out,
                                 ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

const ep_executor ep_cuda_images = {
    .name = "cuda/images",
    .capabilities = {~UINT64_C(0), ~UINT32_C(0), ~UINT32_C(0)}, /* ep_images_takes looks closer */
    .accepts = accepts,
    .create = instance_create,
    EP_CUDA_INSTANCE_SLOTS,
};
