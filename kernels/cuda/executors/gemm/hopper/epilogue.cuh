/* epilogue.cuh: what kernel.cu does with a tile's sums before they leave the registers.
 *
 * With lane = 4 u + q, sums[4 j + 2 h + e] is of row `row` + `next` h (rows_of) and of column
 * `column` + 8 j + 2 q + e. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_EPILOGUE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_EPILOGUE_CUH

#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/device/global_memory.cuh"
#include "kernels/cuda/device/named_barrier.cuh"
#include "kernels/cuda/device/reduce.cuh"
#include "kernels/cuda/executors/gemm/hopper/products.h"
#include "kernels/formulas/activations.h"

enum { GROUP = 128, THREADS = 3 * GROUP, MULTIPLIERS = 2 * GROUP, WARPS = MULTIPLIERS / 32 };
/* A block's scratch: for each warp 16 rows of 32 floats, and what was asked for ahead. */
enum { ROOM = 16 * 32, ASKED_BYTES = EP_GEMM_TILE_COLUMNS * 16 };
enum { LINE_BYTES = 128, SUMS_BYTES = WARPS * ROOM * (int)sizeof(float) + ASKED_BYTES };

/* Where a thread's sums are. */
typedef struct {
  int row, next, column;
} corner;

static __device__ __forceinline__ int lane_of(void) {
  return threadIdx.x % 32;
}

/* The rows of a tile that a thread has: of a warp's 16, as tensor cores give them; or, when a went
 * through registers, as parts_read took them. u: of any lane. */
static __device__ __forceinline__ corner rows_of(bool running, int row, int column, int u) {
  const int warp = threadIdx.x / 32 - GROUP / 32;
  if (running) return {row + 32 * (warp / 2) + 8 * (warp % 2) + u % 4 + 16 * (u / 4), 4, column};
  return {row + 16 * warp + u, 8, column};
}

/* All threads that multiply. */
static __device__ __forceinline__ void multipliers_meet(void) {
  named_barrier_sync<MULTIPLIERS>(1);
}

/* --- writing ------------------------------------------------------------------------------- */

/* The words of four neighbouring lanes, transposed. */
static __device__ __forceinline__ void quad_turn(uint32_t (&words)[4]) {
  const int lane = lane_of();
#pragma unroll
  for (int apart = 1; apart <= 2; apart *= 2)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int low = apart == 1 ? 2 * i : i, high = low + apart;
      uint32_t got = __shfl_xor_sync(ALL_LANES, lane & apart ? words[low] : words[high], apart);
      if (lane & apart)
        words[low] = got;
      else
        words[high] = got;
    }
}

/* to: bfloat16 [rows, columns]. A lane writes eight neighbours. */
template <int COUNT>
static __device__ __forceinline__ void half_write(const ep_gemm_hopper_product &p, corner at,
                                                  const float (&sums)[COUNT], void *to) {
#pragma unroll
  for (int j = 0; j < COUNT / 4; j += 4)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      uint32_t words[4];
      int row = at.row + at.next * h, column = at.column + 8 * (j + lane_of() % 4);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int k = j + i < COUNT / 4 ? 4 * (j + i) + 2 * h : 0;
        words[i] = bf16_pair(sums[k], sums[k + 1]);
      }
      quad_turn(words);
      if (row < p.rows && column < p.columns && j + lane_of() % 4 < COUNT / 4)
        *(uint4 *)((__nv_bfloat16 *)to + (int64_t)row * p.columns + column) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* A tile through shared memory, so that memory sees whole lines: a warp's 16 rows by 32 columns at
 * a time. A thread gets four neighbours of a row, and leaves them at a place of float32 [rows,
 * columns]; what it asks for there comes meanwhile. held: for each warp ROOM; 32 bytes in a row are
 * where its number says, exclusive or. */
