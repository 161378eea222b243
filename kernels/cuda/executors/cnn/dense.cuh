/* dense.cuh: what comes after the images, of one row by a group: linear layers, softmax, losses. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_DENSE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_DENSE_CUH

#include "kernels/cuda/device/mbarrier.cuh"
#include "kernels/cuda/executors/cnn/row.cuh"

/* --- linear ---------------------------------------------------------------------------------- */

template <int S> struct linear {
  static constexpr cnn_stage A = stage(S), X = stage(S - 1);
  static constexpr int K = count_of(X.out), J = count_of(A.out);
  static constexpr bool STAGED = A.staged >= 0;
  static constexpr bool BY_FOUR = K % 4 == 0 && (STAGED || A.weight % 4 == 0);
  static constexpr bool BY_TWO = K % 2 == 0 && (STAGED || A.weight % 2 == 0);
  static constexpr int STEP = BY_FOUR ? 4 : BY_TWO ? 2 : 1; /* floats of one load */
  static constexpr int LANES = 32 / STEP;                   /* of an output: 128 bytes */
  static constexpr int COLUMNS = K / STEP;
  static constexpr int FIT = THREADS / COLUMNS;
  static constexpr int PARTS = FIT < 1 ? 1 : FIT > LINEAR_PARTS ? LINEAR_PARTS : FIT;
  static constexpr int X_PITCH = vectors_of(K), G_PITCH = vectors_of(J);
};

constexpr bool linear_staged() {
  for (int s = 0; s < STAGES; s++)
    if (stage(s).type == EP_LAYER_LINEAR && stage(s).staged >= 0) return true;
  return false;
}

/* Begins the copy of a linear layer's weights and biases, by the block. */
template <int S> static __device__ __forceinline__ void linear_stage(const args &s, float *to) {
  using L = linear<S>;
  constexpr int COUNT = L::J * L::K, BY = L::A.weight % 4 == 0 ? 4 : 1;
  const float *from = s.parameters + L::A.weight;
  to += L::A.staged;
#pragma unroll 1
  for (int i = threadIdx.x; i < COUNT / BY; i += GROUPS * THREADS)
    cp_async<4 * BY>(to + i * BY, from + i * BY);
#pragma unroll 1
  for (int i = COUNT / BY * BY + threadIdx.x; i < COUNT; i += GROUPS * THREADS)
    cp_async<4>(to + i, from + i);
#pragma unroll 1
  for (int j = threadIdx.x; j < L::J && L::A.bias >= 0; j += GROUPS * THREADS)
    cp_async<4>(to + vectors_of(COUNT) + j, s.parameters + L::A.bias + j);
}

/* All copies of this thread are under way: the last to end counts. */
static __device__ __forceinline__ void linear_begun(const worker &w) {
  if constexpr (linear_staged()) cp_async_arrive(shared_address(w.arrival));
}

/* Until the block has the step's weights of the linear layers. */
static __device__ __forceinline__ void linear_wait(const worker &w) {
  if constexpr (linear_staged()) mbarrier_wait(shared_address(w.arrival), w.odd);
}

/* STEP floats from `from`. */
template <int STEP>
static __device__ __forceinline__ void step_read(const float *from, float (&to)[STEP]) {
  if constexpr (STEP == 4) {
    float4 four = *(const float4 *)from;
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  } else if constexpr (STEP == 2) {
    float2 two = *(const float2 *)from;
    to[0] = two.x, to[1] = two.y;
  } else {
    to[0] = *from;
  }
}

template <int S> static __device__ __forceinline__ const float *linear_weights(const worker &w) {
  if constexpr (linear<S>::STAGED) return w.staged + linear<S>::A.staged;
  return w.s.parameters + linear<S>::A.weight;
}
template <int S> static __device__ __forceinline__ const float *linear_biases(const worker &w) {
  if constexpr (linear<S>::STAGED)
    return linear_weights<S>(w) + vectors_of(linear<S>::J * linear<S>::K);
  return w.s.parameters + linear<S>::A.bias;
}

/* LANES threads an output; those that dropout drops are not computed. The row goes to memory, for
 * the gradient of the weights. */
