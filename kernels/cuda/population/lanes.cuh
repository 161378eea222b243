/* lanes.cuh: the kernel for the smallest networks of a population, compiled at run time for one
 * shape. A group of LANES lanes of a warp trains a member: each lane takes some of a batch's rows,
 * and has all weights and its own sums of gradients in registers. The rows lie in shared memory
 * once for all members of a block. A group whose member is done takes the next one. */
#ifndef EP_KERNELS_CUDA_POPULATION_LANES_CUH
#define EP_KERNELS_CUDA_POPULATION_LANES_CUH

#include "kernels/cuda/device/thread_loss.cuh"
#include "kernels/cuda/population/args.h"
#include "kernels/formulas/dropout.h"

typedef ep_population_args args;

constexpr int GROUPS = THREADS / LANES;                            /* of a block */
constexpr int SUMS = (PARAMETERS + 1 + LANES - 1) / LANES * LANES; /* gradients, loss */
constexpr int SHARE = SUMS / LANES;                                /* a lane's */
constexpr int SPREAD = (SUMS + 3) / 4 * 4;                         /* floats of all weights */
constexpr int PLANES = (IN + TARGETS + 3) / 4;                     /* fours of values of a row */
constexpr int SLOTS_KEPT = SLOTS > 0 ? SLOTS : 1;

/* Shared memory of a block. */
struct block_memory {
  __align__(16) float weights[GROUPS][SPREAD];
  ep_permutation permutation[SHUFFLES ? GROUPS : 1];
};
extern __shared__ __align__(16) char memory[];
/* [PLANES, TRAIN_ROWS], when they are there: neighbouring lanes read neighbouring fours. */
static __device__ __forceinline__ float4 *shared_rows() {
  return (float4 *)(memory + (sizeof(block_memory) + 15) / 16 * 16);
}

/* --- one row -------------------------------------------------------------------------------- */

/* What a row needs to know of its member and of its place. */
struct row_place {
  const ep_population_op *ops; /* [OPS] */
  float loss_parameter, label_smoothing;
  float scale; /* of the loss */
  uint64_t seed;
  long long step;
  int row; /* in the batch */
};

/* Which of FEATURES neighbouring elements of a layer's dropout mask are kept, a bit each. */
template <int FEATURES>
static __device__ __forceinline__ void mask_make(const row_place &at, int layer, float p,
                                                 unsigned (&keeps)[(FEATURES + 31) / 32]) {
  constexpr bool ALIGNED = FEATURES % 4 == 0;
  constexpr int QUADS = ALIGNED ? FEATURES / 4 : (FEATURES + 6) / 4, WORDS = (FEATURES + 31) / 32;
  long long first = (long long)at.row * FEATURES;
  unsigned bits[WORDS + 1] = {};
#pragma unroll
  for (int q = 0; q < QUADS; q++) {
    ep_random4 words = ep_dropout_words(at.seed, at.step, layer, first / 4 + q);
#pragma unroll
    for (int i = 0; i < 4; i++)
      bits[q / 8] |= (unsigned)ep_dropout_word_keeps(words.word[i], p) << (q % 8 * 4 + i);
  }
#pragma unroll
  for (int i = 0; i < WORDS; i++)
    keeps[i] = ALIGNED ? bits[i] : __funnelshift_r(bits[i], bits[i + 1], (unsigned)(first % 4));
}

/* Takes a row through op I and all after it. TRAINS: and back: grad becomes the gradient by x.
 * Else the outputs become grad, [OUT]. */
