/* chain.cuh: the front of cuda/grid by one block, which keeps its weights in shared memory for the
 * whole segment: a warp takes 16 rows of the batch through all layers and back and waits for no
 * other. The other blocks meanwhile have the wide layers: they await the front's outputs, and give
 * the gradient by them.
 *
 * Inputs and gradients lie a feature a line, [features, chain_stride], so that the gradient of the
 * weights, a sum over rows, reads both its factors as they are; weights an output a line, [outputs,
 * inputs + 4], of each eight columns the even ones first. What pads features and rows is zero. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_CUH

#include "kernels/cuda/grid/narrow.cuh"
#include "kernels/cuda/grid/updates.cuh"

/* What of the weights' gradient a warp sums up at once. */
constexpr int SUM_OUTPUTS = 32, SUM_INPUTS = 32, SUM_TILES = SUM_OUTPUTS / 16,
              SUM_COLUMNS = SUM_INPUTS / 8;

/* --- what lies where ------------------------------------------------------------------------- */

struct chain_layer {
  int inputs, outputs, line, stride; /* of a line of weights, and of x and grad */
  float *x, *grad;                   /* grad: slopes until the way back */
  float *weights, *biases;
};

static __device__ __forceinline__ chain_layer chain_layer_of(int l) {
  const span &s = span_of();
  const layer &of = s.layers[l];
  chain_layer c;
  c.inputs = eights(of.in), c.outputs = eights(of.out);
  c.line = of.image_stride, c.stride = s.chain_stride;
  c.grad = block_memory + of.slopes;
  c.x = c.grad - (l == 0 && state_of().n.turn % 2 ? 2 : 1) * c.inputs * c.stride;
  c.weights = block_memory + of.image;
  c.biases = c.weights + c.outputs * c.line;
  return c;
}

static __device__ __forceinline__ int column_at(int column) {
  return column / 8 * 8 + column % 8 / 2 + column % 2 * 4;
}

/* The rows of a warp: eight, and, `second` further on, eight more; or the same again. */
struct chain_rows {
  int first, second;
};

static __device__ __forceinline__ chain_rows chain_rows_of() {
  int warp = threadIdx.x / WARP, groups = (span_of().chain_stride - 4) / EP_GRID_GROUP;
  return {warp * EP_GRID_GROUP, warp + WARPS < groups ? WARPS * EP_GRID_GROUP : 0};
}

/* Parameters to shared memory, which is zero before, or what they have become back: TO_SHARED. */
template <bool TO_SHARED> static __device__ __noinline__ void chain_parameters_copy() {
  const span &s = span_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const layer of = s.layers[l];
    const chain_layer c = chain_layer_of(l);
    int weights = of.out * of.in, all = weights + (of.bias >= 0 ? of.out : 0);
#pragma unroll 1
    for (int e = threadIdx.x; e < all; e += THREADS) {
      bool is_bias = e >= weights;
      float *here =
          is_bias ? c.biases + e - weights : c.weights + e / of.in * c.line + column_at(e % of.in);
      float *there = s.parameters + (is_bias ? of.bias + e - weights : of.weight + e);
      if (TO_SHARED)
        *here = *there;
      else
        *there = *here;
    }
  }
}

static __device__ __noinline__ void chain_memory_make() {
  const span &s = span_of();
  const chain_layer last = chain_layer_of(s.front - 1);
  int end = (int)(last.biases - block_memory) + last.outputs + EP_GRID_CHAIN_SPARE;
  for (int i = EP_GRID_STATE + (int)threadIdx.x; i < end; i += THREADS) block_memory[i] = 0;
  __syncthreads();
  chain_parameters_copy<true>();
}

/* The rows of the next step's batch, on their way to where it has its inputs. */
static __device__ __noinline__ void chain_rows_fetch(const ep_permutation *permutation, int batch,
                                                     unsigned turn) {
  const span &s = span_of();
  int in = s.layers[0].in, stride = s.chain_stride, row = threadIdx.x % EP_GRID_CHAIN_ROWS;
  long long at = (long long)batch * s.batch_rows + row;
  bool there = row < s.batch_rows && at < s.train_rows;
  if (row >= stride - 4) return;
  if (s.shuffles && there) at = ep_permutation_at(permutation, (uint32_t)at);
  float *to = block_memory + s.layers[0].slopes - (turn % 2 ? 2 : 1) * eights(in) * stride + row;
  const float *from = s.x + at * in;
#pragma unroll 1
  for (int k = threadIdx.x / EP_GRID_CHAIN_ROWS; k < in; k += THREADS / EP_GRID_CHAIN_ROWS) {
    if (there)
      copy_one(to + k * stride, from + k);
    else
      to[k * stride] = 0;
  }
}