template <int S> static __device__ __forceinline__ void linear_forward(const worker &w) {
  using L = linear<S>;
  const float *x = w.m + L::X.value.first;
  float *kept = w.s.linear + L::A.x + (long long)w.row * L::X_PITCH;
#pragma unroll 1
  for (int k = w.thread; k < L::K; k += THREADS) kept[k] = x[k];
  int lane = w.thread % L::LANES;
  linear_wait(w);
#pragma unroll 1
  for (int first = 0; first < L::J; first += THREADS / L::LANES) {
    int j = first + w.thread / L::LANES;
    bool asked = j < L::J;
    if constexpr (L::A.dropout >= 0) asked = asked && keeps<L::A.dropout>(w, j);
    float sum = 0;
    if (asked) {
      const float *weights = linear_weights<S>(w) + j * L::K;
#pragma unroll 5
      for (int k = lane * L::STEP; k < L::K; k += L::LANES * L::STEP) {
        float weight[L::STEP], number[L::STEP];
        step_read<L::STEP>(weights + k, weight);
        step_read<L::STEP>(x + k, number);
#pragma unroll
        for (int i = 0; i < L::STEP; i++) sum = fmaf(weight[i], number[i], sum);
      }
    }
    sum = lanes_sum<L::LANES>(sum);
    if (lane == 0 && j < L::J) {
      if constexpr (L::A.bias >= 0) sum += linear_biases<S>(w)[j];
      w.m[L::A.value.first + j] = value_of<S>(w, j, sum);
    }
  }
}

template <int S> static __device__ __forceinline__ void linear_backward(const worker &w) {
  using L = linear<S>;
  const float *grad = w.m + L::A.grad.first;
  float *kept = w.s.linear + L::A.g + (long long)w.row * L::G_PITCH;
#pragma unroll 1
  for (int j = w.thread; j < L::J; j += THREADS) kept[j] = grad[j];
  if constexpr (S > FIRST_STAGE) {
    const float *weights = linear_weights<S>(w);
#pragma unroll 1
    for (int task = w.thread; task < L::COLUMNS * L::PARTS; task += THREADS) {
      int column = task % L::COLUMNS * L::STEP, part = task / L::COLUMNS;
      float sum[L::STEP];
#pragma unroll
      for (int i = 0; i < L::STEP; i++) sum[i] = 0;
#pragma unroll 4
      for (int j = part; j < L::J; j += L::PARTS) {
        float g = grad[j], weight[L::STEP];
#pragma unroll
        for (int i = 0; i < L::STEP; i++) weight[i] = 0;
        if (g != 0) step_read<L::STEP>(weights + j * L::K + column, weight);
#pragma unroll
        for (int i = 0; i < L::STEP; i++) sum[i] = fmaf(weight[i], g, sum[i]);
      }
#pragma unroll
      for (int i = 0; i < L::STEP; i++) w.m[L::A.back + part * L::K + column + i] = sum[i];
    }
    group_wait(w);
#pragma unroll 1
    for (int k = w.thread; k < L::K; k += THREADS) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < L::PARTS; i++) sum += w.m[L::A.back + i * L::K + k];
      grad_put<S - 1>(w, k, sum);
    }
  }
}

/* --- softmax, log_softmax: by one warp -------------------------------------------------------- */

/* The largest; NaN when there is one. */
static __device__ __forceinline__ float warp_largest(const float *x, int count) {
  int lane = threadIdx.x % WARP;
  float most = x[lane < count ? lane : 0];
#pragma unroll 1
  for (int k = lane; k < count; k += WARP)
    if (!(x[k] <= most)) most = x[k];
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(ALL_LANES, most, distance);
    if (!(other <= most) && most == most) most = other;
  }
  return most;
}

static __device__ __forceinline__ float warp_exponentials(const float *x, int count, float most) {
  float sum = 0;
#pragma unroll 1
  for (int k = threadIdx.x % WARP; k < count; k += WARP) sum += expf(x[k] - most);
  return warp_sum(sum);
}

template <int S> static __device__ __forceinline__ void softmax_forward(const worker &w) {
  constexpr cnn_stage A = stage(S), X = stage(S - 1);
  constexpr int COUNT = count_of(A.out);
  if (w.thread >= WARP) return;
  const float *x = w.m + X.value.first;
  float most = warp_largest(x, COUNT), sum = warp_exponentials(x, COUNT, most);
  float log_sum = logf(sum);
#pragma unroll 1
  for (int k = w.thread; k < COUNT; k += WARP)
    w.m[A.value.first + k] = value_of<S>(
        w, k, A.type == EP_LAYER_SOFTMAX ? expf(x[k] - most) / sum : x[k] - most - log_sum);
}

