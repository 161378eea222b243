/* executor.c: the executor "cuda/gemm": dense networks whose precision allows tensor cores, as
 * matrix products by cuBLASLt with few kernels between them. Evaluation and predictions are the
 * network's own, in float32. */
#include "kernels/cuda/instance.h"
#include "kernels/cuda/wide/wide.h"

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

static int64_t bytes(const void *self) {
  return ((const ep_wide *)self)->bytes;
}

/* The copies of parameters that may have been imported. */
static ep_status begin(void *self, ep_error *error) {
  const ep_wide *wide = self;
  if (!wide->half) return EP_OK;
  EP_CUDA_TRY(ep_wide_copy(wide->network->stream, &wide->update), "copying the parameters");
  return EP_OK;
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_wide_step_queue(self, rows, error);
}

static const ep_cuda_method method = {
    .create = create, .destroy = destroy, .bytes = bytes, .begin = begin, .step = step};

static ep_status instance_create(ep_backend *backend, const ep_program *program, void **out,
                                 ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

#define LAYER(type) (UINT64_C(1) << EP_LAYER_##type)

const ep_executor ep_cuda_gemm_executor = {
    .name = "cuda/gemm",
    .capabilities = {LAYER(LINEAR) | LAYER(RELU) | LAYER(LEAKY_RELU) | LAYER(TANH) |
                         LAYER(SIGMOID) | LAYER(GELU) | LAYER(SIN) | LAYER(ELU) | LAYER(SILU) |
                         LAYER(SOFTPLUS) | LAYER(SOFTMAX) | LAYER(LOG_SOFTMAX) | LAYER(FLATTEN),
                     ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = wide_accepts,
    .create = instance_create,
    EP_CUDA_INSTANCE_SLOTS,
};
