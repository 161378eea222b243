/* The last layer, where it has so few outputs that a product has nothing to tile: tensor cores by
 * the warp, what is large is read and written once. Forward, a block some rows; backward, a block
 * some columns and a slice of the rows, with everything that hangs on them: the gradients of weight
 * and bias, and by the input, through the activation before it.
 *
 * With lane = 4 u + q, the tensor cores (PTX ISA, mma.m16n8) take a[u or u + 8, k] and b[k, u] for
 * k that go by q, and return c[u or u + 8, 2 q or 2 q + 1]. Which number is k is nobody's business
 * as long as a and b agree, so a lane reads 16 neighbours' bytes at once and calls them as it
 * likes. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/thin_linear.h"

enum { OUTPUTS = EP_CUDA_THIN_LINEAR_OUTPUTS, WORDS = 4 };
static_assert(OUTPUTS == 16, "two tiles of eight");

/* A word is two bfloat16, or a float32. */
static __device__ __forceinline__ void multiply(half_number, float (&c)[4], uint32_t a0,
                                                uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
  mma_bf16(c, a0, a1, a2, a3, b0, b1);
}
static __device__ __forceinline__ void multiply(float, float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0,
                                                uint32_t b1) {
  mma_tf32(c, a0, a1, a2, a3, b0, b1);
}

static __device__ __forceinline__ float half_low(uint32_t two) {
  return __uint_as_float(two << 16);
}
static __device__ __forceinline__ float half_high(uint32_t two) {
  return __uint_as_float(two & 0xffff0000u);
}

/* Where in a row a lane's next 16 bytes are: eight lanes' further on. */
template <typename T> struct piece {
  static constexpr int numbers = 16 / sizeof(T), apart = 8 * numbers;
};

/* COUNT words of a row, four from `column` on, four a piece further; zeros beyond its numbers.
 * aligned: on 16 bytes, and so is where it ends; bfloat16 always is. */
template <typename T, int COUNT, bool aligned>
static __device__ __forceinline__ void words_load(const T *row, int64_t column, int64_t columns,
                                                  uint32_t (&to)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    const int64_t at = column + i / 4 * piece<T>::apart;
    if constexpr (aligned) {
      uint4 got = {};
      if (at < columns) got = *(const uint4 *)(row + at);
      to[i] = got.x, to[i + 1] = got.y, to[i + 2] = got.z, to[i + 3] = got.w;
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        to[i + j] = at + j < columns ? __float_as_uint((float)row[at + j]) : 0;
    }
  }
}

template <typename T, int COUNT, bool aligned>
static __device__ __forceinline__ void words_store(T *row, int64_t column, int64_t columns,
                                                   const uint32_t (&from)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    const int64_t at = column + i / 4 * piece<T>::apart;
    if constexpr (aligned) {
      if (at < columns)
        *(uint4 *)(row + at) = make_uint4(from[i], from[i + 1], from[i + 2], from[i + 3]);
    } else {
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (at + j < columns) row[at + j] = (T)__uint_as_float(from[i + j]);
    }
  }
}

/* x of a row becomes relu(x + bias): only in float32. */
template <int COUNT>
static __device__ __forceinline__ void words_lift(const ep_cuda_thin_linear &t, int64_t column,
                                                  uint32_t (&x)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int64_t at = column + i / 4 * piece<float>::apart + i % 4;
    float shift = at < t.in ? t.x_bias[at] : 0.0f;
    x[i] = __float_as_uint(ep_relu(__uint_as_float(x[i]) + shift));
  }
}

static __device__ __forceinline__ float weight_at(const ep_cuda_thin_linear &t, int out,
                                                  int64_t column) {
  return out < t.out && column < t.in ? t.weight[out * t.in + column] : 0.0f;
}

/* --- forward ------------------------------------------------------------------------------- */

enum { FORWARD_WARPS = 16, FORWARD_TILES = 2, FORWARD_ROWS = 16 * FORWARD_TILES };

