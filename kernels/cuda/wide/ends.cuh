/* ends.cuh: what the kernels of fused.cu do with a tile's sums before they leave the registers.
 *
 * With lane = 4 u + q, sums[4 j + 2 h + e] is of row `row` + `next` h (rows_of) and of column
 * `column` + 8 j + 2 q + e. */
#ifndef EP_KERNELS_CUDA_WIDE_ENDS_CUH
#define EP_KERNELS_CUDA_WIDE_ENDS_CUH

#include "kernels/cuda/wide/fused.h"
#include "kernels/cuda/wide/hopper.cuh"
#include "kernels/cuda/wide/numbers.cuh"
#include "kernels/formulas/activations.h"

enum { GROUP = 128, THREADS = 3 * GROUP, MULTIPLIERS = 2 * GROUP, WARPS = MULTIPLIERS / 32 };
enum { LINE_BYTES = 128, SUMS_BYTES = WARPS * EP_WIDE_TILE_COLUMNS * (int)sizeof(float) };
constexpr unsigned ALL = 0xffffffffu;

/* Where a thread's sums are. */
typedef struct {
  int row, next, column;
} corner;

static __device__ __forceinline__ int lane_of(void) {
  return threadIdx.x % 32;
}

/* The rows of a tile that a thread has: of a warp's 16, as tensor cores give them; or, when a went
 * through registers, as parts_read took them. */
static __device__ __forceinline__ corner rows_of(bool running, int row, int column) {
  const int warp = threadIdx.x / 32 - GROUP / 32, u = lane_of() / 4;
  if (running) return {row + 32 * (warp / 2) + 8 * (warp % 2) + u % 4 + 16 * (u / 4), 4, column};
  return {row + 16 * warp + u, 8, column};
}

/* All threads that multiply. */
static __device__ __forceinline__ void multipliers_meet(void) {
  asm volatile("bar.sync 1, %0;" ::"n"((int)MULTIPLIERS) : "memory");
}

/* --- writing ------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t halves(float low, float high) {
  __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
  return *(const uint32_t *)&two;
}

/* The words of four neighbouring lanes, transposed. */
static __device__ __forceinline__ void quad_turn(uint32_t (&words)[4]) {
  const int lane = lane_of();
#pragma unroll
  for (int apart = 1; apart <= 2; apart *= 2)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int low = apart == 1 ? 2 * i : i, high = low + apart;
      uint32_t got = __shfl_xor_sync(ALL, lane & apart ? words[low] : words[high], apart);
      if (lane & apart)
        words[low] = got;
      else
        words[high] = got;
    }
}

/* to: bfloat16 [rows, columns]. A lane writes eight neighbours. */
template <int COUNT>
static __device__ __forceinline__ void half_write(const ep_wide_fused &p, corner at,
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
        words[i] = halves(sums[k], sums[k + 1]);
      }
      quad_turn(words);
      if (row < p.rows && column < p.columns && j + lane_of() % 4 < COUNT / 4)
        *(uint4 *)((__nv_bfloat16 *)to + (int64_t)row * p.columns + column) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* to: float32 [rows, columns]. Four lanes write 32 bytes of a row. */
template <int COUNT>
static __device__ __forceinline__ void single_write(const ep_wide_fused &p, corner at,
                                                    const float (&sums)[COUNT], float *to) {
  const int first = at.column + 2 * (lane_of() % 4);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float *row = to + (int64_t)(at.row + at.next * h) * p.columns + first;
    if (at.row + at.next * h >= p.rows) break;
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++)
      if (first + 8 * j < p.columns)
        *(float2 *)(row + 8 * j) = make_float2(sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]);
  }
}