template <bool running, int COUNT, typename ASK, typename LEAVE>
static __device__ __forceinline__ void lines_pass(const ep_gemm_hopper_product &p, int first_row,
                                                  int first_column, const float (&sums)[COUNT],
                                                  float *held, ASK ask, LEAVE leave) {
  const int lane = lane_of(), u = lane / 4, q = lane % 4, line = lane / 8, quad = lane % 8 * 4;
  float *room = held + (threadIdx.x - GROUP) / 32 * ROOM;
#pragma unroll
  for (int part = 0; 16 * part < COUNT; part++) {
    const int inside = 32 * part + quad, column = first_column + inside;
    float4 had[4];
    int64_t places[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const corner at = rows_of(running, first_row, column, line + 4 * (i % 2));
      const int row = at.row + at.next * (i / 2);
      const bool there = row < p.rows && column < p.columns && inside < 2 * COUNT;
      places[i] = there ? (int64_t)row * p.columns + column : -1;
      if (there) had[i] = ask(places[i]);
    }
    __syncwarp(); /* the room may still be read for the part before */
#pragma unroll
    for (int k = 0; k < 16 && 16 * part + k < COUNT; k += 2)
      *(float2 *)(room + 32 * (u + 8 * (k / 2 % 2)) + ((8 * (k / 4) + 2 * q) ^ 8 * (u % 4))) =
          make_float2(sums[16 * part + k], sums[16 * part + k + 1]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (places[i] >= 0)
        leave(places[i], had[i], *(const float4 *)(room + 32 * (line + 4 * i) + (quad ^ 8 * line)));
  }
}

/* to: float32 [rows, columns]. */
template <bool running, int COUNT>
static __device__ __forceinline__ void lines_write(const ep_gemm_hopper_product &p, int first_row,
                                                   int first_column, const float (&sums)[COUNT],
                                                   float *to, float *held) {
  lines_pass<running>(
      p, first_row, first_column, sums, held, [](int64_t) { return float4(); },
      [&](int64_t place, float4, float4 now) { *(float4 *)(to + place) = now; });
}

/* to: float32 [columns, rows]. Eight lanes write 32 bytes of a column. */
template <int COUNT>
static __device__ __forceinline__ void transposed_write(const ep_gemm_hopper_product &p, corner at,
                                                        const float (&sums)[COUNT], float *to) {
  const int first = at.column + 2 * (lane_of() % 4);
  float *column = to + (int64_t)first * p.rows + at.row;
  const int64_t next = 8 * (int64_t)p.rows;
#pragma unroll
  for (int j = 0; j < COUNT / 4; j++, column += next) {
    if (first + 8 * j >= p.columns) break;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (at.row + at.next * (i / 2) < p.rows)
        column[i % 2 * p.rows + at.next * (i / 2)] = sums[4 * j + i];
  }
}

/* --- forward ------------------------------------------------------------------------------- */

/* What a thread asks for before it multiplies, and needs afterwards: its column's bias, or bits of
 * the mask. */
typedef struct {
  float bias;
  uint4 bits;
} advance;

/* The mask of bfloat16 has the bits of a thread's sums, since forward and back cut the same tiles.
 */
static __device__ __forceinline__ uint4 *half_mask(const ep_gemm_hopper_product &p, int tile) {
  return (uint4 *)p.mask + (int64_t)tile * MULTIPLIERS + threadIdx.x - GROUP;
}

/* That of float32, which goes back by other tiles, has a row for each of the batch, the columns of
 * a tile in eight words. */
static __device__ __forceinline__ uint32_t *single_mask(const ep_gemm_hopper_product &p,
                                                        int columns, int row, int column) {
  const int tiles = (columns + EP_GEMM_TILE_COLUMNS - 1) / EP_GEMM_TILE_COLUMNS;
  return p.mask + (int64_t)row * tiles * 8 + column / 32;
}

template <int COUNT>
static __device__ __forceinline__ void half_mask_write(const ep_gemm_hopper_product &p, int tile,
                                                       const float (&sums)[COUNT]) {
  uint32_t bits[4] = {};
#pragma unroll
  for (int k = 0; k < COUNT; k++) bits[k / 32] |= (sums[k] > 0 ? 1u : 0u) << k % 32;
  *half_mask(p, tile) = make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

/* Four lanes have a row: each ends with two words of it, in two rounds of giving half away. */
template <int COUNT>
static __device__ __forceinline__ void single_mask_write(const ep_gemm_hopper_product &p, corner at,
                                                         const float (&sums)[COUNT]) {
  const int q = lane_of() % 4;
#pragma unroll
  for (int h = 0; h < 2; h++) {
    uint32_t words[8] = {};
#pragma unroll
    for (int i = 0; i < COUNT / 2; i++) { /* column 8 (i / 2) + 2 q + i % 2 */
      uint32_t bit = sums[4 * (i / 2) + 2 * h + i % 2] > 0 ? 1u : 0u;
      words[i / 8] |= bit << (8 * (i / 2 % 4) + i % 2);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) words[i] <<= 2 * q;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint32_t given = q & 2 ? words[i] : words[i + 4], kept = q & 2 ? words[i + 4] : words[i];
      words[i] = kept | __shfl_xor_sync(ALL_LANES, given, 2);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      uint32_t given = q & 1 ? words[i] : words[i + 2], kept = q & 1 ? words[i + 2] : words[i];
      words[i] = kept | __shfl_xor_sync(ALL_LANES, given, 1);
    }
    if (at.row + at.next * h < p.rows)
      *(uint2 *)(single_mask(p, p.out, at.row + at.next * h, at.column) + 2 * q) =
          make_uint2(words[0], words[1]);
  }
}

template <typename T, int COUNT>
static __device__ __forceinline__ void forward_end(const ep_gemm_hopper_product &p, corner at,
                                                   int first_row, int tile, const advance &asked,
                                                   float (&sums)[COUNT], float *held) {
  float *biases = held + WARPS * ROOM;
  multipliers_meet(); /* they may still be read for the tile before */
  biases[threadIdx.x - GROUP] = asked.bias;
  multipliers_meet();
#pragma unroll
  for (int k = 0; k < COUNT; k += 2) {
    float2 bias = *(const float2 *)(biases + 8 * (k / 4) + 2 * (lane_of() % 4));
    sums[k] += bias.x;
    sums[k + 1] += bias.y;
    if (p.relu) sums[k] = ep_relu(sums[k]), sums[k + 1] = ep_relu(sums[k + 1]);
  }
  if constexpr (sizeof(T) == 2) {
    if (p.mask) half_mask_write(p, tile, sums);
    half_write(p, at, sums, p.result);
  } else {
    if (p.mask) single_mask_write(p, at, sums);
#pragma unroll
    for (int k = 0; k < COUNT; k++) sums[k] = tf32_rounded(sums[k]);
    lines_write<false>(p, first_row, at.column, sums, (float *)p.result, held);
  }
}

/* --- back ---------------------------------------------------------------------------------- */

/* Slices of sums that a smaller batch leaves are cleared by whoever has the last that it uses. */
static __device__ __forceinline__ void slice_write(const ep_gemm_hopper_product &p, int slice,
                                                   int used, int column, float sum) {
  p.sums[(int64_t)slice * p.width + column] = sum;
  for (int more = used; slice == used - 1 && more < p.slices; more++)
    p.sums[(int64_t)more * p.width + column] = 0;
}

/* The sums of a warp's 16 rows, to held: [8 COUNT / 4 columns], of each 8 columns by halves: in
 * each of three rounds a lane gives away half of what it has. */
template <int COUNT>
static __device__ __forceinline__ void warp_columns_sum(const float (&sums)[COUNT], float *held) {
  const int lane = lane_of();
#pragma unroll
  for (int j = 0; j < COUNT / 4; j += 8) {
    float own[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
      int k = 4 * (j + i / 2) + i % 2;
      own[i] = sums[k] + sums[k + 2];
    }
#pragma unroll
    for (int count = 8; count >= 2; count /= 2)
#pragma unroll
      for (int i = 0; i < 8; i++) {
        if (i >= count) break;
        const bool high = lane & 2 * count;
        float given = high ? own[i] : own[i + count], kept = high ? own[i + count] : own[i];
        own[i] = kept + __shfl_xor_sync(ALL_LANES, given, 2 * count);
      }
    *(float2 *)(held + 8 * (j + lane / 4) + 2 * (lane % 4)) = make_float2(own[0], own[1]);
  }
}

/* bfloat16: a tile's columns, summed over its 128 rows. held: [WARPS, EP_GEMM_TILE_COLUMNS]. */
template <int COUNT>
static __device__ __forceinline__ void columns_sum(const ep_gemm_hopper_product &p,
                                                   const float (&sums)[COUNT], int slice,
                                                   int first_column, float *held) {
  const int thread = threadIdx.x - GROUP, high = 2 * EP_GEMM_TILE_ROWS;
  multipliers_meet(); /* held may still be read for the tile before */
  warp_columns_sum(sums, held + thread / 32 * EP_GEMM_TILE_COLUMNS);
  multipliers_meet();
  if (first_column + thread >= p.width) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < WARPS; warp++) sum += held[warp * EP_GEMM_TILE_COLUMNS + thread];
  slice_write(p, slice, (p.rows + high - 1) / high * 2, first_column + thread, sum);
}

