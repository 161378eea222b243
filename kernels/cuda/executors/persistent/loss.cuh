/* loss.cuh: losses of rows of classes, and the step's loss and errors over all blocks, for
 * cuda/persistent. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_LOSS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_LOSS_CUH

#include "kernels/cuda/executors/persistent/stages.cuh"

/* --- classes --------------------------------------------------------------------------------- */

/* A row's classes are shared out among so many lanes: a warp's where there are warps for the rows.
 * Four of them are eight lanes apart, so that neighbours have neighbouring rows. */
constexpr int class_lanes(int classes) {
  return classes <= 4 ? 1 : classes <= 16 || (classes <= 128 && ROWS >= 64) ? 4 : WARP;
}
constexpr int lanes_apart(int lanes) {
  return lanes == 4 ? 8 : 1;
}

/* Over the LANES lanes that share a row. */
template <int LANES> static __device__ __forceinline__ float lanes_sum(float value) {
#pragma unroll
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(ALL_LANES, value, lanes * lanes_apart(LANES));
  return value;
}

/* The first of a row's scores in the order of argmax, in all lanes. */
template <int LANES>
static __device__ __forceinline__ void argmax_lanes(float &largest, int &index) {
#pragma unroll
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
    const float other = __shfl_xor_sync(ALL_LANES, largest, lanes * lanes_apart(LANES));
    const int at = __shfl_xor_sync(ALL_LANES, index, lanes * lanes_apart(LANES));
    if (ep_argmax_precedes(other, at, largest, index)) largest = other, index = at;
  }
}

/* LANES lanes: the loss of a row of scores, which become the gradient by them. */
template <class S, int LANES>
static __device__ __forceinline__ void row_loss(context &c, int row, int lane) {
  constexpr int EACH = divide_up(S::OUT, LANES);
  const float lowest = __int_as_float((int)0xff800000);
  const int label = __float_as_int(c.input()[row * INPUT_LINE + TARGETS_AT]);
  float z[EACH], largest = lowest, asked = 0, sum = 0, value = 0;
  int index = S::OUT;
  const float *scores = memory + S::SCORES + row;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int j = lane + i * LANES;
    z[i] = j < S::OUT ? scores[j * LINE] : lowest;
    if (j < S::OUT && ep_argmax_precedes(z[i], j, largest, index)) largest = z[i], index = j;
    if (j == label) asked = z[i];
  }
  argmax_lanes<LANES>(largest, index);
  asked = lanes_sum<LANES>(asked);
  ep_row_scales scales = {1, 1};
  float log_sum = 0, share = 0, power[EACH];
  if constexpr (ep_loss_normalizes(LOSS)) {
#pragma unroll
    for (int i = 0; i < EACH; i++) sum += power[i] = expf(z[i] - largest);
    sum = lanes_sum<LANES>(sum);
    log_sum = logf(sum) + largest;
    share = __fdividef(1, sum);
    scales = ep_class_scales(LOSS, asked - log_sum, c.s.loss_parameter);
  }
  const bool valid = c.is_valid(row);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int j = lane + i * LANES;
    if (j >= S::OUT) continue;
    float target = j == label ? 1 : 0, grad[1];
    if (SMOOTHS) target = ep_class_target(c.s.label_smoothing, S::OUT, label, 1.0f, j, 1.0f);
    if constexpr (ep_loss_normalizes(LOSS)) {
      if (target != 0) value += scales.value * target * (log_sum - z[i]);
      grad[0] = scales.grad * (power[i] * share - target);
    } else {
      grad[0] = j == label ? -1 : 0;
    }
    grad[0] = valid ? grad[0] * c.scale : 0;
    if constexpr (S::HAS_TAIL) {
      float derivative[1];
      load(derivative, numbers_at(S::VALUE) + j * LINE + row);
      grad[0] *= derivative[0];
    }
    operands_round(grad);
    store(numbers_at(S::GRAD) + j * LINE + row, grad);
  }
  value = ep_loss_normalizes(LOSS) ? lanes_sum<LANES>(value) : -asked;
  if (lane != 0 || !valid) return;
  c.loss += value;
  c.misses += index != label ? 1 : 0;
}

