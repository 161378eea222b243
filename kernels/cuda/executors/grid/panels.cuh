/* panels.cuh: the gradient of a wide layer's weights by warpgroups, and their update in its
 * epilogue, by any optimizer, for cuda/grid. A block takes a panel of inputs, of which all rows lie
 * turned in shared memory, along outputs; of these a warpgroup takes a stage, the other the next,
 * and neither waits for the other. The copy engine brings what a stage's sums are of, and, in
 * pieces, weights with what the optimizer keeps of them, some ahead; a piece is updated where it
 * lies, and copied back. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PANELS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PANELS_CUH

#include "kernels/cuda/executors/grid/parameters.cuh"
#include "kernels/cuda/executors/grid/tensor_maps.h"

/* In shared memory: the panel turned (offsets.h); of each warpgroup a stage of N rows by OUTPUTS
 * gradients, in lines; and TILES of OUTPUTS by LINE inputs. */
struct panel_shape {
  static constexpr int M = EP_GRID_LARGE_M, N = EP_GRID_LARGE_N, OUTPUTS = 2 * LINE, TILES = 12,
                       DEPTH = 3;
  static constexpr int LINES = N / LINE, X_FLOATS = M * LINE, X_ALL = EP_GRID_PANEL_FLOATS;
  static constexpr int G_FLOATS = N * LINE, STAGE = 2 * G_FLOATS, TILE = OUTPUTS * LINE;
  static constexpr int BYTES = (int)sizeof(float);
  static_assert(N == LINES * LINE + 8, "as the panel lies");
  static_assert(OUTPUTS == EP_GRID_LARGE_K, "as it is mapped and cut");
  static_assert(X_ALL % (8 * LINE) == 0 && G_FLOATS % (8 * LINE) == 0, "lines, by eights");
  static_assert(X_ALL + 2 * STAGE + TILES * TILE + 8 * LINE <= EP_GRID_WIDE_AREA,
                "what plan.c reserves");
};

/* Turns M inputs of N rows of x, from (row, input) on. Inputs are permuted so that a thread's sums,
 * columns 2t and 2t + 1 of each eight, are of four neighbours. A thread turns four rows of four
 * inputs at a time. */
static __device__ __noinline__ void inputs_turn(float *to, const matrix &x, int row, int input) {
  typedef panel_shape S;
  constexpr int ACROSS = S::M / 4, COUNT = S::N / 4 * ACROSS;
  constexpr int EACH = (COUNT + THREADS - 1) / THREADS;
  int q = threadIdx.x % ACROSS;
  bool there = input + 4 * q < x.columns;
  const float *from = x.at + (there ? input + 4 * q : 0);
  four of[EACH][4];
#pragma unroll
  for (int e = 0; e < EACH; e++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int r = row + ((int)threadIdx.x + e * THREADS) / ACROSS * 4 + i;
      of[e][i] = four_of(from + (r < x.rows ? r : 0) * x.stride);
      if (!there || r >= x.rows) of[e][i] = {{0, 0, 0, 0}};
    }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int quad = ((int)threadIdx.x + e * THREADS) / ACROSS;
    if (quad >= S::N / 4) continue;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      four turned = {{of[e][0].of[i], of[e][1].of[i], of[e][2].of[i], of[e][3].of[i]}};
      four_store(to + ep_grid_panel_offset(4 * quad, 4 * q + i), turned);
    }
  }
}

/* A block's panel, of those that lie turned in the scratch. */
static __device__ __noinline__ void panels_turn() {
  const args &s = args_of();
  const now n = now_of();
#pragma unroll 1
  for (int l = s.front + 1; l < s.layers_count - 1; l++) {
    const layer &of = s.layers[l];
    const int panel = (int)blockIdx.x - of.turned_by;
    if (of.turned < 0 || panel < 0 || panel >= of.panels.across) continue;
    float *lines = block_memory + s.area_at;
    inputs_turn(lines, input_of(n, l), 0, panel * panel_shape::M);
    async_fence_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(n.scratch + of.turned + (long long)panel * EP_GRID_PANEL_FLOATS,
                 shared_address(lines), EP_GRID_PANEL_FLOATS * panel_shape::BYTES);
      bulk_commit();
      bulk_wait<0>();
    }
    __syncthreads();
  }
}

/* Eight rows of a panel, `number` of them, as a warpgroup is told of them. */
static __device__ __forceinline__ uint64_t panel_rows(const float *lines, int number) {
  typedef panel_shape S;
  const float *from = lines + number / 4 * S::X_FLOATS;
  if (number / 4 < S::LINES) return lines_of(from + number % 4 * 8);
  return wgmma_operand(shared_address(from), 128, 256, false);
}

