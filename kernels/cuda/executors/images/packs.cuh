/* packs.cuh: 16 bytes of a pixel's channels at once, who works on which, and how they are added up.
 */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_PACKS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_PACKS_CUH

#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

/* A number as it lies in memory: bfloat16 or float32, as `half` of the C functions says. */
template <typename T> constexpr int PACK = EP_IMAGES_PACK_BYTES / (int)sizeof(T);

/* Calls `run` with a number of the type that `half` says. */
template <typename Run> static inline void with_numbers(bool half, Run run) {
  if (half)
    run(half_number());
  else
    run(0.0f);
}

/* 16 bytes as they lie in memory, and as floats. */
static __device__ inline void spread(const uint4 &all, float (&to)[PACK<half_number>]) {
  const uint32_t words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

static __device__ inline void spread(const uint4 &all, float (&to)[PACK<float>]) {
  to[0] = __uint_as_float(all.x);
  to[1] = __uint_as_float(all.y);
  to[2] = __uint_as_float(all.z);
  to[3] = __uint_as_float(all.w);
}

template <typename T> static __device__ inline uint4 fetch(const T *from) {
  return *(const uint4 *)from;
}

template <typename T> static __device__ inline void fetch(const T *from, float (&to)[PACK<T>]) {
  spread(fetch(from), to);
}

/* Four channels of a pixel in three parts: ep_images_split. */
static __device__ inline void split_store(float *to, int64_t pixel, int64_t pitch, int64_t channel,
                                          const float (&value)[PACK<float>]) {
  float high[PACK<float>], low[PACK<float>];
#pragma unroll
  for (int i = 0; i < PACK<float>; i++) {
    high[i] = tf32_rounded(value[i]);
    low[i] = value[i] - high[i];
  }
  float *mine = to + pixel * EP_IMAGES_PARTS * pitch + channel;
  store<PACK<float>>(mine, high);
  store<PACK<float>>(mine + pitch, low);
  store<PACK<float>>(mine + 2 * pitch, high);
}

/* Threads side by side take the packs of a pixel, one above the other the pixels: a thread stays
 * with its channels. */
enum { EP_IMAGES_THREADS = 256, EP_IMAGES_ACROSS = 32 };

static inline dim3 threads_of(int64_t packs) {
  int64_t groups = (packs + EP_IMAGES_ACROSS - 1) / EP_IMAGES_ACROSS;
  unsigned int across = (unsigned int)((packs + groups - 1) / groups);
  return dim3(across, EP_IMAGES_THREADS / across);
}

/* `each`: pixels that a thread should have. */
static inline dim3 blocks_of(int64_t packs, int64_t pixels, int64_t each) {
  dim3 threads = threads_of(packs);
  return dim3(ep_cuda_blocks(pixels, each * threads.y),
              (unsigned int)((packs + threads.x - 1) / threads.x));
}

/* The pixels or windows of a thread. */
static __device__ int first_of(void) {
  return (int)(blockIdx.x * blockDim.y + threadIdx.y);
}
static __device__ int stride_of(void) {
  return (int)(gridDim.x * blockDim.y);
}

/* The sums of this block's threads over its lines, in the threads of the first line; `held` is of
 * the block. Each round adds the lower half of the lines to the upper. All threads call. */
template <int M>
static __device__ void lines_sum(float (&sum)[M], float (&held)[M][EP_IMAGES_THREADS]) {
  const int mine = (int)(threadIdx.y * blockDim.x + threadIdx.x);
#pragma unroll
  for (int i = 0; i < M; i++) held[i][mine] = sum[i];
  __syncthreads();
  for (int lines = (int)blockDim.y; lines > 1;) {
    const int kept = (lines + 1) / 2;
    if ((int)threadIdx.y + kept < lines) {
#pragma unroll
      for (int i = 0; i < M; i++) held[i][mine] = sum[i] += held[i][mine + kept * (int)blockDim.x];
    }
    __syncthreads();
    lines = kept;
  }
}

/* The sums of this block's threads, channel by channel, into its slice: [2, pitch, slices]. */
template <int N>
static __device__ void block_sums(float *sums, int64_t pitch, int64_t channel,
                                  const float (&sum)[N], const float (&product)[N]) {
  __shared__ float held[2 * N][EP_IMAGES_THREADS];
  float both[2 * N];
#pragma unroll
  for (int i = 0; i < N; i++) both[i] = sum[i];
#pragma unroll
  for (int i = 0; i < N; i++) both[N + i] = product[i];
  lines_sum(both, held);
  if (threadIdx.y > 0 || channel >= pitch) return;
#pragma unroll
  for (int i = 0; i < 2 * N; i++)
    sums[(i / N * pitch + channel + i % N) * gridDim.x + blockIdx.x] = both[i];
}

/* The same of one sum alone, in the order of a weight's slices: [slices, pitch]. */
template <int N>
static __device__ void block_sum(float *sums, int64_t pitch, int64_t channel, float (&sum)[N]) {
  __shared__ float held[N][EP_IMAGES_THREADS];
  lines_sum(sum, held);
  if (threadIdx.y > 0 || channel >= pitch) return;
#pragma unroll
  for (int i = 0; i < N; i++) sums[blockIdx.x * pitch + channel + i] = sum[i];
}

#endif
