/* chain_offsets.cuh: what a front of one block (chain.cuh) has in shared memory, and how rows and
 * parameters come there.
 *
 * Inputs and gradients lie in blocks of eight rows by eight features, weights an output a line
 * (offsets.h). What pads features and rows is zero. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_OFFSETS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_CHAIN_OFFSETS_CUH

#include "kernels/cuda/executors/grid/narrow.cuh"

constexpr int BLOCK = EP_GRID_GROUP * EP_GRID_GROUP; /* floats */

/* Places in shared memory of what a layer has, counted out once a launch. */
struct __align__(16) chain_layer {
  int inputs, outputs, line; /* in eights; of weights */
  int relu;
  int x, grad; /* x: of the first layer in this step; grad: slopes until the way back, but of a
                  ReLU */
  int weights, biases;
  int across, across_line; /* the weights an input a line */
};

/* What the way through a layer takes, or the way back: [rows, columns] = [rows, terms] by
 * [terms, columns]. */
enum { CHAIN_BACK = 1, CHAIN_RELU = 2, CHAIN_GIVES = 4, CHAIN_LAYER = 8 };
struct __align__(16) chain_pass {
  int rows, terms, columns;
  int weights, line; /* a column a line */
  int to, with;      /* with: biases; going back, the slopes, or a ReLU's outputs */
  int kind;          /* what of the above it is, and CHAIN_LAYER times the layer */
};

/* Pieces of the weights' gradient (chain_updates.cuh), of all layers: the last one's first. */
constexpr int SUM_OUTPUTS = 16, SUM_INPUTS = 32;
struct chain_piece {
  uint8_t layer, output, input; /* the first ones, in eights */
  bool there;                   /* behind the last: false */
};
constexpr int CHAIN_PIECES =
    EP_GRID_LAYERS_MAX * (EP_GRID_CHAIN_WIDTH / SUM_OUTPUTS) * (EP_GRID_CHAIN_WIDTH / SUM_INPUTS) +
    WARPS;
static_assert((EP_GRID_LAYERS_MAX * (sizeof(chain_layer) + 2 * sizeof(chain_pass)) +
               (CHAIN_PIECES + 1 + WARPS) * sizeof(chain_piece)) <=
                  EP_GRID_CHAIN_TABLES * sizeof(float),
              "what plan.c reserves");

static __device__ __forceinline__ chain_layer *chain_layers() {
  return (chain_layer *)(block_memory + EP_GRID_STATE);
}
/* Forward, and then back from the last layer to the second. */
static __device__ __forceinline__ chain_pass *chain_passes() {
  return (chain_pass *)(chain_layers() + EP_GRID_LAYERS_MAX);
}
static __device__ __forceinline__ chain_piece *chain_pieces() {
  return (chain_piece *)(chain_passes() + 2 * EP_GRID_LAYERS_MAX);
}
/* One whose sums nobody wants. */
static __device__ __forceinline__ chain_piece *chain_rehearsal() {
  return chain_pieces() + CHAIN_PIECES;
}

/* Where a step's rows are, by turns. */
static __device__ __forceinline__ int chain_inputs_at(unsigned turn) {
  const chain_layer &first = chain_layers()[0];
  return first.grad - (1 + (int)(turn % 2)) * first.inputs * args_of().chain_room;
}

/* A layer's parameters: weights, and then biases. */
struct chain_parameter {
  float *here, *across; /* across: of a bias, here */
  long long at;         /* in memory */
  bool is_bias;
};

static __device__ __forceinline__ int chain_parameters_count(const layer &of) {
  return of.out * of.in + (of.bias >= 0 ? of.out : 0);
}

static __device__ __forceinline__ chain_parameter chain_parameter_of(const layer &of,
                                                                     const chain_layer &c, int e) {
  int bias = e - of.out * of.in;
  float *biases = block_memory + c.biases;
  if (bias >= 0) return {biases + bias, biases + bias, of.bias + bias, true};
  int output = e / of.in, input = e % of.in;
  return {block_memory + c.weights + ep_grid_chain_weight(output, input, c.line),
          block_memory + c.across + ep_grid_chain_weight(input, output, c.across_line),
          of.weight + e, false};
}

/* Parameters to shared memory, which is zero before, or what they have become back: TO_SHARED. */
template <bool TO_SHARED> static __device__ __noinline__ void chain_parameters_copy() {
  const args &s = args_of();
#pragma unroll 1
  for (int l = 0; l < s.front; l++) {
    const layer of = s.layers[l];
    const chain_layer c = chain_layers()[l];
#pragma unroll 1
    for (int e = threadIdx.x; e < chain_parameters_count(of); e += THREADS) {
      const chain_parameter p = chain_parameter_of(of, c, e);
      if (TO_SHARED)
        *p.across = *p.here = s.parameters[p.at];
      else
        s.parameters[p.at] = *p.here;
    }
  }
}

