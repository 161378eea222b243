/* descent.cuh: a wide layer's way back by warpgroups, for cuda/grid: the gradient by its input,
 * and, with plain SGD, in the same pass over the weights, their own gradient and the update while a
 * piece of them lies in shared memory. Each piece is one block's alone, so that nobody else has to
 * read it as it was. */
#ifndef EP_KERNELS_CUDA_GRID_DESCENT_CUH
#define EP_KERNELS_CUDA_GRID_DESCENT_CUH

#include "kernels/cuda/grid/updates.cuh"

/* A stage: OUTPUTS by M weights, and N rows by OUTPUTS gradients, in lines. Beside two stages the
 * layer's input lies turned, a line of rows for each of M inputs, four times. */
struct descent_shape : wide<true> {
  static constexpr int OUTPUTS = 2 * LINE, W_STRIDE = M + 8, W_FLOATS = OUTPUTS * W_STRIDE;
  static constexpr int G_FLOATS = N * LINE, STAGE = W_FLOATS + 2 * G_FLOATS;
  static constexpr int X_FLOATS = M * LINE, X_ALL = (N + LINE - 1) / LINE * X_FLOATS;
  typedef strip<OUTPUTS, M, W_STRIDE, THREADS> w_strip;
  typedef strip<N, LINE, LINE, THREADS, true> g_strip;
  static_assert(W_FLOATS % (8 * LINE) == 0 && G_FLOATS % (8 * LINE) == 0, "lines, by eights");
  static_assert(2 * STAGE + X_ALL + 8 * LINE <= EP_GRID_DESCENT_AREA, "what plan.c reserves");
  static_assert(OUTPUTS == EP_GRID_LARGE_K, "what plan.c cuts by");
};

/* Turns M inputs of N rows of x, from (row, input) on: a line has 32 rows of an input. Inputs are
 * permuted so that a thread's sums, columns 2t and 2t + 1 of each eight, are of four neighbours. A
 * thread turns four rows of four inputs at a time. */
static __device__ __forceinline__ void inputs_turn(float *to, const matrix &x, int row, int input) {
  typedef descent_shape S;
  constexpr int ACROSS = S::M / 4, COUNT = S::N / 4 * ACROSS, TOGETHER = 2;
  constexpr int EACH = (COUNT + THREADS - 1) / THREADS;
  int q = threadIdx.x % ACROSS;
  bool there = input + 4 * q < x.columns;
  const float *from = x.at + (there ? input + 4 * q : 0);
#pragma unroll 1
  for (int first = 0; first < EACH; first += TOGETHER) {
    four of[TOGETHER][4];
#pragma unroll
    for (int e = 0; e < TOGETHER; e++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int r = row + ((int)threadIdx.x + (first + e) * THREADS) / ACROSS * 4 + i;
        of[e][i] = four_of(from + (r < x.rows ? r : 0) * x.stride);
        if (!there || r >= x.rows) of[e][i] = {{0, 0, 0, 0}};
      }
#pragma unroll
    for (int e = 0; e < TOGETHER; e++) {
      int quad = ((int)threadIdx.x + (first + e) * THREADS) / ACROSS;
      if (quad >= S::N / 4) continue;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int line = ep_grid_turned(4 * q + i);
        four turned = {{of[e][0].of[i], of[e][1].of[i], of[e][2].of[i], of[e][3].of[i]}};
        four_store(to + quad / 8 * S::X_FLOATS + ep_grid_line_place(line, quad % 8), turned);
      }
    }
  }
}

/* c += the stage's part of the gradient by the input: of 16 inputs, a warp's, fragments have 2g and
 * 2g + 1 as rows g and g + 8. */
static __device__ __forceinline__ void stage_back(float (&c)[1][13][4], const float *stage) {
  typedef descent_shape S;
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  const float *weights = stage + t * S::W_STRIDE + warp * 16 + 2 * g, *grads = stage + S::W_FLOATS;
  unsigned a[S::OUTPUTS / 8][4];
#pragma unroll
  for (int k = 0; k < S::OUTPUTS / 8; k++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      float2 two = *(const float2 *)(weights + (8 * k + 4 * q) * S::W_STRIDE);
      a[k][2 * q] = __float_as_uint(two.x), a[k][2 * q + 1] = __float_as_uint(two.y);
    }
  products_begin();
#pragma unroll
  for (int k = 0; k < S::OUTPUTS / 8; k++)
    multiply_104(c[0], a[k], lines_of(grads + k / 4 * S::G_FLOATS + k % 4 * 8));
  products_commit();
}

/* Where the biases of a stage's outputs are updated: by one of the tasks that have them. */
struct stage_biases {
  float *at; /* NULL: another's, or none */
  float decay;
};

/* The gradient of a stage's weights and their update; a warpgroup has half of the inputs. to: of
 * the stage's first output and the task's first input; outputs, inputs: what there is of them. */
