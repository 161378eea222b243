#include "kernels/cuda/executors/gemm/hopper/products.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <string.h>

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/dependent_launch.cuh"
#include "kernels/cuda/device/mbarrier.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/executors/gemm/hopper/epilogue.cuh"

/* Stages of shared memory that are filled ahead: 48 KB each, of which four fit. */
enum { STAGES = 4, A_BYTES = EP_GEMM_TILE_ROWS * LINE_BYTES, STAGE_BYTES = 3 * A_BYTES };
/* What a copy's swizzle wants its place to be a multiple of. */
enum { ALIGNMENT = 1024 };
enum { SHARED_BYTES = ALIGNMENT + STAGES * STAGE_BYTES + SUMS_BYTES + 2 * STAGES * 8 };
/* Stages that last longer than a read from memory. */
enum { LATE = 8 };
/* A thread's registers: few where one only asks for copies, the more for sums. */
enum { FETCHES_REGISTERS = 40, MULTIPLIES_REGISTERS = 232 };

static_assert(EP_GEMM_TILE_COLUMNS == 2 * EP_GEMM_TILE_ROWS, "b takes two thirds of a stage");
static_assert(THREADS == 3 * GROUP, "one warpgroup fetches, two multiply");
static_assert(SHARED_BYTES <= 227 * 1024, "a block's shared memory");

/* --- where things are ---------------------------------------------------------------------- */

typedef struct {
  uint32_t stages, full, empty; /* shared memory; barriers, 8 bytes each */
  float *sums;
} room;

static __device__ __forceinline__ room room_of(unsigned char *shared) {
  uint32_t base = shared_address(shared);
  uint32_t gap = (ALIGNMENT - base % ALIGNMENT) % ALIGNMENT;
  uint32_t sums = gap + STAGES * STAGE_BYTES;
  return {base + gap, base + sums + SUMS_BYTES, base + sums + SUMS_BYTES + 8 * STAGES,
          (float *)(shared + sums)};
}

/* Which 256 rows and which columns a cluster takes as number `id`: 8 rows of such tiles go
 * together, column by column, so that what is read of both factors stays in the cache. */
static __device__ __forceinline__ void pair_find(const ep_gemm_hopper_product &p, int id, int width,
                                                 int *row, int *column) {
  const int together = 8, high = (p.rows + 2 * EP_GEMM_TILE_ROWS - 1) / (2 * EP_GEMM_TILE_ROWS);
  int wide = (p.columns + width - 1) / width, first = id / (together * wide) * together;
  int rows = min(together, high - first), within = id - first * wide;
  *row = first + within % rows;
  *column = within / rows;
}

/* Stages are taken in turn; the parity of a barrier changes with each round. */
typedef struct {
  int stage, parity;
} turn;

static __device__ __forceinline__ void turn_next(turn *t) {
  if (++t->stage < STAGES) return;
  t->stage = 0;
  t->parity ^= 1;
}

/* --- fetching ------------------------------------------------------------------------------ */

/* A stage is 128 bytes of depth, as lines of so many; of a factor that runs along the result, a
 * line is one depth of so many rows or columns, and a run of lines all depths of these. */
template <typename T> struct line {
  static constexpr int numbers = LINE_BYTES / sizeof(T), run_bytes = numbers * LINE_BYTES;
};

template <typename T, bool a_runs, bool b_runs>
static __device__ __forceinline__ void fetch(const CUtensorMap *a, const CUtensorMap *b,
                                             const ep_gemm_hopper_product &p, const room &at,
                                             int rank, int width, int pairs) {
  constexpr int deep = line<T>::numbers;
  turn t = {0, 1}; /* all stages are empty */
  for (int id = blockIdx.x / 2; id < pairs; id += gridDim.x / 2) {
    int row, column;
    pair_find(p, id, width, &row, &column);
    row = (2 * row + rank) * EP_GEMM_TILE_ROWS;
    column = column * width + rank * EP_GEMM_TILE_ROWS;
    for (int depth = 0; depth < p.depth; depth += deep) {
      uint32_t full = at.full + 8 * t.stage, to = at.stages + t.stage * STAGE_BYTES;
      mbarrier_wait(at.empty + 8 * t.stage, t.parity);
      mbarrier_expect(full, STAGE_BYTES);
      if constexpr (a_runs) {
#pragma unroll
        for (int run = 0; run < EP_GEMM_TILE_ROWS / deep; run++)
          tma_load(to + run * line<T>::run_bytes, a, full, row + run * deep, depth);
      } else {
        tma_load(to, a, full, depth, row);
      }
      to += A_BYTES + rank * A_BYTES; /* this block's half of b, for both blocks */
      if constexpr (b_runs) {
#pragma unroll
        for (int run = 0; run < EP_GEMM_TILE_ROWS / deep; run++)
          tma_load_both(to + run * line<T>::run_bytes, b, full, column + run * deep, depth);
      } else {
        tma_load_both(to, b, full, depth, column);
      }
      turn_next(&t);
    }
  }
}