/* What a warpgroup asks the copy engine for: the pieces of its stages, PER of them each, of LINES
 * of inputs. DEPTH of them have a place. Each tile is asked for and stored by a warp of its own,
 * since a copy takes a thread some time: every other piece's by other warps. */
template <int SLOTS> struct pieces {
  typedef panel_shape S;
  static constexpr int LINES = SLOTS == 0 ? 2 : 1, PER = S::M / LINE / LINES;
  static constexpr int TILES = LINES * (1 + SLOTS), DEPTH = S::TILES / 2 / TILES;
  static constexpr int SPARE = 4 - TILES; /* warps */
  static_assert(DEPTH <= S::DEPTH && SPARE > 0, "a barrier each, and a warp each tile");
  const ep_grid_tensor_maps *tensor_maps;
  float *places;     /* DEPTH of TILES */
  unsigned barriers; /* DEPTH */
  int tiles;         /* of a piece: TILES, or fewer, of what the optimizer keeps */
  int warp;          /* of the warpgroup; for threads that do not ask, one that there is not */
  unsigned begun;    /* pieces of the warpgroup before this panel's, since the launch */
  int count;         /* in this panel */
  int column, row;   /* of the first one */
  __device__ __forceinline__ int slot(int piece) const { return (int)((begun + piece) % DEPTH); }
  __device__ __forceinline__ float *place(int piece) const {
    return places + slot(piece) * TILES * S::TILE;
  }
  __device__ __forceinline__ unsigned barrier(int piece) const {
    return barriers + 8 * slot(piece);
  }
  __device__ __forceinline__ void await(int piece) const {
    mbarrier_wait(barrier(piece), (int)((begun + piece) / DEPTH % 2));
  }
  __device__ __forceinline__ const ep_cuda_tensor_map *map(int tile) const {
    return tile < LINES ? &tensor_maps->weights : &tensor_maps->state[tile - LINES];
  }
  __device__ __forceinline__ int column_of(int piece, int tile) const {
    return column + (piece % PER * LINES + tile % LINES) * LINE;
  }
  __device__ __forceinline__ int row_of(int piece) const {
    return row + piece / PER * 2 * S::OUTPUTS;
  }
  __device__ __forceinline__ void load(int piece, int tile) const {
    if (tile == 0) mbarrier_expect(barrier(piece), tiles * S::TILE * S::BYTES);
    tma_load(shared_address(place(piece) + tile * S::TILE), map(tile), barrier(piece),
             column_of(piece, tile), row_of(piece));
  }
  /* The tile of a piece that this thread stores, and asks for what takes its place; or none. */
  __device__ __forceinline__ int tile_of(int piece) const { return warp - piece % 2 * SPARE; }
  __device__ __forceinline__ bool asks(int tile) const { return tile >= 0 && tile < tiles; }
  __device__ __forceinline__ void begin() const { /* without warp 0, which may still arrive */
    if (!asks(tile_of(1))) return;
#pragma unroll 1
    for (int i = 0; i < DEPTH && i < count; i++) load(i, tile_of(1));
  }
  __device__ __forceinline__ void store(int piece) const {
    const int tile = tile_of(piece);
    if (!asks(tile)) return;
    tma_store(map(tile), column_of(piece, tile), row_of(piece),
              shared_address(place(piece) + tile * S::TILE));
    bulk_commit();
  }
  /* Asks for what takes the place of a piece that was stored. */
  __device__ __forceinline__ void fill(int piece) const {
    const int tile = tile_of(piece);
    if (!asks(tile) || piece + DEPTH >= count) return;
    bulk_wait_read<0>();
    load(piece + DEPTH, tile);
  }
};

/* Updates a thread's fours of a piece (offsets.h): of a line, two of an output and two of the next.
 * d: its sums of these inputs. */
template <int SLOTS>
static __device__ __forceinline__ void
piece_update(float *piece, const float (&d)[16][4], const ep_optimizer &optimizer,
             const ep_optimizer_step &step, float decay, int output, int g, int t) {
  typedef panel_shape S;
  typedef pieces<SLOTS> P;
  constexpr int FOURS = 4 * P::LINES;
  four weight[FOURS], kept[FOURS][SLOTS > 0 ? SLOTS : 1];
  float *at[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    at[i] = piece + ep_grid_line_offset(output + i / 2, ep_grid_pair_four(g, t, i % 2));
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    weight[i] = four_of(at[i % 4] + i / 4 * S::TILE);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      kept[i][slot] = four_of(at[i % 4] + (i / 4 + (slot + 1) * P::LINES) * S::TILE);
  }
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    const int line = i / 4 * 4, h = i / 2 % 2 * 2, two = i % 2 * 2;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float even = d[line + two + e / 2][h + e % 2], other = d[line + 2 - two + e / 2][h + e % 2];
      weight[i].of[e] =
          ep_optimizer_update(&optimizer, &step, decay, weight[i].of[e],
                              ep_clip(&optimizer, 1, g % 2 ? other : even), &kept[i][0].of[e], 4);
    }
    four_store(at[i % 4] + i / 4 * S::TILE, weight[i]);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      four_store(at[i % 4] + (i / 4 + (slot + 1) * P::LINES) * S::TILE, kept[i][slot]);
  }
}