/* COUNT of an output's weights; beyond the layer's, zeros. aligned: four can be read at once. */
template <int COUNT>
static __device__ __forceinline__ void weights_read(const ep_cuda_thin_linear &t, int out,
                                                    int64_t column, bool aligned,
                                                    float (&to)[COUNT]) {
  if (aligned && out < t.out && column + COUNT <= t.in) {
#pragma unroll
    for (int i = 0; i < COUNT; i += 4)
      *(float4 *)&to[i] = *(const float4 *)(t.weight + out * t.in + column + i);
    return;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) to[i] = weight_at(t, out, column + i);
}

/* The words of a lane's 16 bytes of columns, of output `out`. */
static __device__ __forceinline__ void weights_load(half_number, const ep_cuda_thin_linear &t,
                                                    int out, int64_t column, bool aligned,
                                                    uint32_t (&to)[WORDS]) {
  float of[2 * WORDS];
  weights_read(t, out, column, aligned, of);
#pragma unroll
  for (int i = 0; i < WORDS; i++) to[i] = bf16_pair(of[2 * i], of[2 * i + 1]);
}
static __device__ __forceinline__ void weights_load(float, const ep_cuda_thin_linear &t, int out,
                                                    int64_t column, bool aligned,
                                                    uint32_t (&to)[WORDS]) {
  float of[WORDS];
  weights_read(t, out, column, aligned, of);
#pragma unroll
  for (int i = 0; i < WORDS; i++) to[i] = __float_as_uint(of[i]);
}

/* A block FORWARD_ROWS rows; its warps take 64 bytes of columns by turns, and add up in order. */
template <typename T, bool aligned>
static __global__ void __launch_bounds__(FORWARD_WARPS *WARP)
    thin_forward(ep_cuda_thin_linear t, const float *bias, float *output) {
  kernels_overlap();
  __shared__ float held[FORWARD_WARPS][FORWARD_ROWS][OUTPUTS + 1];
  constexpr int each = 16 / sizeof(T), wide = 4 * each;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int u = lane / 4, q = lane % 4;
  const int64_t base = (int64_t)blockIdx.x * FORWARD_ROWS;
  const bool fours = t.in % 4 == 0 && (uintptr_t)t.weight % sizeof(float4) == 0;
  float sums[FORWARD_TILES][2][4] = {};
#pragma unroll 2
  for (int64_t first = warp * wide; first < t.pitch; first += FORWARD_WARPS * wide) {
    const int64_t column = first + each * q; /* which may lie beyond: all lanes multiply */
    uint32_t x[2 * FORWARD_TILES][WORDS], weight[2][WORDS];
#pragma unroll
    for (int r = 0; r < 2 * FORWARD_TILES; r++) {
      int64_t row = base + 8 * r + u;
      words_load<T, WORDS, aligned>((const T *)t.x + (row < t.rows ? row : t.rows - 1) * t.pitch,
                                    column, t.pitch, x[r]);
    }
#pragma unroll
    for (int o = 0; o < 2; o++) weights_load(T(0), t, 8 * o + u, column, fours, weight[o]);
    if constexpr (sizeof(T) == sizeof(float)) {
      if (t.x_bias)
#pragma unroll
        for (int r = 0; r < 2 * FORWARD_TILES; r++) words_lift(t, column, x[r]);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i += 2)
#pragma unroll
      for (int r = 0; r < FORWARD_TILES; r++)
#pragma unroll
        for (int o = 0; o < 2; o++)
          multiply(T(0), sums[r][o], x[2 * r][i], x[2 * r + 1][i], x[2 * r][i + 1],
                   x[2 * r + 1][i + 1], weight[o][i], weight[o][i + 1]);
  }
#pragma unroll
  for (int r = 0; r < FORWARD_TILES; r++)
#pragma unroll
    for (int i = 0; i < 8; i++)
      held[warp][16 * r + u + 8 * (i % 4 / 2)][8 * (i / 4) + 2 * q + i % 2] = sums[r][i / 4][i % 4];
  __syncthreads();
  for (int at = threadIdx.x; at < FORWARD_ROWS * OUTPUTS; at += FORWARD_WARPS * WARP) {
    int row = at / OUTPUTS, o = at % OUTPUTS;
    if (base + row >= t.rows || o >= t.out) continue;
    float sum = bias ? bias[o] : 0.0f;
    for (int w = 0; w < FORWARD_WARPS; w++) sum += held[w][row][o];
    output[(base + row) * t.out + o] = sum;
  }
}