/* to: float32 [columns, rows]. Eight lanes write 32 bytes of a column. */
template <int COUNT>
static __device__ __forceinline__ void turned_write(const ep_wide_fused &p, corner at,
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
static __device__ __forceinline__ uint4 *half_mask(const ep_wide_fused &p, int tile) {
  return (uint4 *)p.mask + (int64_t)tile * MULTIPLIERS + threadIdx.x - GROUP;
}

/* That of float32, which goes back by other tiles, has a row for each of the batch, the columns of
 * a tile in eight words. */
static __device__ __forceinline__ uint32_t *single_mask(const ep_wide_fused &p, int columns,
                                                        int row, int column) {
  const int tiles = (columns + EP_WIDE_TILE_COLUMNS - 1) / EP_WIDE_TILE_COLUMNS;
  return p.mask + (int64_t)row * tiles * 8 + column / 32;
}

template <int COUNT>
static __device__ __forceinline__ void half_mask_write(const ep_wide_fused &p, int tile,
                                                       const float (&sums)[COUNT]) {
  uint32_t bits[4] = {};
#pragma unroll
  for (int k = 0; k < COUNT; k++) bits[k / 32] |= (sums[k] > 0 ? 1u : 0u) << k % 32;
  *half_mask(p, tile) = make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

/* Four lanes have a row: each ends with two words of it, in two rounds of giving half away. */
template <int COUNT>
static __device__ __forceinline__ void single_mask_write(const ep_wide_fused &p, corner at,
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
      words[i] = kept | __shfl_xor_sync(ALL, given, 2);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      uint32_t given = q & 1 ? words[i] : words[i + 2], kept = q & 1 ? words[i + 2] : words[i];
      words[i] = kept | __shfl_xor_sync(ALL, given, 1);
    }
    if (at.row + at.next * h < p.rows)
      *(uint2 *)(single_mask(p, p.out, at.row + at.next * h, at.column) + 2 * q) =
          make_uint2(words[0], words[1]);
  }
}

/* held: shared, for a tile's biases. */
template <typename T, int COUNT>
static __device__ __forceinline__ void forward_end(const ep_wide_fused &p, corner at, int tile,
                                                   const advance &asked, float (&sums)[COUNT],
                                                   float *held) {
  multipliers_meet(); /* held may still be read for the tile before */
  held[threadIdx.x - GROUP] = asked.bias;
  multipliers_meet();
#pragma unroll
  for (int k = 0; k < COUNT; k += 2) {
    float2 bias = *(const float2 *)(held + 8 * (k / 4) + 2 * (lane_of() % 4));
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
    for (int k = 0; k < COUNT; k++) sums[k] = coarse(sums[k]);
    single_write(p, at, sums, (float *)p.result);
  }
}

/* --- back ---------------------------------------------------------------------------------- */

/* Slices of sums that a smaller batch leaves are cleared by whoever has the last that it uses. */
static __device__ __forceinline__ void slice_write(const ep_wide_fused &p, int slice, int used,
                                                   int column, float sum) {
  p.sums[(int64_t)slice * p.width + column] = sum;
  for (int more = used; slice == used - 1 && more < p.slices; more++)
    p.sums[(int64_t)more * p.width + column] = 0;
}

/* The sums of a warp's 16 rows, to held: [8 COUNT / 4 columns], of each 8 columns by halves: in
 * each of three rounds a lane gives away half of what it has. */
template <int COUNT>
static __device__ __forceinline__ void warp_sum(const float (&sums)[COUNT], float *held) {
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
        own[i] = kept + __shfl_xor_sync(ALL, given, 2 * count);
      }
    *(float2 *)(held + 8 * (j + lane / 4) + 2 * (lane % 4)) = make_float2(own[0], own[1]);
  }
}

/* bfloat16: a tile's columns, summed over its 128 rows. held: [WARPS, EP_WIDE_TILE_COLUMNS]. */
template <int COUNT>
static __device__ __forceinline__ void columns_sum(const ep_wide_fused &p,
                                                   const float (&sums)[COUNT], int slice,
                                                   int first_column, float *held) {
  const int thread = threadIdx.x - GROUP, high = 2 * EP_WIDE_TILE_ROWS;
  multipliers_meet(); /* held may still be read for the tile before */
  warp_sum(sums, held + thread / 32 * EP_WIDE_TILE_COLUMNS);
  multipliers_meet();
  if (first_column + thread >= p.width) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < WARPS; warp++) sum += held[warp * EP_WIDE_TILE_COLUMNS + thread];
  slice_write(p, slice, (p.rows + high - 1) / high * 2, first_column + thread, sum);
}

