/* executor.c: the executor "cuda/gemm": dense networks whose precision allows tensor cores, as
 * matrix products by cuBLASLt with few kernels between them. Evaluation and predictions are the
 * network's own, in float32. */
#include "kernels/cuda/executors/executor.h"
#include "kernels/choice.h"
#include "kernels/cuda/executors/gemm/wide.h"

/* The first generation whose tensor cores know bfloat16 and TF32. */
enum { OLDEST_CAPABILITY = 80 };

static bool wide_accepts(const ep_backend *backend, const ep_program *program) {
  return backend->generation >= OLDEST_CAPABILITY && program->precision != EP_PRECISION_FP32 &&
         program->optimizer.clip_norm == 0 && program->buffers == 0 && ep_wide_takes(program);
}

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  ep_wide *wide;
  ep_status status = ep_wide_create(network, &wide, error);
  *out = wide;
  return status;
}

static void destroy(void *self) {
  ep_wide_destroy(self);
}

/* The copies of parameters. */
static ep_status adopt(void *self, ep_error *error) {
  const ep_wide *wide = self;
  if (!wide->half && !wide->fused) return EP_OK;
  EP_CUDA_TRY(ep_wide_copy(wide->network->stream, &wide->update), "copying the parameters");
  return EP_OK;
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_wide_step_queue(self, rows, error);
}

const ep_cuda_executor ep_cuda_gemm_executor = {
    .name = "cuda/gemm",
    .capabilities = {EP_CHOICE_GEMM_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = wide_accepts,
    .create = create,
    .destroy = destroy,
    .adopt = adopt,
    .step = step,
};
