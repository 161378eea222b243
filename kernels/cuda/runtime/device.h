/* device.h: one NVIDIA GPU, opened; and how CUDA's errors become ours. */
#ifndef EP_KERNELS_CUDA_RUNTIME_DEVICE_H
#define EP_KERNELS_CUDA_RUNTIME_DEVICE_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "kernels/backend.h"
#include "kernels/plans/gpu_traits.h"

struct ep_backend {
  int device;
  cublasLtHandle_t blas; /* safe to use from several threads */
  ep_gpu_traits gpu;
  int64_t memory_bytes;
  char name[128];
  struct ep_cuda_population *population; /* what populations keep between calls; NULL: nothing */
};

/* As in backend.h. */
ep_status ep_cuda_device_open(int device, ep_backend **out, ep_error *error);
void ep_cuda_device_close(ep_backend *backend);
ep_status ep_cuda_device_info(ep_backend *backend, ep_backend_info *out, ep_error *error);

/* Makes the backend's device the calling thread's. Each slot of the interface begins with it. */
ep_status ep_cuda_device_use(const ep_backend *backend, ep_error *error);

/* Sets *error from what CUDA or cuBLASLt said while `doing`, which completes "… failed", and
 * returns its status: EP_NO_MEMORY; EP_DEVICE when the context is lost; else EP_INTERNAL. */
ep_status ep_cuda_fail(ep_error *error, cudaError_t code, const char *doing);
ep_status ep_cuda_blas_fail(ep_error *error, cublasStatus_t code, const char *doing);

/* Returns from the calling function when a call of CUDA fails: only where nothing is to clean up.
 */
#define EP_CUDA_TRY(call, doing)                                        \
  do {                                                                  \
    cudaError_t code_ = (call);                                         \
    if (code_ != cudaSuccess) return ep_cuda_fail(error, code_, doing); \
  } while (0)

/* Device memory for `rows` × `row_bytes`, added to *total, which must stay within the device's;
 * NULL for none. The caller frees it. */
ep_status ep_cuda_allocate(const ep_backend *backend, void **out, int64_t rows, int64_t row_bytes,
                           int64_t *total, ep_error *error);
void ep_cuda_free(void *memory); /* NULL is allowed */

#endif
