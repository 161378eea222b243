/* balance.cuh: who takes which row, where some blocks have two rows of a batch and others one, and
 * a row takes longer the more channels its dropout2d keeps: the longest rows are alone in their
 * blocks, of the others the longest and the shortest are neighbours. Whoever takes a row, its sums
 * go to the row's own place, so that no number depends on it. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_BALANCE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_BALANCE_CUH

#include "kernels/cuda/device/global_memory.cuh"
#include "kernels/cuda/executors/cnn/row.cuh"

constexpr bool rows_differ() {
  for (int s = 0; s < STAGES; s++)
    if (stage(s).list >= 0) return true;
  return false;
}
constexpr bool BALANCES =
    rows_differ() && GROUPS == 2 && BLOCKS < BATCH_ROWS && BATCH_ROWS < WORKERS;

/* The last group of the last block has no row then: it finds the order. */
static __device__ __forceinline__ bool finds_order(const worker &w) {
  return BALANCES && w.index == WORKERS - 1;
}

/* A group's place among the rows of a batch, the longest first; `rows` or more: it has none. */
static __device__ __forceinline__ int rank_of(int group, int rows) {
  int block = (int)blockIdx.x, pairs = max(rows - BLOCKS, 0);
  if constexpr (!BALANCES) return group * BLOCKS + block;
  if (group == 1) return block < pairs ? rows - 1 - block : rows;
  return block < pairs ? BLOCKS - pairs + block : block - pairs;
}

/* The row that a group takes in step `at` of the segment; the order of the first two is nobody's to
 * find. */
static __device__ __forceinline__ int row_taken(const worker &w, long long at, int rows) {
  int rank = rank_of(w.group, rows);
  if (!BALANCES || at < 2 || rank >= rows) return rank;
  return __ldcg(w.s.order + (at & 1) * BATCH_ROWS + rank);
}

/* What row `row` of step `step` will cost: the products of the channels that it keeps. */
template <int S> static __device__ int row_cost(const worker &w, long long step, int row) {
  if constexpr (S >= STAGES) {
    return 0;
  } else {
    constexpr cnn_stage A = stage(S);
    int cost = 0;
    if constexpr (A.list >= 0) {
      constexpr cnn_op OP = op(A.dropout);
      constexpr int CHANNELS = A.out.channels;
      constexpr int EACH =
          A.in.channels * A.kernel_height * A.kernel_width * A.out.height * A.out.width;
      long long first = (long long)row * CHANNELS, quad = first / 4;
      int kept = 0;
#pragma unroll 2
      for (int at = (int)(quad * 4 - first); at < CHANNELS; at += 4, quad++) {
        ep_random4 words = ep_dropout_words(w.s.seed, step, OP.layer, quad);
#pragma unroll
        for (int i = 0; i < 4; i++)
          kept += at + i >= 0 && at + i < CHANNELS && ep_dropout_word_keeps(words.word[i], OP.p);
      }
      cost = kept * EACH;
    }
    return cost + row_cost<S + 1>(w, step, row);
  }
}

/* Orders the rows of step at + 2, two after the clock's, by the group that never has a row. */
static __device__ __forceinline__ void order_find(const worker &w, long long at) {
  constexpr int VECTORS = parts_of(BATCH_ROWS, 4);
  int *costs = (int *)(w.m + REDUCTION), rows = rows_of((w.batch + 2) % STEPS_PER_EPOCH);
#pragma unroll 1
  for (int row = w.thread; row < 4 * VECTORS; row += THREADS)
    costs[row] = row < rows ? row_cost<0>(w, w.step + 2, row) : -1;
  group_wait(w);
#pragma unroll 1
  for (int row = w.thread; row < rows; row += THREADS) {
    int mine = costs[row], rank = 0;
#pragma unroll 2
    for (int i = 0; i < VECTORS; i++) {
      int4 four = ((const int4 *)costs)[i];
      rank += (four.x > mine || (four.x == mine && 4 * i < row)) +
              (four.y > mine || (four.y == mine && 4 * i + 1 < row)) +
              (four.z > mine || (four.z == mine && 4 * i + 2 < row)) +
              (four.w > mine || (four.w == mine && 4 * i + 3 < row));
    }
    w.s.order[(at & 1) * BATCH_ROWS + rank] = row;
  }
}

/* --- the next step's row ---------------------------------------------------------------------- */

/* By the second warp, while the first one has the loss: which row the group takes in step at + 1,
 * and that row is brought near. */
static __device__ __forceinline__ void row_ahead(const worker &w, long long at) {
  constexpr int ROW_BYTES = STORED_CHANNELS * STORED_HEIGHT * STORED_WIDTH * (BYTES ? 1 : 4);
  bool new_epoch = w.batch + 1 == STEPS_PER_EPOCH;
  int batch = new_epoch ? 0 : w.batch + 1, rows = rows_of(batch), lane = w.thread % WARP;
  int row = row_taken(w, at + 1, rows);
  long long from = -1; /* an order that is not there yet */
  if (row < rows && !(SHUFFLES && new_epoch)) from = row_from(w, batch, row);
  if (lane == 0) *w.ahead = {row, from};
  if (from < 0) return;
#pragma unroll 1
  for (int at_byte = lane * 128; at_byte < ROW_BYTES + 127; at_byte += WARP * 128) {
    const char *line = (const char *)w.s.x + from * ROW_BYTES + min(at_byte, ROW_BYTES - 1);
    prefetch_l2(line);
  }
}

#endif