template <int I, bool TRAINS>
static __device__ __forceinline__ void
row_run(const row_place &at, const float (&w)[PARAMETERS], const float (&x)[op(I).in],
        const float *target, float (&grad)[TRAINS ? op(I).in : OUT], float (&sums)[SUMS]) {
  if constexpr (I == OPS && TRAINS) {
    sums[PARAMETERS] +=
        loss_of<OUT>(at.loss_parameter, at.label_smoothing, x, target, at.scale, grad).value;
  } else if constexpr (I == OPS) {
#pragma unroll
    for (int j = 0; j < OUT; j++) grad[j] = x[j];
  } else {
    constexpr population_op OP = op(I);
    constexpr bool DROPS = OP.type == EP_LAYER_DROPOUT;
    constexpr bool BACK = TRAINS && I > FIRST_TRAINED;
    float y[OP.out], grad_y[TRAINS ? OP.out : OUT];
    unsigned keeps[(OP.in + 31) / 32];
    float dropout_scale = 1;
    const ep_op about = activation_of(OP.type, at.ops[I]);
    if constexpr (OP.type == EP_LAYER_LINEAR) {
#pragma unroll
      for (int j = 0; j < OP.out; j++) {
        float sum = OP.bias >= 0 ? w[OP.bias >= 0 ? OP.bias + j : 0] : 0;
#pragma unroll
        for (int k = 0; k < OP.in; k++) sum = fmaf(w[OP.weight + j * OP.in + k], x[k], sum);
        y[j] = sum;
      }
    } else if constexpr (DROPS && TRAINS) {
      mask_make<OP.in>(at, OP.layer, at.ops[I].p, keeps);
      dropout_scale = ep_dropout_scale(at.ops[I].p);
#pragma unroll
      for (int k = 0; k < OP.in; k++) y[k] = keeps[k / 32] >> k % 32 & 1 ? x[k] * dropout_scale : 0;
    } else {
#pragma unroll
      for (int k = 0; k < OP.in; k++) y[k] = DROPS ? x[k] : ep_activation(&about, x[k]);
    }
    row_run<I + 1, TRAINS>(at, w, y, target, grad_y, sums);
    if constexpr (!TRAINS) {
#pragma unroll
      for (int j = 0; j < OUT; j++) grad[j] = grad_y[j];
    } else if constexpr (OP.type == EP_LAYER_LINEAR) {
#pragma unroll
      for (int j = 0; j < OP.out; j++) {
        if constexpr (OP.bias >= 0) sums[OP.bias + j] += grad_y[j];
#pragma unroll
        for (int k = 0; k < OP.in; k++)
          sums[OP.weight + j * OP.in + k] = fmaf(grad_y[j], x[k], sums[OP.weight + j * OP.in + k]);
      }
      if constexpr (BACK) {
#pragma unroll
        for (int k = 0; k < OP.in; k++) {
          float sum = 0;
#pragma unroll
          for (int j = 0; j < OP.out; j++) sum = fmaf(w[OP.weight + j * OP.in + k], grad_y[j], sum);
          grad[k] = sum;
        }
      }
    } else if constexpr (BACK) {
#pragma unroll
      for (int k = 0; k < OP.in; k++)
        grad[k] = DROPS ? (keeps[k / 32] >> k % 32 & 1 ? grad_y[k] * dropout_scale : 0)
                        : grad_y[k] * ep_activation_derivative(&about, x[k], y[k]);
    }
  }
}

/* A training row: its inputs, then its targets. */
static __device__ __forceinline__ void row_load(const args &s, int row,
                                                float (&values)[4 * PLANES]) {
  if constexpr (ROWS_SHARED) {
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
      float4 four = shared_rows()[p * TRAIN_ROWS + row];
      values[4 * p] = four.x, values[4 * p + 1] = four.y;
      values[4 * p + 2] = four.z, values[4 * p + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int k = 0; k < IN; k++) values[k] = __ldg(s.x + (long long)row * IN + k);
#pragma unroll
    for (int j = 0; j < TARGETS; j++) values[IN + j] = __ldg(s.y + (long long)row * TARGETS + j);
  }
}

/* The same, and through the network. */
static __device__ __forceinline__ void row_train(const args &s, const float (&w)[PARAMETERS],
                                                 const row_place &at, int row,
                                                 float (&sums)[SUMS]) {
  float values[4 * PLANES], x[IN], grad[IN];
  row_load(s, row, values);
#pragma unroll
  for (int k = 0; k < IN; k++) x[k] = values[k];
  row_run<0, true>(at, w, x, values + IN, grad, sums);
}