/* A warpgroup's threads meet. */
static __device__ __forceinline__ void warpgroup_meet() {
  named_barrier_sync<128>(1 + threadIdx.x / 128);
}

/* Two sums of gradients by biases, of outputs `output` and the next, from a warp's fragments, of
 * which the first `rows` rows count. */
static __device__ __forceinline__ void
biases_sum(float (&sum)[2], const unsigned (&a)[panel_shape::N / 8][4], int rows) {
  sum[0] = sum[1] = 0;
#pragma unroll
  for (int k = 0; k < panel_shape::N / 8; k++)
#pragma unroll
    for (int q = 0; q < 4; q++)
      if (8 * k + q / 2 * 4 + (int)threadIdx.x % 4 < rows) sum[q % 2] += __uint_as_float(a[k][q]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    sum[h] += __shfl_xor_sync(ALL_LANES, sum[h], 1);
    sum[h] += __shfl_xor_sync(ALL_LANES, sum[h], 2);
  }
}

/* A thread's bias, with what the optimizer keeps of it: asked for before a stage's products, since
 * it takes as long. at: -1 where it has none. */
template <int SLOTS> struct panel_bias {
  long long at;
  float bias, kept[SLOTS > 0 ? SLOTS : 1];
  __device__ __forceinline__ void load(bool there, const layer &of, int output) {
    const args &s = args_of();
    at = there && output < of.out ? of.bias + output : -1;
    bias = at >= 0 ? s.parameters[at] : 0;
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      kept[i] = at >= 0 && i < s.slots ? s.state[at + i * s.state_stride] : 0;
  }
  __device__ __forceinline__ void update(const layer &of, float grad, const ep_optimizer &optimizer,
                                         const ep_optimizer_step &step) {
    const args &s = args_of();
    if (at < 0) return;
    s.parameters[at] = ep_optimizer_update(&optimizer, &step, of.bias_decay, bias,
                                           ep_clip(&optimizer, 1, grad), kept, 1);
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (i < s.slots) s.state[at + i * s.state_stride] = kept[i];
  }
};

/* The panels from `number` to `end`, each `blocks` after the last, by an optimizer of TYPE, that
 * keeps SLOTS numbers of a parameter at most; none: gradients are taken as they are. */
