/* executor.c: the executor "cuda/gemm": dense networks whose precision allows tensor cores, as
 * matrix products by cuBLASLt with few kernels between them. Evaluation and predictions are the
 * network's own, in float32. */
#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/gemm/network.h"
#include "kernels/cuda/executors/gemm/plan.h"

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  ep_gemm_network *self;
  ep_status status = ep_gemm_network_create(network, &self, error);
  *out = self;
  return status;
}

static void destroy(void *self) {
  ep_gemm_network_destroy(self);
}

/* The copies of parameters. */
static ep_status adopt(void *state, ep_error *error) {
  const ep_gemm_network *self = state;
  if (!self->half && !self->hopper) return EP_OK;
  EP_CUDA_TRY(ep_gemm_copy(self->network->stream, &self->update), "copying the parameters");
  return EP_OK;
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_gemm_step_queue(self, rows, error);
}

static ep_status gradients(void *self, int64_t rows, ep_error *error) {
  return ep_gemm_gradients_queue(self, rows, error);
}

const ep_cuda_executor ep_cuda_gemm_executor = {
    .profile = &ep_cuda_gemm_profile,
    .create = create,
    .destroy = destroy,
    .adopt = adopt,
    .step = step,
    .gradients = gradients,
};
