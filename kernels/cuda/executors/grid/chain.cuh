/* chain.cuh: the front of cuda/grid by one block, which keeps its weights in shared memory for the
 * whole segment: a warp takes 16 rows of the batch through all layers and back and waits for no
 * other. The other blocks meanwhile have the wide layers: they await the front's outputs, and give
 * the gradient by them.
 *
 * Rows are rows of the products, and features columns: with g = lane / 4 and t = lane % 4 a thread
 * has features t and t + 4 of rows g and 8 + g of eight features, as a sum and as a factor. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_CUH

#include "kernels/cuda/executors/grid/chain_updates.cuh"

/* --- products of a warp's rows ---------------------------------------------------------------- */

/* What a warp sums up at once: eight columns four times. */
constexpr int CHAIN_TILES = 4, CHAIN_COLUMNS = CHAIN_TILES * 8;

template <int TILES> struct chain_tiles { static constexpr int value = TILES; };

/* Adds the products of EIGHTS eights of terms. low, high: features t and t + 4 of the warp's rows,
 * `second` floats before those of the second eight rows; w0, w1: lines of two tiles each. */
template <bool PRECISE, int TILES, int EIGHTS>
static __device__ __forceinline__ void eights_multiply(float (&sum)[TILES][4], const float *low,
                                                       const float *high, int second,
                                                       const float *w0, const float *w1) {
  constexpr int LOADS = (TILES + 1) / 2;
  hi_lo rows[EIGHTS][4], columns[EIGHTS][LOADS][4];
#pragma unroll
  for (int k = 0; k < EIGHTS; k++) {
    const float *l = low + k * BLOCK, *h = high + k * BLOCK;
    rows[k][0] = hi_lo_of<PRECISE>(l[0]), rows[k][1] = hi_lo_of<PRECISE>(l[second]);
    rows[k][2] = hi_lo_of<PRECISE>(h[0]), rows[k][3] = hi_lo_of<PRECISE>(h[second]);
#pragma unroll
    for (int j = 0; j < LOADS; j++) hi_lo_load<PRECISE>(columns[k][j], (j ? w1 : w0) + k * 8);
  }
#pragma unroll
  for (int k = 0; k < EIGHTS; k++)
#pragma unroll
    for (int i = 0; i < TILES; i++)
      multiply<PRECISE>(sum[i], rows[k], columns[k][i / 2][i % 2 * 2],
                        columns[k][i / 2][i % 2 * 2 + 1]);
}

/* The same of all terms: an eighth of them are eights. */
template <bool PRECISE, int TILES>
static __device__ __forceinline__ void rows_multiply(float (&sum)[TILES][4], const float *low,
                                                     const float *high, int second, const float *w0,
                                                     const float *w1, int terms) {
#pragma unroll 1
  for (; terms >= 32; terms -= 32, low += 4 * BLOCK, high += 4 * BLOCK, w0 += 32, w1 += 32)
    eights_multiply<PRECISE, TILES, 4>(sum, low, high, second, w0, w1);
  if (terms & 16) {
    eights_multiply<PRECISE, TILES, 2>(sum, low, high, second, w0, w1);
    low += 2 * BLOCK, high += 2 * BLOCK, w0 += 16, w1 += 16;
  }
  if (terms & 8) eights_multiply<PRECISE, TILES, 1>(sum, low, high, second, w0, w1);
}

/* The place among eight lines of the one that a product has as number n: sums of 2t and 2t + 1 are
 * then features t and t + 4. */
static __device__ __forceinline__ int chain_turned(int n) {
  return n / 2 + n % 2 * 4;
}

/* --- passes ---------------------------------------------------------------------------------- */

/* The activation of a layer that has another one than a ReLU, or none, from where slopes go. */
template <bool PRECISE> static __device__ __noinline__ void chain_activate(int l, int first) {
  const layer of = args_of().layers[l];
  const chain_layer c = chain_layers()[l];
  const now n = now_of();
  bool last = l + 1 == args_of().front;
  float *slopes = block_memory + c.grad, *to = block_memory + chain_layers()[l + 1].x;
  float *after = after_of(n, l);
  int lane = threadIdx.x % WARP, row = first + lane % 16;
#pragma unroll 1
  for (int o = lane / 16; o < c.outputs; o += 2) {
    int at = ep_grid_chain_offset(row, o, c.outputs);
    activated a = {0, 0};
    if (o < of.out) a = activate(of, slopes[at]);
    slopes[at] = a.slope;
    if (!last) {
      to[at] = operand_of<PRECISE>(a.y);
    } else if (row < n.rows && o < of.stride) {
      long long offset = (long long)row * of.stride + o;
      after[offset] = a.y;
      n.scratch[of.grad + offset] = a.slope; /* for those who give the gradient */
    }
  }
}