/* --- forward, backward ----------------------------------------------------------------------- */

/* c[i] = 16 outputs, from tile `tile` + i on, of the warp's rows twice eight. from: what is
 * multiplied, at the warp's first row. BACK: the outputs are the layer's inputs. */
template <int TILES, bool BACK, bool PRECISE>
static __device__ __forceinline__ void chain_multiply(float (&c)[TILES][2][4],
                                                      const chain_layer &of, const float *from,
                                                      int tile, int second) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, at[TILES];
  int steps = (BACK ? of.outputs : of.inputs) / 8;
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    int row = (tile + i) * 16 + lane % 16;
    if (row >= of.outputs) row = of.outputs - 8 + row % 8;
    at[i] = BACK ? 2 * t * of.line + (tile + i) * 16 + g / 2 + g % 2 * 4
                 : row * of.line + lane / 16 * 4;
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0;
  }
  from += 2 * t * of.stride + g;
#pragma unroll 2
  for (int k = 0; k < steps; k++) {
    const float *x = from + k * 8 * of.stride;
    part b[2][2];
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) b[j][h] = part_of<PRECISE>(x[h * of.stride + j * second]);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      part a[4];
      if constexpr (BACK) {
        const float *w = of.weights + at[i] + k * 8 * of.line;
        a[0] = part_of<PRECISE>(w[0]), a[1] = part_of<PRECISE>(w[8]);
        a[2] = part_of<PRECISE>(w[of.line]), a[3] = part_of<PRECISE>(w[of.line + 8]);
      } else {
        parts_load<PRECISE>(a, of.weights + at[i] + k * 8);
      }
#pragma unroll
      for (int j = 0; j < 2; j++) multiply<PRECISE>(c[i][j], a, b[j][0], b[j][1]);
    }
  }
}

/* Some tiles of a layer's outputs: to the next layer's input, or, of the last one, to memory. */
template <int TILES, bool PRECISE>
static __device__ __noinline__ void chain_forward(int l, int tile, chain_rows rows) {
  const layer of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  bool last = l + 1 == span_of().front;
  float *to = last ? nullptr : chain_layer_of(l + 1).x, *after = after_of(now_of(), l);
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, count = now_of().rows;
  float sum[TILES][2][4];
  chain_multiply<TILES, false, PRECISE>(sum, c, c.x + rows.first, tile, rows.second);
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    int m = (tile + i) * 16 + g;
    float bias[2];
#pragma unroll
    for (int h = 0; h < 2; h++) bias[h] = m + h * 8 < c.outputs ? c.biases[m + h * 8] : 0;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      int row = rows.first + j * rows.second + 2 * t;
      four z;
#pragma unroll
      for (int q = 0; q < 4; q++) z.of[q] = sum[i][j][q] + bias[q / 2];
      activated_four a = activate_four(of, z);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        int o = m + h * 8;
        bool there = o < of.out;
        float2 y = make_float2(there ? a.y.of[2 * h] : 0, there ? a.y.of[2 * h + 1] : 0);
        float2 slope =
            make_float2(there ? a.slope.of[2 * h] : 0, there ? a.slope.of[2 * h + 1] : 0);
        if (o >= c.outputs) continue;
        *(float2 *)(c.grad + o * c.stride + row) = slope;
        if (!last) {
          *(float2 *)(to + o * c.stride + row) =
              make_float2(factor_of<PRECISE>(y.x), factor_of<PRECISE>(y.y));
        } else if (o < of.stride) {
          float *place = after + (long long)row * of.stride + o;
          if (row < count) place[0] = y.x;
          if (row + 1 < count) place[of.stride] = y.y;
        }
      }
    }
  }
}

/* Some tiles of the gradient by a layer's input, times the slopes of the layer before, in their
 * place. */
template <int TILES, bool PRECISE>
static __device__ __noinline__ void chain_backward(int l, int tile, chain_rows rows) {
  const chain_layer c = chain_layer_of(l);
  float *to = chain_layer_of(l - 1).grad;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  float sum[TILES][2][4];
  chain_multiply<TILES, true, PRECISE>(sum, c, c.grad + rows.first, tile, rows.second);
#pragma unroll
  for (int i = 0; i < TILES; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int k = (tile + i) * 16 + h * 8 + g;
      if (k >= c.inputs) continue;
      float2 slope[2], *place[2];
#pragma unroll
      for (int j = 0; j < 2; j++) {
        place[j] = (float2 *)(to + k * c.stride + rows.first + j * rows.second + 2 * t);
        slope[j] = *place[j];
      }
#pragma unroll
      for (int j = 0; j < 2; j++)
        *place[j] = make_float2(factor_of<PRECISE>(sum[i][j][2 * h] * slope[j].x),
                                factor_of<PRECISE>(sum[i][j][2 * h + 1] * slope[j].y));
    }
}

