/* Embeddings: rows of a table, chosen by whole numbers, behind numbers that stay what they are. */
#include <math.h>

#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"

enum { THREADS = 256, WARPS = THREADS / WARP };

/* Of an op: numbers, columns behind them, the vector's size, the table's rows. */
typedef struct {
  int64_t numbers, columns, dimension, embeddings;
} table;

static table table_of(const ep_op *op) {
  return {op->numbers, ep_op_columns(op), ep_op_dimension(op), op->embeddings};
}

/* The data are checked where they come from; nothing else may reach beyond the table. */
template <typename Index> static __device__ Index place_of(float x, Index embeddings) {
  const Index place = x > 0 ? (Index)x : 0;
  return place < embeddings ? place : embeddings - 1;
}

/* Index: of 32 bits where all of y fits, since its divisions take a fifth of the time. */
template <typename Index>
static __global__ void forward(Index rows, table of, const float *x, const float *weight,
                               float *y) {
  kernels_overlap();
  const Index numbers = (Index)of.numbers, dimension = (Index)of.dimension;
  const Index columns = numbers + (Index)of.columns;
  const Index width = numbers + (Index)of.columns * dimension, count = rows * width;
  const Index stride = (Index)gridDim.x * THREADS;
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index row = at / width, i = at - row * width;
    const float *from = x + row * columns;
    if (i < numbers) {
      y[at] = from[i];
    } else {
      const Index column = (i - numbers) / dimension, j = i - numbers - column * dimension;
      y[at] = weight[place_of<int64_t>(from[numbers + column], of.embeddings) * of.dimension + j];
    }
    if (count - at <= stride) return; /* at + stride may be beyond the type */
    at += stride;
  }
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const table of = table_of(call->op);
  const int64_t rows = call->rows, count = rows * call->op->out_features;
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count <= UINT32_MAX)
    ep_cuda_queue(call->stream, blocks, THREADS, 0, forward<uint32_t>, (uint32_t)rows, of,
                  call->x[0], call->weight, call->y);
  else
    ep_cuda_queue(call->stream, blocks, THREADS, 0, forward<int64_t>, rows, of, call->x[0],
                  call->weight, call->y);
  return cudaGetLastError();
}

/* --- the gradient of the table --------------------------------------------------------------- */

/* A vector is cut into pieces of a warp's lanes. A block has some neighbouring pieces of the table:
 * of a part of a vector up to many. It reads the cells of its slice in chunks and lists those that
 * hold one of its words, in their order; then each warp adds up pieces. */
enum { GROUPS = 4, CHUNK = GROUPS * THREADS, LISTED_MAX = 2 * CHUNK };

/* So many hits are loaded before the first of them is added. */
enum { AHEAD = 8 };

/* As many blocks fill any device. */
enum { BLOCKS_ENOUGH = 512 };

/* Cells with words of the block. */
typedef struct {
  int64_t from[LISTED_MAX]; /* where the gradient by the cell's vector begins */
  int word[LISTED_MAX];     /* counted from the block's first */
} hits;

static __host__ __device__ int64_t pieces_of(table of) {
  return (of.dimension + WARP - 1) / WARP;
}

/* A block's pieces: the first is `piece` of `word`, and the last is of the last of `words`. */
typedef struct {
  int64_t word;
  unsigned int piece, pieces; /* of a vector */
  int count, words;
} tile;

static __device__ tile tile_of(table of, int each) {
  const int64_t pieces = pieces_of(of), first = (int64_t)blockIdx.x * each;
  const int64_t left = of.embeddings * pieces - first;
  tile mine = {.word = first / pieces,
               .piece = (unsigned int)(first % pieces),
               .pieces = (unsigned int)pieces,
               .count = left < each ? (int)left : each};
  mine.words = (int)((mine.piece + (unsigned int)mine.count - 1) / mine.pieces) + 1;
  return mine;
}