template <class S> static __device__ __forceinline__ void classes_loss(context &c) {
  constexpr int LANES = class_lanes(S::OUT), AT_ONCE = THREADS / LANES; /* rows */
  const int row = LANES == 1 ? c.thread : LANES == 4 ? c.warp * 8 + c.lane % 8 : c.warp;
  const int lane = LANES == 4 ? c.lane / 8 : c.thread % LANES;
#pragma unroll 1
  for (int first = 0; first < ROWS; first += AT_ONCE)
    if (first + row < ROWS) row_loss<S, LANES>(c, first + row, lane);
  block_sync();
}

/* --- the step's loss ------------------------------------------------------------------------- */

/* REPORTERS blocks have a part of a step's loss. A warp sums up its block's in the next step;
 * where there are several, one of the first block adds up those in the step after. */
constexpr int METRIC_SLOTS = 8; /* steps whose parts are under way; the first block is two behind */

static __device__ __forceinline__ float2 *thread_metrics(int parity) {
  return (float2 *)(memory + METRICS) + parity * THREADS;
}

static __device__ __forceinline__ int reporter_of(const context &c) {
  if (LOSS_IS_SLICED) return c.group * SLICES + c.slice;
  return c.slice == 0 ? c.group : -1;
}

static __device__ __forceinline__ float *metrics_given(const context &c, long long at) {
  return c.s.exchange + GIVEN_METRICS + (at % METRIC_SLOTS) * REPORTERS * 2;
}

static __device__ __forceinline__ unsigned metrics_tag(long long at) {
  return (unsigned)(at / METRIC_SLOTS & 1) ^ 1;
}

static __device__ __forceinline__ void metrics_store(const context &c, long long at, float loss,
                                                     float misses) {
  if (c.lane != 0) return;
  c.s.loss[at] = loss;
  c.s.errors[at] = (int)misses;
}

/* A warp: this block's part of step `at` of the launch, as its threads left it. */
static __device__ __forceinline__ void metrics_sum(const context &c, long long at) {
  const int reporter = reporter_of(c);
  if (reporter < 0 || at < 0 || at >= c.s.steps) return;
  const float2 *from = thread_metrics((int)((c.s.first_step + at) & 1));
  float loss = 0, misses = 0;
#pragma unroll
  for (int i = 0; i < WARPS; i++) {
    const float2 of = from[c.lane + i * WARP];
    loss += of.x, misses += of.y;
  }
  loss = warp_sum(loss);
  misses = warp_sum(misses);
  if constexpr (REPORTERS == 1) {
    metrics_store(c, at, loss, misses);
  } else if (c.lane == 0) {
    const unsigned tag = metrics_tag(at);
    tagged_store2(metrics_given(c, at) + reporter * 2,
                  make_float2(__uint_as_float(__float_as_uint(untagged(loss)) | tag),
                              __uint_as_float(__float_as_uint(untagged(misses)) | tag)));
  }
}

/* A warp of the first block: all parts of step `at`. */
static __device__ __forceinline__ void metrics_collect(const context &c, long long at) {
  if (REPORTERS == 1 || blockIdx.x != 0 || at < 0 || at >= c.s.steps) return;
  const float *from = metrics_given(c, at);
  const unsigned tag = metrics_tag(at);
  float loss = 0, misses = 0;
  for (int i = c.lane; i < REPORTERS; i += WARP) {
    float2 of;
    for (int turns = 0;; tagged_poll(turns)) {
      of = tagged_load2(from + i * 2);
      if ((((__float_as_uint(of.x) ^ tag) | (__float_as_uint(of.y) ^ tag)) & 1u) == 0) break;
    }
    loss += untagged(of.x);
    misses += untagged(of.y);
  }
  __syncwarp();
  metrics_store(c, at, warp_sum(loss), warp_sum(misses));
}

/* Behind the loss: what this thread saw in the step. */
static __device__ __forceinline__ void metrics_leave(const context &c) {
  if (c.is_last_micro_batch())
    thread_metrics((int)(c.step & 1))[c.thread] = make_float2(c.loss * c.scale, c.misses);
}

#endif