/* A thread's places in a pass. */
struct chain_lane {
  int low, high;         /* features t and t + 4 of eight rows */
  int line, half;        /* of weights */
  const float *rows;     /* the warp's first terms */
  float *after;          /* where it gives the first columns of its row, and … */
  int width;             /* … of the eighth row behind it, 8 times as far */
  bool counts, counts_8; /* which of these rows are there */
};

/* Columns of a pass from m on, of which `left` are left. */
template <bool PRECISE, int TILES>
static __device__ __forceinline__ void columns_multiply(float (&sum)[TILES][4], const chain_pass &p,
                                                        const chain_lane &lane, int m) {
  const float *weights = block_memory + p.weights;
  int last = p.columns - 1, line = m + lane.line;
  const float *w0 = weights + ep_grid_chain_weight(min(line, last), lane.half, p.line), *w1 = w0;
  if (TILES > 2) w1 = weights + ep_grid_chain_weight(min(line + 16, last), lane.half, p.line);
  rows_multiply<PRECISE, TILES>(sum, lane.rows + lane.low, lane.rows + lane.high, 8 * p.terms, w0,
                                w1, p.terms);
}

template <int TILES>
static __device__ __forceinline__ void columns_store(const float (&v)[TILES][4], float *to,
                                                     const chain_lane &lane, int second, int left) {
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    if (i == CHAIN_TILES - 1 && left <= i * 8) break;
    float *low = to + i * BLOCK + lane.low, *high = to + i * BLOCK + lane.high;
    low[0] = v[i][0], high[0] = v[i][1];
    low[second] = v[i][2], high[second] = v[i][3];
  }
}

template <bool PRECISE, int TILES>
static __device__ __forceinline__ void columns_forward(const chain_pass &p, const chain_lane &lane,
                                                       int m, float *to) {
  const bool relu = p.kind & CHAIN_RELU, gives = p.kind & CHAIN_GIVES;
  const int t = threadIdx.x % 4;
  const float *bias = block_memory + p.with + m + (gives ? 2 * t : t);
  float v[TILES][4];
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    v[i][0] = v[i][2] = bias[i * 8];
    v[i][1] = v[i][3] = bias[i * 8 + (gives ? 1 : 4)];
  }
  columns_multiply<PRECISE, TILES>(v, p, lane, m);
  if (relu)
#pragma unroll
    for (int e = 0; e < TILES * 4; e++) v[e / 4][e % 4] = ep_relu(v[e / 4][e % 4]);
  if (!gives) {
    if (relu)
#pragma unroll
      for (int e = 0; e < TILES * 4; e++) v[e / 4][e % 4] = operand_of<PRECISE>(v[e / 4][e % 4]);
    columns_store(v, to, lane, 8 * p.columns, p.columns - m);
    return;
  }
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    float *after = lane.after + m + i * 8;
    bool there = m + i * 8 + 2 * t < lane.width;
    if (there && lane.counts) *(float2 *)after = make_float2(v[i][0], v[i][1]);
    if (there && lane.counts_8) *(float2 *)(after + 8 * lane.width) = make_float2(v[i][2], v[i][3]);
  }
}

template <bool PRECISE, int TILES>
static __device__ __forceinline__ void columns_backward(const chain_pass &p, const chain_lane &lane,
                                                        int m, const float *with, float *to) {
  const int second = 8 * p.columns;
  float slopes[TILES][4], v[TILES][4] = {};
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    const float *low = with + i * BLOCK + lane.low, *high = with + i * BLOCK + lane.high;
    slopes[i][0] = low[0], slopes[i][1] = high[0];
    slopes[i][2] = low[second], slopes[i][3] = high[second];
  }
  columns_multiply<PRECISE, TILES>(v, p, lane, m);
  const bool relu = p.kind & CHAIN_RELU;