template <int COUNT>
static __device__ __forceinline__ void half_back_end(const ep_wide_fused &p, corner at, int slice,
                                                     const advance &asked, float (&sums)[COUNT],
                                                     float *held) {
  const uint32_t bits[4] = {asked.bits.x, asked.bits.y, asked.bits.z, asked.bits.w};
#pragma unroll
  for (int k = 0; k < COUNT; k++)
    if (p.mask && !(bits[k / 32] & 1u << k % 32)) sums[k] = 0;
  half_write(p, at, sums, p.result);
  if (p.sums) columns_sum(p, sums, slice, at.column, held);
}

/* float32: all of it transposed. held: the mask's bits of the tile, [EP_WIDE_TILE_COLUMNS, 4]. */
template <int COUNT>
static __device__ __forceinline__ void
single_back_end(const ep_wide_fused &p, corner at, int first_row, int slice, const advance &asked,
                float (&sums)[COUNT], uint32_t *held) {
  const int q = lane_of() % 4, inside = at.row - first_row;
  float of_row[2] = {};
  multipliers_meet(); /* held may still be read for the tile before */
  ((uint4 *)held)[threadIdx.x - GROUP] = asked.bits;
  multipliers_meet();
#pragma unroll
  for (int i = 0; i < COUNT / 2; i++) {
    uint32_t word = held[(8 * (i / 2) + 2 * q + i % 2) * 4 + inside / 32];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float *sum = &sums[4 * (i / 2) + 2 * h + i % 2];
      if (p.mask && !(word >> (inside + at.next * h) % 32 & 1)) *sum = 0;
      of_row[h] += *sum;
      *sum = coarse(*sum);
    }
  }
  if (p.turned) single_write(p, at, sums, p.turned);
  if (p.result) turned_write(p, at, sums, (float *)p.result);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    of_row[h] += __shfl_xor_sync(ALL, of_row[h], 1);
    of_row[h] += __shfl_xor_sync(ALL, of_row[h], 2);
    if (p.sums && q == 0 && at.row + at.next * h < p.width)
      slice_write(p, slice, (p.columns + EP_WIDE_TILE_COLUMNS - 1) / EP_WIDE_TILE_COLUMNS,
                  at.row + at.next * h, of_row[h]);
  }
}

/* --- weight -------------------------------------------------------------------------------- */

/* Asks for a tile of the weights ahead of its need: from memory to the cache. In float32 the tile
 * is transposed there. */
template <typename T, int WIDTH>
static __device__ __forceinline__ void weight_call(const ep_wide_fused &p, int row, int column) {
  constexpr int line = LINE_BYTES / (int)sizeof(float);
  constexpr int wide = sizeof(T) == 2 ? WIDTH : EP_WIDE_TILE_ROWS; /* of the weight's rows */
  constexpr int high = sizeof(T) == 2 ? EP_WIDE_TILE_ROWS : WIDTH, lines = (wide + line - 1) / line;
  const int y = (sizeof(T) == 2 ? row : column) * high, x = (sizeof(T) == 2 ? column : row) * wide;
  const int most_y = min(y + high, p.out), most_x = min(x + wide, p.in);
  for (int i = threadIdx.x - GROUP; i < high * lines; i += MULTIPLIERS) {
    int at_y = y + i / lines, at_x = x + i % lines * line;
    if (at_y < most_y && at_x < most_x)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(p.weight + (int64_t)at_y * p.in + at_x));
  }
}

static __device__ __forceinline__ float stepped(float old, float gradient, float lr, float keeps) {
  return keeps * old - lr * gradient;
}

/* sums become the new weights. A few reads at a time, before anything of them is written; beyond
 * the weight they are of its last numbers, and lead to nothing. */
template <int COUNT>
static __device__ __forceinline__ void half_weight_step(const ep_wide_fused &p, corner at, float lr,
                                                        float keeps, float (&sums)[COUNT]) {
  constexpr int together = 32;
  const int first = at.column + 2 * (lane_of() % 4), last = p.columns - 2;
  const float *const rows[2] = {p.weight + (int64_t)min(at.row, p.rows - 1) * p.columns,
                                p.weight + (int64_t)min(at.row + at.next, p.rows - 1) * p.columns};
#pragma unroll
  for (int base = 0; base < COUNT; base += together) {
    float2 old[together / 2];
#pragma unroll
    for (int i = 0; i < together && base + i < COUNT; i += 2)
      old[i / 2] = *(const float2 *)(rows[i / 2 % 2] + min(first + 8 * ((base + i) / 4), last));
#pragma unroll
    for (int i = 0; i < together && base + i < COUNT; i += 2) {
      sums[base + i] = stepped(old[i / 2].x, sums[base + i], lr, keeps);
      sums[base + i + 1] = stepped(old[i / 2].y, sums[base + i + 1], lr, keeps);
    }
  }
}