template <int COUNT>
static __device__ __forceinline__ void half_back_end(const ep_gemm_hopper_product &p, corner at,
                                                     int slice, const advance &asked,
                                                     float (&sums)[COUNT], float *held) {
  const uint32_t bits[4] = {asked.bits.x, asked.bits.y, asked.bits.z, asked.bits.w};
#pragma unroll
  for (int k = 0; k < COUNT; k++)
    if (p.mask && !(bits[k / 32] & 1u << k % 32)) sums[k] = 0;
  half_write(p, at, sums, p.result);
  if (p.sums) columns_sum(p, sums, slice, at.column, held);
}

/* float32: all of it transposed. */
template <int COUNT>
static __device__ __forceinline__ void
single_back_end(const ep_gemm_hopper_product &p, corner at, int first_row, int slice,
                const advance &asked, float (&sums)[COUNT], float *held) {
  const int q = lane_of() % 4, inside = at.row - first_row;
  uint32_t *mask = (uint32_t *)(held + WARPS * ROOM); /* [EP_GEMM_TILE_COLUMNS, 4] */
  float of_row[2] = {};
  multipliers_meet(); /* it may still be read for the tile before */
  ((uint4 *)mask)[threadIdx.x - GROUP] = asked.bits;
  multipliers_meet();
#pragma unroll
  for (int i = 0; i < COUNT / 2; i++) {
    uint32_t word = mask[(8 * (i / 2) + 2 * q + i % 2) * 4 + inside / 32];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float *sum = &sums[4 * (i / 2) + 2 * h + i % 2];
      if (p.mask && !(word >> (inside + at.next * h) % 32 & 1)) *sum = 0;
      of_row[h] += *sum;
      *sum = tf32_rounded(*sum);
    }
  }
  if (p.transposed) lines_write<true>(p, first_row, at.column, sums, p.transposed, held);
  if (p.result) transposed_write(p, at, sums, (float *)p.result);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    of_row[h] += __shfl_xor_sync(ALL_LANES, of_row[h], 1);
    of_row[h] += __shfl_xor_sync(ALL_LANES, of_row[h], 2);
    if (p.sums && q == 0 && at.row + at.next * h < p.width)
      slice_write(p, slice, (p.columns + EP_GEMM_TILE_COLUMNS - 1) / EP_GEMM_TILE_COLUMNS,
                  at.row + at.next * h, of_row[h]);
  }
}

