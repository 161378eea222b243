/* packs.cuh: 16 bytes of a pixel's channels at once, and who works on which. */
#ifndef EP_KERNELS_CUDA_IMAGES_PACKS_CUH
#define EP_KERNELS_CUDA_IMAGES_PACKS_CUH

#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/wide/numbers.cuh"

template <typename T> static constexpr int PACK = 16 / (int)sizeof(T);

/* Of memory that the kernel does not write: reading it again costs nothing. */
static __device__ inline void fetch(const float *from, float (&to)[4]) {
  float4 all = __ldg((const float4 *)from);
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}

static __device__ inline void fetch(const half_number *from, float (&to)[8]) {
  uint4 all = __ldg((const uint4 *)from);
  const uint32_t words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
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

#endif
