/* whole.cuh: products of layers that are not wide, for cuda/grid: a block has one task, a tile of
 * the result with all terms of its sums. Arithmetic is the smallest part of such a phase, what it
 * waits for the greatest: the copy engine brings all weights of the tile while the layer before it
 * is awaited, and then the rows, which one thread asks for as soon as it sees them. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_WHOLE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_WHOLE_CUH

#include "kernels/cuda/executors/grid/layers.cuh"

/* The thread that asks for weights; AWAITS asks for rows. Neither is of the warp that arrives at
 * the end of a phase, which stands still until the block's stores can be seen. */
constexpr int HOLDS = AWAITS - WARP;

/* A tile: all terms of M of the weights' outputs, or inputs, and EP_GRID_WHOLE_N rows of the batch,
 * of which `box` lines of terms are a part; two of these lie in shared memory. */
template <int M> struct whole_tile {
  const ep_cuda_tensor_map *a, *b;
  float *weights, *rows; /* in shared memory */
  int box, parts;
  int at_m, at_n;
  __device__ __forceinline__ int rows_floats() const { return EP_GRID_WHOLE_N * box * LINE; }
  /* HOLDS. BACK: [M / LINE, terms, LINE], else [terms / LINE, M, LINE]. */
  template <bool BACK> __device__ __forceinline__ void weights_load(unsigned barrier) const {
    const int floats = M * box * LINE;
    async_fence();
    mbarrier_expect(barrier, floats * parts * (int)sizeof(float));
#pragma unroll 1
    for (int part = 0; part < parts; part++)
      if constexpr (BACK)
#pragma unroll 1
        for (int i = 0; i < M / LINE; i++)
          tma_load_lines(shared_address(weights + (i * parts + part) * LINE * box * LINE), a,
                         barrier, part * box * LINE, at_m / LINE + i);
      else
        tma_load_lines(shared_address(weights + part * floats), a, barrier, at_m, part * box);
  }
  /* AWAITS. [box, EP_GRID_WHOLE_N, LINE] */
  __device__ __forceinline__ void rows_load(int part, int slot, unsigned barrier) const {
    mbarrier_expect(barrier, rows_floats() * (int)sizeof(float));
    tma_load_lines(shared_address(rows + slot * rows_floats()), b, barrier, at_n, part * box);
  }
};

/* c += a b over the eights of terms from `first` up to `end` of a part: 32 of M by all rows of the
 * tile. weights: of the part and of the 32. Of eight terms a thread has two
 * neighbours; BACK, where these lie across, t and t + 4, and of 16 inputs, two neighbours. Which
 * they are is chosen so that no loads of a warp's half meet in a bank. */
template <bool BACK, int M>
static __device__ __forceinline__ void whole_multiply(float (&c)[2][EP_GRID_WHOLE_N / 8][4],
                                                      const float *weights, const float *rows,
                                                      int first, int end) {
  const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
#pragma unroll 2
  for (int eight = first; eight < end; eight++) {
    const int line = eight / 4, s = eight % 4;
    const int offset = (ep_grid_whole_terms(s, t) ^ g) * 4 + t % 2 * 2;
    const float *of_line = rows + (line * EP_GRID_WHOLE_N + g) * LINE;
    hi_lo of_a[2][4];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
      for (int q = 0; q < 2; q++) {
        const float *from =
            BACK ? weights + ep_grid_line_offset(eight * 8 + t + q * 4, ep_grid_whole_four(g, i)) +
                       g % 2 * 2
                 : weights + (line * M + i * 16 + q * 8 + g) * LINE + offset;
        float2 two = *(const float2 *)from;
        of_a[i][BACK ? 2 * q : q] = hi_lo_of<false>(two.x);
        of_a[i][BACK ? 2 * q + 1 : q + 2] = hi_lo_of<false>(two.y);
      }
#pragma unroll
    for (int j = 0; j < EP_GRID_WHOLE_N / 8; j++) {
      const float *row = of_line + j * 8 * LINE;
      float2 two;
      if constexpr (BACK)
        two = {row[(2 * s ^ g) * 4 + t], row[(2 * s + 1 ^ g) * 4 + t]};
      else
        two = *(const float2 *)(row + offset);
#pragma unroll
      for (int i = 0; i < 2; i++)
        multiply<false>(c[i][j], of_a[i], hi_lo_of<false>(two.x), hi_lo_of<false>(two.y));
    }
  }
}

/* The tile's results: each four neighbours go to use.store(row, column, sum, with). A warp has 32
 * of M; warps that have the same share out the terms of each part. */
