/* probe_kernel.h: a kernel that shows whether this device runs ours. */
#ifndef EP_KERNELS_CUDA_RUNTIME_PROBE_KERNEL_H
#define EP_KERNELS_CUDA_RUNTIME_PROBE_KERNEL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether this device can load the kernels at all. generation: what they are compiled for, 90 for
 * 9.0, written. */
cudaError_t ep_cuda_probe_load(int *generation);
/* squares[i] = i^2, twice_identity = 2 I; both [side, side], written. */
cudaError_t ep_cuda_probe_fill(cudaStream_t stream, int side, float *squares,
                               float *twice_identity);

#ifdef __cplusplus
}
#endif
#endif