static __device__ __forceinline__ void stage_update(const float *stage, const float *x,
                                                    const update_way &way, float decay, float *to,
                                                    int stride, int outputs, int inputs,
                                                    const stage_biases &biases) {
  typedef descent_shape S;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  int warp = threadIdx.x / WARP % 4, input = (int)threadIdx.x / 128 * 64,
      output = ep_grid_pair(warp, g);
  const float *grads = stage + S::W_FLOATS + output / LINE * S::G_FLOATS + output % 4;
  int four_number = output % LINE / 4;
  unsigned a[S::N / 8][4];
#pragma unroll
  for (int k = 0; k < S::N / 8; k++)
#pragma unroll
    for (int q = 0; q < 2; q++) {
      float2 two = *(const float2 *)(grads + ep_grid_line_place(8 * k + 4 * q + t, four_number));
      a[k][2 * q] = __float_as_uint(two.x), a[k][2 * q + 1] = __float_as_uint(two.y);
    }
  if (biases.at && input == 0) {
    float sum[2] = {0, 0};
#pragma unroll
    for (int k = 0; k < S::N / 8; k++)
#pragma unroll
      for (int q = 0; q < 4; q++) sum[q % 2] += __uint_as_float(a[k][q]);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      sum[h] += __shfl_xor_sync(ALL, sum[h], 1);
      sum[h] += __shfl_xor_sync(ALL, sum[h], 2);
      if (t == h && output + h < outputs)
        biases.at[output + h] = update_plain(way, biases.decay, biases.at[output + h], sum[h]);
    }
  }
  float d[8][4];
#pragma unroll
  for (int j = 0; j < 8; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) d[j][q] = 0;
  products_begin();
#pragma unroll
  for (int k = 0; k < S::N / 8; k++)
    multiply_64(d, a[k], lines_of(x + k / 4 * S::X_FLOATS + input * LINE + k % 4 * 8), k > 0);
  products_commit();
  products_wait<0>();
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      int o = output + h, place = input + j * 8 + 4 * t;
      four weight = four_of(stage + o * S::W_STRIDE + place);
      four grad = {{d[j][2 * h], d[j][2 * h + 1], d[j + 1][2 * h], d[j + 1][2 * h + 1]}};
#pragma unroll
      for (int e = 0; e < 4; e++) weight.of[e] = update_plain(way, decay, weight.of[e], grad.of[e]);
      if (o < outputs && place < inputs) four_store(to + (long long)o * stride + place, weight);
    }
}

/* UPDATES: the weights and biases, too. */
template <bool UPDATES> static __device__ __forceinline__ void descent_run(int l, int awaits) {
  typedef descent_shape S;
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[l], before = s.layers[l - 1];
  const ep_grid_cut cut = of.backward;
  float *area = block_memory + s.area_at, *lines = lines_begin(area),
        *x_lines = lines + 2 * S::STAGE;
  const matrix weights = weights_of(of), grad = grad_of(n, of), x = input_of(n, l);
  int tasks = cut.across * cut.down * cut.splits;
#pragma unroll 1
  for (int number = blockIdx.x; number < tasks; number += s.workers) {
    task at = task_of<S>(cut, number, of.out);
    int stages = (at.end - at.first + S::OUTPUTS - 1) / S::OUTPUTS;
    bool has_biases = at.m == 0 && of.bias >= 0 && of.bias_decay >= 0;
    S::w_strip of_w(weights, at.first, at.m);
    S::g_strip of_g(grad, at.n, at.first);
    of_w.load(lines);
    if (UPDATES) inputs_turn(x_lines, x, at.n, at.m);
    meeting_await(awaits);
    const update_way way = update_way_of();
    of_g.load(lines + S::W_FLOATS);
    of_g.right(LINE);
    of_g.load(lines + S::W_FLOATS + S::G_FLOATS);
    float c[1][13][4];
#pragma unroll
    for (int j = 0; j < S::T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[0][j][q] = 0;
#pragma unroll 1
    for (int k = 0; k < stages; k++) {
      float *here = lines + k % 2 * S::STAGE, *next = lines + (k + 1) % 2 * S::STAGE;
      asm volatile("cp.async.wait_all;" ::: "memory");
      lines_publish();
      __syncthreads();
      if (k + 1 < stages) {
        of_w.down(S::OUTPUTS);
        of_w.load(next);
        of_g.right(LINE);
        of_g.load(next + S::W_FLOATS);
        of_g.right(LINE);
        of_g.load(next + S::W_FLOATS + S::G_FLOATS);
      }
      stage_back(c, here);
      int output = at.first + k * S::OUTPUTS;
      if (UPDATES)
        stage_update(here, x_lines, way, of.weight_decay,
                     s.parameters + of.weight + (long long)output * of.in + at.m, of.in,
                     of.out - output, of.in - at.m,
                     {has_biases ? s.parameters + of.bias + output : nullptr, of.bias_decay});
      else
        products_wait<0>();
    }
    __syncthreads();
    const backward_use<false> use{n, before, at.n, at.m, backward_way_of(n, l)};
    early<S, backward_use<false>> with;
    task_end(c, area, cut, at, n.scratch + s.partials, counters_of(), n.turn, use, with);
  }
  meeting_await(awaits);
}

/* The gradient by a layer's input. In line, like all that leads here: what a warpgroup has under
 * way, no call may cross. */
template <bool PRECISE> static __device__ __forceinline__ void backward(int l, int awaits) {
  const layer &of = span_of().layers[l];
  if (!of.backward.large)
    backward_run<small<true>, PRECISE>(l, awaits);
  else if constexpr (PRECISE || !WARPGROUPS)
    backward_run<large<true>, PRECISE>(l, awaits);
  else if (of.descends)
    descent_run<true>(l, awaits);
  else
    descent_run<false>(l, awaits);
}

#endif
