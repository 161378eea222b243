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

/* What a thread is to its warp's products: g = lane / 4, t = lane % 4, and the first of its rows, g
 * of the first eight. turned: from a block of eight features to the line of 2t or of its i-th
 * successor, in turn (column_at). */
struct chain_lane {
  int g, t, row, second, stride, turned[4];
};

static __device__ __forceinline__ chain_lane chain_lane_of(chain_rows rows) {
  int lane = threadIdx.x % WARP;
  chain_lane to = {lane / 4, lane % 4, rows.first + lane / 4, rows.second, span_of().chain_stride};
#pragma unroll
  for (int i = 0; i < 4; i++) to.turned[i] = (to.t + i) % 4 * 2 * to.stride;
  return to;
}

/* Two features of the rows g of both eights, as a factor. from: the first one's line, at row g. */
template <bool PRECISE>
static __device__ __forceinline__ void chain_rows_load(part (&to)[4], const float *from,
                                                       const chain_lane &of) {
  to[0] = part_of<PRECISE>(from[0]), to[1] = part_of<PRECISE>(from[of.second]);
  to[2] = part_of<PRECISE>(from[of.stride]), to[3] = part_of<PRECISE>(from[of.stride + of.second]);
}

/* The same of a sum, as it lies in a thread. */
static __device__ __forceinline__ void chain_rows_store(float *to, const float (&value)[4],
                                                        const chain_lane &of) {
  to[0] = value[0], to[of.stride] = value[1];
  to[of.second] = value[2], to[of.stride + of.second] = value[3];
}

constexpr int CHAIN_TILES = 4, CHAIN_COLUMNS = CHAIN_TILES * 8; /* that a warp sums up at once */

/* Adds eight inputs: block `block` of those from x on. w: of the thread's lines of weights, 16
 * apart. */
template <bool PRECISE>
static __device__ __forceinline__ void
chain_inputs_multiply(float (&sum)[CHAIN_TILES][4], const float *x, const float *w0,
                      const float *w1, int block, const chain_lane &of) {
  part a[4], b[2][4];
  chain_rows_load<PRECISE>(a, x + block * 8 * of.stride + of.turned[block], of);
  parts_load<PRECISE>(b[0], w0 + block * 8);
  parts_load<PRECISE>(b[1], w1 + block * 8);
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++)
    multiply<PRECISE>(sum[i], a, b[i / 2][i % 2 * 2], b[i / 2][i % 2 * 2 + 1]);
}

/* Outputs from m on, before the activation. What lies behind a layer's gets sums that nobody wants.
 */
template <bool PRECISE>
static __device__ __forceinline__ void
chain_outputs(float (&sum)[CHAIN_TILES][4], const chain_layer &c, int m, const chain_lane &of) {
  int lane = threadIdx.x % WARP, line = m + lane % 8 + lane / 16 * 8, last = c.outputs - 1, k = 0;
  const float *x = c.x + of.row, *bias = c.biases + m + 2 * of.t;
  const float *w = c.weights + lane / 8 % 2 * 4;
  const float *w0 = w + (line < last ? line : last) * c.line,
              *w1 = w + (line + 16 < last ? line + 16 : last) * c.line;
#pragma unroll
  for (int i = 0; i < CHAIN_TILES; i++) {
    float2 two = *(const float2 *)(bias + i * 8);
    sum[i][0] = sum[i][2] = two.x, sum[i][1] = sum[i][3] = two.y;
  }
#pragma unroll 1
  for (; k + 32 <= c.inputs; k += 32, x += 32 * of.stride, w0 += 32, w1 += 32)
#pragma unroll
    for (int block = 0; block < 4; block++)
      chain_inputs_multiply<PRECISE>(sum, x, w0, w1, block, of);
#pragma unroll
  for (int block = 0; block < 3; block++)
    if (k + block * 8 < c.inputs) chain_inputs_multiply<PRECISE>(sum, x, w0, w1, block, of);
}

/* --- forward --------------------------------------------------------------------------------- */

/* The activation of a layer that has another one than a ReLU, or none, from where slopes go. */
template <bool PRECISE> static __device__ __noinline__ void chain_activate(int l, chain_rows rows) {
  const layer of = span_of().layers[l];
  const chain_layer c = chain_layer_of(l);
  const now n = now_of();
  bool last = l + 1 == span_of().front;
  float *to = last ? nullptr : chain_layer_of(l + 1).x, *after = after_of(n, l);
  int lane = threadIdx.x % WARP, row = rows.first + lane % 8 + lane / 8 % 2 * rows.second;
#pragma unroll 1
  for (int o = lane / 16; o < c.outputs; o += 2) {
    float *slope = c.grad + o * c.stride + row;
    activated a = {0, 0};
    if (o < of.out) a = activate(of, *slope);
    *slope = a.slope;
    if (!last) {
      to[o * c.stride + row] = factor_of<PRECISE>(a.y);
    } else if (row < n.rows && o < of.stride) {
      long long place = (long long)row * of.stride + o;
      after[place] = a.y;
      n.scratch[of.grad + place] = a.slope; /* for those who give the gradient */
    }
  }
}