#pragma unroll
  for (int e = 0; e < TILES * 4; e++) {
    float slope = slopes[e / 4][e % 4];
    slope = relu ? ep_relu_derivative(slope) : slope;
    v[e / 4][e % 4] = operand_of<PRECISE>(v[e / 4][e % 4] * slope);
  }
  columns_store(v, to, lane, second, p.columns - m);
}

/* The warp's rows, from `first` on, through pass `number`: forward to the next layer's input, or,
 * of the last one, to memory; back to the gradient by the outputs before. */
template <bool PRECISE, bool BACK>
static __device__ __noinline__ void chain_rows_pass(int number, int first) {
  const chain_pass p = chain_passes()[number];
  const bool gives = !BACK && p.kind & CHAIN_GIVES;
  const int at = threadIdx.x % WARP, g = at / 4, t = at % 4;
  chain_lane lane;
  lane.low = ep_grid_chain_offset(g, t, 0), lane.high = ep_grid_chain_offset(g, t + 4, 0);
  lane.line = (gives ? at % 8 : chain_turned(at % 8)) + at / 16 * 8, lane.half = at / 8 % 2 * 4;
  lane.rows = block_memory + p.rows + first * p.terms;
  if (gives) {
    const now n = now_of();
    int l = p.kind / CHAIN_LAYER;
    lane.width = args_of().layers[l].stride;
    lane.after = after_of(n, l) + (first + g) * lane.width + 2 * t;
    lane.counts = first + g < n.rows, lane.counts_8 = first + g + 8 < n.rows;
  }
  float *to = block_memory + p.to + first * p.columns;
  const float *with = block_memory + p.with + first * p.columns; /* slopes */
#pragma unroll 1
  for (int m = 0; m < p.columns; m += CHAIN_COLUMNS) {
    int left = p.columns - m;
    auto columns = [&](auto tiles) {
      if constexpr (BACK)
        columns_backward<PRECISE, tiles.value>(p, lane, m, with, to);
      else
        columns_forward<PRECISE, tiles.value>(p, lane, m, to);
    };
    if (left <= 8)
      columns(chain_tiles<1>());
    else if (left <= 16)
      columns(chain_tiles<2>());
    else
      columns(chain_tiles<CHAIN_TILES>());
    to += CHAIN_TILES * BLOCK, with += CHAIN_TILES * BLOCK;
  }
  __syncwarp();
  if (BACK || p.kind & CHAIN_RELU) return;
  chain_activate<PRECISE>(p.kind / CHAIN_LAYER, first);
  __syncwarp();
}

template <bool PRECISE> static __device__ __forceinline__ void chain_rows_forward(int first) {
#pragma unroll 1
  for (int l = 0; l < args_of().front; l++) chain_rows_pass<PRECISE, false>(l, first);
}

/* The gradient by all layers' outputs, from that by the last one's on. */
template <bool PRECISE> static __device__ __forceinline__ void chain_rows_backward(int first) {
  int front = args_of().front;
#pragma unroll 1
  for (int number = front; number < 2 * front - 1; number++)
    chain_rows_pass<PRECISE, true>(number, first);
}

/* --- the gradient that others give ------------------------------------------------------------ */

/* Whether `blocks` have arrived in this step. */
static __device__ __forceinline__ bool chain_met(int meeting, int blocks) {
  unsigned target = state_of().n.turn * (unsigned)blocks;
  return (int)(counter_read(meeting_of(meeting)) - target) >= 0;
}

static __device__ __forceinline__ bool chain_is_given() {
  return chain_met(EP_GRID_GIVEN, args_of().given);
}

/* A warp's rows of it, which others left in memory as they lie here. */
static __device__ __forceinline__ void chain_grad_take(int first) {
  const args &s = args_of();
  const chain_layer &c = chain_layers()[s.front - 1];
  int lane = threadIdx.x % WARP, at = first * c.outputs, floats = 16 * c.outputs;
  if (lane == 0)
    while (!chain_is_given()) continue;
  __syncwarp();
  const float *from = s.scratch + s.front_grad + at;
  float *to = block_memory + c.grad + at;
#pragma unroll 2
  for (int i = 4 * lane; i < floats; i += 4 * WARP) cp_async_16(to + i, from + i, true);
  cp_async_wait_all();
  __syncwarp();
}

/* How many phases before the gradient a rehearsal begins. Where there are middle layers, it takes
 * longer, since blocks nearby run through more, and what it brought is soon lost again: so it
 * begins earlier, and anew after a pause of so many looks for the gradient, each of some 500 ns. */
