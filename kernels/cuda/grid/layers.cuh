/* layers.cuh: the wide layers of cuda/grid, by all blocks: forward, backward, and the update of
 * weights in the epilogue of their gradient's product. */
#ifndef EP_KERNELS_CUDA_GRID_LAYERS_CUH
#define EP_KERNELS_CUDA_GRID_LAYERS_CUH

#include "kernels/cuda/grid/products.cuh"
#include "kernels/formulas/losses.h"

typedef ep_grid_span span;
typedef ep_grid_layer layer;

/* The step at hand. */
struct now {
  bool ordered; /* shared memory has the batch's rows in the training set; else they lie … */
  long long first_row; /* … from here on */
  int rows;            /* of the batch */
  unsigned turn;
  float scale;
  float *scratch;
};

/* The block's shared memory begins with this; `order` follows, and what plan.c places. All that a
 * kernel asks again and again lies here: a barrier empties the cache of all other memory. */
struct block_state {
  span s;
  now n;
  ep_optimizer_step update; /* on its way until the first product of the step has ended */
};
static_assert(sizeof(block_state) <= EP_GRID_STATE * sizeof(float), "what plan.c reserves");

extern __shared__ __align__(128) float block_memory[];

static __device__ __forceinline__ block_state &state_of() {
  return *(block_state *)block_memory;
}
static __device__ __forceinline__ const span &span_of() {
  return state_of().s;
}
/* By value, as layers are taken: what is in registers, no store makes the compiler read again. */
static __device__ __forceinline__ now now_of() {
  return state_of().n;
}
static __device__ __forceinline__ int *order_of() {
  return (int *)(block_memory + EP_GRID_STATE);
}

static __device__ __forceinline__ long long row_of(const now &n, int row) {
  return n.ordered ? order_of()[row] : n.first_row + row;
}

static __device__ __forceinline__ unsigned *counters_of() {
  return span_of().barrier + 1;
}

/* --- activations ----------------------------------------------------------------------------- */

struct activated {
  float y, slope;
};

static __device__ __noinline__ activated activate_any(int type, float negative_slope, float alpha,
                                                      float beta, float threshold, float z) {
  ep_op op = {};
  op.type = (ep_layer_type)type;
  op.negative_slope = negative_slope;
  op.alpha = alpha;
  op.beta = beta;
  op.threshold = threshold;
  float y = ep_activation(&op, z);
  return {y, ep_activation_derivative(&op, z, y)};
}

static __device__ __forceinline__ activated activate(const layer &of, float z) {
  if (of.activation == EP_LAYER_RELU) return {ep_relu(z), ep_relu_derivative(z)};
  if (of.activation < 0) return {z, 1};
  return activate_any(of.activation, of.negative_slope, of.alpha, of.beta, of.threshold, z);
}

/* --- matrices -------------------------------------------------------------------------------- */

static __device__ __forceinline__ matrix weights_of(const layer &of) {
  return {span_of().parameters + of.weight,    of.in, of.out, of.in, nullptr,
          of.in % 4 == 0 && of.weight % 4 == 0};
}

static __device__ __forceinline__ matrix input_of(const now &n, int l) {
  const span &s = span_of();
  if (l == 0) {
    int in = s.layers[0].in;
    const float *x = s.x + (n.ordered ? 0 : n.first_row * in);
    return {
        x, in, n.rows, in, n.ordered ? order_of() : nullptr, in % 4 == 0 && ((size_t)x & 15) == 0};
  }
  const layer &before = s.layers[l - 1];
  return {n.scratch + before.after, before.stride, n.rows, before.stride, nullptr, true};
}

static __device__ __forceinline__ matrix grad_of(const now &n, const layer &of) {
  return {n.scratch + of.grad, of.stride, n.rows, of.stride, nullptr, true};
}

/* --- forward, backward ----------------------------------------------------------------------- */

