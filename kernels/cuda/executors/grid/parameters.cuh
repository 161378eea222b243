/* parameters.cuh: the update of a tile of a layer's weights, by any optimizer, and of biases, for
 * cuda/grid. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PARAMETERS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PARAMETERS_CUH

#include "kernels/cuda/executors/grid/layers.cuh"

/* --- parameters ------------------------------------------------------------------------------ */

/* How parameters are updated: plain: by SGD without momentum, of gradients as they are. */
struct update_way {
  bool plain;
  ep_optimizer_step step;
  float *parameters;
};

static __device__ __forceinline__ update_way update_way_of() {
  const args &s = args_of();
  return {s.optimizer.type == EP_OPTIMIZER_SGD && s.slots == 0 && s.optimizer.clip_value == 0,
          state_of().update, s.parameters};
}

static __device__ __forceinline__ float update_plain(const update_way &way, float decay,
                                                     float parameter, float grad) {
  ep_optimizer sgd = {};
  sgd.type = EP_OPTIMIZER_SGD;
  return ep_sgd(&sgd, &way.step, decay, parameter, grad, nullptr);
}

static __device__ __noinline__ float update_any(float decay, long long at, float grad) {
  const args &s = args_of();
  return ep_optimizer_update(&s.optimizer, &state_of().update, decay, s.parameters[at],
                             ep_clip(&s.optimizer, 1, grad), s.state + at, s.state_stride);
}

/* Where a tile of a layer's weights lies: rows are outputs, columns inputs. Weights that are read
 * from elsewhere go to their mirror as well. */
struct update_place {
  const layer &of;
  int output, input;
  bool aligned;
  float *mirror; /* the layer's, or NULL */
  __device__ __forceinline__ long long at(int line, int column) const {
    return of.weight + (long long)(output + line) * of.in + input + column;
  }
  __device__ __forceinline__ bool there(int line, int column) const {
    return of.weight_decay >= 0 && output + line < of.out && input + column < of.in;
  }
  __device__ __forceinline__ void load(const float *parameters, int line, int column,
                                       four &weight) const {
    const float *from = parameters + at(line, column);
    if (aligned) {
      weight = four_of(from);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++) weight.of[i] = input + column + i < of.in ? from[i] : 0;
    }
  }
  __device__ __forceinline__ void store(float *parameters, int line, int column,
                                        const four &weight) const {
    float *to = parameters + at(line, column);
    if (aligned) {
      four_store(to, weight);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (input + column + i < of.in) to[i] = weight.of[i];
    }
    if (!mirror) return;
    to = mirror + (long long)(output + line) * of.image_stride + input + column;
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (input + column + i < of.in) to[i] = weight.of[i];
  }
};

static __device__ __forceinline__ update_place update_place_of(const layer &of, int output,
                                                               int input) {
  const args &s = args_of();
  bool aligned = of.in % 4 == 0 && of.weight % 4 == 0;
  return {of, output, input, aligned, of.mirror >= 0 ? s.scratch + of.mirror : nullptr};
}

static __device__ __noinline__ void bias_update(int l, int output, float grad) {
  const args &s = args_of();
  const layer &of = s.layers[l];
  if (of.bias < 0 || of.bias_decay < 0 || output >= of.out) return;
  float bias = update_any(of.bias_decay, of.bias + output, grad);
  s.parameters[of.bias + output] = bias;
  if (of.mirror >= 0) s.scratch[of.mirror + (long long)of.out * of.image_stride + output] = bias;
}

/* The gradient of a tile's weights, row by row: in shared memory, or in `parts` parts that blocks
 * left in the scratch, each `apart` floats from the last, added in their order. */
struct tile_grad {
  const float *at;
  int parts, apart, shift; /* shift: 1 << shift fours in a row */
  __device__ __forceinline__ int line(int number) const { return number >> shift; }
  __device__ __forceinline__ int column(int number) const {
    return (number & ((1 << shift) - 1)) * 4;
  }
};

/* An optimizer of a type with all options that take a slot. */
static constexpr ep_optimizer optimizer_with_all(ep_optimizer_type type) {
  ep_optimizer optimizer = {};
  optimizer.type = type;
  optimizer.momentum = 0.5f;
  optimizer.centered = true;
  return optimizer;
}