/* All rows of the block's shared memory. */
static __device__ __forceinline__ void rows_fetch(const args &s) {
  if constexpr (!ROWS_SHARED) return;
  for (int i = threadIdx.x; i < TRAIN_ROWS * 4 * PLANES; i += THREADS) {
    int row = i / (4 * PLANES), value = i % (4 * PLANES);
    float from = value < IN             ? s.x[(long long)row * IN + value]
                 : value < IN + TARGETS ? s.y[(long long)row * TARGETS + value - IN]
                                        : 0;
    ((float *)shared_rows())[(value / 4 * TRAIN_ROWS + row) * 4 + value % 4] = from;
  }
}

/* --- a member ------------------------------------------------------------------------------- */

/* A group's member, the same in all its lanes; and a lane's part of the parameters. */
struct trainee {
  int number; /* -1: none */
  int step, steps;
  long long epoch;
  int batch;
  bool ordered; /* the permutation is that of the epoch */
  bool finite;
  double losses;
  float lr, rates[4]; /* a lane's: of one of the next LANES steps */
  float parameter[SHARE], decay[SHARE], state[SHARE][SLOTS_KEPT];
};

static __device__ __forceinline__ int lane_of() {
  return threadIdx.x % LANES;
}
static __device__ __forceinline__ unsigned lanes_mask() {
  return LANES == WARP ? ALL_LANES
                       : ((1u << LANES % WARP) - 1) << threadIdx.x % WARP / LANES * LANES;
}

/* Who is next in the order; -1: all are taken. place: the group's, or -1 where it took one. */
static __device__ __forceinline__ int next_take(const args &s, int place) {
  if (place < 0) {
    if (lane_of() == 0) place = (int)(gridDim.x * GROUPS + atomicAdd(s.queue, 1u));
    place = __shfl_sync(lanes_mask(), place, 0, LANES);
  }
  return place < s.count ? s.order[place] : -1;
}

/* The weight decay of a parameter. */
static __device__ __forceinline__ float decay_of(const ep_population_op *ops, int at) {
  float decay = at < PARAMETERS ? 0 : -1;
#pragma unroll
  for (int i = 0; i < OPS; i++) {
    if (op(i).type != EP_LAYER_LINEAR) continue;
    if (at >= op(i).weight && at < op(i).weight + op(i).in * op(i).out) decay = ops[i].weight_decay;
    if (op(i).bias >= 0 && at >= op(i).bias && at < op(i).bias + op(i).out)
      decay = ops[i].bias_decay;
  }
  return decay;
}

static __device__ __forceinline__ void member_load(const args &s, int number, trainee &t) {
  const ep_population_member &member = s.members[number];
  t.number = number;
  t.step = 0;
  t.steps = (int)member.steps;
  t.epoch = member.first_step / STEPS_PER_EPOCH;
  t.batch = (int)(member.first_step % STEPS_PER_EPOCH);
  t.ordered = false;
  t.finite = true;
  t.losses = 0;
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    int at = lane_of() * SHARE + i;
    long long row = (long long)number;
    t.parameter[i] = at < PARAMETERS ? s.parameters[row * PARAMETERS + at] : 0;
    t.decay[i] = decay_of(s.ops + row * OPS, at);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      t.state[i][slot] = at < PARAMETERS ? s.state[(row * SLOTS + slot) * PARAMETERS + at] : 0;
  }
}

static __device__ __forceinline__ void member_store(const args &s, trainee &t) {
  long long row = t.number;
  bool finite = t.finite;
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    int at = lane_of() * SHARE + i;
    if (at >= PARAMETERS) continue;
    finite = finite && isfinite(t.parameter[i]);
    s.parameters[row * PARAMETERS + at] = t.parameter[i];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      s.state[(row * SLOTS + slot) * PARAMETERS + at] = t.state[i][slot];
  }
  finite = __all_sync(lanes_mask(), finite);
  if (lane_of() != 0) return;
  int counted = t.steps < STEPS_PER_EPOCH ? t.steps : STEPS_PER_EPOCH;
  s.results[row].loss = t.losses / counted;
  s.results[row].finite = finite;
}

/* --- a step --------------------------------------------------------------------------------- */