constexpr int REHEARSAL_PHASES = 2, REHEARSAL_PHASES_LONG = 4, REHEARSAL_LOOKS = 100;

/* The meeting that a rehearsal awaits: as many phases before the one that gives the gradient. */
static __device__ __forceinline__ int chain_early_meeting() {
  const args &s = args_of();
  int number = 0;
  while (number < s.phases_count - 1 && s.phases[number].arrives != EP_GRID_GIVEN) number++;
  const int before = s.middle_blocks > 0 ? REHEARSAL_PHASES_LONG : REHEARSAL_PHASES;
  return s.phases[number > before ? number - before : 0].awaits;
}

/* A warp that has no rows runs through the way back and forward, on rows that nobody wants, while
 * others are about to give the gradient: blocks nearby, which share the cache of instructions, have
 * taken the front's place there since the last step. Not before, or the front would take theirs. */
template <bool PRECISE> static __device__ __noinline__ void chain_rehearse(int first) {
  const int front = args_of().front, early = chain_early_meeting();
  const bool plain = update_way_of().plain;
  if (early >= EP_GRID_PHASE)
    while (!__any_sync(ALL_LANES, chain_met(early, args_of().phases[early - EP_GRID_PHASE].tasks)))
      continue;
  const bool again = args_of().middle_blocks > 0;
  for (int number = front; !__any_sync(ALL_LANES, chain_is_given()); number++) {
    if (again && number == 3 * front) {
      number = front - 1;
      for (int i = 0; i < REHEARSAL_LOOKS && !__any_sync(ALL_LANES, chain_is_given()); i++)
        __nanosleep(100);
      continue;
    }
    if (number < 2 * front - 1)
      chain_rows_pass<PRECISE, true>(number, first);
    else if (number > 2 * front - 1 && number < 3 * front)
      chain_rows_pass<PRECISE, false>(number - 2 * front, first);
    else if (number == 2 * front - 1 && plain)
      chain_pieces_update<PRECISE>(chain_rehearsal(), CHAIN_MEETS_NOT);
  }
}

/* --- the steps ------------------------------------------------------------------------------- */

static __device__ __forceinline__ void chain_order_make(ep_permutation *permutation,
                                                        long long epoch) {
  const args &s = args_of();
  if (!s.shuffles) return;
  if (threadIdx.x == 0)
    *permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, s.train_rows);
  __syncthreads();
}

/* One thread: the step at hand, with number `batch` of an epoch. */
static __device__ __forceinline__ void chain_now_make(int batch, unsigned turn) {
  const args &s = args_of();
  long long left = s.train_rows - batch * s.batch_rows;
  int rows = (int)(left < s.batch_rows ? left : s.batch_rows);
  state_of().n = {nullptr, 0, rows, turn, 0, s.scratch};
}

/* The step at hand. */
template <bool PRECISE> static __device__ __forceinline__ void chain_step_forward() {
  const int first = threadIdx.x / WARP * 16;
  if (threadIdx.x == 0) chain_layers()[0].x = chain_passes()[0].rows;
  if (first < args_of().chain_rows) chain_rows_forward<PRECISE>(first);
  grid_arrive(meeting_of(EP_GRID_FRONT));
}

/* batch: the next step's. Who has no rows begins with the sums of the last layer as soon as the
 * gradient is there. */
template <bool PRECISE> static __device__ __forceinline__ void chain_step_backward(int batch) {
  const int first = threadIdx.x / WARP * 16, rows = args_of().chain_rows;
  const chain_piece *piece = chain_pieces() + WARPS - 1 - threadIdx.x / WARP;
  bool early = false;
  if (first < rows) {
    chain_grad_take(first);
    if (rows < EP_GRID_CHAIN_ROWS) named_barrier_arrive<THREADS>(1);
    chain_rows_backward<PRECISE>(first);
  } else {
    if (first == rows) chain_rehearse<PRECISE>(first);
    cp_async_wait_all();
    named_barrier_sync<THREADS>(1);
    early = piece->there && piece->layer == args_of().front - 1;
  }
  chain_pieces_update<PRECISE>(piece, early ? CHAIN_MEETS_LATE : CHAIN_MEETS);
  if (threadIdx.x == 0) chain_now_make(batch, state_of().n.turn + 1);
  __syncthreads();
  if (update_way_of().plain) return;
  chain_optimize();
  __syncthreads();
}

#endif
