/* prologue.cuh: the front layers of cuda/grid: those whose weights fit a block's shared memory all
 * together. Each block takes some rows through all of them, forward and backward, without waiting
 * for any other. The weights lie in the scratch as they lie in shared memory (the image), so that a
 * block fetches them by one copy, or a cluster's blocks a part each for all of them. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PROLOGUE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PROLOGUE_CUH

#include "kernels/cuda/executors/grid/narrow.cuh"
#include "kernels/cuda/executors/grid/output_loss.cuh"

/* --- the image ------------------------------------------------------------------------------- */

/* Writes the mirrors, of which the image is made, from the parameters: at the start of a launch. */
static __device__ void mirrors_make() {
  const args &s = args_of();
  for (int l = 0; l < s.layers_count; l++) {
    const layer of = s.layers[l];
    if (of.mirror < 0) continue;
    float *mirror = s.scratch + of.mirror;
    int weights = of.out * of.in, all = weights + (of.bias >= 0 ? of.out : 0);
    for (int e = blockIdx.x * THREADS + threadIdx.x; e < all; e += s.workers * THREADS) {
      if (e < weights)
        mirror[(long long)(e / of.in) * of.image_stride + e % of.in] = s.parameters[of.weight + e];
      else
        mirror[(long long)of.out * of.image_stride + e - weights] =
            s.parameters[of.bias + e - weights];
    }
  }
  async_fence();
}

/* One thread: starts the copy of the image; each block of a cluster fetches a part for all. */
static __device__ void image_fetch(unsigned long long *done) {
  const args &s = args_of();
  unsigned bar = shared_address(done), bytes = (unsigned)s.image_floats * 4;
  const char *from = (const char *)(s.scratch + s.image);
  unsigned to = shared_address(block_memory + s.image_at);
  async_fence_all();
  mbarrier_expect(bar, (int)bytes);
  if (s.cluster && gridDim.x > 1) {
    unsigned share = (bytes / 16 + gridDim.x - 1) / gridDim.x * 16, first = blockIdx.x * share;
    unsigned size = first >= bytes ? 0 : first + share < bytes ? share : bytes - first;
    if (size > 0)
      bulk_load_cluster(to + first, from + first, (int)size, bar,
                        (unsigned short)((1u << gridDim.x) - 1));
  } else {
    bulk_load(to, from, (int)bytes, bar);
  }
}

/* --- products of a block's rows -------------------------------------------------------------- */

/* 16 of what a layer gives, by eight rows T times. BACK: of the gradient by its input. */
template <int T, bool PRECISE, bool BACK>
static __device__ __forceinline__ void tile_multiply(float (&c)[T][4], const layer &of,
                                                     const float *weights, const float *x, int tile,
                                                     int part_number, int parts) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  int stride = of.image_stride, terms = eights(BACK ? of.out : of.in);
  int x_line = line_of(BACK ? of.out : of.in), last = of.out - 1;
  int m0 = tile * 16 + g, m1 = m0 + 8;
  float more[T][4];
