/* general.c: the executor "cuda/general": all layers, losses and optimizers, full and mini-batches,
 * layer by layer. Training runs as CUDA graphs; the host queues them and waits for the end. */
#include "kernels/cuda/instance.h"

static bool general_accepts(const ep_backend *backend, const ep_program *program) {
  (void)backend;
  (void)program;
  return true;
}

static ep_status general_create(ep_backend *backend, const ep_program *program, void **out,
                                ep_error *error) {
  return ep_cuda_instance_create(backend, program, NULL, out, error);
}

const ep_executor ep_cuda_general = {
    .name = "cuda/general",
    .capabilities = {~UINT64_C(0), ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = general_accepts,
    .create = general_create,
    EP_CUDA_INSTANCE_SLOTS,
};
