/* The update that ends a step, and the copies of the parameters that it leaves for the next, in
 * bfloat16 or rounded to TF32: each parameter, its gradient and its state are read and written
 * once. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/executors/gemm/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = 256, EACH = EP_GEMM_UPDATE_PARAMETERS / THREADS };
static_assert(EACH % 4 == 0, "a thread's parameters are a few float4");
static_assert((int)EP_GEMM_UPDATE_SLICED == (int)THREADS, "then it has one, and its slices");

/* This block's tensor: the last that begins at or before it. */
static __device__ const ep_gemm_tensor *tensor_of(const ep_gemm_update &update) {
  int low = 0, high = update.count - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (update.tensors[middle].first_block <= blockIdx.x)
      low = middle;
    else
      high = middle - 1;
  }
  return &update.tensors[low];
}

/* The parameter's new value; `at`: its place in the tensor. */
static __device__ float stepped(const ep_gemm_update &update, const ep_gemm_tensor &of,
                                const ep_optimizer_step &now, int64_t at, float parameter,
                                float grad) {
  float *state = update.state ? update.state + of.first + at : NULL;
  return ep_optimizer_update(&update.optimizer, &now, of.weight_decay, parameter,
                             ep_clip(&update.optimizer, 1, grad), state, update.state_stride);
}

/* N neighbours of a copy. */
template <int N>
static __device__ void copy_write(const ep_gemm_update &update, const ep_gemm_tensor &of,
                                  int64_t at, const float (&values)[N]) {
  if (update.half) return store<N>((half_number *)of.copy + at, values);
  float rounded[N];
  for (int i = 0; i < N; i++) rounded[i] = tf32_rounded(values[i]);
  store<N>((float *)of.copy + at, rounded);
}

/* Rows without gaps, all on 16 bytes: a thread has a few groups of four neighbours, THREADS groups
 * apart. All that is read for them, before anything is written. */
template <bool trains>
static __device__ void fours(const ep_gemm_update &update, const ep_gemm_tensor &of,
                             const ep_optimizer_step &now, int64_t first, int64_t count) {
  float4 value[EACH / 4], grad[EACH / 4];
#pragma unroll
  for (int i = 0; i < EACH / 4; i++) {
    int64_t at = first + 4 * i * THREADS;
    if (at >= count) break;
    value[i] = *(const float4 *)(update.parameters + of.first + at);
    if (trains) grad[i] = *(const float4 *)(of.gradient + at);
  }
#pragma unroll
  for (int i = 0; i < EACH / 4; i++) {
    int64_t at = first + 4 * i * THREADS;
    if (at >= count) break;
    if (trains) {
      value[i].x = stepped(update, of, now, at, value[i].x, grad[i].x);
      value[i].y = stepped(update, of, now, at + 1, value[i].y, grad[i].y);
      value[i].z = stepped(update, of, now, at + 2, value[i].z, grad[i].z);
      value[i].w = stepped(update, of, now, at + 3, value[i].w, grad[i].w);
      *(float4 *)(update.parameters + of.first + at) = value[i];
    }
    if (!of.copy) continue;
    const float four[4] = {value[i].x, value[i].y, value[i].z, value[i].w};
    copy_write(update, of, at, four);
  }
}

/* Any tensor: a thread's parameters are a block's width apart. */
template <bool trains>
static __device__ void one(const ep_gemm_update &update, const ep_gemm_tensor &of,
                           const ep_optimizer_step &now, int64_t at) {
  int64_t padded = at / of.columns * of.pitch + at % of.columns;
  float *place = update.parameters + of.first + at, value = *place;
  if (trains) {
    float grad = of.gradient[padded];
#pragma unroll 16
    for (int slice = 1; slice < of.slices; slice++) grad += of.gradient[slice * of.stride + padded];
    *place = value = stepped(update, of, now, at, value, grad);
  }
  const float alone[1] = {value};
  if (of.copy) copy_write(update, of, padded, alone);
}

template <bool trains>
static __global__ void __launch_bounds__(THREADS) step(ep_gemm_update update) {
  const ep_gemm_tensor of = *tensor_of(update);
  ep_optimizer_step now = {};
  if (trains && of.gradient) now = update.clock->update;
  bool copies = of.copy && (of.moved || !trains);
  if (!copies && !(trains && of.gradient)) return;
  int64_t each = of.slices > 1 ? EP_GEMM_UPDATE_SLICED : EP_GEMM_UPDATE_PARAMETERS;
  int64_t count = of.rows * of.columns, base = (blockIdx.x - of.first_block) * each;
  bool whole = of.columns == of.pitch && of.first % 4 == 0 && count % 4 == 0 && of.slices == 1;
  if (whole && copies)
    fours<false>(update, of, now, base + 4 * threadIdx.x, count);
  else if (whole)
    fours<trains>(update, of, now, base + 4 * threadIdx.x, count);
  if (whole) return;
  for (int64_t at = base + threadIdx.x; at < count && at < base + each; at += THREADS)
    if (copies)
      one<false>(update, of, now, at);
    else
      one<trains>(update, of, now, at);
}

static __global__ void scale(const ep_cuda_clock *clock, int count, const float *decay,
                             float *scales) {
  float lr = clock->update.lr;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    scales[2 * i] = -lr;
    scales[2 * i + 1] = 1 - lr * decay[i];
  }
}

cudaError_t ep_gemm_scale(cudaStream_t stream, const ep_cuda_clock *clock, int count,
                          const float *decay, float *scales) {
  scale<<<1, WARP, 0, stream>>>(clock, count, decay, scales);
  return cudaGetLastError();
}

cudaError_t ep_gemm_update_step(cudaStream_t stream, const ep_gemm_update *update) {
  if (update->step_blocks == 0) return cudaSuccess; /* the products have moved all there is */
  step<true><<<(unsigned int)update->step_blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}

cudaError_t ep_gemm_copy(cudaStream_t stream, const ep_gemm_update *update) {
  step<false><<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}
