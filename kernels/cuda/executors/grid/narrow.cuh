/* narrow.cuh: the first of the front layers of cuda/grid, as long as they are narrow: a warp takes
 * a row through all of them, forward and backward, and waits for nobody. A lane has an output, or
 * two. In float32, whatever the job allows. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_NARROW_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_NARROW_CUH

#include "kernels/cuda/executors/grid/layers.cuh"

constexpr int LANES_EACH = EP_GRID_NARROW / WARP; /* outputs that a lane has */

/* Of activations in shared memory: a multiple of eight, and four, so that no two of a warp's loads
 * meet in a bank. */
static __device__ __forceinline__ int eights(int count) {
  return (count + 7) / 8 * 8;
}
static __device__ __forceinline__ int line_of(int count) {
  return eights(count) + 4;
}

static __device__ __forceinline__ float *rows_of(int turn) {
  return block_memory + args_of().rows_at + turn % 2 * args_of().rows_floats;
}

/* What a row holds between narrow layers. */
static __device__ __forceinline__ float *narrow_of(int turn, int row) {
  return block_memory + args_of().narrow_at + (2 * row + turn % 2) * EP_GRID_NARROW_LINE;
}

/* Layer l of a row. first: the group's first row in the batch. */
static __device__ __forceinline__ void row_forward(const layer &of, int l, int row, int first) {
  const args &s = args_of();
  const float *weights = block_memory + s.image_at + of.image,
              *bias = weights + of.out * of.image_stride;
  const float *x = l == 0 ? rows_of(0) + row * line_of(of.in) : narrow_of(l, row);
  float *to = l == s.narrow - 1 ? rows_of(1) + row * line_of(of.out) : narrow_of(l + 1, row);
  float *slopes = block_memory + of.slopes + row * line_of(of.out);
  long long offset = (long long)(first + row) * of.stride;
  int lane = threadIdx.x % WARP;
  float z[LANES_EACH];
#pragma unroll
  for (int i = 0; i < LANES_EACH; i++)
    z[i] = of.bias >= 0 && lane + i * WARP < of.out ? bias[lane + i * WARP] : 0;
#pragma unroll 4
  for (int k = 0; k < of.in; k += 4) {
    four of_x = four_of(x + k);
#pragma unroll
    for (int i = 0; i < LANES_EACH; i++) {
      int o = lane + i * WARP;
      if (i > 0 && i * WARP >= of.out) continue;
      four w = four_of(weights + (o < of.out ? o : of.out - 1) * of.image_stride + k);
#pragma unroll
      for (int e = 0; e < 4; e++) z[i] = fmaf(w.of[e], of_x.of[e], z[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < LANES_EACH; i++) {
    int o = lane + i * WARP;
    if (o >= eights(of.out)) continue;
    bool there = o < of.out;
    activated a = activate(of, z[i]);
    to[o] = there ? a.y : 0;
    slopes[o] = a.slope;
    if (!there) continue;
    s.scratch[of.after + offset + o] = a.y;
    if (l == s.front - 1) s.scratch[of.grad + offset + o] = a.slope; /* for the wide layer behind */
  }
  __syncwarp();
}

/* The gradient of a row by a layer's output becomes that by the output before it. */
static __device__ __forceinline__ void row_backward(const layer &of, const layer &before,
                                                    const float *from, float *to, int row,
                                                    int first) {
  const args &s = args_of();
  const float *weights = block_memory + s.image_at + of.image;
  const float *slopes = block_memory + before.slopes + row * line_of(before.out);
  float *grad = s.scratch + before.grad + (long long)(first + row) * before.stride;
  int lane = threadIdx.x % WARP, last = of.out - 1;
  float sum[LANES_EACH] = {};
#pragma unroll 2
  for (int o = 0; o < of.out; o += 4) {
    four g = four_of(from + o); /* zero behind the last */
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int i = 0; i < LANES_EACH; i++) {
        if (i > 0 && i * WARP >= of.in) continue;
        int k = lane + i * WARP;
        float w = weights[(o + e < last ? o + e : last) * of.image_stride + (k < of.in ? k : 0)];
        sum[i] = fmaf(w, g.of[e], sum[i]);
      }
  }
#pragma unroll
  for (int i = 0; i < LANES_EACH; i++) {
    int k = lane + i * WARP;
    if (k >= eights(before.out)) continue;
    float value = k < before.out ? sum[i] * slopes[k] : 0;
    to[k] = value;
    if (k < before.out) grad[k] = value;
  }
  __syncwarp();
}

/* The narrow layers of `rows` rows, from buffer 0 to buffer 1. */
static __device__ __noinline__ void narrow_forward(int rows, int first) {
  const args &s = args_of();
#pragma unroll 1
  for (int row = threadIdx.x / WARP; row < rows; row += WARPS)
#pragma unroll 1
    for (int l = 0; l < s.narrow; l++) {
      const layer of = s.layers[l];
      row_forward(of, l, row, first);
    }
  __syncthreads();
}

/* From the gradient by the last narrow layer's output, in buffer `turn`. */
static __device__ __noinline__ void narrow_backward(int rows, int turn, int first) {
  const args &s = args_of();
#pragma unroll 1
  for (int row = threadIdx.x / WARP; row < rows; row += WARPS)
#pragma unroll 1
    for (int l = s.narrow - 1; l > 0; l--) {
      const layer of = s.layers[l], before = s.layers[l - 1];
      const float *from =
          l == s.narrow - 1 ? rows_of(turn) + row * line_of(of.out) : narrow_of(l, row);
      row_backward(of, before, from, narrow_of(l - 1, row), row, first);
    }
  __syncthreads();
}

#endif
