/* The update that ends a step: a thread a parameter, which first adds up the slices of its
 * gradient. */
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/formulas/optimizers.h"

static __global__ void step(ep_optimizer optimizer, const ep_cuda_gradient *gradients,
                            int gradients_count, const ep_cuda_clock *clock, float *parameters,
                            float *velocity) {
  int low = 0, high = gradients_count - 1; /* the last that begins at or before this block */
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (gradients[middle].first_block <= blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  ep_cuda_gradient of = gradients[low];
  int64_t at = (blockIdx.x - of.first_block) * EP_CUDA_UPDATE_THREADS + threadIdx.x;
  if (at >= of.count) return;
  float grad = of.gradient[at];
  for (int slice = 1; slice < of.slices; slice++) grad += of.gradient[slice * of.count + at];
  float *v = velocity ? velocity + of.first + at : NULL;
  parameters[of.first + at] = ep_sgd(&optimizer, clock->lr_now, parameters[of.first + at], grad, v);
}

cudaError_t ep_cuda_optimizer_step(cudaStream_t stream, const ep_optimizer *optimizer,
                                   const ep_cuda_gradient *gradients, int gradients_count,
                                   int64_t blocks, const ep_cuda_clock *clock, float *parameters,
                                   float *velocity) {
  step<<<(unsigned int)blocks, EP_CUDA_UPDATE_THREADS, 0, stream>>>(
      *optimizer, gradients, gradients_count, clock, parameters, velocity);
  return cudaGetLastError();
}