/* Whether rows of numbers can be read 16 bytes at a time; bfloat16's always can. */
static bool is_aligned(const ep_cuda_thin_linear *t) {
  return t->half || t->pitch % 4 == 0;
}

cudaError_t ep_cuda_thin_linear_forward(cudaStream_t stream, const ep_cuda_thin_linear *t,
                                        const float *bias, float *output) {
  unsigned int blocks = (unsigned int)((t->rows + FORWARD_ROWS - 1) / FORWARD_ROWS);
  const int threads = FORWARD_WARPS * WARP;
  if (t->half)
    ep_cuda_queue(stream, blocks, threads, 0, thin_forward<half_number, true>, *t, bias, output);
  else if (is_aligned(t))
    ep_cuda_queue(stream, blocks, threads, 0, thin_forward<float, true>, *t, bias, output);
  else
    ep_cuda_queue(stream, blocks, threads, 0, thin_forward<float, false>, *t, bias, output);
  return cudaGetLastError();
}

/* --- backward ------------------------------------------------------------------------------ */

enum {
  BACK_WARPS = 4,
  BACK_THREADS = BACK_WARPS * WARP,
  BACK_ROWS = 16 * BACK_WARPS,
  BACK_WORDS = 8
};

/* Gradients by the outputs, of rows in shared memory; 17 floats a row, so that lanes that read a
 * column meet no bank twice. */
typedef float row_grads[OUTPUTS + 1];

/* What differs between the two types: how many products make 16 outputs of depth, and the words of
 * the gradients for them. weight: of a column, [2 steps]. */
template <typename T> struct depth { static constexpr int steps = 16 / (32 / (int)sizeof(T)); };

/* b of the way back to the inputs: the outputs of row u. */
static __device__ __forceinline__ void outputs_take(half_number, const row_grads &row, int, int q,
                                                    uint32_t (&to)[2]) {
  to[0] = bf16_pair(row[2 * q], row[2 * q + 1]);
  to[1] = bf16_pair(row[2 * q + 8], row[2 * q + 9]);
}
static __device__ __forceinline__ void outputs_take(float, const row_grads &row, int step, int q,
                                                    uint32_t (&to)[2]) {
  to[0] = __float_as_uint(row[8 * step + q]);
  to[1] = __float_as_uint(row[8 * step + q + 4]);
}
/* a of it: a column's weights for the same outputs. */
static __device__ __forceinline__ void weights_take(half_number, const ep_cuda_thin_linear &t,
                                                    int64_t column, int, int q, uint32_t *to) {
  for (int i = 0; i < 2; i++)
    to[i] = bf16_pair(weight_at(t, 2 * q + 8 * i, column), weight_at(t, 2 * q + 8 * i + 1, column));
}
static __device__ __forceinline__ void weights_take(float, const ep_cuda_thin_linear &t,
                                                    int64_t column, int step, int q, uint32_t *to) {
  for (int i = 0; i < 2; i++) to[i] = __float_as_uint(weight_at(t, 8 * step + q + 4 * i, column));
}

/* A column's part of the weights' gradient, over 16 rows of which a lane has 2 q, 2 q + 1, 2 q + 8
 * and 2 q + 9. x: the words of these rows that hold the column, `high`: in their upper half. */
