/* The last layer, where it has so few outputs that a product has nothing to tile: forward, a warp a
 * few rows; backward, a thread a few inputs and a slice of the rows, with everything that hangs on
 * them: the gradients of weight and bias, and by the input, through the activation before it. */
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/wide/kernels.h"
#include "kernels/cuda/wide/numbers.cuh"

/* --- forward ------------------------------------------------------------------------------- */

enum { WARPS = 4, WARP_ROWS = 4 };

/* N weights of output o from `column` on; 0 beyond the inputs. */
template <int N>
static __device__ void weights_load(const ep_wide_thin &t, int o, int64_t column, bool aligned,
                                    float (&to)[N]) {
  const float *from = t.weight + o * t.in + column;
  if (N % 4 == 0 && aligned) {
#pragma unroll
    for (int i = 0; i < N; i += 4) *(float4 *)&to[i] = __ldg((const float4 *)(from + i));
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++) to[i] = column + i < t.in ? __ldg(from + i) : 0.0f;
}

/* Outputs beyond the layer's repeat its last one: no branch stands between a lane's reads, which
 * are then all under way at once. */
template <typename T, int OUT, int N, bool aligned>
static __global__ void __launch_bounds__(WARPS *EP_CUDA_WARP)
    thin_forward(ep_wide_thin t, const float *bias, float *output) {
  int lane = threadIdx.x % EP_CUDA_WARP, warp = threadIdx.x / EP_CUDA_WARP;
  int64_t row = ((int64_t)blockIdx.x * WARPS + warp) * WARP_ROWS;
  const T *x = (const T *)t.x;
  const T *of_row[WARP_ROWS];
  float sums[WARP_ROWS][OUT] = {};
#pragma unroll
  for (int r = 0; r < WARP_ROWS; r++)
    of_row[r] = x + (row + r < t.rows ? row + r : t.rows - 1) * t.pitch;
  for (int64_t column = lane * N; column < t.pitch; column += EP_CUDA_WARP * N) {
    float own[WARP_ROWS][N], weight[OUT][N], shift[N] = {};
#pragma unroll
    for (int r = 0; r < WARP_ROWS; r++) load<N>(of_row[r] + column, own[r]);
#pragma unroll
    for (int o = 0; o < OUT; o++)
      weights_load<N>(t, o < t.out ? o : t.out - 1, column, aligned, weight[o]);
    if (t.x_bias) {
#pragma unroll
      for (int i = 0; i < N; i++)
        shift[i] = column + i < t.in ? __ldg(t.x_bias + column + i) : 0.0f;
#pragma unroll
      for (int r = 0; r < WARP_ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) own[r][i] = ep_relu(own[r][i] + shift[i]);
    }
#pragma unroll
    for (int o = 0; o < OUT; o++)
#pragma unroll
      for (int r = 0; r < WARP_ROWS; r++)
#pragma unroll
        for (int i = 0; i < N; i++) sums[r][o] += own[r][i] * weight[o][i];
  }
#pragma unroll
  for (int r = 0; r < WARP_ROWS; r++)
#pragma unroll
    for (int o = 0; o < OUT; o++) {
      float sum = ep_cuda_warp_sum(sums[r][o]);
      if (lane == o && o < t.out && row + r < t.rows)
        output[(row + r) * t.out + o] = bias ? sum + bias[o] : sum;
    }
}

template <typename T, int OUT, int N>
static void forward_launch(cudaStream_t stream, const ep_wide_thin *t, const float *bias,
                           float *output) {
  unsigned int blocks = (unsigned int)((t->rows + WARPS * WARP_ROWS - 1) / (WARPS * WARP_ROWS));
  if (t->in == t->pitch && (uintptr_t)t->weight % sizeof(float4) == 0)
    thin_forward<T, OUT, N, true><<<blocks, WARPS * EP_CUDA_WARP, 0, stream>>>(*t, bias, output);
  else
    thin_forward<T, OUT, N, false><<<blocks, WARPS * EP_CUDA_WARP, 0, stream>>>(*t, bias, output);
}

template <typename T, int N>
static void forward_choose(cudaStream_t stream, const ep_wide_thin *t, const float *bias,
                           float *output) {
  if (t->out <= 4)
    forward_launch<T, 4, N>(stream, t, bias, output);
  else if (t->out <= 10)
    forward_launch<T, 10, N>(stream, t, bias, output);
  else
    forward_launch<T, EP_WIDE_THIN_OUTPUTS, N>(stream, t, bias, output);
}

cudaError_t ep_wide_thin_forward(cudaStream_t stream, const ep_wide_thin *thin, const float *bias,
                                 float *output) {
  if (thin->half)
    forward_choose<half_number, 4>(stream, thin, bias, output);
  else if (thin->pitch % 4 == 0)
    forward_choose<float, 4>(stream, thin, bias, output);
  else
    forward_choose<float, 1>(stream, thin, bias, output);
  return cudaGetLastError();
}

/* --- backward ------------------------------------------------------------------------------ */

enum { THIN_THREADS = 128, THIN_ROWS = 64, THIN_DEEP = 8 };