template <int S> static __device__ __forceinline__ void softmax_backward(const worker &w) {
  constexpr cnn_stage A = stage(S);
  constexpr int COUNT = count_of(A.out);
  if (w.thread >= WARP) return;
  const float *y = w.m + A.value.first, *grad = w.m + A.grad.first;
  float sum = 0;
#pragma unroll 1
  for (int k = w.thread; k < COUNT; k += WARP)
    sum += A.type == EP_LAYER_SOFTMAX ? grad[k] * y[k] : grad[k];
  sum = warp_sum(sum);
#pragma unroll 1
  for (int k = w.thread; k < COUNT; k += WARP)
    grad_put<S - 1>(
        w, k, A.type == EP_LAYER_SOFTMAX ? y[k] * (grad[k] - sum) : grad[k] - expf(y[k]) * sum);
}

/* --- losses: by one warp ---------------------------------------------------------------------- */

/* The index of the first in the order of ep_argmax_precedes. */
static __device__ __forceinline__ int warp_argmax(const float *x, int count) {
  int lane = threadIdx.x % WARP, index = count;
  float most = 0;
#pragma unroll 1
  for (int k = lane; k < count; k += WARP)
    if (index == count || ep_argmax_precedes(x[k], k, most, index)) {
      most = x[k];
      index = k;
    }
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(ALL_LANES, most, distance);
    int its = __shfl_xor_sync(ALL_LANES, index, distance);
    if (its != count && (index == count || ep_argmax_precedes(other, its, most, index))) {
      most = other;
      index = its;
    }
  }
  return index;
}

static __device__ __forceinline__ void class_loss(worker &w, const float *output) {
  constexpr int LAST = STAGES - 1;
  int lane = w.thread, label = w.label;
  float most = warp_largest(output, OUT), value = 0;
  w.misses += warp_argmax(output, OUT) != label;
  if constexpr (ep_loss_normalizes(LOSS)) {
    float sum = warp_exponentials(output, OUT, most), log_sum = logf(sum);
    ep_row_scales scales =
        ep_class_scales(LOSS, output[label] - most - log_sum, w.s.loss_parameter);
#pragma unroll 1
    for (int k = lane; k < OUT; k += WARP) {
      float t = ep_class_target(w.s.label_smoothing, OUT, label, 1.0f, k, 1.0f);
      if (t != 0) value += scales.value * t * (log_sum + most - output[k]);
      grad_put<LAST>(w, k, w.scale * scales.grad * (expf(output[k] - most) / sum - t));
    }
    value = warp_sum(value);
  } else {
    value = -output[label];
#pragma unroll 1
    for (int k = lane; k < OUT; k += WARP) grad_put<LAST>(w, k, k == label ? -w.scale : 0.0f);
  }
  w.loss += (double)value;
}

static __device__ __forceinline__ void point_loss(worker &w, const float *output) {
  constexpr int LAST = STAGES - 1;
  float value = 0;
  int misses = 0;
#pragma unroll 1
  for (int k = w.thread; k < OUT; k += WARP) {
    float target = __ldg((const float *)w.s.y + w.from * TARGETS + k), z = output[k];
    value += ep_loss_value(LOSS, z, target, w.s.loss_parameter);
    misses += ep_loss_misses(LOSS, z, target);
    grad_put<LAST>(w, k, w.scale * ep_loss_derivative(LOSS, z, target, w.s.loss_parameter));
  }
  w.loss += (double)warp_sum(value);
  w.misses += __reduce_add_sync(ALL_LANES, misses);
}

/* The gradient by the output may lie where the output does not: it is written by its own warp. */
static __device__ __forceinline__ void loss_run(worker &w) {
  constexpr cnn_stage A = stage(STAGES - 1);
  if (w.thread >= WARP) return;
  if constexpr (TAKES_CLASSES)
    class_loss(w, w.m + A.value.first);
  else
    point_loss(w, w.m + A.value.first);
}

#endif
