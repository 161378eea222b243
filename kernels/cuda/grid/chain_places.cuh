/* chain_places.cuh: what a front of one block (chain.cuh) has in shared memory, and how rows and
 * parameters come there.
 *
 * Inputs and gradients lie a feature a line, [features, chain_stride], so that the gradient of the
 * weights, a sum over rows, reads both its factors as they are; weights an output a line, [outputs,
 * inputs + 4], of each eight columns the even ones first, in turn. What pads features and rows is
 * zero. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_PLACES_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_PLACES_CUH

#include "kernels/cuda/grid/narrow.cuh"

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

/* Where a column of weights lies. Products take two columns of eight with each thread of four: of
 * neighbouring eights they begin with another thread, so that forward, where a thread has the same
 * four of each line, and backward, where it has four neighbours, no two meet in a bank of what is a
 * feature a line. */
static __device__ __forceinline__ int column_at(int column) {
  return column / 8 * 8 + column % 2 * 4 + (column / 2 - column / 8) % 4;
}

/* The rows of a warp: eight, and, `second` further on, eight more; or the same again. */
struct chain_rows {
  int first, second;
};

static __device__ __forceinline__ chain_rows chain_rows_of() {
  int first = threadIdx.x / WARP * 2 * EP_GRID_GROUP, rows = span_of().chain_stride - 4;
  return {first, first + EP_GRID_GROUP < rows ? EP_GRID_GROUP : 0};
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

#endif
