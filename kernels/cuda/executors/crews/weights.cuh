/* weights.cuh: the weights of cuda/crews: their gradients, over the rows of all crews, and their
 * update. The blocks of one rank share out what that rank has of a layer, by its inputs; the front
 * is shared out over all. A block's warps take tasks, 16 outputs by 16 inputs each; its k-th task
 * is known to a warp's k-th lane. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_WEIGHTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_WEIGHTS_CUH

#include "kernels/cuda/executors/crews/chain.cuh"

/* --- what lies where ------------------------------------------------------------------------- */

constexpr int TERMS = 2 * CREWS * 128; /* of 16 outputs */
constexpr int TASK_FLOATS = CREWS * 256 + TERMS;

/* Tasks of a layer of the front: its biases' are the last. */
constexpr int front_tasks(int l) {
  return tiles_down(l) * (across(l) + 1);
}
constexpr int front_turns() {
  int count = 0;
  for (int l = 0; l < FRONT; l++) count += front_tasks(l);
  return (count + BLOCKS - 1) / BLOCKS;
}
constexpr int FRONT_TURNS = front_turns(); /* tasks of a block */

/* Tiles of inputs that a crew's block has of a layer behind the front, at most. */
constexpr int tiles_each(int l) {
  return (across(l) + CREWS - 1) / CREWS;
}
constexpr int turns_count() {
  int count = FRONT_TURNS;
  for (int l = FRONT; l < LAYERS; l++) count += tiles_down(l) * (tiles_each(l) + 1);
  return (count + WARPS - 1) / WARPS;
}
constexpr int TURNS = turns_count(); /* tasks of a warp, at most */
static_assert(TURNS <= WARP, "a lane knows one");

/* Where a block has what it needs of layer l for its tasks, while no weights are there: behind
 * those of the front's tasks. */
constexpr int staged_features(int l) {
  return tiles_each(l) * CREWS * 256;
}
constexpr int staged(int l) {
  int at = FRONT_TURNS * TASK_FLOATS;
  for (int i = FRONT; i < l; i++) at += staged_features(i) + layer(i).outputs * CREWS * ROWS;
  return at;
}
static __device__ __forceinline__ int tiles_first(int across, unsigned crew) {
  return across * (int)crew / CREWS;
}

/* Whether this block has the biases of layer l, behind the front, among its tasks. */
static __device__ __forceinline__ bool has_biases(const row_set &rows, int l) {
  return (int)rows.row_block == l % CREWS && (l < LAST || rows.rank == 0);
}

/* --- tasks ----------------------------------------------------------------------------------- */

struct task {
  int outputs, inputs;  /* that there are, of 16 by 16 */
  int tiles;            /* of eight outputs; 0: no task */
  int parameter, line;  /* the first, and from output to output */
  int image, next;      /* in scratch, and to the next tile */
  int x, terms;         /* staged: [CREWS, 256], -1: ones; [2, CREWS, 128] */
  int from, terms_from; /* the same in scratch, where the task stages them itself */
  int stage;            /* the barrier of what is staged */
  float decay;
};
static_assert(sizeof(task) == EP_CREWS_TASK_FLOATS * sizeof(float), "what plan.c reserves");

/* Of a layer: 16 outputs from tile m on by input tile n of this block's part. */
static __device__ __forceinline__ void task_fill(task &of, const crews_layer &layer, int m, int n,
                                                 int first_output, int first_input, bool of_bias,
                                                 int piece) {
  int output = first_output + m * 16, input = first_input + n * 16;
  of.tiles = layer.outputs - m * 16 > 8 ? 2 : 1;
  of.outputs = max(0, min(of.tiles * 8, layer.out - output));
  of.inputs = of_bias ? layer.bias >= 0 : max(0, min(16, layer.in - input));
  of.parameter = of_bias ? layer.bias + output : layer.weight + output * layer.in + input;
  of.line = of_bias ? 1 : layer.in;
  of.next = of_bias ? 8 : layer.inputs * 8;
  of.image = layer.image + piece +
             (of_bias ? layer.outputs * layer.inputs + m * 16 : m * 2 * of.next + n * 128);
}

