/* chain.cuh: the front of cuda/grid by one block, which keeps its weights in shared memory for the
 * whole segment: a warp takes 16 rows of the batch through all layers and back and waits for no
 * other. The other blocks meanwhile have the wide layers: they await the front's outputs, and give
 * the gradient by them.
 *
 * Rows are rows of the products, and features columns: with g = lane / 4 and t = lane % 4 a thread
 * has columns 2t and 2t + 1 of rows g and 8 + g of eight features, as a sum and as a factor. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_CUH

#include "kernels/cuda/grid/chain_updates.cuh"

/* --- products of a warp's rows ---------------------------------------------------------------- */

/* What a warp sums up at once: eight columns four times. */
constexpr int CHAIN_TILES = 4, CHAIN_COLUMNS = CHAIN_TILES * 8;

/* Two features of the rows g of both eights, as a factor; `second` floats apart. */
template <bool PRECISE>
static __device__ __forceinline__ void pairs_load(part (&to)[4], const float *from, int second) {
  float2 a = *(const float2 *)from, b = *(const float2 *)(from + second);
  to[0] = part_of<PRECISE>(a.x), to[1] = part_of<PRECISE>(b.x);
  to[2] = part_of<PRECISE>(a.y), to[3] = part_of<PRECISE>(b.y);
}

/* The same of a sum, as it lies in a thread. */
static __device__ __forceinline__ void pairs_store(float *to, const float (&value)[4], int second) {
  *(float2 *)to = make_float2(value[0], value[1]);
  *(float2 *)(to + second) = make_float2(value[2], value[3]);
}

/* Adds the products of eight inputs, those at x by those at w0, and, of the other tiles, w1. */
template <bool PRECISE>
static __device__ __forceinline__ void inputs_multiply(float (&sum)[CHAIN_TILES][4], const float *x,
                                                       int second, const float *w0,
                                                       const float *w1) {
  part a[4], b[2][4];
  pairs_load<PRECISE>(a, x, second);
  parts_load<PRECISE>(b[0], w0);
  parts_load<PRECISE>(b[1], w1);
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++)
    multiply<PRECISE>(sum[i], a, b[i / 2][i % 2 * 2], b[i / 2][i % 2 * 2 + 1]);
}

/* Outputs from m on, before the activation. What lies behind a layer's gets sums that nobody wants.
 * x: of the warp, at row g; mixed: of eight inputs, those that a thread has (column_at). */
template <bool PRECISE>
static __device__ __forceinline__ void outputs_multiply(float (&sum)[CHAIN_TILES][4],
                                                        const chain_layer &c, int m, const float *x,
                                                        int second, const int (&mixed)[4]) {
  int lane = threadIdx.x % WARP, line = m + lane % 8 + lane / 16 * 8, last = c.outputs - 1, k = 0;
  const float *w = c.weights + lane / 8 % 2 * 4, *bias = c.biases + m + lane % 4 * 2;
  const float *w0 = w + (line < last ? line : last) * c.line,
              *w1 = w + (line + 16 < last ? line + 16 : last) * c.line;
  float2 biases[CHAIN_TILES];
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++) {
    biases[i] = *(const float2 *)(bias + i * 8);
#pragma unroll
    for (int q = 0; q < 4; q++) sum[i][q] = 0;
  }
#pragma unroll 1
  for (; k + 32 <= c.inputs; k += 32, x += 4 * BLOCK, w0 += 32, w1 += 32)
#pragma unroll
    for (int i = 0; i < 4; i++)
      inputs_multiply<PRECISE>(sum, x + i * BLOCK + mixed[i], second, w0 + i * 8, w1 + i * 8);
#pragma unroll
  for (int i = 0; i < 3; i++)
    if (k + i * 8 < c.inputs)
      inputs_multiply<PRECISE>(sum, x + i * BLOCK + mixed[i], second, w0 + i * 8, w1 + i * 8);
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++) {
    sum[i][0] += biases[i].x, sum[i][1] += biases[i].y;
    sum[i][2] += biases[i].x, sum[i][3] += biases[i].y;
  }
}

/* --- forward --------------------------------------------------------------------------------- */

