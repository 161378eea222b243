/* chain_updates.cuh: the gradient of the weights of a front of one block (chain.cuh), and what they
 * become by it. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH

#include "kernels/cuda/grid/chain_places.cuh"
#include "kernels/cuda/grid/updates.cuh"

/* What of the weights' gradient a warp sums up at once, at most. */
constexpr int SUM_OUTPUTS = 32, SUM_INPUTS = 32;

/* 16 outputs DOWN times, eight inputs ACROSS times; the outputs' biases in each column. */
template <int DOWN, int ACROSS> struct chain_sums {
  float weights[DOWN][ACROSS][4], biases[DOWN][4];
};

/* The gradient of weights from (m, n) on, and, where n is 0, of the outputs' biases: over all rows.
 * What is not there gets sums that nobody wants. */
template <int DOWN, int ACROSS, bool PRECISE>
static __device__ __forceinline__ void chain_sum(const chain_layer &of, int m, int n,
                                                 chain_sums<DOWN, ACROSS> &c) {
  constexpr int LOADS = (ACROSS + 1) / 2; /* two eights each */
  int lane = threadIdx.x % WARP, rows = of.stride - 4;
  const float *grad[DOWN], *x[LOADS];
#pragma unroll
  for (int i = 0; i < DOWN; i++) {
    int output = m + i * 16 + lane % 16;
    if (output >= of.outputs) output -= 8;
    grad[i] = of.grad + output * of.stride + lane / 16 * 4;
  }
#pragma unroll
  for (int j = 0; j < LOADS; j++) {
    int input = n + j * 16 + (ACROSS > 1 ? lane / 16 * 8 : 0) + lane % 8;
    if (input >= of.inputs) input -= 8;
    x[j] = of.x + input * of.stride + lane / 8 % 2 * 4;
  }
  const part one = part_of<PRECISE>(1.0f);
  bool biases = n == 0;
  c = {};
#pragma unroll 4
  for (int k = 0; k < rows; k += 8) {
    part a[DOWN][4], b[LOADS][4];
#pragma unroll
    for (int i = 0; i < DOWN; i++) parts_load<PRECISE>(a[i], grad[i] + k);
#pragma unroll
    for (int j = 0; j < LOADS; j++) parts_load<PRECISE>(b[j], x[j] + k);
#pragma unroll
    for (int i = 0; i < DOWN; i++) {
      if (biases) multiply<PRECISE>(c.biases[i], a[i], one, one);
#pragma unroll
      for (int j = 0; j < ACROSS; j++)
        multiply<PRECISE>(c.weights[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

/* By SGD without a state: all lies in shared memory, and what pads it stays zero. */
template <int DOWN, int ACROSS>
static __device__ __forceinline__ void chain_descend(const layer &of, const chain_layer &c, int m,
                                                     int n, const chain_sums<DOWN, ACROSS> &sum,
                                                     const update_way &way) {
  int lane = threadIdx.x % WARP, t = lane % 4, output = m + lane / 4;
  float *to = c.weights + output * c.line + n + t, *bias = c.biases + output;
  float decay = of.weight_decay, bias_decay = of.bias_decay;
  bool has_bias = n == 0 && t == 0 && of.bias >= 0 && bias_decay >= 0;
#pragma unroll
  for (int h = 0; h < 2 * DOWN; h++, to += 8 * c.line, bias += 8) {
    if (m + h * 8 >= c.outputs) break;
    if (has_bias) *bias = update_plain(way, bias_decay, *bias, sum.biases[h / 2][h % 2 * 2]);
    if (decay < 0) continue;
#pragma unroll
    for (int j = 0; j < ACROSS; j++) {
      if (ACROSS == SUM_INPUTS / 8 && n + j * 8 >= c.inputs) break;
#pragma unroll
      for (int q = 0; q < 2; q++)
        to[j * 8 + q * 4] =
            update_plain(way, decay, to[j * 8 + q * 4], sum.weights[h / 2][j][h % 2 * 2 + q]);
    }
  }
}

/* By any optimizer, whose state lies in memory: parameters `at`, at + 1, at + down, at + down + 1,
 * of which those are there whose bits are set. Returns what the weights become. */
static __device__ __noinline__ four chain_four_update(float decay, long long at, int down,
                                                      unsigned there, four weight,
                                                      const four grad) {
  constexpr int SLOTS = 3;
  const span &s = span_of();
  float state[SLOTS][4], *places[4];
#pragma unroll
  for (int e = 0; e < 4; e++)
    places[e] = s.state + at + (there >> e & 1 ? e / 2 * down + e % 2 : 0);
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      state[slot][e] = slot < s.slots ? places[e][slot * s.parameters_count] : 0;
#pragma unroll 1
  for (int e = 0; e < 4; e++)
    weight.of[e] = ep_optimizer_update(&s.optimizer, &state_of().update, decay, weight.of[e],
                                       ep_clip(&s.optimizer, 1, grad.of[e]), &state[0][e], 4);
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (slot < s.slots && (there >> e & 1)) places[e][slot * s.parameters_count] = state[slot][e];
  return weight;
}

template <int DOWN, int ACROSS>
static __device__ __forceinline__ void chain_optimize(const layer &of, const chain_layer &c, int m,
                                                      int n, const chain_sums<DOWN, ACROSS> &sum) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < DOWN; i++) {
    int output = m + i * 16 + g;
    unsigned outputs = (output < of.out ? 3u : 0) | (output + 8 < of.out ? 12u : 0);
#pragma unroll
    for (int j = 0; j < ACROSS; j++) {
      int input = n + j * 8 + 2 * t;
      unsigned there = outputs & ((input < of.in ? 5u : 0) | (input + 1 < of.in ? 10u : 0));
      if (of.weight_decay < 0 || there == 0) continue;
      float *to = c.weights + output * c.line + n + j * 8 + t;
      four weight, grad;
#pragma unroll
      for (int e = 0; e < 4; e++) {
        weight.of[e] = there >> e & 1 ? to[e / 2 * 8 * c.line + e % 2 * 4] : 0;
        grad.of[e] = sum.weights[i][j][e];
      }
      weight = chain_four_update(of.weight_decay, of.weight + (long long)output * of.in + input,
                                 8 * of.in, there, weight, grad);
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (there >> e & 1) to[e / 2 * 8 * c.line + e % 2 * 4] = weight.of[e];
    }
    unsigned there = outputs & 5u;
    if (n > 0 || t > 0 || there == 0 || of.bias < 0 || of.bias_decay < 0) continue;
    four bias = {{0, 0, 0, 0}};
    const four grad = {{sum.biases[i][0], 0, sum.biases[i][2], 0}};
    if (there & 1) bias.of[0] = c.biases[output];
    if (there & 4) bias.of[2] = c.biases[output + 8];
    bias = chain_four_update(of.bias_decay, of.bias + output, 8, there, bias, grad);
    if (there & 1) c.biases[output] = bias.of[0];
    if (there & 4) c.biases[output + 8] = bias.of[2];
  }
}

template <int DOWN, int ACROSS, bool PRECISE>
static __device__ __noinline__ void chain_weights_update(int l, int m, int n) {
  const layer &of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  const update_way way = update_way_of();
  chain_sums<DOWN, ACROSS> sum;
  chain_sum<DOWN, ACROSS, PRECISE>(c, m, n, sum);
  if (way.plain)
    chain_descend(of, c, m, n, sum, way);
  else
    chain_optimize(of, c, m, n, sum);
}

/* What is left of a layer from (m, n) on, as far as a warp sums it up at once. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_piece_update(int l, int m, int n, int outputs,
                                                          int inputs) {
  bool low = outputs <= 16;
  if (inputs > 16 && !low)
    chain_weights_update<2, 4, PRECISE>(l, m, n);
  else if (inputs > 16)
    chain_weights_update<1, 4, PRECISE>(l, m, n);
  else if (inputs > 8 && !low)
    chain_weights_update<2, 2, PRECISE>(l, m, n);
  else if (inputs > 8)
    chain_weights_update<1, 2, PRECISE>(l, m, n);
  else if (!low)
    chain_weights_update<2, 1, PRECISE>(l, m, n);
  else
    chain_weights_update<1, 1, PRECISE>(l, m, n);
}

/* All layers' weights and biases, shared out over the warps: the wider layers first. */
template <bool PRECISE> static __device__ void chain_update() {
  const span &s = span_of();
  int number = threadIdx.x / WARP;
#pragma unroll 1
  for (int l = s.front - 1; l >= 0; l--) {
    const layer &of = s.layers[l];
    if (of.weight_decay < 0 && of.bias_decay < 0) continue;
    int outputs = eights(of.out), inputs = eights(of.in);
    /* Pieces across: one, two or four, of which the last may not be there. */
    int shift = inputs <= SUM_INPUTS ? 0 : inputs <= 2 * SUM_INPUTS ? 1 : 2;
    int pieces = (outputs + SUM_OUTPUTS - 1) / SUM_OUTPUTS << shift;
#pragma unroll 1
    for (; number < pieces; number += WARPS) {
      int m = (number >> shift) * SUM_OUTPUTS, n = (number & ((1 << shift) - 1)) * SUM_INPUTS;
      if (n < inputs) chain_piece_update<PRECISE>(l, m, n, outputs - m, inputs - n);
    }
    number -= pieces;
  }
}

#endif