/* --- multiplying --------------------------------------------------------------------------- */

/* Gives a stage back to both blocks' fetchers. */
static __device__ __forceinline__ void stage_return(const room &at, int stage) {
  const int thread = threadIdx.x % GROUP;
  if (thread < 2) mbarrier_arrive_cluster(cluster_address(at.empty + 8 * stage, thread));
}

/* A stage's part of the sums. */
template <typename T, int WIDTH, bool a_runs, bool b_runs>
static __device__ __forceinline__ void stage_multiply(float (&sums)[WIDTH / 2], uint32_t a,
                                                      uint32_t b, bool adds) {
  constexpr int run = line<T>::run_bytes;
  wgmma_fence();
#pragma unroll
  for (int part = 0; part < 4; part++) {
    uint64_t first = a_runs ? wgmma_operand(a + part * run / 4, run, 8 * LINE_BYTES)
                            : wgmma_operand(a + part * LINE_BYTES / 4, 16, 8 * LINE_BYTES);
    uint64_t second = b_runs ? wgmma_operand(b + part * run / 4, run, 8 * LINE_BYTES)
                             : wgmma_operand(b + part * LINE_BYTES / 4, 16, 8 * LINE_BYTES);
    if constexpr (sizeof(T) == 2)
      wgmma_bf16<a_runs, b_runs>(sums, first, second, adds || part > 0);
    else
      wgmma_tf32(sums, first, second, adds || part > 0);
  }
  wgmma_commit();
}

/* The sums of a tile. One stage's products are under way while the next stage's are queued. `ahead`
 * is done LATE stages before the end. */
template <typename T, int WIDTH, bool a_runs, bool b_runs, typename AHEAD>
static __device__ __forceinline__ void tile_multiply(const ep_gemm_hopper_product &p,
                                                     const room &at, uint32_t group, turn *t,
                                                     float (&sums)[WIDTH / 2], AHEAD ahead) {
  constexpr int deep = line<T>::numbers;
  const int late = max(0, (p.depth - 1) / deep - LATE) * deep;
  int before = -1;
  for (int depth = 0; depth < p.depth; depth += deep) {
    uint32_t stage = at.stages + t->stage * STAGE_BYTES;
    mbarrier_wait(at.full + 8 * t->stage, t->parity);
    if (depth == late) ahead();
    stage_multiply<T, WIDTH, a_runs, b_runs>(sums, stage + group * (A_BYTES / 2), stage + A_BYTES,
                                             depth > 0);
    if (before >= 0) {
      wgmma_wait<1>();
      stage_return(at, before);
    }
    before = t->stage;
    turn_next(t);
  }
  wgmma_wait<0>();
  stage_return(at, before);
}

/* Float32 that runs along the result: tensor cores take TF32 from shared memory along the depth
 * alone, so a goes through registers. Which 16 of the group's rows a warp takes is free, and so
 * chosen (rows_of) that its lanes read from 32 banks. of: as multiply takes them, four parts. */
static __device__ __forceinline__ void parts_read(uint32_t a, uint32_t (&of)[4][4]) {
  const uint32_t lane = lane_of(), u = lane / 4, q = lane % 4, warp = threadIdx.x / 32 % 4;
  uint32_t from = a + warp / 2 * line<float>::run_bytes + q * LINE_BYTES + u % 4 * 4;
#pragma unroll
  for (int h = 0; h < 2; h++) { /* 16 bytes of a line are where its number says, exclusive or */
    uint32_t at = from + ((warp % 2 * 2 + h + u / 4 * 4) ^ q) * 16;
#pragma unroll
    for (int part = 0; part < 4; part++) {
      of[part][h] = shared_read(at + part * 8 * LINE_BYTES);
      of[part][2 + h] = shared_read((at ^ 64) + (part * 8 + 4) * LINE_BYTES);
    }
  }
}

