/* chain_updates.cuh: the gradient of the weights of a front of one block (chain.cuh), and what they
 * become by it. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_UPDATES_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_UPDATES_CUH

#include "kernels/cuda/executors/grid/chain_offsets.cuh"
#include "kernels/cuda/executors/grid/updates.cuh"

/* What of the weights' gradient a warp sums up at once: by 16 outputs. */
constexpr int SUM_COLUMNS = SUM_INPUTS / 8;
static_assert(SUM_OUTPUTS == 16, "the rows of a product");

struct chain_sums {
  float weights[SUM_COLUMNS][4], biases[4]; /* biases: in each column */
};

/* The gradient of weights from (m, n) on, and, where n is 0, of the outputs' biases: over all rows.
 * What is not there gets sums that nobody wants. */
template <bool PRECISE, int COLUMNS>
static __device__ __forceinline__ void chain_sum(const chain_layer &of, int m, int n,
                                                 chain_sums &c) {
  int lane = threadIdx.x % WARP, feature = lane % 8, rows = args_of().chain_rows;
  const float *grad =
      block_memory + of.grad + ep_grid_chain_offset(lane / 16 * 4, m + lane % 16, 0);
  const float *x =
      block_memory + of.x + ep_grid_chain_offset(lane / 8 % 2 * 4, n + lane / 16 * 8 + feature, 0);
  const hi_lo one = hi_lo_of<PRECISE>(1.0f);
  c = {};
#pragma unroll 1
  for (int k = 0; k < rows; k += 16, grad += 16 * of.outputs, x += 16 * of.inputs) {
    hi_lo a[2][4], b[2][COLUMNS / 2][4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      hi_lo_load<PRECISE>(a[i], grad + i * 8 * of.outputs);
#pragma unroll
      for (int j = 0; j < COLUMNS / 2; j++)
        hi_lo_load<PRECISE>(b[i][j], x + i * 8 * of.inputs + j * 2 * BLOCK);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (n == 0) multiply<PRECISE>(c.biases, a[i], one, one);
#pragma unroll
      for (int j = 0; j < COLUMNS; j++)
        multiply<PRECISE>(c.weights[j], a[i], b[i][j / 2][j % 2 * 2], b[i][j / 2][j % 2 * 2 + 1]);
    }
  }
}

/* By SGD without a state: all lies in shared memory, and what pads it stays zero. */
static __device__ __forceinline__ void chain_descend(const layer &of, const chain_layer &c, int m,
                                                     int n, const chain_sums &sum,
                                                     const update_way &way) {
  int lane = threadIdx.x % WARP, t = lane % 4, output = m + lane / 4, input = n + 2 * t;
  float *to = block_memory + c.weights + ep_grid_chain_weight(output, input, c.line);
  float *across = block_memory + c.across + ep_grid_chain_weight(input, output, c.across_line);
  float *bias = block_memory + c.biases + output;
  float decay = of.weight_decay, bias_decay = of.bias_decay;
  bool of_bias = n == 0 && t == 0 && of.bias >= 0 && bias_decay >= 0;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (m + i * 8 >= c.outputs) break;
    if (of_bias) bias[i * 8] = update_plain(way, bias_decay, bias[i * 8], sum.biases[i * 2]);
    if (decay < 0) continue;
    float2 weights[SUM_COLUMNS];
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++)
      weights[j] = n + j * 8 < c.inputs ? *(const float2 *)(to + j * 8) : make_float2(0, 0);
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++) {
      if (n + j * 8 >= c.inputs) break;
      const float *grads = &sum.weights[j][i * 2];
      weights[j].x = update_plain(way, decay, weights[j].x, grads[0]);
      weights[j].y = update_plain(way, decay, weights[j].y, grads[1]);
      *(float2 *)(to + j * 8) = weights[j];
      float *turned = across + j * 8 * c.across_line + i * 8;
      turned[0] = weights[j].x, turned[c.across_line] = weights[j].y;
    }
    to += 8 * c.line;
  }
}

/* For other optimizers, whose state lies in memory: sums to where parameters lie, from front_sums
 * on. */