/* All weights of the group's member, from its lanes. All lanes of the warp call. */
static __device__ __forceinline__ void weights_spread(const trainee &t, float (&w)[PARAMETERS]) {
  float *all = ((block_memory *)memory)->weights[threadIdx.x / LANES];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < SHARE; i++) all[lane_of() * SHARE + i] = t.parameter[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < PARAMETERS / 4; i++) {
    float4 four = ((const float4 *)all)[i];
    w[4 * i] = four.x, w[4 * i + 1] = four.y, w[4 * i + 2] = four.z, w[4 * i + 3] = four.w;
  }
#pragma unroll
  for (int i = PARAMETERS / 4 * 4; i < PARAMETERS; i++) w[i] = all[i];
}

/* A lane computes those of one step, of LANES. */
static __device__ __forceinline__ void rates_make(const args &s, trainee &t) {
  const ep_population_member &member = s.members[t.number];
  int step = min(t.step + lane_of(), t.steps - 1);
  t.lr = __ldg(s.lr + member.lr + (member.lr_count == 1 ? 0 : step));
  if constexpr (!PLAIN_RATE) {
    const ep_optimizer optimizer = optimizer_of(member.optimizer);
    const ep_optimizer_step made =
        ep_optimizer_step_make(&optimizer, t.lr, member.first_step + step + 1);
    t.rates[0] = made.rate, t.rates[1] = made.root;
    t.rates[2] = made.rest1, t.rates[3] = made.rest2;
  }
}

/* Those of the step at hand. All lanes of the warp call. */
static __device__ __forceinline__ ep_optimizer_step rates_take(const trainee &t,
                                                               const ep_optimizer &optimizer) {
  int lane = t.step % LANES;
  float lr = __shfl_sync(ALL_LANES, t.lr, lane, LANES);
  if constexpr (PLAIN_RATE) {
    return plain_rates(optimizer, lr);
  } else {
    float of[4];
#pragma unroll
    for (int i = 0; i < 4; i++) of[i] = __shfl_sync(ALL_LANES, t.rates[i], lane, LANES);
    return {lr, of[0], of[1], of[2], of[3]};
  }
}

/* The rows of a step, as far as they are this lane's. */
static __device__ __forceinline__ void rows_train(const args &s, const trainee &t,
                                                  const float (&w)[PARAMETERS], int rows,
                                                  float (&sums)[SUMS]) {
  const ep_population_member &member = s.members[t.number];
  const ep_permutation &permutation =
      ((block_memory *)memory)->permutation[SHUFFLES ? threadIdx.x / LANES : 0];
  row_place at = {s.ops + (long long)t.number * OPS};
  at.loss_parameter = member.loss_parameter;
  at.label_smoothing = member.label_smoothing;
  at.scale = 1.0f / (float)((long long)rows * (TAKES_CLASSES ? 1 : OUT));
  at.seed = member.seed;
  at.step = member.first_step + t.step;
  int whole = rows / LANES;
  auto row_at = [&](int row) {
    row += t.batch * BATCH_ROWS;
    return SHUFFLES ? (int)ep_permutation_at(&permutation, (unsigned)row) : row;
  };
  at.row = lane_of();
#pragma unroll UNROLLED
  for (int r = 0; r < whole; r++, at.row += LANES) row_train(s, w, at, row_at(at.row), sums);
  if (at.row < rows) row_train(s, w, at, row_at(at.row), sums);
}

/* share: this lane's part of the sums. */
static __device__ __forceinline__ void parameters_update(const ep_optimizer &optimizer,
                                                         const ep_optimizer_step &rates,
                                                         const float (&share)[SUMS], bool active,
                                                         trainee &t) {
  float scale = 1;
  if constexpr (CLIPS_NORM) {
    double squares = 0;
#pragma unroll
    for (int i = 0; i < SHARE; i++)
      if (t.decay[i] >= 0) squares += (double)share[i] * share[i];
    squares = lanes_sum<LANES>(squares);
    if (optimizer.clip_norm > 0) scale = ep_clip_scale(&optimizer, sqrt(squares));
  }
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    float grad = ep_clip(&optimizer, scale, share[i]);
    if (active && t.decay[i] >= 0)
      t.parameter[i] =
          ep_optimizer_update(&optimizer, &rates, t.decay[i], t.parameter[i], grad, t.state[i], 1);
  }
}

