/* blocks.cuh: the kernel for the small networks of a population, compiled at run time for one
 * shape. A block trains a member, whose weights lie in its shared memory; a batch, or a chunk of
 * one, goes through the network by products on tensor cores. A block whose member is done takes the
 * next one. */
#ifndef EP_KERNELS_CUDA_POPULATION_BLOCKS_CUH
#define EP_KERNELS_CUDA_POPULATION_BLOCKS_CUH

#include "kernels/cuda/population/network.cuh"

typedef ep_population_args args;

/* Of the sums' place: doubles of each warp, floats of each warp, the number of the next member. */
static __device__ __forceinline__ double *warp_squares() {
  return (double *)(memory + SUMS_AT);
}
static __device__ __forceinline__ float *warp_losses() {
  return memory + SUMS_AT + 2 * WARPS;
}
static __device__ __forceinline__ int *number_place() {
  return (int *)(memory + SUMS_AT + 3 * WARPS);
}
static __device__ __forceinline__ ep_permutation *permutation_place() {
  return (ep_permutation *)(memory + PERMUTATION_AT);
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Neighbouring threads that copy a row: the least power of two with at most four numbers each. */
constexpr int fetch_lanes() {
  int lanes = 1;
  while (lanes < WARP && lanes * 4 < IN) lanes *= 2;
  return lanes;
}

/* Rows from position `from` of the epoch on, or of the rows to predict, to shared memory, as far as
 * the products read them there. No barriers. */
template <bool TRAINS>
static __device__ __forceinline__ void rows_fetch(const args &s, const chunk &at, int from) {
  constexpr int LANES = fetch_lanes(), STRIDE = layer(0).in_stride;
  const int lane = threadIdx.x % LANES;
  for (int row = threadIdx.x / LANES; row < CHUNK_ROWS; row += THREADS / LANES) {
    const bool counts = row < at.rows;
    int number = counts ? from + row : from;
    if constexpr (SHUFFLES && TRAINS)
      number = (int)ep_permutation_at(permutation_place(), (unsigned)number);
    if constexpr (X_STAGED) {
      float *x = memory + X_AT + row * STRIDE;
      for (int k = lane; k < up(IN, 8); k += LANES) {
        float value = 0;
        if (counts && k < IN)
          value = ops_forward<0, layer(0).op, TRAINS>(at, row, k,
                                                      __ldg(at.x + (long long)number * IN + k));
        x[k] = value;
      }
    } else if (lane == 0) {
      ((int *)memory)[NUMBERS_AT + row] = number;
    }
    if constexpr (TRAINS)
      for (int j = lane; counts && j < TARGETS; j += LANES)
        memory[TARGETS_AT + row * TARGETS + j] = __ldg(s.y + (long long)number * TARGETS + j);
  }
}

/* --- parameters ----------------------------------------------------------------------------- */

/* take(place, parameter, decay) of all parameters, each by one thread. */
template <int L = 0, class TAKE>
static __device__ __forceinline__ void parameters_each(const ep_population_op *ops,
                                                       const TAKE &take) {
  if constexpr (L < LAYERS) {
    constexpr population_layer LAYER = layer(L);
    const float weight_decay = __ldg(&ops[LAYER.op].weight_decay),
                bias_decay = __ldg(&ops[LAYER.op].bias_decay);
    for (int i = threadIdx.x; i < LAYER.out * LAYER.in; i += THREADS)
      take(LAYER.weights + i / LAYER.in * LAYER.in_stride + i % LAYER.in, LAYER.weight + i,
           weight_decay);
    for (int j = threadIdx.x; LAYER.bias >= 0 && j < LAYER.out; j += THREADS)
      take(LAYER.biases + j, LAYER.bias + j, bias_decay);
    parameters_each<L + 1>(ops, take);
  }
}

/* A step's update. state: the member's, [SLOTS, PARAMETERS], device: where it lies there. */
struct updater {
  ep_optimizer optimizer;
  ep_optimizer_step rates;
  float scale; /* of the gradients */
  float *state;

  /* Of a weight. */
  __device__ __forceinline__ float updated(int place, int parameter, float decay, float weight,
                                           float grad) const {
    float *slots = STATE_SHARED ? memory + STATE_AT + place : state + parameter;
    return ep_optimizer_update(&optimizer, &rates, decay, weight, ep_clip(&optimizer, scale, grad),
                               slots, STATE_SHARED ? WEIGHT_FLOATS : PARAMETERS);
  }
  __device__ __forceinline__ void update(int place, int parameter, float decay, float grad) const {
    if (decay >= 0) memory[place] = updated(place, parameter, decay, memory[place], grad);
  }
  /* Of four neighbours, on 16 bytes. */
  __device__ __forceinline__ void update_four(int place, int parameter, float decay,
                                              float4 grad) const {
    float4 four = *(float4 *)(memory + place);
    if (decay < 0) return;
    four.x = updated(place, parameter, decay, four.x, grad.x);
    four.y = updated(place + 1, parameter + 1, decay, four.y, grad.y);
    four.z = updated(place + 2, parameter + 2, decay, four.z, grad.z);
    four.w = updated(place + 3, parameter + 3, decay, four.w, grad.w);
    *(float4 *)(memory + place) = four;
  }
};

/* Where the gradients by the parameters go: to an update at once, or to their sums. */
struct grads_taker {
  const updater &by;
  bool adds; /* to what other chunks of the batch gave */

  __device__ __forceinline__ void one(int place, int parameter, float decay, float grad) const {
    float *sum = memory + GRADS_AT + place;
    if constexpr (GATHERS_GRADS)
      *sum = adds ? *sum + grad : grad;
    else
      by.update(place, parameter, decay, grad);
  }
  __device__ __forceinline__ void four(int place, int parameter, float decay, float4 grad) const {
    if constexpr (GATHERS_GRADS) {
      one(place, parameter, decay, grad.x);
      one(place + 1, parameter + 1, decay, grad.y);
      one(place + 2, parameter + 2, decay, grad.z);
      one(place + 3, parameter + 3, decay, grad.w);
    } else {
      by.update_four(place, parameter, decay, grad);
    }
  }
};

/* The sum of squares of all gradients that count, in every thread. */
static __device__ __forceinline__ double squares_sum(const ep_population_op *ops) {
  double squares = 0;
  parameters_each(ops, [&](int place, int, float decay) {
    const double grad = memory[GRADS_AT + place];
    if (decay >= 0) squares += grad * grad;
  });
  squares = warp_sum(squares);
  if (threadIdx.x % WARP == 0) warp_squares()[threadIdx.x / WARP] = squares;
  __syncthreads();
  squares = 0;
#pragma unroll
  for (int i = 0; i < WARPS; i++) squares += warp_squares()[i];
  return squares;
}

/* The update of a batch whose gradients were gathered. Begins and ends with a barrier behind it. */
static __device__ __forceinline__ void gathered_update(const ep_population_op *ops, updater by) {
  if constexpr (CLIPS_NORM) {
    const double squares = squares_sum(ops);
    if (by.optimizer.clip_norm > 0) by.scale = ep_clip_scale(&by.optimizer, sqrt(squares));
  }
  parameters_each(ops, [&](int place, int parameter, float decay) {
    by.update(place, parameter, decay, memory[GRADS_AT + place]);
  });
  __syncthreads();
}

/* --- a member ------------------------------------------------------------------------------- */

/* A member on its way, alike in all threads. */
struct trainee {
  int number, step, steps;
  long long epoch;
  int batch, first; /* of the step; the chunk's first row in it */
  float *state;
};

static __device__ __forceinline__ void member_load(const args &s, int number, float *state) {
  const float *from = s.parameters + (long long)number * PARAMETERS;
  __syncthreads();
  for (int i = threadIdx.x; i < WEIGHT_FLOATS; i += THREADS) {
    memory[i] = 0;
    if constexpr (STATE_SHARED)
      for (int slot = 0; slot < SLOTS; slot++) memory[STATE_AT + slot * WEIGHT_FLOATS + i] = 0;
  }
  __syncthreads();
  parameters_each(s.ops + (long long)number * OPS, [&](int place, int parameter, float) {
    memory[place] = from[parameter];
    if constexpr (STATE_SHARED)
      for (int slot = 0; slot < SLOTS; slot++)
        memory[STATE_AT + slot * WEIGHT_FLOATS + place] = state[slot * PARAMETERS + parameter];
  });
}

/* losses: of the steps that count; finite: all steps'. */
static __device__ __forceinline__ void member_store(const args &s, const trainee &t, double losses,
                                                    bool finite) {
  float *to = s.parameters + (long long)t.number * PARAMETERS;
  parameters_each(s.ops + (long long)t.number * OPS, [&](int place, int parameter, float) {
    finite = finite && isfinite(memory[place]);
    to[parameter] = memory[place];
    if constexpr (STATE_SHARED)
      for (int slot = 0; slot < SLOTS; slot++)
        t.state[slot * PARAMETERS + parameter] = memory[STATE_AT + slot * WEIGHT_FLOATS + place];
  });
  finite = __syncthreads_and(finite);
  if (threadIdx.x != 0) return;
  s.results[t.number].loss = losses / min(t.steps, STEPS_PER_EPOCH);
  s.results[t.number].finite = finite;
}

/* --- steps ---------------------------------------------------------------------------------- */

/* Where a block keeps its activations. */
static __device__ __forceinline__ float *activations_of(const args &s) {
  if constexpr (ACTIVATIONS_SHARED) return memory + ACTIVATIONS_AT;
  return s.activations + (long long)blockIdx.x * ACTIVATION_FLOATS;
}

static __device__ __forceinline__ chunk chunk_at(const args &s, const trainee &t) {
  const ep_population_member &member = s.members[t.number];
  const int rows = rows_of(t.batch), left = rows - t.first;
  chunk at;
  at.ops = s.ops + (long long)t.number * OPS;
  at.loss_parameter = member.loss_parameter;
  at.label_smoothing = member.label_smoothing;
  at.scale = 1.0f / (float)((long long)rows * (TAKES_CLASSES ? 1 : OUT));
  at.seed = member.seed;
  at.step = member.first_step + t.step;
  at.x = s.x;
  at.activations = activations_of(s);
  at.first = t.first;
  at.rows = left < CHUNK_ROWS ? left : CHUNK_ROWS;
  return at;
}

/* The chunk behind: of the same batch, or the first of the next. */
static __device__ __forceinline__ trainee next_of(trainee t) {
  t.first += CHUNK_ROWS;
  if (t.first < rows_of(t.batch)) return t;
  t.first = 0;
  t.step++;
  if (++t.batch < STEPS_PER_EPOCH) return t;
  t.batch = 0;
  t.epoch++;
  return t;
}

static __device__ __forceinline__ void permutation_make(const args &s, const trainee &t) {
  *permutation_place() = ep_permutation_make(s.members[t.number].seed, EP_RANDOM_SHUFFLE,
                                             (uint64_t)t.epoch, TRAIN_ROWS);
}

/* A lane's rates: of one of the next steps of a warp's lanes. */
struct rates_ahead {
  ep_optimizer_step made;

  __device__ __forceinline__ void make(const args &s, const trainee &t,
                                       const ep_optimizer &optimizer) {
    const ep_population_member &member = s.members[t.number];
    const int step = min(t.step + (int)threadIdx.x % WARP, t.steps - 1);
    const float lr = __ldg(s.lr + member.lr + (member.lr_count == 1 ? 0 : step));
    made = PLAIN_RATE ? plain_rates(optimizer, lr)
                      : ep_optimizer_step_make(&optimizer, lr, member.first_step + step + 1);
  }
  __device__ __forceinline__ ep_optimizer_step of(const trainee &t,
                                                  const ep_optimizer &optimizer) const {
    const int lane = t.step % WARP;
    const float lr = __shfl_sync(ALL_LANES, made.lr, lane);
    if constexpr (PLAIN_RATE) return plain_rates(optimizer, lr);
    return {lr, __shfl_sync(ALL_LANES, made.rate, lane), __shfl_sync(ALL_LANES, made.root, lane),
            __shfl_sync(ALL_LANES, made.rest1, lane), __shfl_sync(ALL_LANES, made.rest2, lane)};
  }
};

/* A chunk forward and back, and the rows of the one behind it to shared memory. loss: the thread's,
 * added to. Begins and ends with a barrier behind it. */
static __device__ __forceinline__ void
chunk_train(const args &s, const trainee &t, const trainee &next, const updater &by, float &loss) {
  const chunk at = chunk_at(s, t);
  grads_taker take = {by, at.first > 0};
  rows_forward<true>(at);
  if constexpr (TAKES_CLASSES)
    loss += classes_lose(at);
  else
    loss += values_lose(at);
  if (SHUFFLES && next.epoch != t.epoch && threadIdx.x == THREADS - 1) permutation_make(s, next);
  const float warp_loss = warp_sum(loss);
  if (threadIdx.x % WARP == 0) warp_losses()[threadIdx.x / WARP] = warp_loss;
  __syncthreads();
  rows_backward(at);
  constexpr int SECOND = FIRST_LAYER + 1;
  if constexpr (FIRST_LAYER == 0 && layer(0).trains_weight && !X_STAGED)
    gathered_weights_grad(at, take);
  parameters_grad<FIRST_LAYER, SECOND, 0>(at, take);
  if (FIRST_LAYER == 0) __syncthreads(); /* all have read the rows */
  if (next.step < t.steps)
    rows_fetch<true>(s, chunk_at(s, next), next.batch * BATCH_ROWS + next.first);
  parameters_grad<SECOND, LAYERS, weight_tasks<FIRST_LAYER>() + bias_tasks<FIRST_LAYER>()>(at,
                                                                                           take);
  __syncthreads();
}

/* The mean loss of a batch that is done, in every thread. */
static __device__ __forceinline__ float batch_loss(int batch) {
  float loss = 0;
#pragma unroll
  for (int i = 0; i < WARPS; i++) loss += warp_losses()[i];
  return loss / (float)((long long)rows_of(batch) * (TAKES_CLASSES ? 1 : OUT));
}

/* All steps of a member, whose weights are there. */
static __device__ __forceinline__ void member_train(const args &s, trainee t) {
  updater by = {optimizer_of(s.members[t.number].optimizer), {}, 1, t.state};
  rates_ahead ahead = {};
  double losses = 0;
  float loss = 0;
  bool finite = true;
  if (SHUFFLES && threadIdx.x == 0) permutation_make(s, t);
  __syncthreads();
  if (t.steps > 0) rows_fetch<true>(s, chunk_at(s, t), t.batch * BATCH_ROWS);
  __syncthreads();
#pragma unroll 1
  while (t.step < t.steps) {
    const trainee next = next_of(t);
    if (t.first == 0) {
      if (t.step % WARP == 0) ahead.make(s, t, by.optimizer);
      by.rates = ahead.of(t, by.optimizer);
      loss = 0;
    }
    chunk_train(s, t, next, by, loss);
    const int step = t.step, batch = t.batch;
    t = next;
    if (next.step == step) continue;
    const float mean = batch_loss(batch);
    if constexpr (GATHERS_GRADS) gathered_update(s.ops + (long long)t.number * OPS, by);
    if (step >= t.steps - STEPS_PER_EPOCH) losses += mean;
    if (isfinite(mean)) continue;
    finite = false; /* what is left of the training changes nothing about that */
    losses = mean;
    break;
  }
  member_store(s, t, losses, finite);
}

/* --- predictions ---------------------------------------------------------------------------- */

static __device__ __forceinline__ void outputs_store(const chunk &at, float *outputs) {
  constexpr int STRIDE = layer(LAST).out_stride;
  const float *features = features_of<LAST>(at);
  for (int i = threadIdx.x; i < at.rows * OUT; i += THREADS)
    outputs[i] = features[i / OUT * STRIDE + i % OUT];
}

/* The outputs of all rows, of a block's members one after the other. */
static __device__ __forceinline__ void members_predict(const args &s) {
  for (long long i = blockIdx.x; i < s.count; i += gridDim.x) {
    const long long number = s.first + i;
    member_load(s, (int)number, s.state + number * SLOTS * PARAMETERS);
    chunk at = {};
    at.ops = s.ops + number * OPS;
    at.x = s.predict_x;
    at.activations = activations_of(s);
#pragma unroll 1
    for (long long first = 0; first < s.predict_rows; first += CHUNK_ROWS) {
      at.rows = (int)min(s.predict_rows - first, (long long)CHUNK_ROWS);
      rows_fetch<false>(s, at, (int)first);
      __syncthreads();
      rows_forward<false>(at);
      outputs_store(at, s.outputs + (i * s.predict_rows + first) * OUT);
      __syncthreads();
    }
  }
}

/* Who is next in the order; -1: all are taken. Of a barrier's both sides. */
static __device__ __forceinline__ int next_take(const args &s, bool first) {
  if (threadIdx.x == 0) {
    const unsigned place = first ? blockIdx.x : gridDim.x + atomicAdd(s.queue, 1u);
    *number_place() = place < s.count ? s.order[place] : -1;
  }
  __syncthreads();
  return *number_place();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_EACH)
    blocks(const __grid_constant__ args s) {
  if (s.predict_x) {
    members_predict(s);
    return;
  }
#pragma unroll 1
  for (int number = next_take(s, true); number >= 0; number = next_take(s, false)) {
    const ep_population_member &member = s.members[number];
    trainee t = {number, 0, (int)member.steps};
    t.epoch = member.first_step / STEPS_PER_EPOCH;
    t.batch = (int)(member.first_step % STEPS_PER_EPOCH);
    t.state = s.state + (long long)number * SLOTS * PARAMETERS;
    member_load(s, number, t.state);
    member_train(s, t);
  }
}

#endif