/* Rows are rows, columns outputs. */
struct forward_use {
  const now &n;
  const layer &of;
  const float *parameters;
  int row, output;
  struct loaded {
    four bias;
  };
  __device__ __forceinline__ void load(int, int column, loaded &to) const {
    int o = output + column;
    const float *bias = parameters + of.bias;
#pragma unroll
    for (int i = 0; i < 4; i++) to.bias.of[i] = of.bias >= 0 && o + i < of.out ? bias[o + i] : 0;
  }
  __device__ __forceinline__ void store(int line, int column, const four &sum,
                                        const loaded &with) const {
    int r = row + line, o = output + column;
    if (r >= n.rows || o >= of.stride) return;
    four y, slope;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      activated a = activate(of, sum.of[i] + with.bias.of[i]);
      y.of[i] = o + i < of.out ? a.y : 0;
      slope.of[i] = o + i < of.out ? a.slope : 0;
    }
    four_store(n.scratch + of.after + (long long)r * of.stride + o, y);
    four_store(n.scratch + of.grad + (long long)r * of.stride + o, slope);
  }
  __device__ __forceinline__ float extra_load(int) const {
    return 0;
  }
  __device__ __forceinline__ void extra(int, float, float) const {}
};

template <class S, bool PRECISE> static __device__ __noinline__ void forward_run(int l) {
  const now n = now_of();
  const layer of = span_of().layers[l];
  const ep_grid_cut cut = of.forward;
  float *area = block_memory + span_of().area_at, none = 0;
  matrix weights = weights_of(of), x = input_of(n, l);
  int tasks = cut.across * cut.down * cut.splits;
  for (int number = blockIdx.x; number < tasks; number += gridDim.x) {
    task at = task_of<S>(cut, number, of.in);
    const forward_use use{n, of, span_of().parameters, at.n, at.m};
    early<S, forward_use> with;
    task_begin(use, cut.splits, false, with);
    float c[S::MF][S::T][4];
    product<S, PRECISE>(c, area, weights, x, at.m, at.n, at.first, at.end, false, none);
    task_end(c, area, cut, at, n.scratch + span_of().partials, counters_of(), n.turn, false, 0, use,
             with);
  }
}

template <bool PRECISE> static __device__ void forward(int l) {
  if (span_of().layers[l].forward.large)
    forward_run<forward_large, PRECISE>(l);
  else
    forward_run<forward_small, PRECISE>(l);
}

/* The gradient by a layer's input, times the slopes of the activation before it, in their place. */
struct backward_use {
  const now &n;
  const layer &before;
  int row, input;
  struct loaded {
    four slope;
  };
  __device__ __forceinline__ float *at(int line, int column) const {
    return n.scratch + before.grad + (long long)(row + line) * before.stride + input + column;
  }
  __device__ __forceinline__ bool there(int line, int column) const {
    return row + line < n.rows && input + column < before.stride;
  }
  __device__ __forceinline__ void load(int line, int column, loaded &to) const {
    if (there(line, column)) to.slope = four_of(at(line, column));
  }
  __device__ __forceinline__ void store(int line, int column, const four &sum,
                                        const loaded &with) const {
    if (!there(line, column)) return;
    four grad;
#pragma unroll
    for (int i = 0; i < 4; i++) grad.of[i] = sum.of[i] * with.slope.of[i];
    four_store(at(line, column), grad);
  }
  __device__ __forceinline__ float extra_load(int) const {
    return 0;
  }
  __device__ __forceinline__ void extra(int, float, float) const {}
};