/* --- weight -------------------------------------------------------------------------------- */

/* Asks for a tile of the weights ahead of its need: from memory to the cache. In float32 the tile
 * is transposed there. */
template <typename T, int WIDTH>
static __device__ __forceinline__ void weight_call(const ep_gemm_hopper_product &p, int row,
                                                   int column) {
  constexpr int line = LINE_BYTES / (int)sizeof(float);
  constexpr int wide = sizeof(T) == 2 ? WIDTH : EP_GEMM_TILE_ROWS; /* of the weight's rows */
  constexpr int high = sizeof(T) == 2 ? EP_GEMM_TILE_ROWS : WIDTH, lines = (wide + line - 1) / line;
  const int y = (sizeof(T) == 2 ? row : column) * high, x = (sizeof(T) == 2 ? column : row) * wide;
  const int most_y = min(y + high, p.out), most_x = min(x + wide, p.in);
  for (int i = threadIdx.x - GROUP; i < high * lines; i += MULTIPLIERS) {
    int at_y = y + i / lines, at_x = x + i % lines * line;
    if (at_y < most_y && at_x < most_x) prefetch_l2(p.weight + (int64_t)at_y * p.in + at_x);
  }
}

/* keeps old - lr gradient */
static __device__ __forceinline__ float4 stepped(float4 old, float4 gradient, float lr,
                                                 float keeps) {
  return make_float4(keeps * old.x - lr * gradient.x, keeps * old.y - lr * gradient.y,
                     keeps * old.z - lr * gradient.z, keeps * old.w - lr * gradient.w);
}