#pragma unroll
  for (int j = 0; j < T; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[j][q] = more[j][q] = 0;
  if constexpr (!BACK) m0 = (m0 < last ? m0 : last) * stride, m1 = (m1 < last ? m1 : last) * stride;
  auto step = [&](int k, float(&sum)[T][4]) {
    hi_lo a[4];
    /* Which two terms a thread has of eight is free, if it is the same in both: going back,
     * neighbours, for the sake of the banks. */
    int k0 = BACK ? k + 2 * t : k + t, k1 = BACK ? k0 + 1 : k0 + 4;
    if constexpr (BACK) {
      const float *w0 = weights + (k0 < last ? k0 : last) * stride,
                  *w1 = weights + (k1 < last ? k1 : last) * stride;
      a[0] = hi_lo_of<PRECISE>(w0[m0]), a[1] = hi_lo_of<PRECISE>(w0[m1]);
      a[2] = hi_lo_of<PRECISE>(w1[m0]), a[3] = hi_lo_of<PRECISE>(w1[m1]);
    } else {
      a[0] = hi_lo_of<PRECISE>(weights[m0 + k0]), a[1] = hi_lo_of<PRECISE>(weights[m1 + k0]);
      a[2] = hi_lo_of<PRECISE>(weights[m0 + k1]), a[3] = hi_lo_of<PRECISE>(weights[m1 + k1]);
    }
#pragma unroll
    for (int j = 0; j < T; j++) {
      const float *line = x + (j * 8 + g) * x_line;
      multiply<PRECISE>(sum[j], a, hi_lo_of<PRECISE>(line[k0]), hi_lo_of<PRECISE>(line[k1]));
    }
  };
  int k = part_number * 8, stepping = parts * 8;
#pragma unroll 2
  for (; k + stepping < terms; k += 2 * stepping) {
    step(k, c);
    step(k + stepping, more);
  }
  if (k < terms) step(k, c);
#pragma unroll
  for (int j = 0; j < T; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[j][q] += more[j][q];
}

/* All tiles of `count` outputs, shared out over the warps; where there are few, several warps take
 * parts of a sum. use(m, row, sum) for each m below eights(count). */
template <int T, bool PRECISE, bool BACK, typename Use>
static __device__ __forceinline__ void tiles_run(const layer &of, const float *x, const Use &use) {
  const args &s = args_of();
  const float *weights = block_memory + s.image_at + of.image;
  int count = eights(BACK ? of.in : of.out), steps = eights(BACK ? of.out : of.in) / 8;
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  int tiles = (count + 15) / 16, shift = 0; /* 1 << shift warps take a tile */
  while (tiles << (shift + 1) <= WARPS && steps >= 4 << shift) shift++;
  int parts = 1 << shift, part_number = warp & (parts - 1);
  float *sums = block_memory + s.sums_at, c[T][4];
#pragma unroll 1
  for (int tile = warp >> shift; tile < tiles; tile += WARPS >> shift) {
    tile_multiply<T, PRECISE, BACK>(c, of, weights, x, tile, part_number, parts);
    if (parts > 1) break;
#pragma unroll
    for (int e = 0; e < T * 4; e++) {
      int m = tile * 16 + g + e % 4 / 2 * 8;
      if (m < count) use(m, e / 4 * 8 + 2 * t + e % 2, c[e / 4][e % 4]);
    }
  }
  if (parts == 1) return;
  int tile = warp >> shift;
  if (tile < tiles)
#pragma unroll
    for (int e = 0; e < T * 4; e++) sums[(warp * T * 4 + e) * WARP + lane] = c[e / 4][e % 4];
  __syncthreads();
  /* The parts of a tile are of neighbouring warps; each of them ends some of its numbers. */
#pragma unroll 1
  for (int e = part_number; e < T * 4 && tile < tiles; e += parts) {
    float sum = 0;
#pragma unroll 1
    for (int w = 0; w < parts; w++) sum += sums[(((tile << shift) + w) * T * 4 + e) * WARP + lane];
    int m = tile * 16 + g + e % 4 / 2 * 8;
    if (m < count) use(m, e / 4 * 8 + 2 * t + e % 2, sum);
  }
}

/* --- layers ---------------------------------------------------------------------------------- */

/* From buffer `turn` to the other. first: the group's first row in the batch. */
template <int T, bool PRECISE>
static __device__ __noinline__ void front_forward(int l, int turn, int first) {
  const args &s = args_of();
  const layer of = s.layers[l];
  const float *bias = block_memory + s.image_at + of.image + of.out * of.image_stride;
  float *to = rows_of(turn + 1), *slopes = block_memory + of.slopes;
  float *after = s.scratch + of.after, *grad = s.scratch + of.grad;
  int line = line_of(of.out);
  bool last = l == s.front - 1;
  tiles_run<T, PRECISE, false>(of, rows_of(turn), [&](int m, int row, float sum) {
    bool there = m < of.out;
    activated a = activate(of, sum + (there && of.bias >= 0 ? bias[m] : 0));
    to[row * line + m] = there ? a.y : 0;
    slopes[row * line + m] = a.slope;
    if (!there) return;
    int offset = (first + row) * of.stride + m;
    after[offset] = a.y;
    if (last) grad[offset] = a.slope; /* for the wide layer behind */
  });
  __syncthreads();
}

/* The gradient by layer l's output, in buffer `turn`, becomes that by the output before it, in the
 * other. */
template <int T, bool PRECISE>
static __device__ __noinline__ void front_backward(int l, int turn, int first) {
  const args &s = args_of();
  const layer of = s.layers[l], before = s.layers[l - 1];
  float *to = rows_of(turn + 1), *grad = s.scratch + before.grad;
  const float *slopes = block_memory + before.slopes;
  int line = line_of(before.out);
  tiles_run<T, PRECISE, true>(of, rows_of(turn), [&](int m, int row, float sum) {
    bool there = m < before.out;
    float value = there ? sum * slopes[row * line + m] : 0;
    to[row * line + m] = value;
    if (there) grad[(first + row) * before.stride + m] = value;
  });
  __syncthreads();
}

/* The last layer, when it is one of the front, and the loss: a row a warp. From buffer `turn` to
 * the other. */
static __device__ __noinline__ void front_head(int turn, int rows, int first) {
  const args &s = args_of();
  const now n = now_of();
  int l = s.layers_count - 1, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const layer of = s.layers[l];
  const float *weights = block_memory + s.image_at + of.image,
              *bias = weights + of.out * of.image_stride;
  int x_line = line_of(of.in), line = line_of(of.out);
#pragma unroll 1
  for (int row = warp; row < rows; row += WARPS) {
    const float *x = rows_of(turn) + row * x_line;
    float z = 0, grad = 0, target = first + row < n.rows ? row_target(n, first + row) : 0;
#pragma unroll 1
    for (int j = 0; j < of.out; j += 4) {
      float sum[4] = {0, 0, 0, 0};
#pragma unroll 2
      for (int k = lane; k < of.in; k += WARP) {
        float of_x = x[k];
#pragma unroll
        for (int i = 0; i < 4; i++)
          sum[i] = fmaf(weights[(j + i < of.out ? j + i : j) * of.image_stride + k], of_x, sum[i]);
      }
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float whole = warp_sum(sum[i]);
        if (lane == j + i) z = whole;
      }
    }
    if (of.bias >= 0 && lane < of.out) z += bias[lane];
    if (first + row < n.rows) {
      grad = row_grad(first + row, lane < of.out ? z : 0, target);
      if (lane < of.out) s.scratch[of.grad + (long long)(first + row) * of.stride + lane] = grad;
    }
    if (lane < eights(of.out)) rows_of(turn + 1)[row * line + lane] = grad;
  }
  __syncthreads();
}

