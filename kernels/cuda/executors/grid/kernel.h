/* kernel.h: cuda/grid's kernel. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_KERNEL_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_KERNEL_H

#include <cuda_runtime_api.h>

#include "kernels/cuda/executors/grid/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel, compiled with the plug-in. Its barrier, and the counters behind it, must be zero at
 * the launch. */
cudaError_t ep_cuda_grid_kernel(bool precise, cudaKernel_t *out);

#ifdef __cplusplus
}
#endif
#endif
