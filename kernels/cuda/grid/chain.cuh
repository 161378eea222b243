/* chain.cuh: the front of cuda/grid by one block, which keeps its weights in shared memory for the
 * whole segment: a warp takes 16 rows of the batch through all layers and back and waits for no
 * other. The other blocks meanwhile have the wide layers: they await the front's outputs, and give
 * the gradient by them.
 *
 * Rows are rows of the products, and features columns: with g = lane / 4 and t = lane % 4 a thread
 * has features t and t + 4 of rows g and 8 + g of eight features, as a sum and as a factor. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_CUH

#include "kernels/cuda/grid/chain_updates.cuh"

/* --- products of a warp's rows ---------------------------------------------------------------- */

/* What a warp sums up at once: eight columns four times. */
constexpr int CHAIN_TILES = 4, CHAIN_COLUMNS = CHAIN_TILES * 8;

/* A thread's places in a block of a warp's first eight rows, and in the same of the second. */
struct chain_lane {
  int low, high; /* features t and t + 4 */
};

static __device__ __forceinline__ chain_lane chain_lane_of() {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  return {ep_grid_chain_place(g, t, 0), ep_grid_chain_place(g, t + 4, 0)};
}

template <bool PRECISE>
static __device__ __forceinline__ void rows_load(part (&to)[4], const float *low, const float *high,
                                                 int second) {
  to[0] = part_of<PRECISE>(low[0]), to[1] = part_of<PRECISE>(low[second]);
  to[2] = part_of<PRECISE>(high[0]), to[3] = part_of<PRECISE>(high[second]);
}

static __device__ __forceinline__ void rows_store(float *low, float *high, int second,
                                                  const float (&value)[4]) {
  low[0] = value[0], low[second] = value[2];
  high[0] = value[1], high[second] = value[3];
}

/* The place among eight lines of the one that a product has as number n: sums of 2t and 2t + 1 are
 * then features t and t + 4. */
static __device__ __forceinline__ int chain_turned(int n) {
  return n / 2 + n % 2 * 4;
}

/* Adds the products of eight inputs. w0, w1: of two tiles each. */
template <bool PRECISE>
static __device__ __forceinline__ void
inputs_multiply(float (&sum)[CHAIN_TILES][4], const float *low, const float *high, int second,
                const float *w0, const float *w1) {
  part a[4], b[2][4];
  rows_load<PRECISE>(a, low, high, second);
  parts_load<PRECISE>(b[0], w0);
  parts_load<PRECISE>(b[1], w1);
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++)
    multiply<PRECISE>(sum[i], a, b[i / 2][i % 2 * 2], b[i / 2][i % 2 * 2 + 1]);
}

/* Outputs from m on, before the activation. What lies behind a layer's gets sums that nobody wants.
 * turned: in the order of rows_store; else neighbours. x: at the warp's rows. */
template <bool PRECISE>
static __device__ __forceinline__ void outputs_multiply(float (&sum)[CHAIN_TILES][4],
                                                        const chain_layer &c, int m, bool turned,
                                                        const float *x, int second) {
  int lane = threadIdx.x % WARP, t = lane % 4, last = c.outputs - 1, k = 0;
  int o = m + (turned ? chain_turned(lane % 8) : lane % 8) + lane / 16 * 8, half = lane / 8 % 2 * 4;
  const float *weights = block_memory + c.weights, *bias = block_memory + c.biases + m;
  const float *w0 = weights + ep_grid_chain_weight(o < last ? o : last, half, c.line),
              *w1 = weights + ep_grid_chain_weight(o + 16 < last ? o + 16 : last, half, c.line);
  bias += turned ? t : 2 * t;
  const float *next = bias + (turned ? 4 : 1);
  const chain_lane of = chain_lane_of();
  const float *low = x + of.low, *high = x + of.high;
  float biases[CHAIN_TILES][2];
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++) {
    biases[i][0] = bias[i * 8], biases[i][1] = next[i * 8];
#pragma unroll
    for (int q = 0; q < 4; q++) sum[i][q] = 0;
  }