/* The block's task `number`. */
static __device__ __forceinline__ task task_make(const row_set &rows, int number) {
  task made = {};
  int e = number * BLOCKS + (int)(rows.row_block * RANKS + rows.rank);
  made.from = -1;
  if (number < FRONT_TURNS) {
#pragma unroll
    for (int l = 0; l < FRONT; l++) {
      const crews_layer of = layer(l);
      if (e >= 0 && e < front_tasks(l)) {
        bool of_bias = e >= tiles_down(l) * across(l);
        int m = of_bias ? e - tiles_down(l) * across(l) : e / across(l), n = e % across(l);
        task_fill(made, of, m, of_bias ? 0 : n, 0, 0, of_bias, 0);
        made.terms = number * TASK_FLOATS;
        made.x = of_bias ? -1 : made.terms + TERMS;
        made.from = of.x + n * CREWS * 256;
        made.terms_from = of.grad + m * TERMS;
        made.stage = STAGES + number;
        made.decay = of_bias ? rows.s.bias_decay[l] : rows.s.weight_decay[l];
      }
      e -= front_tasks(l);
    }
    return made;
  }
  e = number - FRONT_TURNS;
#pragma unroll
  for (int l = FRONT; l < LAYERS; l++) {
    const crews_layer of = layer(l);
    int first = tiles_first(across(l), rows.row_block),
        tasks = (tiles_first(across(l), rows.row_block + 1) - first) * tiles_down(l),
        all = tasks + (has_biases(rows, l) ? tiles_down(l) : 0);
    if (e >= 0 && e < all) {
      bool of_bias = e >= tasks;
      int m = of_bias ? e - tasks : e % tiles_down(l), n = of_bias ? 0 : e / tiles_down(l);
      task_fill(made, of, m, of_bias ? 0 : first + n, l < LAST ? (int)rows.rank * of.outputs : 0,
                l < LAST ? 0 : (int)rows.rank * of.inputs, of_bias,
                (int)rows.rank * piece_floats(l));
      made.x = of_bias ? -1 : staged(l) + n * CREWS * 256;
      made.terms = staged(l) + staged_features(l) + m * TERMS;
      made.stage = STAGES + l;
      made.decay = of_bias ? rows.s.bias_decay[l] : rows.s.weight_decay[l];
    }
    e -= all;
  }
  return made;
}

/* A lane's own lies in scratch while the rows are on their way, which need the registers: [BLOCKS,
 * WARPS, WARP]. */
static __device__ __forceinline__ task *task_place(const row_set &rows) {
  int block = (int)(rows.row_block * RANKS + rows.rank);
  return (task *)(rows.s.scratch + TASKS) + block * THREADS + threadIdx.x;
}

static __device__ __forceinline__ task task_of_lane(const task &own, int lane) {
  task of;
  of.outputs = __shfl_sync(ALL_LANES, own.outputs, lane),
  of.inputs = __shfl_sync(ALL_LANES, own.inputs, lane);
  of.tiles = __shfl_sync(ALL_LANES, own.tiles, lane);
  of.parameter = __shfl_sync(ALL_LANES, own.parameter, lane),
  of.line = __shfl_sync(ALL_LANES, own.line, lane);
  of.image = __shfl_sync(ALL_LANES, own.image, lane),
  of.next = __shfl_sync(ALL_LANES, own.next, lane);
  of.x = __shfl_sync(ALL_LANES, own.x, lane), of.terms = __shfl_sync(ALL_LANES, own.terms, lane);
  of.stage = __shfl_sync(ALL_LANES, own.stage, lane),
  of.decay = __shfl_sync(ALL_LANES, own.decay, lane);
  return of;
}

/* --- fetches --------------------------------------------------------------------------------- */