/* sums become the new weights, or the gradient is written. */
template <int COUNT>
static __device__ __forceinline__ void
half_weight_end(const ep_gemm_hopper_product &p, int first_row, int first_column, float lr,
                float keeps, const float (&sums)[COUNT], float *held) {
  if (!p.weight) return lines_write<false>(p, first_row, first_column, sums, p.gradient, held);
  lines_pass<false>(
      p, first_row, first_column, sums, held,
      [&](int64_t place) { return *(const float4 *)(p.weight + place); },
      [&](int64_t place, float4 old, float4 gradient) {
        const float4 now = stepped(old, gradient, lr, keeps);
        *(float4 *)(p.weight + place) = now;
        if (p.copy)
          *(uint2 *)((__nv_bfloat16 *)p.copy + place) =
              make_uint2(bf16_pair(now.x, now.y), bf16_pair(now.z, now.w));
      });
}

/* Two warps, which have 32 rows of a tile together (rows_of), meet. */
static __device__ __forceinline__ void pair_meet(int pair) {
  named_barrier_sync<64>(2 + pair);
}

/* What a pair of warps reads and writes of a weight that is transposed to the tile: lines of 32
 * inputs of 32 outputs, four inputs a thread. */
typedef struct {
  int row, column; /* the first of a thread's four inputs, and its first output */
} weight_part;

static __device__ __forceinline__ int64_t part_place(const ep_gemm_hopper_product &p,
                                                     const weight_part &of, int column) {
  return (int64_t)min(of.column + column, p.columns - 1) * p.rows + min(of.row, p.rows - 4);
}

/* sums become the new weights, or the gradient is written: through shared memory, so that memory
 * sees whole lines. held: [4 pairs, 32 columns, 32 rows]; the columns of two neighbours in a group
 * of eight are 16 bytes further on, in a circle, so that no bank is met twice. */