/* --- groups of rows -------------------------------------------------------------------------- */

/* The rows of the training set, to buffer 0, zero beyond the batch; and to the inputs, for the
 * update of the first layer. */
static __device__ __forceinline__ void rows_take(const now &n, int rows, int first) {
  const args &s = args_of();
  const float *x = s.x;
  float *inputs = s.scratch + s.inputs;
  int in = s.layers[0].in, wide = eights(in), line = line_of(in);
  float *to = rows_of(0);
#pragma unroll 1
  for (int row = threadIdx.x / WARP; row < rows; row += WARPS) {
    bool there = first + row < n.rows;
    const float *from = x + (there ? row_of(n, first + row) : 0) * in;
#pragma unroll 8
    for (int k = threadIdx.x % WARP; k < wide; k += WARP) {
      float value = there && k < in ? from[k] : 0;
      to[row * line + k] = value;
      if (there && k < in) inputs[(long long)(first + row) * s.inputs_stride + k] = value;
    }
  }
}

/* All front layers, from the gradient by the last one's output in buffer `turn`. */
template <int T, bool PRECISE>
static __device__ __forceinline__ void layers_backward(int turn, int first) {
  const args &s = args_of();
  for (int l = s.front - 1; l > 0 && l >= s.narrow; l--, turn++)
    front_backward<T, PRECISE>(l, turn, first);
  if (s.narrow > 0) narrow_backward(T * EP_GRID_GROUP, turn, first);
}

/* Takes this block's groups forward, and back when there is no wide layer behind. */
template <int T, bool PRECISE>
static __device__ void groups_forward(unsigned long long *done, unsigned parity) {
  const args &s = args_of();
  const now n = now_of();
  constexpr int ROWS = T * EP_GRID_GROUP;
  bool whole = s.front == s.layers_count, waits = true;
  for (int first = blockIdx.x * ROWS; first < n.rows; first += gridDim.x * ROWS) {
    rows_take(n, ROWS, first);
    if (waits) mbarrier_wait(shared_address(done), (int)parity);
    waits = false;
    __syncthreads();
    int turn = 0;
    if (s.narrow > 0) narrow_forward(ROWS, first), turn++;
    for (int l = s.narrow; l < s.front - whole; l++) front_forward<T, PRECISE>(l, turn++, first);
    if (!whole) continue;
    front_head(turn++, ROWS, first);
    layers_backward<T, PRECISE>(turn, first);
  }
  if (waits) mbarrier_wait(shared_address(done), (int)parity);
}

/* Takes this block's only group back from the gradient by the front's output. */
template <int T, bool PRECISE> static __device__ void groups_backward() {
  const args &s = args_of();
  const now n = now_of();
  constexpr int ROWS = T * EP_GRID_GROUP;
  const layer of = s.layers[s.front - 1];
  int first = blockIdx.x * ROWS, wide = eights(of.out), line = line_of(of.out);
  if (first >= n.rows) return;
  float *to = rows_of(0);
  for (int e = threadIdx.x; e < ROWS * wide; e += THREADS) {
    int row = e / wide, m = e % wide;
    bool there = first + row < n.rows && m < of.out;
    to[row * line + m] = there ? s.scratch[of.grad + (long long)(first + row) * of.stride + m] : 0;
  }
  __syncthreads();
  layers_backward<T, PRECISE>(0, first);
}

#endif
