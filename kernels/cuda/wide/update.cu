/* The update that ends a step, and the copies of the parameters in bfloat16 that it leaves for the
 * next: each parameter, its gradient and its state are read and written once. */
#include <cuda_bf16.h>

#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/wide/kernels.h"

enum { THREADS = 256, EACH = EP_WIDE_UPDATE_PARAMETERS / THREADS };
static_assert(EACH == 4, "a thread's parameters are one float4");

/* This block's tensor: the last that begins at or before it. */
static __device__ const ep_wide_tensor *tensor_of(const ep_wide_update &update) {
  int i = update.count - 1;
  while (i > 0 && update.tensors[i].first_block > blockIdx.x) i--;
  return &update.tensors[i];
}

/* The parameter's new value; `at`: its place in the tensor. */
static __device__ float stepped(const ep_wide_update &update, const ep_wide_tensor &of,
                                const ep_optimizer_step &now, int64_t at, float parameter,
                                float grad) {
  float *state = update.state ? update.state + of.first + at : NULL;
  return ep_optimizer_update(&update.optimizer, &now, of.weight_decay, parameter,
                             ep_clip(&update.optimizer, 1, grad), state, update.state_stride);
}

/* Rows without gaps, all on 16 bytes: a thread's four parameters are neighbours. */
template <bool trains>
static __device__ void four(const ep_wide_update &update, const ep_wide_tensor &of,
                            const ep_optimizer_step &now, int64_t at) {
  float4 *place = (float4 *)(update.parameters + of.first + at);
  float4 value = *place;
  if (trains) {
    float4 grad = *(const float4 *)(of.gradient + at);
    for (int slice = 1; slice < of.slices; slice++) {
      float4 more = *(const float4 *)(of.gradient + slice * of.stride + at);
      grad.x += more.x, grad.y += more.y, grad.z += more.z, grad.w += more.w;
    }
    value.x = stepped(update, of, now, at, value.x, grad.x);
    value.y = stepped(update, of, now, at + 1, value.y, grad.y);
    value.z = stepped(update, of, now, at + 2, value.z, grad.z);
    value.w = stepped(update, of, now, at + 3, value.w, grad.w);
    *place = value;
  }
  if (!of.copy) return;
  __nv_bfloat162 halves[2] = {__floats2bfloat162_rn(value.x, value.y),
                              __floats2bfloat162_rn(value.z, value.w)};
  *(uint2 *)((__nv_bfloat16 *)of.copy + at) = *(const uint2 *)halves;
}

/* Any tensor: a thread's parameters are a block's width apart. */
template <bool trains>
static __device__ void one(const ep_wide_update &update, const ep_wide_tensor &of,
                           const ep_optimizer_step &now, int64_t at) {
  int64_t padded = at / of.columns * of.pitch + at % of.columns;
  float *place = update.parameters + of.first + at, value = *place;
  if (trains) {
    float grad = of.gradient[padded];
    for (int slice = 1; slice < of.slices; slice++) grad += of.gradient[slice * of.stride + padded];
    *place = value = stepped(update, of, now, at, value, grad);
  }
  if (of.copy) ((__nv_bfloat16 *)of.copy)[padded] = __float2bfloat16_rn(value);
}

template <bool trains>
static __global__ void __launch_bounds__(THREADS) step(ep_wide_update update) {
  const ep_wide_tensor of = *tensor_of(update);
  ep_optimizer_step now = {};
  if (trains) {
    if (!of.gradient) return;
    now = update.clock->update;
  } else if (!of.copy) {
    return;
  }
  int64_t count = of.rows * of.columns, base = (blockIdx.x - of.first_block) * THREADS * EACH;
  bool whole = of.columns == of.pitch && of.first % 4 == 0 && count % 4 == 0 && of.stride % 4 == 0;
  if (whole) {
    int64_t at = base + EACH * threadIdx.x;
    if (at < count) four<trains>(update, of, now, at);
    return;
  }
  for (int64_t at = base + threadIdx.x; at < count && at < base + THREADS * EACH; at += THREADS)
    one<trains>(update, of, now, at);
}

cudaError_t ep_wide_step(cudaStream_t stream, const ep_wide_update *update) {
  step<true><<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}

cudaError_t ep_wide_copy(cudaStream_t stream, const ep_wide_update *update) {
  step<false><<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}