/* The same of a weight that is transposed to the tile. */
template <int COUNT>
static __device__ __forceinline__ void
single_weight_step(const ep_wide_fused &p, corner at, float lr, float keeps, float (&sums)[COUNT]) {
  constexpr int together = 32;
  const int first = at.column + 2 * (lane_of() % 4), last = p.columns - 1;
  const float *const rows[2] = {p.weight + min(at.row, p.rows - 1),
                                p.weight + min(at.row + at.next, p.rows - 1)};
#pragma unroll
  for (int base = 0; base < COUNT; base += together) {
    float old[together];
#pragma unroll
    for (int i = 0; i < together; i++)
      old[i] = rows[i / 2 % 2][(int64_t)min(first + 8 * ((base + i) / 4) + i % 2, last) * p.rows];
#pragma unroll
    for (int i = 0; i < together; i++) sums[base + i] = stepped(old[i], sums[base + i], lr, keeps);
  }
}

template <typename T, int COUNT>
static __device__ __forceinline__ void weight_end(const ep_wide_fused &p, corner at,
                                                  float (&sums)[COUNT]) {
  const float lr = p.weight ? p.clock->update.lr : 0, keeps = 1 - lr * p.decay;
  float *to = p.weight ? p.weight : p.gradient;
  if constexpr (sizeof(T) == 2) {
    if (p.weight) half_weight_step(p, at, lr, keeps, sums);
    single_write(p, at, sums, to);
    if (p.copy) half_write(p, at, sums, p.copy);
  } else {
    if (p.weight) single_weight_step(p, at, lr, keeps, sums);
    turned_write(p, at, sums, to);
  }
}

/* --- a tile -------------------------------------------------------------------------------- */

/* The tile at row `row` and column `column` of tiles. */
template <typename T, int WIDTH, ep_wide_kind kind>
static __device__ __forceinline__ advance tile_begin(const ep_wide_fused &p, int row, int column) {
  const int thread = threadIdx.x - GROUP, first = column * WIDTH + thread;
  advance asked = {};
  if (kind == EP_WIDE_FORWARD && p.bias && first < p.width) asked.bias = __ldg(p.bias + first);
  if (kind != EP_WIDE_BACK || !p.mask) return asked;
  if (sizeof(T) == 2)
    asked.bits = *half_mask(p, row * ((p.columns + WIDTH - 1) / WIDTH) + column);
  else if (first < p.batch)
    asked.bits = *(const uint4 *)single_mask(p, p.in, first, row * EP_WIDE_TILE_ROWS);
  return asked;
}

/* held: shared, [WARPS, EP_WIDE_TILE_COLUMNS], scratch. */
template <typename T, int WIDTH, ep_wide_kind kind>
static __device__ __forceinline__ void tile_end(const ep_wide_fused &p, const advance &asked,
                                                float (&sums)[WIDTH / 2], int row, int column,
                                                float *held) {
  constexpr bool half = sizeof(T) == 2;
  const int first_row = row * EP_WIDE_TILE_ROWS;
  const corner at = rows_of(!half && kind != EP_WIDE_FORWARD, first_row, column * WIDTH);
  if constexpr (kind == EP_WIDE_FORWARD)
    forward_end<T>(p, at, row * ((p.columns + WIDTH - 1) / WIDTH) + column, asked, sums, held);
  else if constexpr (kind == EP_WIDE_WEIGHT)
    weight_end<T>(p, at, sums);
  else if constexpr (half)
    half_back_end(p, at, row, asked, sums, held);
  else
    single_back_end(p, at, first_row, column, asked, sums, (uint32_t *)held);
}

#endif