#pragma unroll 1
  for (; k + 32 <= c.inputs; k += 32, low += 4 * BLOCK, high += 4 * BLOCK, w0 += 32, w1 += 32)
#pragma unroll
    for (int i = 0; i < 4; i++)
      inputs_multiply<PRECISE>(sum, low + i * BLOCK, high + i * BLOCK, second, w0 + i * 8,
                               w1 + i * 8);
#pragma unroll
  for (int i = 0; i < 3; i++)
    if (k + i * 8 < c.inputs)
      inputs_multiply<PRECISE>(sum, low + i * BLOCK, high + i * BLOCK, second, w0 + i * 8,
                               w1 + i * 8);
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) sum[i][q] += biases[i][q % 2];
}

/* --- forward --------------------------------------------------------------------------------- */

/* The activation of a layer that has another one than a ReLU, or none, from where slopes go. */
template <bool PRECISE>
static __device__ __noinline__ void chain_activate(int l, chain_share rows) {
  const layer of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  const now n = now_of();
  bool last = l + 1 == span_of().front;
  float *slopes = block_memory + c.grad, *to = block_memory + c.biases + c.outputs;
  float *after = after_of(n, l);
  int lane = threadIdx.x % WARP, row = rows.first + lane % 8 + lane / 8 % 2 * rows.second;
#pragma unroll 1
  for (int o = lane / 16; o < c.outputs; o += 2) {
    int at = ep_grid_chain_place(row, o, c.outputs);
    activated a = {0, 0};
    if (o < of.out) a = activate(of, slopes[at]);
    slopes[at] = a.slope;
    if (!last) {
      to[at] = factor_of<PRECISE>(a.y);
    } else if (row < n.rows && o < of.stride) {
      long long place = (long long)row * of.stride + o;
      after[place] = a.y;
      n.scratch[of.grad + place] = a.slope; /* for those who give the gradient */
    }
  }
}

/* The warp's rows through all layers: to the next layer's input, or, of the last one, to memory. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_rows_forward(chain_share rows) {
  const span &s = span_of();
  const chain_lane of = chain_lane_of();
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, row = rows.first + g;
  bool counts[2] = {row < now_of().rows, row + rows.second < now_of().rows};
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const chain_layer c = chain_layer_of(l);
    bool relu = c.relu, gives = relu && l + 1 == s.front;
    int width = s.layers[l].stride, outputs = c.outputs, second = rows.second * outputs;
    const float *x = block_memory + c.x + rows.first * c.inputs;
    float *to = block_memory + (relu ? c.biases + outputs : c.grad) + rows.first * outputs;
    float *after = gives ? after_of(now_of(), l) + row * width + 2 * t : nullptr;
#pragma unroll 1
    for (int m = 0; m < outputs; m += CHAIN_COLUMNS, to += CHAIN_TILES * BLOCK) {
      float y[CHAIN_TILES][4];
      outputs_multiply<PRECISE>(y, c, m, !gives, x, rows.second * c.inputs);
      if (relu)
#pragma unroll
        for (int e = 0; e < CHAIN_TILES * 4; e++) y[e / 4][e % 4] = ep_relu(y[e / 4][e % 4]);
      if (gives) {
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++) {
          bool there = m + i * 8 + 2 * t < width;
          float *place = after + m + i * 8;
          if (there && counts[0]) *(float2 *)place = make_float2(y[i][0], y[i][1]);
          place += rows.second * width;
          if (there && counts[1]) *(float2 *)place = make_float2(y[i][2], y[i][3]);
        }
        continue;
      }
      if (relu)
#pragma unroll
        for (int e = 0; e < CHAIN_TILES * 4; e++)
          y[e / 4][e % 4] = factor_of<PRECISE>(y[e / 4][e % 4]);
#pragma unroll
      for (int i = 0; i < CHAIN_TILES; i++)
        if (m + i * 8 < outputs)
          rows_store(to + of.low + i * BLOCK, to + of.high + i * BLOCK, second, y[i]);
    }
    __syncwarp();
    if (relu) continue;
    chain_activate<PRECISE>(l, rows);
    __syncwarp();
  }
}

/* --- backward -------------------------------------------------------------------------------- */

