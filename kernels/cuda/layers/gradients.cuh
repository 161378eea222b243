/* gradients.cuh: a list of gradients, as the kernels that walk it see it: a thread a parameter. */
#ifndef EP_KERNELS_CUDA_LAYERS_GRADIENTS_CUH
#define EP_KERNELS_CUDA_LAYERS_GRADIENTS_CUH

#include "kernels/cuda/layers/kernels.h"

/* This block's row of a list: the last that begins at or before it. */
static __device__ int ep_cuda_gradient_of_block(const ep_cuda_gradient *gradients, int count) {
  int low = 0, high = count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (gradients[middle].first_block <= blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* The gradient of a row's parameter `at`: its slices, added up. */
static __device__ float ep_cuda_gradient_at(const ep_cuda_gradient &of, int64_t at) {
  float grad = of.gradient[at];
#pragma unroll 8
  for (int slice = 1; slice < of.slices; slice++) grad += of.gradient[slice * of.stride + at];
  return grad;
}

/* Moves a row's parameter `at` by its gradient, with the clock's rates. */
static __device__ void ep_cuda_parameter_step(const ep_cuda_update &update,
                                              const ep_cuda_gradient &of, int64_t at, float grad) {
  const ep_optimizer *optimizer = &update.optimizer;
  const int64_t place = of.first + at;
  const float scale = optimizer->clip_norm > 0 ? update.clock->clip_scale : 1;
  const ep_optimizer_step now = update.clock->update;
  update.parameters[place] = ep_optimizer_update(
      optimizer, &now, of.weight_decay, update.parameters[place], ep_clip(optimizer, scale, grad),
      update.state ? update.state + place : NULL, update.state_stride);
}

#endif
