/* chain_updates.cuh: the gradient of the weights of a front of one block (chain.cuh), and what they
 * become by it. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_UPDATES_CUH

#include "kernels/cuda/grid/chain_places.cuh"
#include "kernels/cuda/grid/updates.cuh"

/* What of the weights' gradient a warp sums up at once: 16 outputs twice, eight inputs four times.
 * A thread has, of each output, places 8t to 8t + 7 of the line: tiles 2i and 2i + 1 have 2i and 2i
 * + 1, and the same 4 further on. */
constexpr int SUM_OUTPUTS = 32, SUM_INPUTS = 32, SUM_TILES = SUM_OUTPUTS / 16,
              SUM_COLUMNS = SUM_INPUTS / 8;

struct chain_sums {
  float weights[SUM_TILES][SUM_COLUMNS][4], biases[SUM_TILES][2];
};

/* The gradient of weights from (m, n) on, and of the outputs' biases: over all rows. What is not
 * there gets sums that nobody wants. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_sum(const chain_layer &of, int m, int n,
                                                 chain_sums &c) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, rows = span_of().chain_rows;
  const float *grad = of.grad + m * 8 + t * 8 + g, *x[SUM_COLUMNS / 2];
#pragma unroll
  for (int j = 0; j < SUM_COLUMNS / 2; j++) {
    int pair = (2 * j + g % 2) ^ chain_mix(g / 2);
    x[j] = of.x + n * 8 + g / 2 * BLOCK + t * 8 + 2 * pair;
  }
  c = {};
#pragma unroll 2
  for (int k = 0; k < rows; k += 8, grad += 8 * of.outputs) {
    float a[SUM_TILES][4];
    float2 b[SUM_COLUMNS / 2][2];
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) a[i][q] = grad[(2 * i + q % 2) * BLOCK + q / 2 * 32];
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS / 2; j++) {
      b[j][0] = *(const float2 *)x[j], b[j][1] = *(const float2 *)(x[j] + 32);
      x[j] += 8 * of.inputs;
    }
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++) {
      part of_a[4];
#pragma unroll
      for (int q = 0; q < 4; q++) of_a[q] = part_of<PRECISE>(a[i][q]);
      c.biases[i][0] += a[i][0] + a[i][2];
      c.biases[i][1] += a[i][1] + a[i][3];
#pragma unroll
      for (int j = 0; j < SUM_COLUMNS / 2; j++) {
        multiply<PRECISE>(c.weights[i][2 * j], of_a, part_of<PRECISE>(b[j][0].x),
                          part_of<PRECISE>(b[j][1].x));
        multiply<PRECISE>(c.weights[i][2 * j + 1], of_a, part_of<PRECISE>(b[j][0].y),
                          part_of<PRECISE>(b[j][1].y));
      }
    }
  }
#pragma unroll
  for (int i = 0; i < SUM_TILES; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      c.biases[i][h] += __shfl_xor_sync(ALL, c.biases[i][h], 1);
      c.biases[i][h] += __shfl_xor_sync(ALL, c.biases[i][h], 2);
    }
}

/* By SGD without a state: all lies in shared memory, and what pads it stays zero. */
static __device__ __forceinline__ void chain_descend(const layer &of, const chain_layer &c, int m,
                                                     int n, const chain_sums &sum,
                                                     const update_way &way) {
  constexpr int LINES = 2 * SUM_TILES;
  int lane = threadIdx.x % WARP, t = lane % 4, output = m + lane / 4;
  float *to = c.weights + output * c.line + n + 8 * t, *bias = c.biases + output;
  float decay = of.weight_decay, bias_decay = of.bias_decay;
  if (n == 0 && t == 0 && of.bias >= 0 && bias_decay >= 0)
#pragma unroll
    for (int i = 0; i < LINES; i++)
      if (m + i * 8 < c.outputs)
        bias[i * 8] = update_plain(way, bias_decay, bias[i * 8], sum.biases[i / 2][i % 2]);
  if (decay < 0 || n + 8 * t >= c.inputs) return;
  four weights[LINES][2];
#pragma unroll
  for (int i = 0; i < LINES; i++)
#pragma unroll
    for (int h = 0; h < 2; h++)
      weights[i][h] = four_of(to + (m + i * 8 < c.outputs ? i * 8 : 0) * c.line + h * 4);
#pragma unroll
  for (int i = 0; i < LINES; i++) {
    if (m + i * 8 >= c.outputs) break;
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int e = 0; e < 4; e++)
        weights[i][h].of[e] = update_plain(way, decay, weights[i][h].of[e],
                                           sum.weights[i / 2][h + e / 2 * 2][i % 2 * 2 + e % 2]);
      four_store(to + i * 8 * c.line + h * 4, weights[i][h]);
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
    for (int pair = 0; pair < SUM_COLUMNS; pair++) {
      int input = n + 8 * t + 2 * (pair ^ chain_mix(t));
      unsigned there = outputs & ((input < of.in ? 5u : 0) | (input + 1 < of.in ? 10u : 0));
      if (of.weight_decay < 0 || there == 0) continue;
      float *to = c.weights + output * c.line + n + 8 * t + pair;
      four weight, grad;
#pragma unroll
      for (int e = 0; e < 4; e++) {
        weight.of[e] = there >> e & 1 ? to[e / 2 * 8 * c.line + e % 2 * 4] : 0;
        grad.of[e] = sum.weights[i][pair / 2 * 2 + e % 2][e / 2 * 2 + pair % 2];
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
    const four grad = {{sum.biases[i][0], 0, sum.biases[i][1], 0}};
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