static __device__ __forceinline__ void gradient_add(half_number, float (&sums)[4],
                                                    const row_grads *rows, int u, int q,
                                                    const uint32_t (&x)[4], bool high) {
  uint32_t a[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int row = 2 * q + 8 * (i / 2), out = u + 8 * (i % 2);
    a[i] = bf16_pair(rows[row][out], rows[row + 1][out]);
  }
  const unsigned order = high ? 0x7632u : 0x5410u;
  multiply(half_number(), sums, a[0], a[1], a[2], a[3], __byte_perm(x[0], x[1], order),
           __byte_perm(x[2], x[3], order));
}
static __device__ __forceinline__ void gradient_add(float, float (&sums)[4], const row_grads *rows,
                                                    int u, int q, const uint32_t (&x)[4], bool) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const row_grads &first = rows[2 * q + 4 * i], &second = rows[2 * q + 4 * i + 1];
    multiply(0.0f, sums, __float_as_uint(first[u]), __float_as_uint(first[u + 8]),
             __float_as_uint(second[u]), __float_as_uint(second[u + 8]), x[i], x[i + 1]);
  }
}

/* A lane's columns, in two pieces: its weights, its sums, its part of the gradient. */
template <typename T> struct back_state {
  static constexpr int columns = 2 * piece<T>::numbers, steps = depth<T>::steps;
  uint32_t weight[columns][2 * steps];
  float gradient[columns][4], sums[columns];
};

/* Where number e of a lane's columns is in a strip of eight lanes' columns. */
template <typename T> static __device__ __forceinline__ int place_of(int u, int e) {
  constexpr int numbers = piece<T>::numbers;
  return e / numbers * piece<T>::apart + u * numbers + e % numbers;
}

/* Number e of a lane's columns, from its word. */
static __device__ __forceinline__ float number_of(half_number, const uint32_t (&words)[BACK_WORDS],
                                                  int e) {
  return e % 2 ? half_high(words[e / 2]) : half_low(words[e / 2]);
}
static __device__ __forceinline__ float number_of(float, const uint32_t (&words)[BACK_WORDS],
                                                  int e) {
  return __uint_as_float(words[e]);
}

/* Two columns of 16 rows; their gradients take the place of x. relu: derivative is not there. */
template <typename T, bool relu>
static __device__ __forceinline__ void
columns_back(const ep_cuda_thin_linear &t, back_state<T> &own, const row_grads *rows, int e, int u,
             int q, uint32_t (&x)[4][BACK_WORDS], const uint32_t (&derivative)[4][BACK_WORDS]) {
  constexpr int each = sizeof(uint32_t) / sizeof(T);
  float c[2][4] = {};
#pragma unroll
  for (int tile = 0; tile < 2; tile++)
#pragma unroll
    for (int step = 0; step < own.steps; step++) {
      uint32_t b[2];
      outputs_take(T(0), rows[8 * tile + u], step, q, b);
      multiply(T(0), c[tile], own.weight[e][2 * step], own.weight[e + 1][2 * step],
               own.weight[e][2 * step + 1], own.weight[e + 1][2 * step + 1], b[0], b[1]);
    }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int w = (e + i) / each;
    const uint32_t words[4] = {x[0][w], x[1][w], x[2][w], x[3][w]};
    gradient_add(T(0), own.gradient[e + i], rows, u, q, words, (e + i) % 2);
  }
#pragma unroll
  for (int r = 0; r < 4; r++) {
    float value[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      value[i] = c[r / 2][r % 2 + 2 * i];
      if (!relu)
        value[i] *= number_of(T(0), derivative[r], e + i);
      else if (t.derived)
        value[i] *= ep_relu_derivative(number_of(T(0), x[r], e + i));
      own.sums[e + i] += value[i];
    }
    if constexpr (each == 2) {
      x[r][e / 2] = bf16_pair(value[0], value[1]);
    } else {
      x[r][e] = __float_as_uint(tf32_rounded(value[0]));
      x[r][e + 1] = __float_as_uint(tf32_rounded(value[1]));
    }
  }
}

