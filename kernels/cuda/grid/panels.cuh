/* panels.cuh: the gradient of a wide layer's weights by warpgroups, and their update in its
 * epilogue, by any optimizer, for cuda/grid. A block takes a panel of inputs, of which all rows lie
 * turned in shared memory, along outputs. The copy engine brings what a warpgroup's sums are of,
 * gradients and, in pieces, weights with what the optimizer keeps of them, some stages ahead; a
 * piece is updated where it lies, and copied back. */
#ifndef EP_KERNELS_CUDA_GRID_PANELS_CUH
#define EP_KERNELS_CUDA_GRID_PANELS_CUH

#include "kernels/cuda/grid/maps.h"
#include "kernels/cuda/grid/parameters.cuh"

/* In shared memory: the panel turned, a line of rows for each of M inputs, LINES times, and eight
 * rows more; two stages of N rows by OUTPUTS gradients, in lines; and TILES of OUTPUTS by LINE
 * inputs, half of them each warpgroup's, of which a piece takes 1 + SLOTS. */
struct panel_shape {
  static constexpr int M = EP_GRID_LARGE_M, N = EP_GRID_LARGE_N, OUTPUTS = 2 * LINE, TILES = 12;
  static constexpr int LINES = N / LINE, X_FLOATS = M * LINE, X_ALL = LINES * X_FLOATS + M * 8;
  static constexpr int G_FLOATS = N * LINE, STAGE = 2 * G_FLOATS, TILE = OUTPUTS * LINE;
  static constexpr int BYTES = (int)sizeof(float);
  static_assert(N == LINES * LINE + 8, "as the panel lies");
  static_assert(OUTPUTS == EP_GRID_LARGE_K, "as it is mapped and cut");
  static_assert(X_ALL % (8 * LINE) == 0 && G_FLOATS % (8 * LINE) == 0, "lines, by eights");
  static_assert(X_ALL + 2 * STAGE + TILES * TILE + 8 * LINE <= EP_GRID_WIDE_AREA,
                "what plan.c reserves");
  static_assert(2 + TILES == EP_GRID_PANEL_BARRIERS, "one for each that is on its way");
};

/* Turns M inputs of N rows of x, from (row, input) on: a line has 32 rows of an input; the last
 * eight rows lie in blocks of four rows by eight inputs. Inputs are permuted so that a thread's
 * sums, columns 2t and 2t + 1 of each eight, are of four neighbours. A thread turns four rows of
 * four inputs at a time. */
static __device__ __forceinline__ void inputs_turn(float *to, const matrix &x, int row, int input) {
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
    bool last = quad / 8 == S::LINES;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int line = ep_grid_turned(4 * q + i);
      int place =
          last ? line / 8 * 64 + quad % 8 * 32 + line % 8 * 4 : ep_grid_line_place(line, quad % 8);
      four turned = {{of[e][0].of[i], of[e][1].of[i], of[e][2].of[i], of[e][3].of[i]}};
      four_store(to + quad / 8 * S::X_FLOATS + place, turned);
    }
  }
}

/* Eight rows of a panel, `number` of them, and 64 inputs from `input` on, as a warpgroup is told of
 * them. */