/* Thread 0: fetches what the block's tasks behind the front need. */
template <int L> static __device__ __forceinline__ void stages_start(const row_set &rows) {
  if constexpr (L < LAYERS) {
    constexpr int FLOATS = layer(L).outputs * CREWS * ROWS;
    int first = tiles_first(across(L), rows.row_block),
        floats = (tiles_first(across(L), rows.row_block + 1) - first) * CREWS * 256;
    const float *x = rows.s.scratch + layer(L).x + first * CREWS * 256,
                *terms = rows.s.scratch + layer(L).grad;
    if (L == LAST)
      x += rows.rank * across(L) * CREWS * 256;
    else
      terms += rows.rank * FLOATS;
    if (floats > 0 || has_biases(rows, L)) { /* else no task waits for it */
      mbarrier_expect(rows.barrier(STAGES + L), (floats + FLOATS) * 4);
      if (floats > 0) floats_fetch(memory + staged(L), x, floats, rows.barrier(STAGES + L));
      floats_fetch(memory + staged(L) + staged_features(L), terms, FLOATS,
                   rows.barrier(STAGES + L));
    }
    stages_start<L + 1>(rows);
  }
}

/* What a warp's first lane needs for a task of the front. */
static __device__ __forceinline__ void stage_start(const row_set &rows, const task &own) {
  if (own.from < 0) return;
  int floats = own.x < 0 ? 0 : CREWS * 256;
  async_fence();
  mbarrier_expect(rows.barrier(own.stage), (floats + TERMS) * 4);
  if (floats > 0)
    floats_fetch(memory + own.x, rows.s.scratch + own.from, floats, rows.barrier(own.stage));
  floats_fetch(memory + own.terms, rows.s.scratch + own.terms_from, TERMS, rows.barrier(own.stage));
}

/* Thread 0: fetches the weights of all layers. */
template <int L> static __device__ __forceinline__ void pieces_start(const row_set &rows) {
  if constexpr (L < LAYERS) {
    constexpr int FLOATS = L < FRONT ? FRONT_FLOATS : piece_floats(L);
    int rank = L < FRONT ? 0 : (int)rows.rank;
    mbarrier_expect(rows.barrier(PIECES + L), FLOATS * 4);
    floats_fetch(memory + (L < FRONT ? FRONT_WEIGHTS : layer(L).weights),
                 rows.s.scratch + layer(L).image + rank * FLOATS, FLOATS, rows.barrier(PIECES + L));
    pieces_start<(L < FRONT ? FRONT : L + 1)>(rows);
  }
}

/* --- sums ------------------------------------------------------------------------------------ */

/* Sums over the rows of all crews. A lane has inputs 2g and 2g + 1 by outputs 2t and 2t + 1 of each
 * tile: c[tile][2 * input + output]. */
static __device__ __forceinline__ void sums_make(float (&c)[2][4], const task &of) {
  const lane_place lane = lane_place_make();
  const bool ones = of.x < 0;
  const float *x = memory + (ones ? 0 : of.x) + lane.pairs,
              *terms = memory + of.terms + threadIdx.x % WARP * 2;
  float more[2][4] = {};
#pragma unroll
  for (int q = 0; q < 8; q++) c[q / 4][q % 4] = 0;
#pragma unroll
  for (int k = 0; k < CREWS; k++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float2 low = *(const float2 *)(x + k * 256 + h * 128),
             high = *(const float2 *)(x + k * 256 + h * 128 + 64);
      if (ones) low = high = make_float2(1, 1);
      hi_lo a[4];
      hi_lo_of(a, low.x, low.y, high.x, high.y);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        float2 b = *(const float2 *)(terms + i * (TERMS / 2) + k * 128 + h * 64);
        if (h == 0)
          multiply<PRECISE>(c[i], a, hi_lo_of<PRECISE>(b.x), hi_lo_of<PRECISE>(b.y));
        else
          multiply<PRECISE>(more[i], a, hi_lo_of<PRECISE>(b.x), hi_lo_of<PRECISE>(b.y));
      }
    }