/* Appends the hits among cells base … base + CHUNK - 1, if below `end`, to the first `listed`.
 * Returns how many are listed then. counts: [WARPS], not those of the call before. All threads
 * call. The list is there after the next barrier. */
template <typename Index>
static __device__ int hits_append(table of, const tile &mine, const float *x, Index base, Index end,
                                  int listed, int *counts, hits *list) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const Index columns = (Index)of.columns, numbers = (Index)of.numbers;
  const Index first = base + (Index)(warp * GROUPS * WARP + lane);
  Index before[GROUPS]; /* numbers in front of the cell, in all rows */
  float cell[GROUPS];
#pragma unroll
  for (int i = 0; i < GROUPS; i++) {
    const Index place = first + i * WARP;
    before[i] = numbers ? (place / columns + 1) * numbers : 0;
    cell[i] = place < end ? x[place + before[i]] : 0;
  }
  unsigned int found[GROUPS];
  int word[GROUPS], count = 0;
#pragma unroll
  for (int i = 0; i < GROUPS; i++) {
    const Index at = place_of<Index>(cell[i], (Index)of.embeddings) - (Index)mine.word;
    word[i] = (int)at;
    found[i] =
        __ballot_sync(ALL_LANES, first + i * WARP < end && (uint64_t)at < (uint64_t)mine.words);
    count += __popc(found[i]);
  }
  if (lane == 0) counts[warp] = count;
  __syncthreads();
  int at = listed;
  for (int i = 0; i < WARPS; i++) {
    if (i < warp) at += counts[i];
    listed += counts[i];
  }
#pragma unroll
  for (int i = 0; i < GROUPS; i++) {
    if (found[i] >> lane & 1) {
      const int to = at + __popc(found[i] & ((1u << lane) - 1));
      list->from[to] = (int64_t)(first + i * WARP) * of.dimension + (int64_t)before[i];
      list->word[to] = word[i];
    }
    at += __popc(found[i]);
  }
  return listed;
}

/* Adds what came of hits first … end - 1 with `word` to sum, in their order, each the number at j
 * of its vector; j may be beyond. All lanes call, with neighbouring j. */
static __device__ float hits_add(table of, const hits &list, const float *grad, int word, int first,
                                 int end, int64_t j, float sum) {
  const bool within = j < of.dimension;
  for (int base = first; base < end; base += WARP) {
    const int i = base + threadIdx.x % WARP;
    const int64_t from = i < end ? list.from[i] : 0;
    unsigned int left = __ballot_sync(ALL_LANES, i < end && list.word[i] == word);
    while (left) {
      float value[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        const int64_t at = __shfl_sync(ALL_LANES, from, __ffs(left) - 1) + j;
        value[k] = left && within ? grad[at] : 0;
        left &= left - 1;
      }
#pragma unroll
      for (int k = 0; k < AHEAD; k++) sum += value[k];
    }
  }
  return sum;
}

/* Adds the listed hits to the block's pieces, or writes the pieces where nothing is there yet.
 * Where there are fewer pieces than warps, several warps share a piece, each a part of the list.
 * All threads call. */
static __device__ void tile_add(table of, const tile &mine, const hits &list, int listed,
                                const float *grad, bool there, float sums[WARPS][WARP],
                                float *gradient) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  int parts = WARPS;
  while (parts > 1 && WARPS / parts < mine.count) parts /= 2;
  const int part = warp % parts, step = WARPS / parts;
  const int first = listed * part / parts, end = listed * (part + 1) / parts;
  for (int i = warp / parts; i < mine.count || parts > 1; i += step) {
    const unsigned int piece = mine.piece + (unsigned int)i;
    const int word = (int)(piece / mine.pieces);
    const int64_t j = (int64_t)(piece % mine.pieces) * WARP + lane;
    const bool writes = i < mine.count && part == 0 && j < of.dimension;
    float *to = gradient + (mine.word + word) * of.dimension + j;
    float sum = writes && there ? *to : 0;
    if (i < mine.count) sum = hits_add(of, list, grad, word, first, end, j, sum);
    if (parts > 1) {
      sums[warp][lane] = sum;
      __syncthreads();
      for (int k = 1; k < parts && part == 0; k++) sum += sums[warp + k][lane];
    }
    if (writes) *to = sum;
    if (parts > 1) return; /* as many groups of warps as pieces, or more */
  }
}