/* The warp's rows through all layers. */
template <bool PRECISE> static __device__ void chain_rows_forward(chain_rows rows) {
  const span &s = span_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    int tiles = (s.layers[l].out + 15) / 16;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile += 4) {
      if (tiles - tile > 2)
        chain_forward<4, PRECISE>(l, tile, rows);
      else if (tiles - tile == 2)
        chain_forward<2, PRECISE>(l, tile, rows);
      else
        chain_forward<1, PRECISE>(l, tile, rows);
    }
    __syncwarp();
  }
}

/* The gradients by all layers' outputs, from that by the last one's on. */
template <bool PRECISE> static __device__ void chain_rows_backward(chain_rows rows) {
  const span &s = span_of();
#pragma unroll 1
  for (int l = s.front - 1; l > 0; l--) {
    int tiles = (s.layers[l].in + 15) / 16;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile += 4) {
      if (tiles - tile > 2)
        chain_backward<4, PRECISE>(l, tile, rows);
      else if (tiles - tile == 2)
        chain_backward<2, PRECISE>(l, tile, rows);
      else
        chain_backward<1, PRECISE>(l, tile, rows);
    }
    __syncwarp();
  }
}

/* The gradient by the last layer's output, which others left in memory, times its slopes. A warp
 * reads 16 rows of eight features at once. */
template <bool PRECISE> static __device__ __noinline__ void chain_grad_take() {
  constexpr int BATCH = 7;
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[s.front - 1];
  const chain_layer c = chain_layer_of(s.front - 1);
  const float *grad = n.scratch + of.grad;
  int lane = threadIdx.x % WARP, across = c.outputs / 8, rows = c.stride - 4;
  int units = (rows + 15) / 16 * across;
#pragma unroll 1
  for (int unit = threadIdx.x / WARP; unit < units; unit += BATCH * WARPS) {
    float4 got[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) { /* from places that are always there */
      int row = (unit + i * WARPS) / across * 16 + lane % 16;
      int k = (unit + i * WARPS) % across * 8 + lane / 16 * 4;
      bool there = row < n.rows && k < of.stride;
      got[i] = __ldcg((const float4 *)(grad + (there ? (long long)row * of.stride + k : 0)));
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      int row = (unit + i * WARPS) / across * 16 + lane % 16;
      int k = (unit + i * WARPS) % across * 8 + lane / 16 * 4;
      bool there = row < n.rows && k < of.stride;
      const float value[4] = {got[i].x, got[i].y, got[i].z, got[i].w};
      float *to = c.grad + k * c.stride + row;
      if (row >= rows || unit + i * WARPS >= units) continue;
#pragma unroll
      for (int e = 0; e < 4; e++)
        to[e * c.stride] = there ? factor_of<PRECISE>(value[e] * to[e * c.stride]) : 0;
    }
  }
}

/* --- the update ------------------------------------------------------------------------------ */

struct chain_sums {
  float weights[SUM_TILES][SUM_COLUMNS][4], biases[SUM_TILES][4];
};