/* The same for such a factor: a stage's part of it is read while the stage before is multiplied. */
template <typename AHEAD>
static __device__ __forceinline__ void
tile_multiply_running(const ep_gemm_hopper_product &p, const room &at, uint32_t group, turn *t,
                      float (&sums)[EP_GEMM_TILE_COLUMNS / 2], AHEAD ahead) {
  constexpr int deep = line<float>::numbers;
  const int late = max(0, (p.depth - 1) / deep - LATE) * deep;
  uint32_t now[4][4], next[4][4] = {};
  mbarrier_wait(at.full + 8 * t->stage, t->parity);
  parts_read(at.stages + t->stage * STAGE_BYTES + group * (A_BYTES / 2), now);
  for (int depth = 0; depth < p.depth; depth += deep) {
    const int stage = t->stage;
    const uint32_t b = at.stages + stage * STAGE_BYTES + A_BYTES;
    wgmma_fence();
#pragma unroll
    for (int part = 0; part < 4; part++)
      wgmma_tf32(sums, now[part], wgmma_operand(b + part * LINE_BYTES / 4, 16, 8 * LINE_BYTES),
                 depth > 0 || part > 0);
    wgmma_commit();
    if (depth == late) ahead();
    turn_next(t);
    if (depth + deep < p.depth) {
      mbarrier_wait(at.full + 8 * t->stage, t->parity);
      parts_read(at.stages + t->stage * STAGE_BYTES + group * (A_BYTES / 2), next);
    }
    wgmma_wait<0>();
    stage_return(at, stage);
#pragma unroll
    for (int i = 0; i < 16; i++) now[i / 4][i % 4] = next[i / 4][i % 4];
  }
}

template <typename T, int WIDTH, ep_gemm_kind kind>
static __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(THREADS, 1)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
            const __grid_constant__ ep_gemm_hopper_product p, int pairs) {
  constexpr bool half = sizeof(T) == 2;
  constexpr bool a_runs = half ? kind == EP_GEMM_WEIGHT : kind != EP_GEMM_FORWARD;
  constexpr bool b_runs = half && kind != EP_GEMM_FORWARD;
  extern __shared__ unsigned char shared[];
  const room at = room_of(shared);
  const int rank = (int)cluster_rank(), group = threadIdx.x / GROUP;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; stage++) {
      mbarrier_init(at.full + 8 * stage, 1);
      mbarrier_init(at.empty + 8 * stage, 4); /* two groups of each block */
    }
    mbarrier_init_fence();
  }
  cluster_sync();
  kernels_overlap();
  if (group == 0) {
    registers_release<FETCHES_REGISTERS>();
    if (threadIdx.x == 0) fetch<T, a_runs, b_runs>(&a, &b, p, at, rank, WIDTH, pairs);
  } else {
    registers_take<MULTIPLIES_REGISTERS>();
    turn t = {0, 0};
    for (int id = blockIdx.x / 2; id < pairs; id += gridDim.x / 2) {
      float sums[WIDTH / 2];
      int row, column;
      pair_find(p, id, WIDTH, &row, &column);
      row = 2 * row + rank;
      const advance asked = tile_begin<T, WIDTH, kind>(p, row, column);
      auto ahead = [&] {
        if (kind == EP_GEMM_WEIGHT && p.weight) weight_call<T, WIDTH>(p, row, column);
      };
      if constexpr (a_runs && !half)
        tile_multiply_running(p, at, group - 1, &t, sums, ahead);
      else
        tile_multiply<T, WIDTH, a_runs, b_runs>(p, at, group - 1, &t, sums, ahead);
      tile_end<T, WIDTH, kind>(p, asked, sums, row, column, at.sums);
    }
  }
  cluster_sync(); /* the other block may still write to this one's shared memory */
}

/* --- host ---------------------------------------------------------------------------------- */

int64_t ep_gemm_hopper_tiles(int64_t rows, int64_t columns, int tile_columns) {
  const int64_t high = 2 * EP_GEMM_TILE_ROWS;
  return (rows + high - 1) / high * 2 * ((columns + tile_columns - 1) / tile_columns);
}