template <class S, bool PRECISE> static __device__ __noinline__ void backward_run(int l) {
  const now n = now_of();
  const layer of = span_of().layers[l];
  const ep_grid_cut cut = of.backward;
  float *area = block_memory + span_of().area_at, none = 0;
  const layer before = span_of().layers[l - 1];
  matrix weights = weights_of(of), grad = grad_of(n, of);
  int tasks = cut.across * cut.down * cut.splits;
  for (int number = blockIdx.x; number < tasks; number += gridDim.x) {
    task at = task_of<S>(cut, number, of.out);
    const backward_use use{n, before, at.n, at.m};
    early<S, backward_use> with;
    task_begin(use, cut.splits, false, with);
    float c[S::MF][S::T][4];
    product<S, PRECISE>(c, area, weights, grad, at.m, at.n, at.first, at.end, false, none);
    task_end(c, area, cut, at, n.scratch + span_of().partials, counters_of(), n.turn, false, 0, use,
             with);
  }
}

/* Returns its tasks, so that others begin with the blocks that have none of them. */
template <bool PRECISE> static __device__ int backward(int l) {
  const ep_grid_cut &cut = span_of().layers[l].backward;
  if (cut.large)
    backward_run<backward_large, PRECISE>(l);
  else
    backward_run<backward_small, PRECISE>(l);
  return cut.across * cut.down * cut.splits;
}

/* --- updates --------------------------------------------------------------------------------- */

enum { SLOTS_MAX = 3 };

/* How parameters are updated: plain: by SGD without momentum. */
struct update_way {
  bool plain;
  float clip_value;
  ep_optimizer_step step;
  float *parameters;
};

static __device__ __forceinline__ update_way update_way_of() {
  const span &s = span_of();
  return {s.optimizer.type == EP_OPTIMIZER_SGD && s.slots == 0, s.optimizer.clip_value,
          state_of().update, s.parameters};
}

static __device__ __forceinline__ float update_plain(const update_way &way, float decay,
                                                     float parameter, float grad) {
  ep_optimizer sgd = {};
  sgd.type = EP_OPTIMIZER_SGD;
  sgd.clip_value = way.clip_value;
  return ep_sgd(&sgd, &way.step, decay, parameter, ep_clip(&sgd, 1, grad), nullptr);
}

/* Four neighbours, and their state in its place. */
static __device__ __noinline__ four update_four(float decay, long long at, four weight, four grad) {
  const span &s = span_of();
  float state[SLOTS_MAX * 4], *places = s.state + at;
  int slots = s.slots;
  long long stride = s.parameters_count;
#pragma unroll
  for (int slot = 0; slot < SLOTS_MAX; slot++)
    if (slot < slots) *(float4 *)(state + 4 * slot) = *(float4 *)(places + slot * stride);
#pragma unroll 1
  for (int i = 0; i < 4; i++)
    weight.of[i] = ep_optimizer_update(&s.optimizer, &state_of().update, decay, weight.of[i],
                                       ep_clip(&s.optimizer, 1, grad.of[i]), state + i, 4);
#pragma unroll
  for (int slot = 0; slot < SLOTS_MAX; slot++)
    if (slot < slots) *(float4 *)(places + slot * stride) = *(float4 *)(state + 4 * slot);
  return weight;
}

static __device__ __noinline__ float update_any(float decay, long long at, float grad) {
  const span &s = span_of();
  return ep_optimizer_update(&s.optimizer, &state_of().update, decay, s.parameters[at],
                             ep_clip(&s.optimizer, 1, grad), s.state + at, s.parameters_count);
}

/* The parameter at an offset; returns what it becomes. */
static __device__ __forceinline__ float parameter_update(const update_way &way, float decay,
                                                         long long at, float grad) {
  float *place = way.parameters + at;
  float value = way.plain ? update_plain(way, decay, *place, grad) : update_any(decay, at, grad);
  *place = value;
  return value;
}