/* A block `each` pieces and a slice of the cells. A piece's sum has the order of the cells, but
 * for the parts of tile_add. */
template <typename Index>
static __global__ void weights(int64_t count, table of, int each, const float *x, const float *grad,
                               float *gradient) {
  kernels_overlap();
  __shared__ hits list;
  __shared__ int counts[2][WARPS];
  __shared__ float sums[WARPS][WARP];
  const tile mine = tile_of(of, each);
  const Index end = (Index)(count * (blockIdx.y + 1) / gridDim.y);
  Index base = (Index)(count * blockIdx.y / gridDim.y);
  int listed = 0, odd = 0;
  bool there = false;
  gradient += blockIdx.y * of.embeddings * of.dimension;
  do {
    listed = hits_append(of, mine, x, base, end, listed, counts[odd], &list);
    odd ^= 1;
    base += CHUNK;
    if (base < end && listed <= LISTED_MAX - CHUNK) continue;
    __syncthreads(); /* the list is there */
    tile_add(of, mine, list, listed, grad, there, sums, gradient);
    there = true;
    listed = 0;
    __syncthreads(); /* the list and the sums are read before the next ones are written */
  } while (base < end);
}

/* Pieces of a block: few where the device would not be full otherwise. All blocks' ways through the
 * cells, and all pieces' ways through their lists, are shortest together where a block has as many
 * words as there are blocks. */
static int pieces_each(table of, int slices) {
  const int64_t all = of.embeddings * pieces_of(of) * slices;
  const int64_t most = (int64_t)sqrt((double)of.embeddings) * pieces_of(of);
  const int64_t each = (all + BLOCKS_ENOUGH - 1) / BLOCKS_ENOUGH;
  return (int)(each < most ? each : most);
}

/* Of the table: [slices, embeddings, dimension], each the sum of grad's in a fixed order, of a
 * slice of the rows' cells. The input is data, by which nobody asks for a gradient. */
static cudaError_t backward_run(const ep_cuda_call *call) {
  const table of = table_of(call->op);
  const cudaStream_t stream = call->stream;
  const float *x = call->x[0], *grad = call->grad;
  float *gradient = call->gradient;
  const int64_t rows = call->rows, count = rows * of.columns;
  const int slices = call->slices, each = pieces_each(of, slices);
  const int64_t tiles = (of.embeddings * pieces_of(of) + each - 1) / each;
  const dim3 blocks((unsigned int)tiles, (unsigned int)slices);
  /* A base may pass the end by a chunk. */
  if (rows * call->op->in_features <= INT32_MAX && of.embeddings <= INT32_MAX)
    ep_cuda_queue(stream, blocks, THREADS, 0, weights<uint32_t>, count, of, each, x, grad,
                  gradient);
  else
    ep_cuda_queue(stream, blocks, THREADS, 0, weights<int64_t>, count, of, each, x, grad, gradient);
  return cudaGetLastError();
}

/* Cells that a block looks through, and weights of all slices together. */
enum { SLICE_CELLS = 2048, SLICED_WEIGHTS_MAX = 1 << 22 };

static int slices_of(const ep_op *op, int64_t batch) {
  const table of = table_of(op);
  const int slices = ep_cuda_row_slices(batch * of.columns, SLICE_CELLS);
  const int64_t most = SLICED_WEIGHTS_MAX / (of.embeddings * of.dimension);
  const int64_t wanted = slices < most ? slices : most;
  return wanted > 1 ? (int)wanted : 1;
}

EP_CUDA_OPERATOR(EMBEDDING, forward_run, backward_run, APART, NULL, slices_of);