/* The sum of all losses, from the lane that has it. All lanes of the warp call. */
static __device__ __forceinline__ float loss_sum(const float (&share)[SUMS]) {
  return __shfl_sync(ALL_LANES, share[PARAMETERS % SHARE], PARAMETERS / SHARE, LANES);
}

/* A step of each group's member, where it has one. */
static __device__ __forceinline__ void step_run(const args &s, trainee &t) {
  bool active = t.step < t.steps;
  float w[PARAMETERS], sums[SUMS];
  if (active && t.step % LANES == 0) rates_make(s, t);
  if constexpr (SHUFFLES) {
    if (active && !t.ordered && lane_of() == 0)
      ((block_memory *)memory)->permutation[threadIdx.x / LANES] = ep_permutation_make(
          s.members[t.number].seed, EP_RANDOM_SHUFFLE, (uint64_t)t.epoch, TRAIN_ROWS);
    t.ordered = true;
  }
  weights_spread(t, w);
#pragma unroll
  for (int i = 0; i < SUMS; i++) sums[i] = 0;
  int rows = active ? rows_of(t.batch) : 0;
  if (active) rows_train(s, t, w, rows, sums);
  __syncwarp();
  lanes_scatter<SUMS, LANES / 2>(sums);
  float loss = loss_sum(sums) / (float)((long long)rows * (TAKES_CLASSES ? 1 : OUT));
  const ep_optimizer optimizer = optimizer_of(s.members[t.number < 0 ? 0 : t.number].optimizer);
  const ep_optimizer_step rates = rates_take(t, optimizer);
  parameters_update(optimizer, rates, sums, active, t);
  if (!active) return;
  if (t.step >= t.steps - STEPS_PER_EPOCH) t.losses += loss;
  t.step++;
  if (++t.batch == STEPS_PER_EPOCH) {
    t.batch = 0;
    t.epoch++;
    t.ordered = false;
  }
  if (isfinite(loss)) return;
  t.finite = false; /* what is left of the training changes nothing about that */
  t.losses = loss;
  t.step = t.steps;
}

/* --- predictions ---------------------------------------------------------------------------- */

/* A group's members, one after the other: the outputs of all rows. */
static __device__ __forceinline__ void members_predict(const args &s) {
  for (long long i = (long long)(threadIdx.x / LANES) * gridDim.x + blockIdx.x; i < s.count;
       i += (long long)gridDim.x * GROUPS) {
    float w[PARAMETERS], sums[SUMS];
    const float *from = s.parameters + (s.first + i) * PARAMETERS;
#pragma unroll
    for (int k = 0; k < PARAMETERS; k++) w[k] = from[k];
    const row_place at = {s.ops + (s.first + i) * OPS};
    for (long long row = lane_of(); row < s.predict_rows; row += LANES) {
      float x[IN], outputs[OUT];
#pragma unroll
      for (int k = 0; k < IN; k++) x[k] = __ldg(s.predict_x + row * IN + k);
      row_run<0, false>(at, w, x, NULL, outputs, sums);
#pragma unroll
      for (int j = 0; j < OUT; j++) s.outputs[(i * s.predict_rows + row) * OUT + j] = outputs[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) lanes(const __grid_constant__ args s) {
  if (s.predict_x) {
    members_predict(s);
    return;
  }
  rows_fetch(s);
  __syncthreads();
  trainee t = {};
  t.number = -1;
  int place = (int)(threadIdx.x / LANES * gridDim.x + blockIdx.x);
  bool over = false;
#pragma unroll 1
  while (true) {
    if (t.step >= t.steps && !over) {
      if (t.number >= 0) member_store(s, t);
      int number = next_take(s, place);
      place = -1;
      over = number < 0;
      t.number = number;
      t.step = t.steps = 0;
      if (!over) member_load(s, number, t);
    }
    __syncwarp();
    if (__all_sync(ALL_LANES, over)) break;
    step_run(s, t);
  }
}

#endif
