/* panels.cuh: the gradient of a wide layer's weights by warpgroups, and their update in its
 * epilogue, by any optimizer, for cuda/grid. A block takes a panel of inputs, of which all rows lie
 * turned in shared memory, along outputs. What a thread sums is of four neighbours; their weights,
 * and what the optimizer keeps of them, it asks for itself, a stage ahead, to where nobody else
 * reads. */
#ifndef EP_KERNELS_CUDA_GRID_PANELS_CUH
#define EP_KERNELS_CUDA_GRID_PANELS_CUH

#include "kernels/cuda/grid/parameters.cuh"

/* In shared memory: the panel turned, a line of rows for each of M inputs, four times; N rows by
 * OUTPUTS gradients of a stage, in lines; and a thread's FOURS of the stage, with their state. */
struct panel_shape {
  static constexpr int M = EP_GRID_LARGE_M, N = EP_GRID_LARGE_N, OUTPUTS = 2 * LINE, FOURS = 8;
  static constexpr int X_FLOATS = M * LINE, X_ALL = (N + LINE - 1) / LINE * X_FLOATS;
  static constexpr int G_FLOATS = N * LINE, FOUR_FLOATS = 4 * THREADS;
  typedef strip<N, LINE, LINE, THREADS, true> g_strip;
  static_assert(OUTPUTS * M == FOURS * FOUR_FLOATS, "each four is a thread's");
  static_assert(OUTPUTS == EP_GRID_LARGE_K, "what plan.c cuts by");
  static_assert(X_ALL + 2 * G_FLOATS + (1 + EP_GRID_PANEL_SLOTS) * FOURS * FOUR_FLOATS + 8 * LINE <=
                    EP_GRID_WIDE_AREA,
                "what plan.c reserves");
};

/* Turns M inputs of N rows of x, from (row, input) on: a line has 32 rows of an input. Inputs are
 * permuted so that a thread's sums, columns 2t and 2t + 1 of each eight, are of four neighbours. A
 * thread turns four rows of four inputs at a time. */
static __device__ __forceinline__ void inputs_turn(float *to, const matrix &x, int row, int input) {
  typedef panel_shape S;
  constexpr int ACROSS = S::M / 4, COUNT = S::N / 4 * ACROSS;
  constexpr int EACH = (COUNT + THREADS - 1) / THREADS;
  int q = threadIdx.x % ACROSS;
  bool there = input + 4 * q < x.columns;
  const float *from = x.at + (there ? input + 4 * q : 0);
  four of[EACH][4];
#pragma unroll
  for (int e = 0; e < EACH; e++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int r = row + ((int)threadIdx.x + e * THREADS) / ACROSS * 4 + i;
      of[e][i] = four_of(from + (r < x.rows ? r : 0) * x.stride);
      if (!there || r >= x.rows) of[e][i] = {{0, 0, 0, 0}};
    }
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    int quad = ((int)threadIdx.x + e * THREADS) / ACROSS;
    if (quad >= S::N / 4) continue;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int line = ep_grid_turned(4 * q + i);
      four turned = {{of[e][0].of[i], of[e][1].of[i], of[e][2].of[i], of[e][3].of[i]}};
      four_store(to + quad / 8 * S::X_FLOATS + ep_grid_line_place(line, quad % 8), turned);
    }
  }
}

/* A thread's fours of a stage: of four outputs, twice four inputs, LINE apart. Eight threads have a
 * line of memory: less than that at a time would take as long. */
struct panel_place {
  long long at;                /* of the first, in the parameters */
  int stride, outputs, inputs; /* what there is from it on */
  __device__ __forceinline__ bool there(int number) const {
    return number / 2 < outputs && number % 2 * LINE < inputs;
  }
  __device__ __forceinline__ long long of(int number) const {
    return at + number / 2 * stride + number % 2 * LINE;
  }
};