/* The gradient of SUM_OUTPUTS by SUM_INPUTS weights from (m, n) on, and of the outputs' biases, in
 * each column: over all rows. What is not there gets sums that nobody wants. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_sum(const chain_layer &of, int m, int n,
                                                 chain_sums &c) {
  int lane = threadIdx.x % WARP, rows = of.stride - 4;
  const float *grad[SUM_TILES], *x[SUM_COLUMNS / 2];
#pragma unroll
  for (int i = 0; i < SUM_TILES; i++) {
    int output = m + i * 16 + lane % 16;
    if (output >= of.outputs) output = of.outputs - 8 + output % 8;
    grad[i] = of.grad + output * of.stride + lane / 16 * 4;
#pragma unroll
    for (int q = 0; q < 4; q++) c.biases[i][q] = 0;
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c.weights[i][j][q] = 0;
  }
#pragma unroll
  for (int j = 0; j < SUM_COLUMNS / 2; j++) {
    int input = n + j * 16 + lane / 16 * 8 + lane % 8;
    if (input >= of.inputs) input = of.inputs - 8 + input % 8;
    x[j] = of.x + input * of.stride + lane / 8 % 2 * 4;
  }
  const part one = part_of<PRECISE>(1.0f);
#pragma unroll 2
  for (int k = 0; k < rows; k += 8) {
    part a[SUM_TILES][4], b[SUM_COLUMNS / 2][4];
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++) parts_load<PRECISE>(a[i], grad[i] + k);
#pragma unroll
    for (int j = 0; j < SUM_COLUMNS / 2; j++) parts_load<PRECISE>(b[j], x[j] + k);
#pragma unroll
    for (int i = 0; i < SUM_TILES; i++) {
      multiply<PRECISE>(c.biases[i], a[i], one, one);
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
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int i = 0; i < SUM_TILES; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int output = m + i * 16 + h * 8 + g;
      if (output >= c.outputs) continue;
      float *to = c.weights + output * c.line + n + t, weight[SUM_COLUMNS][2];
      if (of.weight_decay >= 0) {
#pragma unroll
        for (int j = 0; j < SUM_COLUMNS; j++) {
          int place = n + j * 8 < c.inputs ? j * 8 : 0;
          weight[j][0] = to[place], weight[j][1] = to[place + 4];
        }
#pragma unroll
        for (int j = 0; j < SUM_COLUMNS; j++) {
          if (n + j * 8 >= c.inputs) break;
#pragma unroll
          for (int q = 0; q < 2; q++)
            to[j * 8 + q * 4] =
                update_plain(way, of.weight_decay, weight[j][q], sum.weights[i][j][2 * h + q]);
        }
      }
      if (n == 0 && t == 0 && output < of.out && of.bias >= 0 && of.bias_decay >= 0)
        c.biases[output] = update_plain(way, of.bias_decay, c.biases[output], sum.biases[i][2 * h]);
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
      state[slot][e] = slot < s.slots ? places[e][slot * s.state_stride] : 0;
#pragma unroll 1
  for (int e = 0; e < 4; e++)
    weight.of[e] = ep_optimizer_update(&s.optimizer, &state_of().update, decay, weight.of[e],
                                       ep_clip(&s.optimizer, 1, grad.of[e]), &state[0][e], 4);
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (slot < s.slots && (there >> e & 1)) places[e][slot * s.state_stride] = state[slot][e];
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

/* All layers' weights and biases, shared out over the warps. */
template <bool PRECISE> static __device__ __noinline__ void chain_update() {
  const span &s = span_of();
  const update_way way = update_way_of();
  int number = threadIdx.x / WARP;
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const layer of = s.layers[l];
    const chain_layer c = chain_layer_of(l);
    int across = (c.inputs + SUM_INPUTS - 1) / SUM_INPUTS;
    int tasks = across * ((c.outputs + SUM_OUTPUTS - 1) / SUM_OUTPUTS);
    bool trains = of.weight_decay >= 0 || of.bias_decay >= 0;
#pragma unroll 1
    for (; number < tasks; number += WARPS) {
      int m = number / across * SUM_OUTPUTS, n = number % across * SUM_INPUTS;
      chain_sums sum;
      if (!trains) continue;
      chain_sum<PRECISE>(c, m, n, sum);
      if (way.plain)
        chain_descend(of, c, m, n, sum, way);
      else
        chain_optimize(of, c, m, n, sum);
    }
    number -= tasks;
  }
}

/* --- the steps ------------------------------------------------------------------------------- */

static __device__ __forceinline__ void chain_order_make(ep_permutation *permutation,
                                                        long long epoch) {
  const span &s = span_of();
  if (!s.shuffles) return;
  if (threadIdx.x == 0)
    *permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, s.train_rows);
  __syncthreads();
}

/* The step at hand. */
template <bool PRECISE> static __device__ __forceinline__ void chain_step_forward() {
  const chain_rows rows = chain_rows_of();
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (rows.first < span_of().chain_stride - 4) chain_rows_forward<PRECISE>(rows);
  counter_arrive(meeting_of(EP_GRID_FRONT));
}

template <bool PRECISE> static __device__ __forceinline__ void chain_step_backward() {
  const chain_rows rows = chain_rows_of();
  int meeting = EP_GRID_GIVEN;
  meeting_await(meeting);
  chain_grad_take<PRECISE>();
  __syncthreads();
  if (rows.first < span_of().chain_stride - 4) chain_rows_backward<PRECISE>(rows);
  __syncthreads();
  chain_update<PRECISE>();
  __syncthreads();
}

#endif