/* What is computed, and from which matrices. */
static void sides_set(ep_gemm_hopper_product *p) {
  const bool half = p->half;
  switch (p->kind) {
  case EP_GEMM_FORWARD: p->rows = p->batch, p->columns = p->out, p->depth = p->in; break;
  case EP_GEMM_BACKWARD:
    p->rows = half ? p->batch : p->in, p->columns = half ? p->in : p->batch, p->depth = p->out;
    break;
  case EP_GEMM_WEIGHT:
    p->rows = half ? p->out : p->in, p->columns = half ? p->in : p->out, p->depth = p->batch;
    break;
  }
}

/* A factor of [side, depth], or, when it runs along the result, [depth, side]. */
static cudaError_t factor_make(const ep_gemm_hopper_product *p, const void *numbers, int side,
                               bool runs, ep_cuda_tensor_map *out) {
  const int deep = p->half ? line<__nv_bfloat16>::numbers : line<float>::numbers;
  const int rows = runs ? p->depth : side, columns = runs ? side : p->depth;
  const ep_cuda_tensor_map_source of = {numbers, p->half, rows, columns, columns};
  return ep_cuda_tensor_map_make(&of, runs ? deep : EP_GEMM_TILE_ROWS, out);
}

static cudaError_t maps_make(ep_gemm_hopper_product *p) {
  const bool a_runs = p->half ? p->kind == EP_GEMM_WEIGHT : p->kind != EP_GEMM_FORWARD;
  const bool b_runs = p->half && p->kind != EP_GEMM_FORWARD;
  cudaError_t code = factor_make(p, p->first, p->rows, a_runs, &p->tensor_maps[0]);
  if (code == cudaSuccess) code = factor_make(p, p->second, p->columns, b_runs, &p->tensor_maps[1]);
  return code;
}

typedef void (*kernel)(const CUtensorMap, const CUtensorMap, const ep_gemm_hopper_product, int);

static kernel kernel_of(const ep_gemm_hopper_product *p) {
  constexpr int most = EP_GEMM_TILE_COLUMNS, less = EP_GEMM_TILE_COLUMNS_LESS;
  switch (p->kind) {
  case EP_GEMM_FORWARD:
    return p->half ? product<__nv_bfloat16, most, EP_GEMM_FORWARD>
                   : product<float, most, EP_GEMM_FORWARD>;
  case EP_GEMM_BACKWARD:
    return p->half ? product<__nv_bfloat16, most, EP_GEMM_BACKWARD>
                   : product<float, most, EP_GEMM_BACKWARD>;
  default:
    return !p->half                  ? product<float, most, EP_GEMM_WEIGHT>
           : p->tile_columns == most ? product<__nv_bfloat16, most, EP_GEMM_WEIGHT>
                                     : product<__nv_bfloat16, less, EP_GEMM_WEIGHT>;
  }
}

/* Rounds of all blocks, by a tile's columns: what it costs. */
static int64_t columns_cost(const ep_gemm_hopper_product *p, int blocks, int tile_columns) {
  int64_t tiles = ep_gemm_hopper_tiles(p->rows, p->columns, tile_columns);
  return (tiles + blocks - 1) / blocks * tile_columns;
}

cudaError_t ep_gemm_hopper_prepare(int multiprocessors, ep_gemm_hopper_product *p) {
  sides_set(p);
  p->blocks = multiprocessors / 2 * 2;
  bool less = p->half && p->kind == EP_GEMM_WEIGHT &&
              columns_cost(p, p->blocks, EP_GEMM_TILE_COLUMNS_LESS) <
                  columns_cost(p, p->blocks, EP_GEMM_TILE_COLUMNS);
  p->tile_columns = less ? EP_GEMM_TILE_COLUMNS_LESS : EP_GEMM_TILE_COLUMNS;
  cudaError_t code = maps_make(p);
  kernel k = kernel_of(p);
  if (code == cudaSuccess)
    code = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
  return code;
}

cudaError_t ep_gemm_hopper_run(cudaStream_t stream, const ep_gemm_hopper_product *p) {
  CUtensorMap tensor_maps[2];
  memcpy(tensor_maps, p->tensor_maps, sizeof tensor_maps);
  int pairs = (int)(ep_gemm_hopper_tiles(p->rows, p->columns, p->tile_columns) / 2);
  cudaLaunchAttribute overlaps = {};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned int)(2 * pairs < p->blocks ? 2 * pairs : p->blocks));
  config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = SHARED_BYTES;
  config.stream = stream;
  config.attrs = &overlaps;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel_of(p), tensor_maps[0], tensor_maps[1], *p, pairs);
}
