/* descent.cuh: a wide layer's way back in one pass over its weights, for cuda/grid: the gradient by
 * its input, and, while a piece of the weights lies in shared memory, their own gradient and the
 * update by SGD. Each piece is one block's alone, so that nobody else has to read it as it was. */
#ifndef EP_KERNELS_CUDA_GRID_DESCENT_CUH
#define EP_KERNELS_CUDA_GRID_DESCENT_CUH

#include "kernels/cuda/grid/updates.cuh"

/* The layer's input beside the stages of the product: all rows by the task's inputs. */
struct descent_shape : large<true> {
  static constexpr int X_STRIDE = M + 8, OUTPUTS = K, WARPS_EACH = GROUP / WARP;
  static constexpr int INPUTS = M / WARPS_EACH; /* of a warp, by all outputs of a stage */
  static constexpr int FRAGMENTS = OUTPUTS / 16, TILES = INPUTS / 8;
  typedef strip<N, M, X_STRIDE, THREADS> x_strip;
  static_assert(WK * DEPTH * STAGE + N * X_STRIDE <= EP_GRID_DESCENT_AREA, "what plan.c reserves");
};

/* The gradient of a stage's weights and their update. to: of the stage's first output and the
 * task's first input, [outputs, stride]; outputs, inputs: what there is of them. */
template <bool PRECISE>
static __device__ __forceinline__ void stage_descend(const float *stage, const float *x, int rows,
                                                     const update_way &way, float decay, float *to,
                                                     int stride, int outputs, int inputs) {
  typedef descent_shape S;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  int input = threadIdx.x % S::GROUP / WARP * S::INPUTS;
  const float *a = stage + S::A_FLOATS + 2 * g + t * S::B_STRIDE;
  const float *b = x + input + 2 * g + t * S::X_STRIDE;
  float d[S::FRAGMENTS][S::TILES][4] = {};
#pragma unroll 1
  for (int k = 0; k < rows; k += 8, a += 8 * S::B_STRIDE, b += 8 * S::X_STRIDE) {
    part of_a[S::FRAGMENTS][4];
#pragma unroll
    for (int i = 0; i < S::FRAGMENTS; i++)
#pragma unroll
      for (int q = 0; q < 2; q++) {
        float2 two = *(const float2 *)(a + 4 * q * S::B_STRIDE + i * 16);
        of_a[i][2 * q] = part_of<PRECISE>(two.x);
        of_a[i][2 * q + 1] = part_of<PRECISE>(two.y);
      }
#pragma unroll
    for (int j = 0; j < S::TILES; j += 2) {
      float2 b0 = *(const float2 *)(b + j * 8), b1 = *(const float2 *)(b + 4 * S::X_STRIDE + j * 8);
#pragma unroll
      for (int i = 0; i < S::FRAGMENTS; i++) {
        multiply<PRECISE>(d[i][j], of_a[i], part_of<PRECISE>(b0.x), part_of<PRECISE>(b1.x));
        multiply<PRECISE>(d[i][j + 1], of_a[i], part_of<PRECISE>(b0.y), part_of<PRECISE>(b1.y));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < S::FRAGMENTS; i++)
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int j = 0; j < S::TILES; j += 2) {
        int o = i * 16 + 2 * g + h, place = input + j * 8 + 4 * t;
        four weight = four_of(stage + o * S::A_STRIDE + place);
        four grad = {
            {d[i][j][2 * h], d[i][j + 1][2 * h], d[i][j][2 * h + 1], d[i][j + 1][2 * h + 1]}};
#pragma unroll
        for (int e = 0; e < 4; e++)
          weight.of[e] = update_plain(way, decay, weight.of[e], grad.of[e]);
        if (o < outputs && place < inputs) four_store(to + (long long)o * stride + place, weight);
      }
}

template <bool PRECISE> static __device__ __noinline__ void descent_run(int l, int awaits) {
  typedef descent_shape S;
  constexpr int TERMS = S::K * S::WK;
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[l], before = s.layers[l - 1];
  const ep_grid_cut cut = of.backward;
  float *area = block_memory + s.area_at, *x_tile = area + S::WK * S::DEPTH * S::STAGE;
  const matrix weights = weights_of(of), grad = grad_of(n, of), x = input_of(n, l);
  int tasks = cut.across * cut.down * cut.splits, group = (int)threadIdx.x / S::GROUP;
  float *mine = area + group * S::DEPTH * S::STAGE;
#pragma unroll 1
  for (int number = blockIdx.x; number < tasks; number += s.workers) {
    task at = task_of<S>(cut, number, of.out);
    int first = at.first + group * S::K, stages = (at.end - first + TERMS - 1) / TERMS;
    float c[S::MF][S::T][4] = {};
    S::a_strip of_a(weights, first, at.m);
    S::b_strip of_b(grad, at.n, first);
    S::x_strip(x, at.n, at.m).load(x_tile);
    of_a.load(mine);
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (awaits != EP_GRID_NONE)
      meeting_await(awaits);
    else
      __syncthreads();
    const update_way way = update_way_of();
    of_b.load(mine + S::A_FLOATS);
    asm volatile("cp.async.commit_group;" ::: "memory");
    int rows = n.rows - at.n < S::N ? n.rows - at.n : S::N;
#pragma unroll 1
    for (int k = 0; k < stages; k++) {
      float *here = mine + k % 2 * S::STAGE, *next = mine + (k + 1) % 2 * S::STAGE;
      asm volatile("cp.async.wait_all;" ::: "memory");
      group_sync<S::GROUP>(group);
      of_a.down(TERMS);
      of_b.right(TERMS);
      if (k + 1 < stages) {
        of_a.load(next);
        of_b.load(next + S::A_FLOATS);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      stage_multiply<S, PRECISE>(c, here);
      int output = first + k * TERMS;
      stage_descend<PRECISE>(here, x_tile, rows, way, of.weight_decay,
                             s.parameters + of.weight + (long long)output * of.in + at.m, of.in,
                             of.out - output, of.in - at.m);
    }
    __syncthreads();
    const backward_use use{n, before, at.n, at.m, has_slopes(l)};
    early<S, backward_use> with;
    task_end(c, area, cut, at, n.scratch + s.partials, counters_of(), n.turn, use, with);
  }
  meeting_await(awaits);
}

#endif