/* The activation of a layer that has another one than a ReLU, or none, from where slopes go. */
template <bool PRECISE>
static __device__ __noinline__ void chain_activate(int l, chain_share rows) {
  const layer of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  const now n = now_of();
  bool last = l + 1 == span_of().front;
  float *to = c.biases + c.outputs, *after = after_of(n, l);
  int lane = threadIdx.x % WARP, row = rows.first + lane % 8 + lane / 8 % 2 * rows.second;
#pragma unroll 1
  for (int o = lane / 16; o < c.outputs; o += 2) {
    int at = chain_at(row, o, c.outputs);
    activated a = {0, 0};
    if (o < of.out) a = activate(of, c.grad[at]);
    c.grad[at] = a.slope;
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
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, mixed[4], row = rows.first + g;
  bool counts[2] = {row < now_of().rows, row + rows.second < now_of().rows};
#pragma unroll
  for (int i = 0; i < 4; i++) mixed[i] = 2 * (t ^ chain_mix(i));
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const chain_layer c = chain_layer_of(l);
    bool relu = s.layers[l].activation == EP_LAYER_RELU, last = l + 1 == s.front;
    int width = s.layers[l].stride, outputs = c.outputs, second = rows.second * outputs;
    const float *x = c.x + rows.first * c.inputs + g * 8;
    float *to = (relu ? c.biases + outputs : c.grad) + rows.first * outputs + g * 8 + 2 * t;
    float *after = last ? after_of(now_of(), l) + row * width + 2 * t : nullptr;
#pragma unroll 1
    for (int m = 0; m < outputs; m += CHAIN_COLUMNS, to += CHAIN_TILES * BLOCK) {
      float y[CHAIN_TILES][4];
      outputs_multiply<PRECISE>(y, c, m, x, rows.second * c.inputs, mixed);
      if (relu)
#pragma unroll
        for (int e = 0; e < CHAIN_TILES * 4; e++) y[e / 4][e % 4] = ep_relu(y[e / 4][e % 4]);
      if (relu && last) {
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
        if (m + i * 8 < outputs) pairs_store(to + i * BLOCK, y[i], second);
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
 * A thread has eight neighbouring inputs of a row. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_rows_backward(chain_share rows) {
  const span &s = span_of();
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, mixed[4];
#pragma unroll
  for (int i = 0; i < 4; i++) mixed[i] = 2 * (i ^ chain_mix(t));
#pragma unroll 1
  for (int l = s.front - 1; l > 0; l--) {
    const chain_layer c = chain_layer_of(l);
    bool relu = s.layers[l - 1].activation == EP_LAYER_RELU;
    int second = rows.second * c.inputs, place = rows.first * c.inputs + t * BLOCK + g * 8;
    float *to = chain_layer_of(l - 1).grad + place;
    const float *slopes = relu ? c.x + place : to;
    const float *grads = c.grad + rows.first * c.outputs + g * 8 + 2 * t;
#pragma unroll 1
    for (int n = 0; n < c.inputs; n += CHAIN_COLUMNS) {
      const float *grad = grads, *w = c.weights + 2 * t * c.line + n + 4 * g;
      float sum[CHAIN_TILES][4] = {};
#pragma unroll 4
      for (int k = 0; k < c.outputs; k += 8, grad += BLOCK, w += 8 * c.line) {
        four b[2] = {four_of(w), four_of(w + c.line)};
        part a[4];
        pairs_load<PRECISE>(a, grad, rows.second * c.outputs);
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++)
          multiply<PRECISE>(sum[i], a, part_of<PRECISE>(b[0].of[i]), part_of<PRECISE>(b[1].of[i]));
      }
      if (n + 8 * t < c.inputs) {
        float slope[CHAIN_TILES][4];
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++) {
          const float *from = slopes + mixed[i];
          float2 a = *(const float2 *)from, b = *(const float2 *)(from + second);
          slope[i][0] = a.x, slope[i][1] = a.y, slope[i][2] = b.x, slope[i][3] = b.y;
        }
        if (relu)
#pragma unroll
          for (int e = 0; e < CHAIN_TILES * 4; e++)
            slope[e / 4][e % 4] = ep_relu_derivative(slope[e / 4][e % 4]);
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++) {
#pragma unroll
          for (int q = 0; q < 4; q++) sum[i][q] = factor_of<PRECISE>(sum[i][q] * slope[i][q]);
          pairs_store(to + mixed[i], sum[i], second);
        }
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
  for (int i = 4 * threadIdx.x; i < floats; i += 4 * THREADS) copy_four(c.grad + i, from + i, true);
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