/* The gradient by all layers' outputs, from that by the last one's on: times the slopes of the
 * layer before, which of a ReLU are told by its outputs, and of others lie in the gradient's place.
 */
template <bool PRECISE>
static __device__ __forceinline__ void chain_rows_backward(chain_share rows) {
  const span &s = span_of();
  const chain_lane of = chain_lane_of();
  int lane = threadIdx.x % WARP, t = lane % 4, turned = chain_turned(lane / 4);
#pragma unroll 1
  for (int l = s.front - 1; l > 0; l--) {
    const chain_layer c = chain_layer_of(l), before = chain_layer_of(l - 1);
    bool relu = before.relu;
    int second = rows.second * c.inputs, place = rows.first * c.inputs, line = c.line;
    float *to = block_memory + before.grad + place;
    const float *slopes = relu ? block_memory + c.x + place : to;
    const float *grads = block_memory + c.grad + rows.first * c.outputs;
#pragma unroll 1
    for (int n = 0; n < c.inputs; n += CHAIN_COLUMNS) {
      const float *low = grads + of.low, *high = grads + of.high;
      const float *w0 = block_memory + c.weights + ep_grid_chain_weight(t, n + turned, line),
                  *w1 = block_memory + c.weights + ep_grid_chain_weight(t + 4, n + turned, line);
      float sum[CHAIN_TILES][4] = {};
#pragma unroll 4
      for (int k = 0; k < c.outputs; k += 8) {
        part a[4];
        rows_load<PRECISE>(a, low, high, rows.second * c.outputs);
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++)
          multiply<PRECISE>(sum[i], a, part_of<PRECISE>(w0[i * 8]), part_of<PRECISE>(w1[i * 8]));
        low += BLOCK, high += BLOCK, w0 += 8 * line, w1 += 8 * line;
      }
#pragma unroll
      for (int i = 0; i < CHAIN_TILES; i++) {
        if (n + i * 8 >= c.inputs) break;
        int at[2] = {of.low + i * BLOCK, of.high + i * BLOCK};
#pragma unroll
        for (int q = 0; q < 4; q++) {
          float slope = slopes[at[q % 2] + q / 2 * second];
          sum[i][q] = factor_of<PRECISE>(sum[i][q] * (relu ? ep_relu_derivative(slope) : slope));
        }
        rows_store(to + at[0], to + at[1], second, sum[i]);
      }
      slopes += CHAIN_TILES * BLOCK, to += CHAIN_TILES * BLOCK;
    }
    __syncwarp();
  }
}

/* The gradient by the last layer's output, which others left in memory as it lies here. */
static __device__ __forceinline__ void chain_grad_take() {
  const span &s = span_of();
  const chain_layer c = chain_layer_of(s.front - 1);
  const float *from = now_of().scratch + s.front_grad;
  int floats = c.outputs * s.chain_rows;
#pragma unroll 4
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * THREADS)
    copy_four(block_memory + c.grad + i, from + i, true);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
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
  const chain_share rows = chain_share_of();
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (rows.first < span_of().chain_rows) chain_rows_forward<PRECISE>(rows);
  counter_arrive(meeting_of(EP_GRID_FRONT));
}

template <bool PRECISE> static __device__ __forceinline__ void chain_step_backward() {
  const chain_share rows = chain_share_of();
  int meeting = EP_GRID_GIVEN;
  meeting_await(meeting);
  chain_grad_take();
  if (rows.first < span_of().chain_rows) chain_rows_backward<PRECISE>(rows);
  __syncthreads();
  chain_update<PRECISE>();
  __syncthreads();
}

#endif