/* Where they lie, and how they are updated. */
template <int SLOTS> struct panel_way {
  typedef panel_shape S;
  ep_optimizer optimizer;
  ep_optimizer_step step;
  float *parameters, *state, decay;
  int slots;
  long long stride; /* from one slot to the next */
  /* Asks for four `number`, and for what the optimizer keeps of it. */
  __device__ __forceinline__ void ask(float *fours, const panel_place &place, int number) const {
    bool there = place.there(number);
    long long at = there ? place.of(number) : 0;
    float *to = fours + number * S::FOUR_FLOATS;
    copy_four(to, parameters + at, there);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      if (slot < slots)
        copy_four(to + (slot + 1) * S::FOURS * S::FOUR_FLOATS, state + at + slot * stride, there);
  }
  __device__ __forceinline__ void update(const float *fours, const panel_place &place, int number,
                                         const four &grad) const {
    const float *from = fours + number * S::FOUR_FLOATS;
    four weight = four_of(from), kept[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      kept[slot] = four_of(from + (slot + 1) * S::FOURS * S::FOUR_FLOATS);
#pragma unroll
    for (int e = 0; e < 4; e++)
      weight.of[e] = ep_optimizer_update(&optimizer, &step, decay, weight.of[e],
                                         ep_clip(&optimizer, 1, grad.of[e]), &kept[0].of[e], 4);
    if (!place.there(number)) return;
    four_store(parameters + place.of(number), weight);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      if (slot < slots) four_store(state + place.of(number) + slot * stride, kept[slot]);
  }
};

/* Of two outputs a thread has four times four sums, 16 inputs apart, and its neighbour the same of
 * the next two outputs: they exchange half of them. to: of the first outputs, and of the others. */
static __device__ __forceinline__ void panel_sums(four (&to)[2], const float (&d)[8][4], int h,
                                                  int m, bool odd) {
#pragma unroll
  for (int e = 0; e < 4; e++) {
    float first = d[4 * m + e / 2][2 * h + e % 2], second = d[4 * m + 2 + e / 2][2 * h + e % 2];
    float other = __shfl_xor_sync(ALL, odd ? first : second, 4);
    to[0].of[e] = odd ? other : first;
    to[1].of[e] = odd ? second : other;
  }
}

/* Two sums of gradients by biases, of outputs `output` and the next, from a warp's fragments. */
static __device__ __forceinline__ void biases_sum(float (&sum)[2],
                                                  const unsigned (&a)[panel_shape::N / 8][4]) {
  sum[0] = sum[1] = 0;
#pragma unroll
  for (int k = 0; k < panel_shape::N / 8; k++)
#pragma unroll
    for (int q = 0; q < 4; q++) sum[q % 2] += __uint_as_float(a[k][q]);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    sum[h] += __shfl_xor_sync(ALL, sum[h], 1);
    sum[h] += __shfl_xor_sync(ALL, sum[h], 2);
  }
}

/* The panels from `number` to `end`, each `blocks` after the last, by an optimizer of TYPE, that
 * keeps SLOTS numbers of a parameter at most; none: gradients are taken as they are. */
