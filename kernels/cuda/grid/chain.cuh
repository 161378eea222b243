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

/* --- forward --------------------------------------------------------------------------------- */

/* What a thread has of a warp's rows of eight features, from line 2t on, as a factor: rows g of
 * both eights. from: the features' first line, at row g. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_rows_load(part (&to)[4], const float *from, int stride,
                                                       int second) {
  to[0] = part_of<PRECISE>(from[0]), to[1] = part_of<PRECISE>(from[second]);
  to[2] = part_of<PRECISE>(from[stride]), to[3] = part_of<PRECISE>(from[stride + second]);
}

/* Of a sum or of an activation: columns 2t and 2t + 1 of rows g of both eights, to their lines. */
static __device__ __forceinline__ void chain_rows_store(float *to, const float (&value)[4],
                                                        int stride, int second) {
  to[0] = value[0], to[stride] = value[1];
  to[second] = value[2], to[stride + second] = value[3];
}

/* Eight outputs TILES times, from output m on, of the warp's rows. */
template <int TILES, bool PRECISE>
static __device__ __forceinline__ void chain_outputs(float (&sum)[TILES][4], const chain_layer &of,
                                                     int m, chain_rows rows) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, inputs = of.inputs;
  const float *x = of.x + 2 * t * of.stride + rows.first + g, *bias = of.biases + m + 2 * t;
  const float *w =
      of.weights + (m + lane % 8 + (TILES > 1 ? lane / 16 * 8 : 0)) * of.line + lane / 8 % 2 * 4;
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    float2 two = *(const float2 *)(bias + i * 8);
    sum[i][0] = sum[i][2] = two.x, sum[i][1] = sum[i][3] = two.y;
  }
#pragma unroll 4
  for (int k = 0; k < inputs; k += 8) {
    part a[4];
    chain_rows_load<PRECISE>(a, x + k * of.stride, of.stride, rows.second);
#pragma unroll
    for (int i = 0; i < TILES; i += 2) {
      part b[4];
      parts_load<PRECISE>(b, w + i * 8 * of.line + k);
      multiply<PRECISE>(sum[i], a, b[0], b[1]);
      if constexpr (TILES > 1) multiply<PRECISE>(sum[i + 1], a, b[2], b[3]);
    }
  }
}

/* A layer's outputs from m on, as long as TILES tiles are left: to the next layer's input, or, of
 * the last one, to memory, and its slopes. What is not a ReLU goes as it is to where slopes are.
 * Returns the first output that is left. */
template <int TILES, bool PRECISE>
static __device__ __noinline__ int chain_forward(int l, int m, chain_rows rows) {
  const span &s = span_of();
  const layer &of = s.layers[l];
  const chain_layer c = chain_layer_of(l);
  bool last = l + 1 == s.front, relu = of.activation == EP_LAYER_RELU;
  int lane = threadIdx.x % WARP, row = rows.first + lane / 4, stride = of.stride;
  int count = now_of().rows, outputs = c.outputs;
  float *slopes = c.grad, *to = last ? nullptr : chain_layer_of(l + 1).x;
  float *after = after_of(now_of(), l) + (long long)row * stride + 2 * (lane % 4);
#pragma unroll 1
  for (; m + TILES * 8 <= outputs; m += TILES * 8) {
    float y[TILES][4];
    int place = (m + 2 * (lane % 4)) * c.stride + row;
    chain_outputs<TILES, PRECISE>(y, c, m, rows);
    if (!relu) {
#pragma unroll
      for (int i = 0; i < TILES; i++)
        chain_rows_store(slopes + place + i * 8 * c.stride, y[i], c.stride, rows.second);
      continue;
    }
    if (!last) {
#pragma unroll
      for (int i = 0; i < TILES; i++) {
#pragma unroll
        for (int q = 0; q < 4; q++) y[i][q] = factor_of<PRECISE>(ep_relu(y[i][q]));
        chain_rows_store(to + place + i * 8 * c.stride, y[i], c.stride, rows.second);
      }
      continue;
    }
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      float slope[4];
#pragma unroll
      for (int q = 0; q < 4; q++)
        slope[q] = ep_relu_derivative(y[i][q]), y[i][q] = ep_relu(y[i][q]);
      chain_rows_store(slopes + place + i * 8 * c.stride, slope, c.stride, rows.second);
      if (m + i * 8 + 2 * (lane % 4) >= stride) continue;
      float *there = after + m + i * 8;
      if (row < count) *(float2 *)there = make_float2(y[i][0], y[i][1]);
      if (row + rows.second < count)
        *(float2 *)(there + rows.second * stride) = make_float2(y[i][2], y[i][3]);
    }
  }
  return m;
}

/* The activation of a layer that has another one than a ReLU, or none. */
template <bool PRECISE> static __device__ __noinline__ void chain_activate(int l, chain_rows rows) {
  const layer of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  bool last = l + 1 == span_of().front;
  float *to = last ? nullptr : chain_layer_of(l + 1).x, *after = after_of(now_of(), l);
  int lane = threadIdx.x % WARP, row = rows.first + lane % 8 + lane / 8 % 2 * rows.second;
#pragma unroll 1
  for (int o = lane / 16; o < c.outputs; o += 2) {
    float *slope = c.grad + o * c.stride + row;
    activated a = {0, 0};
    if (o < of.out) a = activate(of, *slope);
    *slope = a.slope;
    if (!last)
      to[o * c.stride + row] = factor_of<PRECISE>(a.y);
    else if (row < now_of().rows && o < of.stride)
      after[(long long)row * of.stride + o] = a.y;
  }
}