template <bool BACK, int M, class Use>
static __device__ __forceinline__ void whole_end(const whole_tile<M> &tile, const Use &use,
                                                 int &awaits) {
  constexpr int T = EP_GRID_WHOLE_N / 8, ACROSS = M / 4;
  constexpr int EACH = ACROSS * EP_GRID_WHOLE_N / THREADS; /* fours of the result */
  constexpr int GROUPS = WARPS * LINE / M;                 /* warps that share a sum */
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  whole_slots &slots = state_of().whole;
  const unsigned tasks = slots.tasks, begun = slots.parts;
  const unsigned held = shared_address(&slots.held), full = shared_address(slots.full);
  if (threadIdx.x == HOLDS) tile.template weights_load<BACK>(held);
  const int group = warp % GROUPS, mine = warp / GROUPS;
  typename Use::loaded with[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    int e = (int)threadIdx.x + i * THREADS;
    use.load(e / ACROSS, e % ACROSS * 4, with[i]);
  }
  float c[2][T][4];
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0;
  const int eights = tile.box * LINE / 8, each = (eights + GROUPS - 1) / GROUPS;
  const int first = group * each, end = first + each < eights ? first + each : eights;
  if (threadIdx.x == AWAITS) {
    meeting_see(awaits);
    async_fence();
#pragma unroll 1
    for (int part = 0; part < 2 && part < tile.parts; part++)
      tile.rows_load(part, (begun + part) % 2, full + (begun + part) % 2 * 8);
  }
  awaits = EP_GRID_NONE;
  mbarrier_wait(held, tasks % 2);
#pragma unroll 1
  for (int part = 0; part < tile.parts; part++) {
    const unsigned slot = (begun + part) % 2;
    const float *weights =
        tile.weights + (BACK ? (mine * tile.parts + part) * LINE * tile.box * LINE
                             : (part * tile.box * M + mine * LINE) * LINE);
    mbarrier_wait(full + slot * 8, (begun + part) / 2 % 2);
    whole_multiply<BACK, M>(c, weights, tile.rows + slot * tile.rows_floats(), first, end);
    if (part + 2 < tile.parts) {
      __syncthreads();
      if (threadIdx.x == AWAITS) tile.rows_load(part + 2, slot, full + slot * 8);
    }
  }
  __syncthreads();
  constexpr int STRIDE = M + 4, PART = EP_GRID_WHOLE_N * STRIDE;
  float *to = tile.weights + group * PART + mine * LINE;
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int row =
            BACK ? ep_grid_whole_four(g, i) * 4 + g % 2 * 2 + q / 2 : i * 16 + g + q / 2 * 8;
        to[(j * 8 + 2 * t + q % 2) * STRIDE + row] = c[i][j][q];
      }
  if (threadIdx.x == 0) slots.tasks = tasks + 1, slots.parts = begun + tile.parts;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    int e = (int)threadIdx.x + i * THREADS;
    const float *from = tile.weights + e / ACROSS * STRIDE + e % ACROSS * 4;
    four parts[GROUPS];
#pragma unroll
    for (int w = 0; w < GROUPS; w++) parts[w] = four_of(from + w * PART);
#pragma unroll
    for (int w = 1; w < GROUPS; w++)
#pragma unroll
      for (int q = 0; q < 4; q++) parts[0].of[q] += parts[w].of[q];
    use.store(e / ACROSS, e % ACROSS * 4, parts[0], with[i]);
  }
}

/* A layer forward, or the gradient by its input. What a block with a task arrives at afterwards
 * meets its threads. */
template <bool BACK, int M> static __device__ __noinline__ void whole_run(int l, int awaits) {
  const ep_grid_cut cut = BACK ? args_of().layers[l].backward : args_of().layers[l].forward;
  if ((int)blockIdx.x < cut.across * cut.down) {
    const now n = now_of();
    const layer of = args_of().layers[l];
    const ep_grid_tensor_maps *tensor_maps = args_of().tensor_maps + l;
    const int lines = (BACK ? of.out : of.in) / LINE, down = (int)blockIdx.x / cut.across;
    whole_tile<M> tile;
    tile.a = BACK ? &tensor_maps->whole_backward : &tensor_maps->whole_forward;
    tile.b = BACK ? &tensor_maps->whole_grad : &tensor_maps->whole_input[n.turn % 2];
    tile.box = ep_grid_whole_lines(lines * LINE);
    tile.parts = (lines + EP_GRID_WHOLE_LINES - 1) / EP_GRID_WHOLE_LINES;
    tile.at_m = ((int)blockIdx.x - down * cut.across) * M;
    tile.at_n = down * EP_GRID_WHOLE_N;
    tile.weights = lines_begin(block_memory + args_of().area_at);
    tile.rows = tile.weights + M * tile.parts * tile.box * LINE;
    if constexpr (BACK) {
      const layer before = args_of().layers[l - 1];
      whole_end<true>(tile,
                      backward_use<false>{n, before, tile.at_n, tile.at_m, backward_way_of(n, l)},
                      awaits);
    } else {
      whole_end<false>(tile, forward_use{n, of, args_of().parameters, tile.at_n, tile.at_m},
                       awaits);
    }
  }
  meeting_await(awaits);
}

template <bool BACK>
static __device__ __forceinline__ void whole(const ep_grid_cut &cut, int l, int awaits) {
  if (cut.whole_m == EP_GRID_WHOLE_M)
    whole_run<BACK, EP_GRID_WHOLE_M>(l, awaits);
  else
    whole_run<BACK, 2 * EP_GRID_WHOLE_M>(l, awaits);
}

template <bool PRECISE> static __device__ __forceinline__ void forward(int l, int awaits) {
  const ep_grid_cut &cut = args_of().layers[l].forward;
  if constexpr (!PRECISE)
    if (cut.whole_m > 0) return whole<false>(cut, l, awaits);
  forward_cut<PRECISE>(l, awaits);
}

template <bool PRECISE> static __device__ __forceinline__ void backward(int l, int awaits) {
  const ep_grid_cut &cut = args_of().layers[l].backward;
  if constexpr (!PRECISE)
    if (cut.whole_m > 0) return whole<true>(cut, l, awaits);
  backward_cut<PRECISE>(l, awaits);
}

#endif