template <ep_optimizer_type TYPE, int SLOTS>
static __device__ __noinline__ void panels_run(int l, int number, int end, int blocks) {
  typedef panel_shape S;
  const span &s = span_of();
  const now n = now_of();
  const layer of = s.layers[l];
  const ep_grid_cut cut = of.backward;
  panel_way<SLOTS> way = {{},      state_of().update, s.parameters, s.state, of.weight_decay,
                          s.slots, s.state_stride};
  if (SLOTS > 0) way.optimizer = s.optimizer;
  way.optimizer.type = TYPE;
  const matrix grad = grad_of(n, of), x = input_of(n, l);
  float *x_lines = lines_begin(block_memory + s.area_at), *lines = x_lines + S::X_ALL,
        *fours = lines + 2 * S::G_FLOATS + 4 * threadIdx.x;
  const int t = threadIdx.x % 4, g = threadIdx.x % WARP / 4;
  const int input = (int)threadIdx.x / 128 * 64, output = ep_grid_pair(threadIdx.x / WARP % 4, g);
  const bool odd = g % 2;
#pragma unroll 1
  for (; number < end; number += blocks) {
    task at = ep_grid_task_of(&cut, number, of.out, S::M, S::N);
    int stages = (at.end - at.first + S::OUTPUTS - 1) / S::OUTPUTS;
    bool has_biases = at.m == 0 && input == 0 && of.bias >= 0 && of.bias_decay >= 0;
    int column = at.m + input + 16 * odd + 4 * t, row = at.first + output - 2 * odd;
    panel_place place = {of.weight + (long long)row * of.in + column, of.in, of.out - row,
                         of.in - column};
    S::g_strip of_g(grad, at.n, at.first);
    of_g.load(lines);
    of_g.right(LINE);
    of_g.load(lines + S::G_FLOATS);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int i = 0; i < S::FOURS; i++) way.ask(fours, place, i);
    asm volatile("cp.async.commit_group;" ::: "memory");
    inputs_turn(x_lines, x, at.n, at.m);
    lines_publish();
#pragma unroll 1
    for (int k = 0; k < stages; k++) {
      asm volatile("cp.async.wait_group 1;" ::: "memory"); /* gradients; then the fours */
      __syncthreads();
      const float *grads = lines + output / LINE * S::G_FLOATS + output % 4;
      unsigned a[S::N / 8][4];
#pragma unroll
      for (int i = 0; i < S::N / 8; i++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
          int line = ep_grid_line_place(8 * i + 4 * q + t, output % LINE / 4);
          float2 two = *(const float2 *)(grads + line);
          a[i][2 * q] = __float_as_uint(two.x), a[i][2 * q + 1] = __float_as_uint(two.y);
        }
      __syncthreads();
      if (k + 1 < stages) {
        of_g.right(LINE);
        of_g.load(lines);
        of_g.right(LINE);
        of_g.load(lines + S::G_FLOATS);
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      float d[8][4], biases[2];
      products_begin();
#pragma unroll
      for (int i = 0; i < S::N / 8; i++)
        multiply_64(d, a[i], lines_of(x_lines + i / 4 * S::X_FLOATS + input * LINE + i % 4 * 8),
                    i > 0);
      products_commit();
      biases_sum(biases, a);
      products_wait<0>();
#pragma unroll
      for (int h = 0; h < 2; h++) {
        int o = at.first + k * S::OUTPUTS + output + h;
        if (has_biases && t == h && o < of.out)
          s.parameters[of.bias + o] =
              ep_optimizer_update(&way.optimizer, &way.step, of.bias_decay,
                                  s.parameters[of.bias + o], ep_clip(&way.optimizer, 1, biases[h]),
                                  s.state + (SLOTS > 0 ? of.bias + o : 0), s.state_stride);
      }
      panel_place next = place;
      next.at += (long long)S::OUTPUTS * of.in;
      next.outputs = k + 1 < stages ? place.outputs - S::OUTPUTS : 0;
      asm volatile("cp.async.wait_group 1;" ::: "memory");
#pragma unroll
      for (int i = 0; i < S::FOURS / 2; i++) {
        four sums[2];
        panel_sums(sums, d, i / 2, i % 2, odd);
#pragma unroll
        for (int others = 0; others < 2; others++) {
          way.update(fours, place, i + others * S::FOURS / 2, sums[others]);
          way.ask(fours, next, i + others * S::FOURS / 2);
        }
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      place = next;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory"); /* zeros, behind the last stage */
    __syncthreads();
  }
}

/* The update of a layer's weights and biases, as far as it is made of panels. */
static __device__ __forceinline__ void panels_update(int l, int number, int end, int blocks) {
  const span &s = span_of();
  switch (s.optimizer.type) {
  case EP_OPTIMIZER_SGD:
    if (s.slots == 0 && s.optimizer.clip_value == 0)
      return panels_run<EP_OPTIMIZER_SGD, 0>(l, number, end, blocks);
    return panels_run<EP_OPTIMIZER_SGD, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAM: return panels_run<EP_OPTIMIZER_ADAM, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAMW: return panels_run<EP_OPTIMIZER_ADAMW, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_RMSPROP: return panels_run<EP_OPTIMIZER_RMSPROP, 2>(l, number, end, blocks);
  case EP_OPTIMIZER_ADAGRAD: return panels_run<EP_OPTIMIZER_ADAGRAD, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_LION: return panels_run<EP_OPTIMIZER_LION, 1>(l, number, end, blocks);
  case EP_OPTIMIZER_COUNT: break;
  }
}

#endif
