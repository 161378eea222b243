/* chain_updates.cuh: the gradient of the weights of a front of one block (chain.cuh), and what they
 * become by it. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH

#include "kernels/cuda/grid/chain_places.cuh"
#include "kernels/cuda/grid/updates.cuh"

/* What of the weights' gradient a warp sums up at once. */
constexpr int SUM_OUTPUTS = 32, SUM_INPUTS = 32, SUM_TILES = SUM_OUTPUTS / 16,
              SUM_COLUMNS = SUM_INPUTS / 8;

struct chain_sums {
  float weights[SUM_TILES][SUM_COLUMNS][4], biases[SUM_TILES][4]; /* biases: in each column */
};

/* The gradient of weights from (m, n) on, and, where n is 0, of the outputs' biases: over all rows.
 * What is not there gets sums that nobody wants. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_sum(const chain_layer &of, int m, int n,
                                                 chain_sums &c) {
  int lane = threadIdx.x % WARP, feature = lane % 8, rows = span_of().chain_rows;
  const float *grad = of.grad + chain_at(lane / 16 * 4, m + lane % 16, 0);
  const float *x = of.x + chain_at(lane / 8 % 2 * 4, n + lane / 16 * 8 + feature, 0);
  const part one = part_of<PRECISE>(1.0f);
  c = {};
#pragma unroll 2
  for (int k = 0; k < rows; k += 8, grad += 8 * of.outputs, x += 8 * of.inputs) {
    part a[SUM_TILES][4], b[SUM_COLUMNS / 2][4];
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++) parts_load<PRECISE>(a[i], grad + i * 2 * BLOCK);
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS / 2; j++) parts_load<PRECISE>(b[j], x + j * 2 * BLOCK);
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++) {
      if (n == 0) multiply<PRECISE>(c.biases[i], a[i], one, one);
#pragma unroll
      for (int j = 0; j < SUM_COLUMNS; j++)
        multiply<PRECISE>(c.weights[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

/* By SGD without a state: all lies in shared memory, and what pads it stays zero. */
static __device__ __forceinline__ void chain_descend(const layer &of, const chain_layer &c, int m,
                                                     int n, const chain_sums &sum,
                                                     const update_way &way) {
  constexpr int LINES = 2 * SUM_TILES;
  int lane = threadIdx.x % WARP, t = lane % 4, output = m + lane / 4;
  float *to = c.weights + chain_weight_at(output, n + 2 * t, c.line), *bias = c.biases + output;
  float decay = of.weight_decay, bias_decay = of.bias_decay;
  if (n == 0 && t == 0 && of.bias >= 0 && bias_decay >= 0)
#pragma unroll
    for (int i = 0; i < LINES; i++)
      if (m + i * 8 < c.outputs)
        bias[i * 8] = update_plain(way, bias_decay, bias[i * 8], sum.biases[i / 2][i % 2 * 2]);
  if (decay < 0) return;
#pragma unroll
  for (int i = 0; i < LINES; i++, to += 8 * c.line) {
    if (m + i * 8 >= c.outputs) break;
    float2 weights[SUM_COLUMNS];
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++) weights[j] = *(const float2 *)(to + j * 8);
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++) {
      const float *grads = &sum.weights[i / 2][j][i % 2 * 2];
      weights[j].x = update_plain(way, decay, weights[j].x, grads[0]);
      weights[j].y = update_plain(way, decay, weights[j].y, grads[1]);
      if (n + j * 8 < c.inputs) *(float2 *)(to + j * 8) = weights[j];
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

static __device__ __forceinline__ void chain_optimize(const layer &of, const chain_layer &c, int m,
                                                      int n, const chain_sums &sum) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < SUM_TILES; i++) {
    int output = m + i * 16 + g;
    unsigned outputs = (output < of.out ? 3u : 0) | (output + 8 < of.out ? 12u : 0);
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++) {
      int input = n + j * 8 + 2 * t;
      unsigned there = outputs & ((input < of.in ? 5u : 0) | (input + 1 < of.in ? 10u : 0));
      if (of.weight_decay < 0 || there == 0) continue;
      float *to = c.weights + chain_weight_at(output, input, c.line);
      four weight, grad;
#pragma unroll
      for (int e = 0; e < 4; e++) {
        weight.of[e] = there >> e & 1 ? to[e / 2 * 8 * c.line + e % 2] : 0;
        grad.of[e] = sum.weights[i][j][e];
      }
      weight = chain_four_update(of.weight_decay, of.weight + (long long)output * of.in + input,
                                 8 * of.in, there, weight, grad);
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (there >> e & 1) to[e / 2 * 8 * c.line + e % 2] = weight.of[e];
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

/* All layers' weights and biases, shared out over the warps: the wider layers first. */
template <bool PRECISE> static __device__ __forceinline__ void chain_update() {
  const span &s = span_of();
  const update_way way = update_way_of();
  int number = threadIdx.x / WARP;
#pragma unroll 1
  for (int l = s.front - 1; l >= 0; l--) {
    const layer &of = s.layers[l];
    const chain_layer c = chain_layer_of(l);
    if (of.weight_decay < 0 && of.bias_decay < 0) continue;
    /* Pieces across: one, two or four, of which the last may not be there. */
    int shift = c.inputs <= SUM_INPUTS ? 0 : c.inputs <= 2 * SUM_INPUTS ? 1 : 2;
    int pieces = (c.outputs + SUM_OUTPUTS - 1) / SUM_OUTPUTS << shift;
#pragma unroll 1
    for (; number < pieces; number += WARPS) {
      int m = (number >> shift) * SUM_OUTPUTS, n = (number & ((1 << shift) - 1)) * SUM_INPUTS;
      chain_sums sum;
      if (n >= c.inputs) continue;
      chain_sum<PRECISE>(c, m, n, sum);
      if (way.plain)
        chain_descend(of, c, m, n, sum, way);
      else
        chain_optimize(of, c, m, n, sum);
    }
    number -= pieces;
  }
}

#endif