/* The warp's rows through all layers: to the next layer's input, or, of the last one, to memory. */
template <bool PRECISE> static __device__ __forceinline__ void chain_rows_forward(chain_rows rows) {
  const span &s = span_of();
  const chain_lane of = chain_lane_of(rows);
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const chain_layer c = chain_layer_of(l);
    bool relu = s.layers[l].activation == EP_LAYER_RELU, last = l + 1 == s.front;
    int width = s.layers[l].stride, count = now_of().rows;
    float *after = after_of(now_of(), l) + of.row * width + 2 * of.t;
    /* The next layer's input lies behind the biases. */
    float *to = relu ? c.biases + c.outputs : c.grad;
    to += 2 * of.t * of.stride + of.row;
#pragma unroll 1
    for (int m = 0; m < c.outputs; m += CHAIN_COLUMNS) {
      float y[CHAIN_TILES][4];
      chain_outputs<PRECISE>(y, c, m, of);
      if (relu)
#pragma unroll
        for (int e = 0; e < CHAIN_TILES * 4; e++) y[e / 4][e % 4] = ep_relu(y[e / 4][e % 4]);
      if (last && relu) {
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++) {
          if (m + i * 8 + 2 * of.t >= width) continue;
          float *there = after + m + i * 8;
          if (of.row < count) *(float2 *)there = make_float2(y[i][0], y[i][1]);
          if (of.row + of.second < count)
            *(float2 *)(there + of.second * width) = make_float2(y[i][2], y[i][3]);
        }
        continue;
      }
#pragma unroll
      for (int i = 0; i < CHAIN_TILES; i++) {
        if (m + i * 8 >= c.outputs) break;
        if (relu)
#pragma unroll
          for (int q = 0; q < 4; q++) y[i][q] = factor_of<PRECISE>(y[i][q]);
        chain_rows_store(to + (m + i * 8) * of.stride, y[i], of);
      }
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
static __device__ __forceinline__ void chain_rows_backward(chain_rows rows) {
  const span &s = span_of();
  const chain_lane of = chain_lane_of(rows);
#pragma unroll 1
  for (int l = s.front - 1; l > 0; l--) {
    const chain_layer c = chain_layer_of(l);
    bool relu = s.layers[l - 1].activation == EP_LAYER_RELU;
    float *to = chain_layer_of(l - 1).grad;
    const float *grads = c.grad + 2 * of.t * of.stride + of.row;
#pragma unroll 1
    for (int n = 0; n < c.inputs; n += CHAIN_COLUMNS) {
      const float *grad = grads, *w = c.weights + 2 * of.t * c.line + n + 4 * of.g;
      float sum[CHAIN_TILES][4] = {};
#pragma unroll 4
      for (int k = 0; k < c.outputs; k += 8, grad += 8 * of.stride, w += 8 * c.line) {
        four b[2] = {four_of(w), four_of(w + c.line)};
        part a[4];
        chain_rows_load<PRECISE>(a, grad, of);
#pragma unroll
        for (int i = 0; i < CHAIN_TILES; i++)
          multiply<PRECISE>(sum[i], a, part_of<PRECISE>(b[0].of[i]), part_of<PRECISE>(b[1].of[i]));
      }
      if (n + 8 * of.t >= c.inputs) continue;
      int place = (n + 8 * of.t) * of.stride + of.row;
      const float *slopes = (relu ? c.x : to) + place;
#pragma unroll
      for (int i = 0; i < CHAIN_TILES; i++) {
        const float *from = slopes + of.turned[i];
        float slope[4] = {from[0], from[of.stride], from[of.second], from[of.stride + of.second]};
#pragma unroll
        for (int q = 0; q < 4; q++)
          sum[i][q] =
              factor_of<PRECISE>(sum[i][q] * (relu ? ep_relu_derivative(slope[q]) : slope[q]));
        chain_rows_store(to + place + of.turned[i], sum[i], of);
      }
    }
    __syncwarp();
  }
}

/* The gradient by the last layer's output, which others left in memory as it lies here. */
static __device__ __forceinline__ void chain_grad_take() {
  const span &s = span_of();
  const chain_layer c = chain_layer_of(s.front - 1);
  const float *from = now_of().scratch + s.front_grad;
  int floats = c.outputs * c.stride;
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
  chain_grad_take();
  if (rows.first < span_of().chain_stride - 4) chain_rows_backward<PRECISE>(rows);
  __syncthreads();
  chain_update<PRECISE>();
  __syncthreads();
}

#endif