/* The slots that an optimizer may have. */
template <ep_optimizer_type TYPE> static constexpr int optimizer_slots() {
  constexpr ep_optimizer all = optimizer_with_all(TYPE);
  return (int)ep_optimizer_slots(&all);
}
template <ep_optimizer_type TYPE> constexpr int slots_of = optimizer_slots<TYPE>();

/* The tile's fours from `first` to `end`. A thread takes several at once, and asks for all that
 * they need before it needs any of it: what it waits for is memory. Neighbours in a row are
 * neighbours in a warp. */
template <ep_optimizer_type TYPE>
static __device__ __noinline__ void fours_update(const update_place place, const tile_grad grad,
                                                 int first, int end) {
  constexpr int TOGETHER = 2, SLOTS = slots_of<TYPE>;
  const args &s = args_of();
  ep_optimizer optimizer = s.optimizer;
  optimizer.type = TYPE;
  const ep_optimizer_step step = state_of().update;
  const int slots = s.slots;
  const long long stride = s.state_stride;
  float *states = slots > 0 ? s.state : s.parameters;
#pragma unroll 1
  for (int at = first + (int)threadIdx.x; at < end; at += TOGETHER * THREADS) {
    four weight[TOGETHER], sum[TOGETHER], state[TOGETHER][SLOTS];
    long long where[TOGETHER];
    bool there[TOGETHER];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      int number = at + i * THREADS, line = grad.line(number), column = grad.column(number);
      there[i] = number < end && place.there(line, column);
      where[i] = there[i] ? place.at(line, column) : place.of.weight;
      weight[i] = four_of(s.parameters + where[i]);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        state[i][slot] = four_of(states + where[i] + (slot < slots ? slot * stride : 0));
    }
    if (grad.parts == 1) {
#pragma unroll
      for (int i = 0; i < TOGETHER; i++)
        sum[i] = four_of(grad.at + (at + i * THREADS < end ? at + i * THREADS : at) * 4);
    } else {
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) sum[i] = {{0, 0, 0, 0}};
#pragma unroll 2
      for (int part = 0; part < grad.parts; part++)
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
          four more = four_there(grad.at + part * grad.apart + (at + i * THREADS) * 4, there[i]);
#pragma unroll
          for (int e = 0; e < 4; e++) sum[i].of[e] += more.of[e];
        }
    }
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
#pragma unroll
      for (int e = 0; e < 4; e++)
        weight[i].of[e] =
            ep_optimizer_update(&optimizer, &step, place.of.weight_decay, weight[i].of[e],
                                ep_clip(&optimizer, 1, sum[i].of[e]), &state[i][0].of[e], 4);
      if (!there[i]) continue;
      int number = at + i * THREADS;
      place.store(s.parameters, grad.line(number), grad.column(number), weight[i]);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        if (slot < slots) four_store(states + where[i] + slot * stride, state[i][slot]);
    }
  }
}

/* The same where fours do not begin on 16 bytes. */
static __device__ __noinline__ void ones_update(const update_place place, const tile_grad grad,
                                                int first, int end) {
#pragma unroll 1
  for (int number = first + (int)threadIdx.x; number < end; number += THREADS) {
    int line = grad.line(number), column = grad.column(number);
    if (!place.there(line, column)) continue;
    four weight = {{0, 0, 0, 0}};
#pragma unroll 1
    for (int e = 0; e < 4 && place.input + column + e < place.of.in; e++) {
      float sum = 0;
#pragma unroll 1
      for (int part = 0; part < grad.parts; part++)
        sum += grad.parts == 1 ? grad.at[4 * number + e]
                               : __ldcg(grad.at + part * grad.apart + 4 * number + e);
      weight.of[e] = update_any(place.of.weight_decay, place.at(line, column) + e, sum);
    }
    place.store(args_of().parameters, line, column, weight);
  }
}

#define TILE_UPDATE(code, ...) \
  case EP_OPTIMIZER_##code: return fours_update<EP_OPTIMIZER_##code>(place, grad, first, end);

static __device__ __forceinline__ void tile_update(const update_place &place, const tile_grad &grad,
                                                   int first, int end) {
  if (!place.aligned) return ones_update(place, grad, first, end);
  switch (args_of().optimizer.type) {
    EP_OPTIMIZERS(TILE_UPDATE)
  case EP_OPTIMIZER_COUNT: break;
  }
}

#endif