template <ep_optimizer_type TYPE, int SLOTS>
static __device__ __noinline__ void panels_run(int l, int number, int end, int blocks) {
  typedef panel_shape S;
  typedef pieces<SLOTS> P;
  const args &s = args_of();
  const now n = now_of();
  const layer of = s.layers[l];
  const ep_optimizer_step step = state_of().update;
  ep_optimizer optimizer = {};
  if (SLOTS > 0) optimizer = s.optimizer;
  optimizer.type = TYPE;
  const int t = threadIdx.x % 4, g = threadIdx.x % WARP / 4, group = threadIdx.x / 128;
  const int warp = threadIdx.x / WARP % 4, output = ep_grid_pair(warp, g);
  const bool first = threadIdx.x % WARP == 0, asks_grads = first && warp == 3;
  float *x_lines = lines_begin(block_memory + s.area_at);
  float *grads = x_lines + S::X_ALL + group * S::STAGE;
  const unsigned barriers = shared_address(state_of().panel_barriers);
  const unsigned grads_come = barriers + 8 * group, x_comes = barriers + 8 * 2;
  P of_group = {s.tensor_maps + l,
                x_lines + S::X_ALL + 2 * S::STAGE + group * S::TILES / 2 * S::TILE,
                barriers + 8 * (3 + group * S::DEPTH), SLOTS == 0 ? P::TILES : 1 + s.slots,
                first ? warp : 2 * WARPS};
  unsigned turn = state_of().panel_stages[group], copies = state_of().panel_copies;
  if (first) async_fence();
#pragma unroll 1
  for (; number < end; number += blocks) {
    const task at = ep_grid_task_of(&of.panels, number, of.out, S::M, S::N);
    const int stages = (at.end - at.first + S::OUTPUTS - 1) / S::OUTPUTS;
    /* Biases: of each stage, one of the tasks across has them. */
    const int bias_turn =
        (at.m / S::M + of.panels.across - at.first / S::OUTPUTS % of.panels.across) %
        of.panels.across;
    const bool updates_biases = of.bias >= 0 && of.bias_decay >= 0;
    auto grads_load = [&](int k) {
      mbarrier_expect(grads_come, S::STAGE * S::BYTES);
#pragma unroll
      for (int i = 0; i < 2; i++)
        tma_load(shared_address(grads + i * S::G_FLOATS), &s.tensor_maps[l].grad, grads_come,
                 at.first + k * S::OUTPUTS + i * LINE, 0);
    };
    of_group.begun = P::PER * turn, of_group.count = P::PER * ((stages - group + 1) / 2);
    of_group.column = at.m, of_group.row = at.first + group * S::OUTPUTS;
    if (group == 1 && first && warp == 0 && of.turned >= 0) {
      mbarrier_expect(x_comes, S::X_ALL * S::BYTES);
      bulk_load(shared_address(x_lines), n.scratch + of.turned + at.m / S::M * S::X_ALL,
                S::X_ALL * S::BYTES, x_comes);
    }
    if (asks_grads && group < stages) grads_load(group);
    of_group.begin();
    __syncwarp();
    if (of.turned >= 0) {
      mbarrier_wait(x_comes, (int)(copies++ % 2));
    } else {
      inputs_turn(x_lines, input_of(n, l), at.n, at.m);
      async_fence_shared();
      __syncthreads();
    }
    int piece = 0;
#pragma unroll 1
    for (int k = group; k < stages; k += 2, turn++) {
      const bool has_biases = updates_biases && k % of.panels.across == bias_turn;
      panel_bias<SLOTS> bias;
      bias.load(has_biases && t < 2, of, at.first + k * S::OUTPUTS + output + t);
      mbarrier_wait(grads_come, (int)(turn % 2));
      const float *from = grads + output / LINE * S::G_FLOATS + output % 4;
      unsigned a[S::N / 8][4];
#pragma unroll
      for (int i = 0; i < S::N / 8; i++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
          int line = ep_grid_line_offset(8 * i + 4 * q + t, output % LINE / 4);
          float2 two = *(const float2 *)(from + line);
          a[i][2 * q] = __float_as_uint(two.x), a[i][2 * q + 1] = __float_as_uint(two.y);
        }
      warpgroup_meet();
      if (asks_grads && k + 2 < stages) grads_load(k + 2);
      if (SLOTS == 0 && piece > 0) of_group.fill(piece - 2);
      __syncwarp();
      float d[16][4];
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < S::N / 8; i++) wgmma_tf32(d, a[i], panel_rows(x_lines, i), i > 0);
      wgmma_commit();
      if (has_biases) {
        float biases[2];
        biases_sum(biases, a, n.rows);
        bias.update(of, biases[t % 2], optimizer, step);
      }
      wgmma_wait<0>();
      if (SLOTS == 0 && piece > 0) of_group.fill(piece - 1); /* which took longer to be stored */
      __syncwarp();
#pragma unroll 1
      for (int m = 0; m < P::PER; m++) {
        of_group.await(piece);
        piece_update<SLOTS>(of_group.place(piece), d, optimizer, step, of.weight_decay, output, g,
                            t);
        async_fence_shared();
        warpgroup_meet();
        if (SLOTS > 0 && piece > 0) of_group.fill(piece - 1);
        of_group.store(piece++);
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 16 - 16 / P::PER; j++) /* the next one's sums */
#pragma unroll
          for (int q = 0; q < 4; q++) d[j][q] = d[j + 16 / P::PER][q];
      }
    }
    if (first) bulk_wait_read<0>(); /* before the next panel's */
    __syncthreads();
  }
  if (first) bulk_wait<0>();
  if (threadIdx.x % 128 == 0) state_of().panel_stages[group] = turn;
  if (threadIdx.x == 0) state_of().panel_copies = copies;
  __syncthreads();
}

/* Of an optimizer that may keep more, the layers are not updated by panels where it does. */
template <ep_optimizer_type TYPE>
constexpr int panel_slots_of =
    slots_of<TYPE> < EP_GRID_PANEL_SLOTS ? slots_of<TYPE> : EP_GRID_PANEL_SLOTS;

#define PANELS_UPDATE(code, ...)                                                                \
  case EP_OPTIMIZER_##code:                                                                     \
    return panels_run<EP_OPTIMIZER_##code, panel_slots_of<EP_OPTIMIZER_##code>>(l, number, end, \
                                                                                blocks);

/* The update of a layer's weights and biases, as far as it is made of panels. */
static __device__ __forceinline__ void panels_update(int l, int number, int end, int blocks) {
  const args &s = args_of();
  if (s.optimizer.type == EP_OPTIMIZER_SGD && s.slots == 0 && s.optimizer.clip_value == 0)
    return panels_run<EP_OPTIMIZER_SGD, 0>(l, number, end, blocks);
  switch (s.optimizer.type) {
    EP_OPTIMIZERS(PANELS_UPDATE)
  case EP_OPTIMIZER_COUNT: break;
  }
}

#endif