template <int COUNT>
static __device__ __forceinline__ void
single_weight_end(const ep_gemm_hopper_product &p, int first_row, int first_column, float lr,
                  float keeps, const float (&sums)[COUNT], float *held) {
  constexpr int parts = COUNT / 16, lines = 4;
  const int thread = threadIdx.x - GROUP, pair = thread / 64, u = lane_of() / 4, q = lane_of() % 4;
  const int line = thread % 64 / 8, quad = thread % 8 * 4;
  const int inside = 8 * (thread / 32 % 2) + u % 4 + 16 * (u / 4); /* the row of a sum */
  const weight_part own = {first_row + 32 * pair + quad, first_column + line};
  float *to = p.weight ? p.weight : p.gradient, *room = held + 2 * ROOM * pair;
  float4 old[lines] = {};
#pragma unroll
  for (int part = 0; part < parts; part++) {
    if (p.weight)
#pragma unroll
      for (int i = 0; i < lines; i++)
        old[i] = *(const float4 *)(p.weight + part_place(p, own, 32 * part + 8 * i));
    pair_meet(pair); /* the room may still be read for the part before */
#pragma unroll
    for (int k = 0; k < 16; k++) {
      const int row = inside + 4 * (k / 2 % 2), column = 8 * (k / 4) + 2 * q + k % 2;
      room[32 * column + (row ^ 4 * q)] = sums[16 * part + k];
    }
    pair_meet(pair);
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const int column = line + 8 * i;
      float4 now = *(const float4 *)(room + 32 * column + (quad ^ 4 * (column / 2 % 4)));
      if (p.weight) now = stepped(old[i], now, lr, keeps);
      if (own.row >= p.rows || own.column + 32 * part + 8 * i >= p.columns) continue;
      const int64_t at = part_place(p, own, 32 * part + 8 * i);
      *(float4 *)(to + at) = now;
      if (p.copy)
        *(float4 *)((float *)p.copy + at) = make_float4(tf32_rounded(now.x), tf32_rounded(now.y),
                                                        tf32_rounded(now.z), tf32_rounded(now.w));
    }
  }
}

template <typename T, int COUNT>
static __device__ __forceinline__ void weight_end(const ep_gemm_hopper_product &p, int first_row,
                                                  int first_column, const float (&sums)[COUNT],
                                                  float *held) {
  const float lr = p.weight ? p.clock->update.lr : 0, keeps = 1 - lr * p.decay;
  if constexpr (sizeof(T) == 2)
    half_weight_end(p, first_row, first_column, lr, keeps, sums, held);
  else
    single_weight_end(p, first_row, first_column, lr, keeps, sums, held);
}

/* --- a tile -------------------------------------------------------------------------------- */

/* The tile at row `row` and column `column` of tiles. */
template <typename T, int WIDTH, ep_gemm_kind kind>
static __device__ __forceinline__ advance tile_begin(const ep_gemm_hopper_product &p, int row,
                                                     int column) {
  const int thread = threadIdx.x - GROUP, first = column * WIDTH + thread;
  advance asked = {};
  if (kind == EP_GEMM_FORWARD && p.bias && first < p.width) asked.bias = __ldg(p.bias + first);
  if (kind != EP_GEMM_BACKWARD || !p.mask) return asked;
  if (sizeof(T) == 2)
    asked.bits = *half_mask(p, row * ((p.columns + WIDTH - 1) / WIDTH) + column);
  else if (first < p.batch)
    asked.bits = *(const uint4 *)single_mask(p, p.in, first, row * EP_GEMM_TILE_ROWS);
  return asked;
}

/* held: shared, scratch of SUMS_BYTES. */
template <typename T, int WIDTH, ep_gemm_kind kind>
static __device__ __forceinline__ void tile_end(const ep_gemm_hopper_product &p,
                                                const advance &asked, float (&sums)[WIDTH / 2],
                                                int row, int column, float *held) {
  constexpr bool half = sizeof(T) == 2;
  const int first_row = row * EP_GEMM_TILE_ROWS;
  const corner at =
      rows_of(!half && kind != EP_GEMM_FORWARD, first_row, column * WIDTH, lane_of() / 4);
  if constexpr (kind == EP_GEMM_FORWARD)
    forward_end<T>(p, at, first_row, row * ((p.columns + WIDTH - 1) / WIDTH) + column, asked, sums,
                   held);
  else if constexpr (kind == EP_GEMM_WEIGHT)
    weight_end<T>(p, first_row, at.column, sums, held);
  else if constexpr (half)
    half_back_end(p, at, row, asked, sums, held);
  else
    single_back_end(p, at, first_row, column, asked, sums, held);
}

#endif