#pragma unroll
  for (int q = 0; q < 8; q++) c[q / 4][q % 4] += more[q / 4][q % 4];
}

/* --- updates --------------------------------------------------------------------------------- */

/* What a lane has of a task: numbers as sums_make leaves them. */
struct numbers {
  float value[2][4], state[SLOTS > 0 ? SLOTS : 1][2][4];
};

/* Of number q of tile i: whether it is a parameter, and which. */
static __device__ __forceinline__ bool number_exists(const task &of, int i, int q) {
  int lane = threadIdx.x % WARP;
  return i * 8 + lane % 4 * 2 + q % 2 < of.outputs && lane / 4 * 2 + q / 2 < of.inputs;
}
static __device__ __forceinline__ int number_at(const task &of, int i, int q) {
  int lane = threadIdx.x % WARP;
  return of.parameter + (i * 8 + lane % 4 * 2 + q % 2) * of.line + lane / 4 * 2 + q / 2;
}

static __device__ __forceinline__ void numbers_read(const args &s, const task &of, numbers &to) {
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      bool exists = number_exists(of, i, q);
      int at = number_at(of, i, q);
      to.value[i][q] = exists ? s.parameters[at] : 0;
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        to.state[slot][i][q] = exists ? s.state[(int64_t)slot * PARAMETERS + at] : 0;
    }
}

struct rates {
  const ep_optimizer &optimizer;
  const ep_optimizer_step &update;
};

static __device__ __forceinline__ void numbers_update(const args &s, const task &of,
                                                      const rates &by, const float (&grad)[2][4],
                                                      numbers &own) {
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++) state[slot] = own.state[slot][i][q];
      float value =
          ep_optimizer_update(&by.optimizer, &by.update, DECAYS ? of.decay : 0, own.value[i][q],
                              ep_clip(&by.optimizer, 1, grad[i][q]), state, 1);
      if (!number_exists(of, i, q)) continue;
      int at = number_at(of, i, q);
      own.value[i][q] = s.parameters[at] = value;
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        s.state[(int64_t)slot * PARAMETERS + at] = state[slot];
    }
}

/* To the piece that the blocks of the rank fetch. */
static __device__ __forceinline__ void numbers_store(const args &s, const task &of,
                                                     const numbers &own) {
  const lane_place lane = lane_place_make();
  float *to = s.scratch + of.image;
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int o = 0; o < 2 && i < of.tiles; o++) {
      const float *value = own.value[i];
      if (of.x >= 0)
        *(float2 *)(to + i * of.next + tile_at(2 * lane.t + o, 2 * lane.g)) =
            make_float2(operand_of<PRECISE>(value[o]), operand_of<PRECISE>(value[2 + o]));
      else if (lane.g == 0)
        to[i * 8 + 2 * lane.t + o] = value[o];
    }
}

/* The pieces as they are at a launch. */
static __device__ __forceinline__ void weights_first(const row_set &rows, const task &own) {
  numbers of;
#pragma unroll 1
  for (int turn = 0; turn < TURNS; turn++) {
    const task at = task_of_lane(own, turn);
    if (at.tiles == 0) continue;
    numbers_read(rows.s, at, of);
    numbers_store(rows.s, at, of);
  }
}

/* ahead: the numbers of the first task. */
static __device__ __forceinline__ void weights_update(const row_set &rows, const task &own,
                                                      const rates &by, numbers &ahead) {
  task at = task_of_lane(own, 0);
#pragma unroll 1
  for (int turn = 0; turn < TURNS; turn++) {
    const task next = task_of_lane(own, turn + 1);
    numbers of = ahead;
    numbers_read(rows.s, next, ahead);
    if (at.tiles > 0) {
      float grad[2][4];
      mbarrier_wait_cluster(rows.barrier(at.stage), rows.parity);
      sums_make(grad, at);
      if (at.decay >= 0) {
        numbers_update(rows.s, at, by, grad, of);
        numbers_store(rows.s, at, of);
      }
    }
    at = next;
  }
}

#endif