static __device__ __forceinline__ unsigned long long panel_rows(const float *lines, int number,
                                                                int input) {
  typedef panel_shape S;
  const float *from = lines + number / 4 * S::X_FLOATS;
  if (number / 4 < S::LINES) return lines_of(from + input * LINE + number % 4 * 8);
  unsigned address = shared_address(from + input * 8);
  return (unsigned long long)(address >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32;
}

/* What one thread of a warpgroup asks the copy engine for: the pieces of its inputs, in the order
 * of the outputs, two of LINE inputs for each stage. DEPTH of them have a place. */
template <int SLOTS> struct pieces {
  typedef panel_shape S;
  static constexpr int EACH = 1 + SLOTS, DEPTH = S::TILES / 2 / EACH, FLOATS = EACH * S::TILE;
  const ep_grid_maps *maps;
  float *places;          /* DEPTH of FLOATS */
  unsigned barriers;      /* DEPTH */
  int slots, column, row; /* of the first piece */
  __device__ __forceinline__ float *place(int slot) const { return places + slot * FLOATS; }
  __device__ __forceinline__ unsigned barrier(int slot) const { return barriers + 8 * slot; }
  __device__ __forceinline__ void load(int slot, int piece) const {
    int c = column + piece % 2 * LINE, r = row + piece / 2 * S::OUTPUTS;
    unsigned to = shared_address(place(slot)), counts = barrier(slot);
    barrier_expect(counts, (1 + slots) * S::TILE * S::BYTES);
    tile_load(to, &maps->weights, counts, c, r);
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (i < slots) tile_load(to + (1 + i) * S::TILE * S::BYTES, &maps->state[i], counts, c, r);
  }
  __device__ __forceinline__ void store(int slot, int piece) const {
    int c = column + piece % 2 * LINE, r = row + piece / 2 * S::OUTPUTS;
    unsigned from = shared_address(place(slot));
    tile_store(&maps->weights, c, r, from);
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      if (i < slots) tile_store(&maps->state[i], c, r, from + (1 + i) * S::TILE * S::BYTES);
    stores_commit();
  }
};

/* Updates a thread's fours of a piece (places.h). d: its sums of these inputs. */
template <int SLOTS>
static __device__ __forceinline__ void
piece_update(float *piece, const float (&d)[4][4], const ep_optimizer &optimizer,
             const ep_optimizer_step &step, float decay, int output, int g, int t) {
  typedef panel_shape S;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    four weight[2], kept[2][SLOTS > 0 ? SLOTS : 1];
    float *at[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      at[i] = piece + ep_grid_line_place(output + h, ep_grid_pair_four(g, t, i));
      weight[i] = four_of(at[i]);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        kept[i][slot] = four_of(at[i] + (slot + 1) * S::TILE);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        float even = d[2 * i + e / 2][2 * h + e % 2], other = d[2 - 2 * i + e / 2][2 * h + e % 2];
        weight[i].of[e] =
            ep_optimizer_update(&optimizer, &step, decay, weight[i].of[e],
                                ep_clip(&optimizer, 1, g % 2 ? other : even), &kept[i][0].of[e], 4);
      }
      four_store(at[i], weight[i]);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        four_store(at[i] + (slot + 1) * S::TILE, kept[i][slot]);
    }
  }
}

/* A warpgroup's threads meet. */
static __device__ __forceinline__ void warpgroup_meet() {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + threadIdx.x / 128) : "memory");
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
    sum[h] += __shfl_xor_sync(ALL, sum[h], 1);
    sum[h] += __shfl_xor_sync(ALL, sum[h], 2);
  }
}

/* A thread's bias, with what the optimizer keeps of it: asked for before a stage's products, since
 * it takes as long. at: -1 where it has none. */