static __device__ void chain_layers_make() {
  const args &s = args_of();
  for (int l = 0; l < s.front; l++) {
    const layer &of = s.layers[l];
    chain_layer c = {eights(of.in), eights(of.out), of.image_stride,
                     of.activation == EP_LAYER_RELU};
    c.grad = of.slopes, c.x = c.grad - c.inputs * s.chain_room;
    c.weights = of.image, c.biases = c.weights + c.outputs * c.line;
    c.across = c.biases + c.outputs, c.across_line = ep_grid_chain_line(c.outputs);
    chain_layers()[l] = c;
  }
  /* Behind them, a layer of one piece that nobody wants, with the last one's gradients. */
  const chain_layer &last = chain_layers()[s.front - 1];
  chain_layer c = {SUM_INPUTS, SUM_OUTPUTS, ep_grid_chain_line(SUM_INPUTS),
                   last.relu,  last.x,      last.grad};
  c.weights = last.across + last.inputs * last.across_line;
  c.biases = c.weights + c.outputs * c.line;
  c.across = c.biases + c.outputs, c.across_line = ep_grid_chain_line(c.outputs);
  chain_layers()[s.front] = c;
}

static __device__ void chain_tables_make() {
  const args &s = args_of();
  chain_layers_make();
  chain_piece *piece = chain_pieces();
  for (int l = s.front - 1; l >= 0; l--) {
    const chain_layer &c = chain_layers()[l], &next = chain_layers()[l + 1];
    bool gives = c.relu && l + 1 == s.front;
    chain_passes()[l] = {c.x,       c.inputs,
                         c.outputs, c.weights,
                         c.line,    c.relu ? next.x : c.grad,
                         c.biases,  c.relu * CHAIN_RELU + gives * CHAIN_GIVES + l * CHAIN_LAYER};
    if (l > 0) {
      const chain_layer &before = chain_layers()[l - 1];
      chain_passes()[2 * s.front - 1 - l] = {c.grad,
                                             c.outputs,
                                             c.inputs,
                                             c.across,
                                             c.across_line,
                                             before.grad,
                                             before.relu ? c.x : before.grad,
                                             before.relu * CHAIN_RELU + CHAIN_BACK};
    }
    if (s.layers[l].weight_decay < 0 && s.layers[l].bias_decay < 0) continue;
    for (int m = 0; m < c.outputs; m += SUM_OUTPUTS)
      for (int n = 0; n < c.inputs; n += SUM_INPUTS)
        *piece++ = {(uint8_t)l, (uint8_t)(m / 8), (uint8_t)(n / 8), true};
  }
  chain_passes()[0].rows = chain_inputs_at(1);
  *chain_rehearsal() = {(uint8_t)s.front, 0, 0, true};
}

static __device__ __noinline__ void chain_memory_make() {
  const args &s = args_of();
  for (int i = EP_GRID_STATE + (int)threadIdx.x; i < s.chain_end; i += THREADS) block_memory[i] = 0;
  __syncthreads();
  if (threadIdx.x == 0) chain_tables_make();
  __syncthreads();
  chain_parameters_copy<true>();
}

/* The rows of the next step's batch, on their way to where it has its inputs. */
static __device__ __noinline__ void chain_rows_fetch(const ep_permutation *permutation, int batch,
                                                     unsigned turn) {
  const args &s = args_of();
  int in = s.layers[0].in, inputs = eights(in), row = threadIdx.x % EP_GRID_CHAIN_ROWS;
  long long at = (long long)batch * s.batch_rows + row;
  bool there = row < s.batch_rows && at < s.train_rows;
  if (threadIdx.x == 0) chain_passes()[0].rows = chain_inputs_at(turn);
  if (row >= s.chain_rows) return;
  if (s.shuffles && there) at = ep_permutation_at(permutation, (uint32_t)at);
  float *x = block_memory + chain_inputs_at(turn);
  const float *from = s.x + at * in;
#pragma unroll 1
  for (int k = threadIdx.x / EP_GRID_CHAIN_ROWS; k < in; k += THREADS / EP_GRID_CHAIN_ROWS) {
    float *to = x + ep_grid_chain_offset(row, k, inputs);
    if (there)
      cp_async<4>(to, from + k);
    else
      *to = 0;
  }
}

#endif