/* The numbers of four rows, transposed: four lanes write eight rows of a column. */
static __device__ __forceinline__ void transposed_store(const ep_cuda_thin_linear &t, int64_t row,
                                                        int64_t last, int64_t column,
                                                        const uint32_t (&x)[4][BACK_WORDS]) {
#pragma unroll
  for (int e = 0; e < BACK_WORDS; e++)
#pragma unroll
    for (int r = 0; r < 4; r += 2) {
      int64_t at = row + 4 * r;
      const int64_t of = column + place_of<float>(0, e);
      float *to = t.transposed + of * t.rows + at;
      if (of >= t.in || at >= last) continue;
      if (t.rows % 2 == 0) {
        *(uint2 *)to = make_uint2(x[r][e], x[r + 1][e]);
      } else {
        to[0] = __uint_as_float(x[r][e]);
        if (at + 1 < last) to[1] = __uint_as_float(x[r + 1][e]);
      }
    }
}

/* 16 rows from `base` on, whose gradients are `rows`. */
template <typename T, bool relu, bool aligned>
static __device__ __forceinline__ void rows_back(const ep_cuda_thin_linear &t, back_state<T> &own,
                                                 const row_grads *rows, int64_t base, int64_t last,
                                                 int64_t column, int u, int q) {
  uint32_t x[4][BACK_WORDS] = {}, derivative[4][BACK_WORDS] = {};
#pragma unroll
  for (int r = 0; r < 4; r++) {
    int64_t row = base + 2 * q + 8 * (r / 2) + r % 2;
    if (row >= last) continue;
    words_load<T, BACK_WORDS, aligned>((const T *)t.x + row * t.pitch, column, t.pitch, x[r]);
    if (!relu)
      words_load<T, BACK_WORDS, aligned>((const T *)t.derivative + row * t.pitch, column, t.pitch,
                                         derivative[r]);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (t.x_bias)
#pragma unroll
      for (int r = 0; r < 4; r++) words_lift(t, column, x[r]);
  }
#pragma unroll
  for (int e = 0; e < own.columns; e += 2)
    columns_back<T, relu>(t, own, rows, e, u, q, x, derivative);
  if (!t.grad_x) return;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    int64_t row = base + 2 * q + 8 * (r / 2) + r % 2;
    if (row < last)
      words_store<T, BACK_WORDS, aligned>((T *)t.grad_x + row * t.pitch, column, t.pitch, x[r]);
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (t.transposed) transposed_store(t, base + 2 * q, last, column, x);
  }
}

/* The other warps' sums, in their order, to those of the first. */
template <typename T>
static __device__ __forceinline__ void warps_add(back_state<T> &own, int warp, int lane) {
  constexpr int each = 5; /* of a column: four of the gradient, one of the rows */
  __shared__ float held[BACK_WARPS - 1][back_state<T>::columns * each][WARP];
  if (warp > 0)
#pragma unroll
    for (int e = 0; e < own.columns; e++) {
#pragma unroll
      for (int i = 0; i < 4; i++) held[warp - 1][e * each + i][lane] = own.gradient[e][i];
      held[warp - 1][e * each + 4][lane] = own.sums[e];
    }
  __syncthreads();
  if (warp > 0) return;
#pragma unroll 1
  for (int w = 0; w < BACK_WARPS - 1; w++)
#pragma unroll
    for (int e = 0; e < own.columns; e++) {
#pragma unroll
      for (int i = 0; i < 4; i++) own.gradient[e][i] += held[w][e * each + i][lane];
      own.sums[e] += held[w][e * each + 4][lane];
    }
}

