/* chain_places.cuh: what a front of one block (chain.cuh) has in shared memory, and how rows and
 * parameters come there.
 *
 * Inputs and gradients lie in blocks of eight rows by eight features, weights an output a line
 * (places.h). What pads features and rows is zero. */
#ifndef EP_KERNELS_CUDA_GRID_CHAIN_PLACES_CUH
#define EP_KERNELS_CUDA_GRID_CHAIN_PLACES_CUH

#include "kernels/cuda/grid/narrow.cuh"

constexpr int BLOCK = EP_GRID_GROUP * EP_GRID_GROUP; /* floats */

/* Places in shared memory of what a layer has, counted out once a launch. */
struct __align__(16) chain_layer {
  int inputs, outputs, line; /* in eights; of weights */
  int relu;
  int x, grad;         /* grad: slopes until the way back, but of a ReLU */
  int weights, biases; /* behind these the next layer's x */
};
static_assert(EP_GRID_LAYERS_MAX * (sizeof(chain_layer) + 4 * sizeof(int)) + WARPS * sizeof(int) <=
                  EP_GRID_CHAIN_TABLES * sizeof(float),
              "what plan.c reserves");

static __device__ __forceinline__ chain_layer *chain_layers() {
  return (chain_layer *)(block_memory + EP_GRID_STATE);
}

/* Of the first layer: where this step's rows are, and not the next one's. */
static __device__ __forceinline__ int chain_inputs_at(unsigned turn) {
  const chain_layer &first = chain_layers()[0];
  return first.x - (turn % 2 ? first.inputs * span_of().chain_rows : 0);
}

static __device__ __forceinline__ chain_layer chain_layer_of(int l) {
  chain_layer c = chain_layers()[l];
  if (l == 0) c.x = chain_inputs_at(state_of().n.turn);
  return c;
}

/* The rows of a warp: eight, and eight more; or the same again. */
struct chain_share {
  int first, second; /* second: from the first eight on, 8 or 0 */
};

static __device__ __forceinline__ chain_share chain_share_of() {
  int first = threadIdx.x / WARP * 2 * EP_GRID_GROUP;
  return {first, first + EP_GRID_GROUP < span_of().chain_rows ? EP_GRID_GROUP : 0};
}

/* A layer's parameters: weights, and then biases. */
struct chain_parameter {
  float *here;
  long long at; /* in memory */
  bool is_bias;
};

static __device__ __forceinline__ int chain_parameters_count(const layer &of) {
  return of.out * of.in + (of.bias >= 0 ? of.out : 0);
}

static __device__ __forceinline__ chain_parameter chain_parameter_of(const layer &of,
                                                                     const chain_layer &c, int e) {
  int bias = e - of.out * of.in;
  if (bias >= 0) return {block_memory + c.biases + bias, of.bias + bias, true};
  return {block_memory + c.weights + ep_grid_chain_weight(e / of.in, e % of.in, c.line),
          of.weight + e, false};
}

/* Parameters to shared memory, which is zero before, or what they have become back: TO_SHARED. */
template <bool TO_SHARED> static __device__ __noinline__ void chain_parameters_copy() {
  const span &s = span_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const layer of = s.layers[l];
    const chain_layer c = chain_layer_of(l);
#pragma unroll 1
    for (int e = threadIdx.x; e < chain_parameters_count(of); e += THREADS) {
      const chain_parameter p = chain_parameter_of(of, c, e);
      if (TO_SHARED)
        *p.here = s.parameters[p.at];
      else
        s.parameters[p.at] = *p.here;
    }
  }
}

/* Pieces of the weights' gradient (chain_updates.cuh), of all layers: the last one's first. */
constexpr int SUM_OUTPUTS = 32, SUM_INPUTS = 32;

struct chain_piece {
  uint8_t layer, output, input; /* the first ones, in eights */
  bool there;                   /* behind the last: false */
};

static __device__ __forceinline__ chain_piece *chain_pieces() {
  return (chain_piece *)(chain_layers() + EP_GRID_LAYERS_MAX);
}

static __device__ void chain_tables_make() {
  const span &s = span_of();
  chain_piece *piece = chain_pieces();
  for (int l = s.front - 1; l >= 0; l--) {
    const layer &of = s.layers[l];
    chain_layer c = {eights(of.in), eights(of.out), of.image_stride,
                     of.activation == EP_LAYER_RELU};
    c.grad = of.slopes, c.x = c.grad - c.inputs * s.chain_rows;
    c.weights = of.image, c.biases = c.weights + c.outputs * c.line;
    chain_layers()[l] = c;
    if (of.weight_decay < 0 && of.bias_decay < 0) continue;
    for (int m = 0; m < c.outputs; m += SUM_OUTPUTS)
      for (int n = 0; n < c.inputs; n += SUM_INPUTS)
        *piece++ = {(uint8_t)l, (uint8_t)(m / 8), (uint8_t)(n / 8), true};
  }
}

static __device__ __noinline__ void chain_memory_make() {
  const span &s = span_of();
  const layer &last = s.layers[s.front - 1];
  int end = last.image + eights(last.out) * (last.image_stride + 1) + EP_GRID_CHAIN_SPARE;
  for (int i = EP_GRID_STATE + (int)threadIdx.x; i < end; i += THREADS) block_memory[i] = 0;
  __syncthreads();
  if (threadIdx.x == 0) chain_tables_make();
  __syncthreads();
  chain_parameters_copy<true>();
}

/* The rows of the next step's batch, on their way to where it has its inputs. */
static __device__ __noinline__ void chain_rows_fetch(const ep_permutation *permutation, int batch,
                                                     unsigned turn) {
  const span &s = span_of();
  int in = s.layers[0].in, inputs = eights(in), row = threadIdx.x % EP_GRID_CHAIN_ROWS;
  long long at = (long long)batch * s.batch_rows + row;
  bool there = row < s.batch_rows && at < s.train_rows;
  if (row >= s.chain_rows) return;
  if (s.shuffles && there) at = ep_permutation_at(permutation, (uint32_t)at);
  float *x = block_memory + chain_inputs_at(turn);
  const float *from = s.x + at * in;
#pragma unroll 1
  for (int k = threadIdx.x / EP_GRID_CHAIN_ROWS; k < in; k += THREADS / EP_GRID_CHAIN_ROWS) {
    float *to = x + ep_grid_chain_place(row, k, inputs);
    if (there)
      copy_one(to, from + k);
    else
      *to = 0;
  }
}

#endif