/* blockIdx.x: THIN_THREADS * N inputs, N a thread; blockIdx.y: a slice of the rows. */
template <typename T, int OUT, int N, bool relu>
static __global__ void __launch_bounds__(THIN_THREADS) thin_back(ep_wide_thin t) {
  constexpr int ROW = (OUT + 3) / 4 * 4; /* read four at a time */
  __shared__ alignas(16) float grads[THIN_ROWS][ROW];
  int64_t column = ((int64_t)blockIdx.x * THIN_THREADS + threadIdx.x) * N, first, last;
  slice_rows(t.rows, blockIdx.y, gridDim.y, &first, &last);
  const T *x = (const T *)t.x, *before = (const T *)t.before;
  T *grad_x = (T *)t.grad_x;
  bool is = column < t.pitch;
  float weight[OUT][N], gradient[OUT][N] = {}, shift[N] = {}, sums[N] = {}, bias_sum = 0;
  if (t.x_bias)
#pragma unroll
    for (int i = 0; i < N; i++) shift[i] = column + i < t.in ? t.x_bias[column + i] : 0.0f;
#pragma unroll
  for (int o = 0; o < OUT; o++)
#pragma unroll
    for (int i = 0; i < N; i++)
      weight[o][i] = o < t.out && column + i < t.in ? t.weight[o * t.in + column + i] : 0.0f;
  for (int64_t base = first; base < last; base += THIN_ROWS) {
    int rows = (int)(last - base < THIN_ROWS ? last - base : THIN_ROWS);
    __syncthreads(); /* grads may still be read for the rows before */
    for (int at = threadIdx.x; at < rows * OUT; at += THIN_THREADS) {
      int row = at / OUT, o = at % OUT;
      grads[row][o] = o < t.out ? t.grad[(base + row) * t.out + o] : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x < OUT)
      for (int row = 0; row < rows; row++) bias_sum += grads[row][threadIdx.x];
    if (!is) continue;
    for (int base_row = 0; base_row < rows; base_row += THIN_DEEP) {
      float given[THIN_DEEP][N] = {}, argument[THIN_DEEP][N] = {};
#pragma unroll
      for (int j = 0; j < THIN_DEEP; j++) { /* all that is read, before anything is written */
        int64_t at = (base + base_row + j) * t.pitch + column;
        if (base_row + j >= rows) break;
        load<N>(x + at, given[j]);
        if (!relu && before) load<N>(before + at, argument[j]);
      }
#pragma unroll
      for (int j = 0; j < THIN_DEEP; j++) {
        int row = base_row + j;
        float grad[ROW], to[N];
        if (row >= rows) break;
#pragma unroll
        for (int o = 0; o < ROW; o += 4) *(float4 *)&grad[o] = *(const float4 *)&grads[row][o];
#pragma unroll
        for (int i = 0; i < N; i++) {
          float value = 0, own = given[j][i], asked = argument[j][i];
          if (t.x_bias) own = ep_relu(own + shift[i]);
#pragma unroll
          for (int o = 0; o < OUT; o++) {
            value += grad[o] * weight[o][i];
            gradient[o][i] += grad[o] * own;
          }
          if (t.derived) value *= derivative<relu>(t.activation, own, before ? &asked : NULL);
          to[i] = value;
          sums[i] += value;
        }
        if (grad_x) store<N>(grad_x + (base + row) * t.pitch + column, to);
      }
    }
  }
  if (t.bias_sums && blockIdx.x == 0 && threadIdx.x < t.out)
    t.bias_sums[blockIdx.y * t.out + threadIdx.x] = bias_sum;
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (!is) break;
    if (t.x_sums && column + i < t.in) t.x_sums[blockIdx.y * t.in + column + i] = sums[i];
#pragma unroll
    for (int o = 0; o < OUT; o++)
      if (t.gradient && o < t.out)
        t.gradient[(blockIdx.y * t.out + o) * t.pitch + column + i] = gradient[o][i];
  }
}

template <typename T, int OUT, int N>
static void thin_launch(cudaStream_t stream, const ep_wide_thin *t) {
  int64_t width = THIN_THREADS * N;
  dim3 grid((unsigned int)((t->pitch + width - 1) / width), EP_WIDE_SLICES);
  if (t->derived && t->activation.type == EP_LAYER_RELU)
    thin_back<T, OUT, N, true><<<grid, THIN_THREADS, 0, stream>>>(*t);
  else
    thin_back<T, OUT, N, false><<<grid, THIN_THREADS, 0, stream>>>(*t);
}

template <typename T, int N> static void thin_choose(cudaStream_t stream, const ep_wide_thin *t) {
  if (t->out <= 4)
    thin_launch<T, 4, N>(stream, t);
  else if (t->out <= 10)
    thin_launch<T, 10, N>(stream, t);
  else
    thin_launch<T, EP_WIDE_THIN_OUTPUTS, N>(stream, t);
}

cudaError_t ep_wide_thin_back(cudaStream_t stream, const ep_wide_thin *thin) {
  if (thin->half)
    thin_choose<half_number, 2>(stream, thin);
  else if (thin->pitch % 2 == 0)
    thin_choose<float, 2>(stream, thin);
  else
    thin_choose<float, 1>(stream, thin);
  return cudaGetLastError();
}