/* What the block has summed over its slice. */
template <typename T>
static __device__ __forceinline__ void back_finish(const ep_cuda_thin_linear &t, back_state<T> &own,
                                                   int64_t strip, int u, int q) {
#pragma unroll
  for (int e = 0; e < own.columns; e++) {
    const int64_t column = strip + place_of<T>(u, e);
    own.sums[e] += __shfl_xor_sync(ALL_LANES, own.sums[e], 1);
    own.sums[e] += __shfl_xor_sync(ALL_LANES, own.sums[e], 2);
    if (t.x_sums && e % 4 == q && column < t.in) t.x_sums[blockIdx.y * t.in + column] = own.sums[e];
  }
  if (!t.gradient) return;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int out = u + 8 * (i / 2);
    if (out >= t.out) continue;
#pragma unroll
    for (int e = 0; e < own.columns; e += 4) {
      const int64_t first = strip + place_of<T>(2 * q + i % 2, e);
      float *to = t.gradient + (blockIdx.y * t.out + out) * t.pitch + first;
      if (t.pitch % 4 == 0 && first < t.pitch) {
        *(float4 *)to = make_float4(own.gradient[e][i], own.gradient[e + 1][i],
                                    own.gradient[e + 2][i], own.gradient[e + 3][i]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
          if (first + j < t.pitch) to[j] = own.gradient[e + j][i];
      }
    }
  }
}

/* blockIdx.x: 256 bytes of columns; blockIdx.y: a slice of the rows, of which each warp takes
 * sixteens. */
template <typename T, bool relu, bool aligned>
static __global__ void __launch_bounds__(BACK_THREADS, 2) thin_back(ep_cuda_thin_linear t) {
  kernels_overlap();
  __shared__ row_grads held[BACK_ROWS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int u = lane / 4, q = lane % 4;
  back_state<T> own = {};
  const int64_t strip = (int64_t)blockIdx.x * 8 * own.columns;
  const int64_t column = strip + place_of<T>(u, 0);
  int64_t first, last;
  slice_rows((t.rows + 15) / 16, blockIdx.y, gridDim.y, &first, &last);
  first *= 16;
  last = last * 16 < t.rows ? last * 16 : t.rows;
  float bias_sum = 0;
#pragma unroll
  for (int e = 0; e < own.columns; e++)
#pragma unroll
    for (int step = 0; step < own.steps; step++)
      weights_take(T(0), t, strip + place_of<T>(u, e), step, q, &own.weight[e][2 * step]);
  for (int64_t base = first; base < last; base += BACK_ROWS) {
    int rows = (int)(last - base < BACK_ROWS ? last - base : BACK_ROWS);
    __syncthreads(); /* held may still be read for the rows before */
    for (int at = threadIdx.x; at < BACK_ROWS * OUTPUTS; at += BACK_THREADS) {
      int row = at / OUTPUTS, o = at % OUTPUTS;
      held[row][o] = row < rows && o < t.out ? t.grad[(base + row) * t.out + o] : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x < OUTPUTS)
      for (int row = 0; row < rows; row++) bias_sum += held[row][threadIdx.x];
    const int row = 16 * warp;
    if (row < rows) rows_back<T, relu, aligned>(t, own, held + row, base + row, last, column, u, q);
  }
  if (t.bias_sums && blockIdx.x == 0 && threadIdx.x < t.out)
    t.bias_sums[blockIdx.y * t.out + threadIdx.x] = bias_sum;
  if (last - first > 16) warps_add(own, warp, lane);
  if (warp == 0) back_finish(t, own, strip, u, q);
}

template <typename T, bool aligned>
static void back_launch(cudaStream_t stream, const ep_cuda_thin_linear *t) {
  const int64_t width = 8 * back_state<T>::columns;
  dim3 grid((unsigned int)((t->pitch + width - 1) / width), (unsigned int)t->slices);
  if (!t->derivative)
    ep_cuda_queue(stream, grid, BACK_THREADS, 0, thin_back<T, true, aligned>, *t);
  else
    ep_cuda_queue(stream, grid, BACK_THREADS, 0, thin_back<T, false, aligned>, *t);
}

cudaError_t ep_cuda_thin_linear_backward(cudaStream_t stream, const ep_cuda_thin_linear *thin) {
  if (thin->half)
    back_launch<half_number, true>(stream, thin);
  else if (is_aligned(thin))
    back_launch<float, true>(stream, thin);
  else
    back_launch<float, false>(stream, thin);
  return cudaGetLastError();
}
