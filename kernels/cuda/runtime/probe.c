#include "kernels/cuda/runtime/probe.h"

#include "kernels/cuda/runtime/gemm.h"
#include "kernels/cuda/runtime/probe_kernel.h"

/* Squares of small integers through a kernel, and their products through cuBLASLt: exact in
 * float32, so that the answer is either right or wrong. values: device [3 * side * side]. */
enum { PROBE_SIDE = 32, PROBE_COUNT = PROBE_SIDE * PROBE_SIDE };

static ep_status probe_run(ep_backend *backend, cudaStream_t stream, float *values, float *answer,
                           ep_error *error) {
  float *squares = values, *identity = values + PROBE_COUNT, *product = values + 2 * PROBE_COUNT;
  ep_cuda_gemm_shape shape = {.rows = PROBE_SIDE,
                              .columns = PROBE_SIDE,
                              .depth = PROBE_SIDE,
                              .a = squares,
                              .b = identity,
                              .out = product};
  ep_cuda_gemm gemm;
  ep_status status = ep_cuda_gemm_init(backend, &shape, 0, &gemm, error);
  cudaError_t code = ep_cuda_probe_fill(stream, PROBE_SIDE, squares, identity);
  if (status == EP_OK && code != cudaSuccess)
    status = ep_cuda_fail(error, code, "the probe's kernel");
  if (status == EP_OK) status = ep_cuda_gemm_run(backend, &gemm, NULL, stream, error);
  ep_cuda_gemm_deinit(&gemm);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaMemcpyAsync(answer, product, PROBE_COUNT * sizeof *answer, cudaMemcpyDeviceToHost,
                              stream),
              "reading the probe's answer");
  EP_CUDA_TRY(cudaStreamSynchronize(stream), "the probe");
  for (int i = 0; i < PROBE_COUNT; i++)
    if (!(answer[i] == 2 * (float)i * (float)i))
      return ep_fail(error, EP_DEVICE, "%s computes wrong results: 2 × %d² gave %g", backend->name,
                     i, (double)answer[i]);
  return EP_OK;
}

ep_status ep_cuda_device_probe(ep_backend *backend, ep_error *error) {
  float answer[PROBE_COUNT];
  void *values = NULL;
  cudaStream_t stream = NULL;
  int64_t total = 0;
  ep_status status = ep_cuda_device_use(backend, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  status =
      ep_cuda_allocate(backend, &values, 3 * PROBE_COUNT, (int64_t)sizeof(float), &total, error);
  if (status == EP_OK) status = probe_run(backend, stream, values, answer, error);
  ep_cuda_free(values);
  cudaStreamDestroy(stream);
  return status;
}
