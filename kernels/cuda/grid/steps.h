/* steps.h: the launch of cuda/grid's kernel. */
#ifndef EP_KERNELS_CUDA_GRID_STEPS_H
#define EP_KERNELS_CUDA_GRID_STEPS_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/grid/span.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernel is compiled for: for what is older it is empty. */
enum { EP_GRID_GENERATION = 90 };

/* The most dynamic shared memory of any launch to come on this device. */
cudaError_t ep_cuda_grid_prepare(bool precise, int shared_bytes);

/* How many such launches of a cluster the device has room for at once, after that: 0 where it finds
 * no neighbours. */
cudaError_t ep_cuda_grid_clusters(const ep_grid_span *span, int blocks, int shared_bytes, int *out);

/* Queues the span's steps. Its barrier, and the counters behind it, must be zero by then. */
cudaError_t ep_cuda_grid_steps(cudaStream_t stream, const ep_grid_span *span, int blocks,
                               int shared_bytes);

#ifdef __cplusplus
}
#endif
#endif