/* Rows are outputs, columns inputs. A front layer's weights go to the image as well. */
struct update_use {
  const update_way &way;
  const layer &of;
  int output, input;
  bool aligned;
  float *image; /* the layer's, or NULL */
  struct loaded {
    four weight;
  };
  __device__ __forceinline__ long long at(int line, int column) const {
    return of.weight + (long long)(output + line) * of.in + input + column;
  }
  __device__ __forceinline__ bool there(int line, int column) const {
    return of.weight_decay >= 0 && output + line < of.out && input + column < of.in;
  }
  __device__ __forceinline__ void load(int line, int column, loaded &to) const {
    if (aligned && there(line, column)) to.weight = four_of(way.parameters + at(line, column));
  }
  __device__ __forceinline__ void aligned_store(int line, int column, const four &grad,
                                                four weight) const {
    if (way.plain) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        weight.of[i] = update_plain(way, of.weight_decay, weight.of[i], grad.of[i]);
    } else {
      weight = update_four(of.weight_decay, at(line, column), weight, grad);
    }
    four_store(way.parameters + at(line, column), weight);
    if (image)
      four_store(image + (long long)(output + line) * of.image_stride + input + column, weight);
  }
  __device__ __forceinline__ void store(int line, int column, const four &grad,
                                        const loaded &with) const {
    if (!there(line, column)) return;
    if (aligned) {
      aligned_store(line, column, grad, with.weight);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
      if (input + column + i >= of.in) continue;
      float weight = parameter_update(way, of.weight_decay, at(line, column + i), grad.of[i]);
      if (image) image[(long long)(output + line) * of.image_stride + input + column + i] = weight;
    }
  }
  __device__ __forceinline__ bool extra_there(int line) const {
    return of.bias >= 0 && of.bias_decay >= 0 && output + line < of.out;
  }
  __device__ __forceinline__ float extra_load(int line) const {
    return extra_there(line) ? way.parameters[of.bias + output + line] : 0;
  }
  __device__ __forceinline__ void extra(int line, float grad, float bias) const {
    if (!extra_there(line)) return;
    int o = output + line;
    if (way.plain)
      bias = update_plain(way, of.bias_decay, bias, grad);
    else
      bias = update_any(of.bias_decay, of.bias + o, grad);
    way.parameters[of.bias + o] = bias;
    if (image) image[of.out * of.image_stride + o] = bias;
  }
};

template <class S, bool PRECISE> static __device__ __noinline__ void update_run(int l, int skip) {
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[l];
  const ep_grid_cut cut = of.update;
  float *area = block_memory + s.area_at;
  matrix grad = grad_of(n, of), x = input_of(n, l);
  bool aligned =
      of.in % 4 == 0 && of.weight % 4 == 0 && (s.slots == 0 || s.parameters_count % 4 == 0);
  float *image = l < s.front ? n.scratch + s.image + of.image : nullptr;
  int tasks = cut.across * cut.down * cut.splits, blocks = gridDim.x;
  int number = (int)blockIdx.x - skip % blocks;
  for (number += number < 0 ? blocks : 0; number < tasks; number += blocks) {
    task at = task_of<S>(cut, number, n.rows);
    update_way way = update_way_of();
    const update_use use{way, of, at.m, at.n, aligned, image};
    early<S, update_use> with;
    task_begin(use, cut.splits, at.n == 0, with);
    float c[S::MF][S::T][4], bias = 0;
    product<S, PRECISE>(c, area, grad, x, at.m, at.n, at.first, at.end, at.n == 0, bias);
    way.step = state_of().update;
    task_end(c, area, cut, at, n.scratch + of.partials, counters_of(), n.turn, at.n == 0, bias, use,
             with);
  }
}

/* The gradient of a layer's weights and biases, summed over all rows, and the update. The first
 * `skip` tasks of the phase are others'; returns the sum of those and its own. */
template <bool PRECISE> static __device__ int update(int l, int skip) {
  const layer &of = span_of().layers[l];
  const ep_grid_cut &cut = of.update;
  if (of.weight_decay < 0 && of.bias_decay < 0) return skip;
  if (cut.large)
    update_run<weights_large, PRECISE>(l, skip);
  else
    update_run<weights_small, PRECISE>(l, skip);
  return skip + cut.across * cut.down * cut.splits;
}

#endif