/* The warp's rows through all layers. */
template <bool PRECISE> static __device__ void chain_rows_forward(chain_rows rows) {
  const span &s = span_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    int outputs = eights(s.layers[l].out), m = 0;
    if (outputs - m >= 64) m = chain_forward<8, PRECISE>(l, m, rows);
    if (outputs - m >= 32) m = chain_forward<4, PRECISE>(l, m, rows);
    if (outputs - m >= 16) m = chain_forward<2, PRECISE>(l, m, rows);
    if (outputs - m >= 8) m = chain_forward<1, PRECISE>(l, m, rows);
    __syncwarp();
    if (s.layers[l].activation == EP_LAYER_RELU) continue;
    chain_activate<PRECISE>(l, rows);
    __syncwarp();
  }
}

/* --- backward -------------------------------------------------------------------------------- */

/* The gradient by a layer's inputs from n on, as long as TILES tiles of eight are left, times the
 * slopes of the layer before: those of a ReLU are told by its outputs, others lie in the gradient's
 * place. Returns the first input that is left. */
template <int TILES, bool PRECISE>
static __device__ __noinline__ int chain_backward(int l, int n, chain_rows rows) {
  const chain_layer c = chain_layer_of(l);
  float *to = chain_layer_of(l - 1).grad;
  bool relu = span_of().layers[l - 1].activation == EP_LAYER_RELU;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  int stride = c.stride, line = c.line, inputs = c.inputs, outputs = c.outputs;
  int at = 2 * t * stride + rows.first + g;
#pragma unroll 1
  for (; n + TILES * 8 <= inputs; n += TILES * 8) {
    const float *grad = c.grad + at, *w = c.weights + 2 * t * line + n + column_at(g);
    const float *slopes = (relu ? c.x : to) + n * stride + at;
    float sum[TILES][4] = {};
#pragma unroll 2
    for (int k = 0; k < outputs; k += 8, grad += 8 * stride, w += 8 * line) {
      part a[4];
      chain_rows_load<PRECISE>(a, grad, stride, rows.second);
#pragma unroll
      for (int i = 0; i < TILES; i++)
        multiply<PRECISE>(sum[i], a, part_of<PRECISE>(w[i * 8]), part_of<PRECISE>(w[line + i * 8]));
    }
#pragma unroll
    for (int i = 0; i < TILES; i++, slopes += 8 * stride) {
      float slope[4] = {slopes[0], slopes[stride], slopes[rows.second],
                        slopes[stride + rows.second]};
#pragma unroll
      for (int q = 0; q < 4; q++)
        sum[i][q] =
            factor_of<PRECISE>(sum[i][q] * (relu ? ep_relu_derivative(slope[q]) : slope[q]));
      chain_rows_store(to + (n + i * 8) * stride + at, sum[i], stride, rows.second);
    }
  }
  return n;
}

/* The gradients by all layers' outputs, from that by the last one's on. */
template <bool PRECISE> static __device__ void chain_rows_backward(chain_rows rows) {
  const span &s = span_of();
#pragma unroll 1
  for (int l = s.front - 1; l > 0; l--) {
    int inputs = eights(s.layers[l].in), n = 0;
    if (inputs - n >= 64) n = chain_backward<8, PRECISE>(l, n, rows);
    if (inputs - n >= 32) n = chain_backward<4, PRECISE>(l, n, rows);
    if (inputs - n >= 16) n = chain_backward<2, PRECISE>(l, n, rows);
    if (inputs - n >= 8) n = chain_backward<1, PRECISE>(l, n, rows);
    __syncwarp();
  }
}

/* The gradient of the warp's rows by the last layer's output, which others left in memory, times
 * its slopes. */
template <bool PRECISE> static __device__ __noinline__ void chain_grad_take(chain_rows rows) {
  constexpr int TILES = EP_GRID_CHAIN_WIDTH / 8;
  const span &s = span_of();
  const layer &of = s.layers[s.front - 1];
  const chain_layer c = chain_layer_of(s.front - 1);
  int lane = threadIdx.x % WARP, t = lane % 4, row = rows.first + lane / 4;
  int stride = of.stride, count = now_of().rows, outputs = c.outputs;
  const float *grad = now_of().scratch + of.grad;
  const float *from[2] = {grad + (long long)row * stride + 2 * t,
                          grad + (long long)(row + rows.second) * stride + 2 * t};
  const bool counts[2] = {row < count, row + rows.second < count};
  float2 got[TILES][2];
#pragma unroll
  for (int i = 0; i < TILES; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      got[i][h] = make_float2(0, 0);
      if (counts[h] && i * 8 + 2 * t < stride)
        got[i][h] = __ldcg((const float2 *)(from[h] + i * 8));
    }
  float *to = c.grad + 2 * t * c.stride + row;
#pragma unroll
  for (int i = 0; i < TILES; i++, to += 8 * c.stride) {
    if (i * 8 >= outputs) break;
    float slope[4] = {to[0], to[c.stride], to[rows.second], to[c.stride + rows.second]};
    float value[4] = {got[i][0].x, got[i][0].y, got[i][1].x, got[i][1].y};
#pragma unroll
    for (int q = 0; q < 4; q++) value[q] = factor_of<PRECISE>(value[q] * slope[q]);
    chain_rows_store(to, value, c.stride, rows.second);
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
  if (rows.first < span_of().chain_stride - 4) {
    chain_grad_take<PRECISE>(rows);
    __syncwarp();
    chain_rows_backward<PRECISE>(rows);
  }
  __syncthreads();
  chain_update<PRECISE>();
  __syncthreads();
}

#endif