static __device__ __forceinline__ void chain_sums_store(const layer &of, int m, int n,
                                                        const chain_sums &sum) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  float *sums = args_of().scratch + args_of().front_sums;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    int output = m + i * 8 + g, input = n + 2 * t;
    float *to = sums + of.weight + (long long)output * of.in + input;
    if (output >= of.out) continue;
    if (input == 0 && of.bias >= 0) sums[of.bias + output] = sum.biases[i * 2];
#pragma unroll
    for (int e = 0; e < 2 * SUM_COLUMNS; e++)
      if (input + e / 2 * 8 + e % 2 < of.in)
        to[e / 2 * 8 + e % 2] = sum.weights[e / 2][i * 2 + e % 2];
  }
}

/* A layer's parameters by their sums. A thread takes several at once, and asks for all that they
 * need before it needs any of it. */
template <ep_optimizer_type TYPE> static __device__ __noinline__ void chain_layer_optimize(int l) {
  constexpr int TOGETHER = 4, SLOTS = slots_of<TYPE>;
  const args &s = args_of();
  const layer of = s.layers[l];
  const chain_layer c = chain_layers()[l];
  const float *sums = s.scratch + s.front_sums;
  ep_optimizer optimizer = s.optimizer;
  optimizer.type = TYPE;
  const ep_optimizer_step step = state_of().update;
  const int count = chain_parameters_count(of), slots = s.slots;
  const long long stride = s.state_stride;
  float *states = slots > 0 ? s.state : s.parameters;
#pragma unroll 1
  for (int first = threadIdx.x; first < count; first += TOGETHER * THREADS) {
    chain_parameter p[TOGETHER];
    float grad[TOGETHER], state[TOGETHER][SLOTS];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      int e = first + i * THREADS;
      p[i] = chain_parameter_of(of, c, e < count ? e : first);
      grad[i] = __ldcg(sums + p[i].at);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        state[i][slot] = states[p[i].at + (slot < slots ? slot * stride : 0)];
    }
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      float decay = p[i].is_bias ? of.bias_decay : of.weight_decay;
      if (first + i * THREADS >= count || decay < 0) continue;
      *p[i].across = *p[i].here = ep_optimizer_update(&optimizer, &step, decay, *p[i].here,
                                                      ep_clip(&optimizer, 1, grad[i]), state[i], 1);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        if (slot < slots) states[p[i].at + slot * stride] = state[i][slot];
    }
  }
}

#define CHAIN_OPTIMIZE(code, ...) \
  case EP_OPTIMIZER_##code: chain_layer_optimize<EP_OPTIMIZER_##code>(l); break;

static __device__ __noinline__ void chain_optimize() {
  const args &s = args_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    if (s.layers[l].weight_decay < 0 && s.layers[l].bias_decay < 0) continue;
    switch (s.optimizer.type) {
      EP_OPTIMIZERS(CHAIN_OPTIMIZE)
    case EP_OPTIMIZER_COUNT: break;
    }
  }
}

/* When the block meets: before the first piece is summed up, when all gradients are there; or, of a
 * layer whose gradients were there before, behind its sums. */
enum { CHAIN_MEETS, CHAIN_MEETS_LATE, CHAIN_MEETS_NOT };

/* The weights and biases of each WARPS-th piece. */
template <bool PRECISE>
static __device__ __noinline__ void chain_pieces_update(const chain_piece *piece, int meets) {
  if (meets == CHAIN_MEETS) __syncthreads();
  const update_way way = update_way_of(); /* one thread's copy, which it has waited for */
#pragma unroll 1
  for (; piece->there; piece += WARPS) {
    const chain_layer c = chain_layers()[piece->layer];
    const layer &of = args_of().layers[piece->layer];
    int m = piece->output * 8, n = piece->input * 8;
    chain_sums sum;
    if (c.inputs - n > 16)
      chain_sum<PRECISE, SUM_COLUMNS>(c, m, n, sum);
    else
      chain_sum<PRECISE, 2>(c, m, n, sum);
    if (meets == CHAIN_MEETS_LATE) __syncthreads(), meets = CHAIN_MEETS;
    if (way.plain)
      chain_descend(of, c, m, n, sum, way);
    else
      chain_sums_store(of, m, n, sum);
  }
}

#endif