template <int SLOTS> struct panel_bias {
  long long at;
  float bias, kept[SLOTS > 0 ? SLOTS : 1];
  __device__ __forceinline__ void load(bool there, const layer &of, int output) {
    const span &s = span_of();
    at = there && output < of.out ? of.bias + output : -1;
    bias = at >= 0 ? s.parameters[at] : 0;
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
      kept[i] = at >= 0 && i < s.slots ? s.state[at + i * s.state_stride] : 0;
  }
  __device__ __forceinline__ void update(const layer &of, float grad, const ep_optimizer &optimizer,
                                         const ep_optimizer_step &step) {
    const span &s = span_of();
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
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[l];
  const ep_optimizer_step step = state_of().update;
  ep_optimizer optimizer = {};
  if (SLOTS > 0) optimizer = s.optimizer;
  optimizer.type = TYPE;
  const matrix x = input_of(n, l);
  const int t = threadIdx.x % 4, g = threadIdx.x % WARP / 4, group = threadIdx.x / 128;
  const int input = group * 64, output = ep_grid_pair(threadIdx.x / WARP % 4, g);
  const bool asks = threadIdx.x % 128 == 0;
  float *x_lines = lines_begin(block_memory + s.area_at), *grads = x_lines + S::X_ALL;
  const unsigned barriers = shared_address(state_of().panel_barriers);
  pieces<SLOTS> of_group = {s.maps + l,
                            grads + 2 * S::STAGE + group * S::TILES / 2 * S::TILE,
                            barriers + 8 * (2 + group * S::TILES / 2),
                            s.slots,
                            0,
                            0};
  constexpr int DEPTH = pieces<SLOTS>::DEPTH;
  unsigned turn = state_of().panel_stages; /* of the block, since the launch */
  int slot = (int)(2 * turn % DEPTH), parity = (int)(2 * turn / DEPTH % 2);
  if (asks) copies_allow();
#pragma unroll 1
  for (; number < end; number += blocks) {
    const task at = ep_grid_task_of(&of.panels, number, of.out, S::M, S::N);
    const int stages = (at.end - at.first + S::OUTPUTS - 1) / S::OUTPUTS;
    /* Biases: of each stage, one of the tasks across has them. */
    const int bias_turn =
        (at.m / S::M + of.panels.across - at.first / S::OUTPUTS % of.panels.across) %
        of.panels.across;
    const bool updates_biases = input == 0 && of.bias >= 0 && of.bias_decay >= 0;
    auto grads_load = [&](int k, unsigned stage) {
      unsigned to = shared_address(grads + stage % 2 * S::STAGE),
               counts = barriers + 8 * (stage % 2);
      barrier_expect(counts, S::STAGE * S::BYTES);
#pragma unroll
      for (int i = 0; i < 2; i++)
        tile_load(to + i * S::G_FLOATS * S::BYTES, &s.maps[l].grad, counts,
                  at.first + k * S::OUTPUTS + i * LINE, 0);
    };
    of_group.column = at.m + input, of_group.row = at.first;
    if (threadIdx.x == 0)
      for (int k = 0; k < 2 && k < stages; k++) grads_load(k, turn + k);
    if (asks)
      for (int i = 0, to = slot; i < DEPTH && i < 2 * stages; i++, to = to + 1 < DEPTH ? to + 1 : 0)
        of_group.load(to, i);
    __syncwarp();
    inputs_turn(x_lines, x, at.n, at.m);
    lines_publish();
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < stages; k++, turn++) {
      const bool has_biases = updates_biases && k % of.panels.across == bias_turn;
      panel_bias<SLOTS> bias;
      bias.load(has_biases && t < 2, of, at.first + k * S::OUTPUTS + output + t);
      barrier_wait(barriers + 8 * (turn % 2), (int)(turn / 2 % 2));
      const float *from = grads + turn % 2 * S::STAGE + output / LINE * S::G_FLOATS + output % 4;
      unsigned a[S::N / 8][4];
#pragma unroll
      for (int i = 0; i < S::N / 8; i++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
          int line = ep_grid_line_place(8 * i + 4 * q + t, output % LINE / 4);
          float2 two = *(const float2 *)(from + line);
          a[i][2 * q] = __float_as_uint(two.x), a[i][2 * q + 1] = __float_as_uint(two.y);
        }
      __syncthreads();
      if (threadIdx.x == 0 && k + 2 < stages) grads_load(k + 2, turn);
      __syncwarp();
      float d[2][4][4];
      products_begin();
#pragma unroll
      for (int i = 0; i < S::N / 8; i++)
        multiply_64(*(float(*)[8][4])d, a[i], panel_rows(x_lines, i, input), i > 0);
      products_commit();
      if (has_biases) {
        float biases[2];
        biases_sum(biases, a, n.rows);
        bias.update(of, biases[t % 2], optimizer, step);
      }
      products_wait<0>();
#pragma unroll
      for (int m = 0; m < 2; m++) {
        const int piece = 2 * k + m, before = slot > 0 ? slot - 1 : DEPTH - 1;
        barrier_wait(of_group.barrier(slot), parity);
        piece_update<SLOTS>(of_group.place(slot), d[m], optimizer, step, of.weight_decay, output, g,
                            t);
        lines_publish();
        warpgroup_meet();
        if (asks) {
          of_group.store(slot, piece);
          stores_wait_read<1>(); /* the one before it */
          int next = piece - 1 + DEPTH;
          if (piece > 0 && next < 2 * stages) of_group.load(before, next);
        }
        __syncwarp();
        slot = slot + 1 < DEPTH ? slot + 1 : (parity ^= 1, 0);
      }
    }
    if (asks) stores_wait_read<0>(); /* before the next panel's */
    __syncthreads();
  }
  if (asks) stores_wait<0>();
  __syncthreads();
  if (threadIdx.x == 0) state_of().panel_stages = turn;
}

/* The update of a layer's weights and biases, as far as it is made of panels. */
static __device__ __forceinline__ void panels_update(int l, int number, int end, int blocks) {
  const span &s = span_of();
  switch (s.optimizer.type) {
  case EP_OPTIMIZER_SGD:
    if (s.slots == 0 && s.optimizer.clip_value == 0)
      return panels_run<EP_OPTIMIZER_SGD, 0>(l, number, end, blocks);
    return panels_run<EP_OPTIMIZER_SGD, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAM: return panels_run<EP_OPTIMIZER_ADAM, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAMW: return panels_run<EP_OPTIMIZER_ADAMW, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_RMSPROP: return panels_run<EP_OPTIMIZER_RMSPROP, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAGRAD: return panels_run<EP_OPTIMIZER_ADAGRAD, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_LION: return panels_run<EP_OPTIMIZER_LION, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_COUNT: break;
  }
}

#endif
