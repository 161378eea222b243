/* network.cuh: a network of dense layers whose weights lie in a block's shared memory: rows go
 * forward and back through it, all threads of the block together. For blocks.cuh. What plan.h says
 * of a layer is layer(l); a layer is a linear op and the ops by element behind it, up to the next
 * linear one. */
#ifndef EP_KERNELS_CUDA_POPULATION_NETWORK_CUH
#define EP_KERNELS_CUDA_POPULATION_NETWORK_CUH

#include "kernels/cuda/device/thread_loss.cuh"
#include "kernels/cuda/population/args.h"
#include "kernels/cuda/population/products.cuh"
#include "kernels/formulas/dropout.h"

constexpr int WARPS = THREADS / WARP;
constexpr int LAST = LAYERS - 1;
constexpr int ROW_TILES = CHUNK_ROWS / 16;
/* Tiles of a warp: a thread has 64 registers, or 128. */
constexpr int TILES_MOST = BLOCKS_EACH * WARPS > 16 ? 2 : PRECISE ? 8 : 16;

constexpr int up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

extern __shared__ __align__(16) float memory[];

/* A chunk of a batch's rows, or rows to predict, as all threads see it. */
struct chunk {
  const ep_population_op *ops; /* [OPS], the member's */
  float loss_parameter, label_smoothing;
  float scale; /* of the loss */
  uint64_t seed;
  long long step;
  const float *x;     /* [rows, IN], device: where X_STAGED does not hold */
  float *activations; /* [ACTIVATION_FLOATS], shared or device */
  int first, rows;    /* of the batch: rows beyond these count as zeros */
};

/* --- ops by element ------------------------------------------------------------------------- */

template <int I>
static __device__ __forceinline__ bool dropout_keeps(const chunk &at, int row, int column) {
  return ep_dropout_keeps(at.seed, at.step, op(I).layer,
                          (long long)(at.first + row) * op(I).in + column, at.ops[I].p);
}

/* An element through ops I to END - 1. */
template <int I, int END, bool TRAINS>
static __device__ __forceinline__ float ops_forward(const chunk &at, int row, int column,
                                                    float value) {
  if constexpr (I == END) {
    return value;
  } else if constexpr (op(I).type == EP_LAYER_DROPOUT) {
    if constexpr (TRAINS)
      value = dropout_keeps<I>(at, row, column) ? value * ep_dropout_scale(at.ops[I].p) : 0;
    return ops_forward<I + 1, END, TRAINS>(at, row, column, value);
  } else {
    const ep_op about = activation_of(op(I).type, at.ops[I]);
    return ops_forward<I + 1, END, TRAINS>(at, row, column, ep_activation(&about, value));
  }
}

/* The gradient by what enters op I, of that by what leaves op END - 1. value: what enters. */
template <int I, int END>
static __device__ __forceinline__ float ops_backward(const chunk &at, int row, int column,
                                                     float value, float grad) {
  if constexpr (I == END) {
    return grad;
  } else if constexpr (op(I).type == EP_LAYER_DROPOUT) {
    if (!dropout_keeps<I>(at, row, column)) return 0;
    const float scale = ep_dropout_scale(at.ops[I].p);
    return scale * ops_backward<I + 1, END>(at, row, column, value * scale, grad);
  } else {
    const ep_op about = activation_of(op(I).type, at.ops[I]);
    const float y = ep_activation(&about, value);
    return ops_backward<I + 1, END>(at, row, column, y, grad) *
           ep_activation_derivative(&about, value, y);
  }
}

/* --- forward -------------------------------------------------------------------------------- */

/* A layer's sums, before the ops behind it, [CHUNK_ROWS, out_stride]; then the gradients by them.
 */
template <int L> static __device__ __forceinline__ float *sums_of(const chunk &at) {
  return at.activations + layer(L).sums;
}
/* What the next layer gets of it. The same place where no op is behind it. */
template <int L> static __device__ __forceinline__ float *features_of(const chunk &at) {
  return at.activations + layer(L).features;
}

/* What layer L gets, [CHUNK_ROWS, in_stride]. */
template <int L> static __device__ __forceinline__ const float *inputs_of(const chunk &at) {
  if constexpr (L == 0)
    return memory + X_AT;
  else
    return features_of<L - 1>(at);
}

/* Two neighbours of a row from layer L's product to where they belong. Rows and columns that are
 * none become 0, which the next products take for granted. */
template <int L, bool TRAINS>
static __device__ __forceinline__ void features_store(const chunk &at, int row, int column,
                                                      float2 two) {
  constexpr population_layer LAYER = layer(L);
  if (column >= up(LAYER.out, 8)) return;
  const float *bias = memory + LAYER.biases;
  const bool counts = row < at.rows, first = counts && column < LAYER.out,
             second = counts && column + 1 < LAYER.out;
  const int offset = row * LAYER.out_stride + column;
  two.x = first ? two.x + bias[column] : 0;
  two.y = second ? two.y + bias[column + 1] : 0;
  *(float2 *)(sums_of<L>(at) + offset) = two;
  if constexpr (LAYER.features != LAYER.sums) {
    two.x = first ? ops_forward<LAYER.op + 1, LAYER.end, TRAINS>(at, row, column, two.x) : 0;
    two.y = second ? ops_forward<LAYER.op + 1, LAYER.end, TRAINS>(at, row, column + 1, two.y) : 0;
    *(float2 *)(features_of<L>(at) + offset) = two;
  }
}

template <int L, bool TRAINS>
static __device__ __forceinline__ void layer_forward(const chunk &at) {
  constexpr population_layer LAYER = layer(L);
  constexpr int N_TILES = (LAYER.out + 7) / 8;
  constexpr tile_shape TILE = tile_of(ROW_TILES, N_TILES, WARPS, TILES_MOST);
  constexpr int M_TASKS = ROW_TILES / TILE.m, TASKS = M_TASKS * (N_TILES / TILE.n);
#pragma unroll 1
  for (int task = threadIdx.x / WARP; task < TASKS; task += WARPS) {
    const int row = task % M_TASKS * TILE.m * 16, column = task / M_TASKS * TILE.n * 8;
    const float *weights = memory + LAYER.weights + column * LAYER.in_stride;
    tile_sums<PRECISE, TILE.m, TILE.n> sums;
    if constexpr (L == 0 && !X_STAGED)
      tile_multiply_quads(
          sums, gathered_quads<IN, 2 * TILE.m>(at.x, (const int *)memory + NUMBERS_AT + row),
          rows_quads<LAYER.in_stride>(weights), IN);
    else
      tile_multiply(sums, rows_operand<LAYER.in_stride>(inputs_of<L>(at) + row * LAYER.in_stride),
                    rows_operand<LAYER.in_stride>(weights), up(LAYER.in, 8));
    tile_each(sums.c, row, column,
              [&](int r, int j, float2 two) { features_store<L, TRAINS>(at, r, j, two); });
  }
  __syncthreads();
}

/* All layers. Ends with a barrier of the block. */
template <bool TRAINS, int L = 0>
static __device__ __forceinline__ void rows_forward(const chunk &at) {
  layer_forward<L, TRAINS>(at);
  if constexpr (L < LAST) rows_forward<TRAINS, L + 1>(at);
}

/* --- loss ----------------------------------------------------------------------------------- */

/* A thread's rows: the sums of the last layer become the gradients by them. Returns its loss. */
static __device__ __forceinline__ float classes_lose(const chunk &at) {
  constexpr population_layer LAYER = layer(LAST);
  float loss = 0;
  for (int row = threadIdx.x; row < CHUNK_ROWS; row += THREADS) {
    float *sums = sums_of<LAST>(at) + row * LAYER.out_stride, y[OUT], grad[OUT];
    if (row >= at.rows) {
#pragma unroll
      for (int j = 0; j < OUT; j++) sums[j] = 0;
      continue;
    }
    const float *features = features_of<LAST>(at) + row * LAYER.out_stride;
#pragma unroll
    for (int j = 0; j < OUT; j++) y[j] = features[j];
    loss += loss_of<OUT>(at.loss_parameter, at.label_smoothing, y, memory + TARGETS_AT + row,
                         at.scale, grad)
                .value;
#pragma unroll
    for (int j = 0; j < OUT; j++)
      sums[j] = ops_backward<LAYER.op + 1, LAYER.end>(at, row, j, sums[j], grad[j]);
  }
  return loss;
}

/* The same where each output has a loss of its own: a thread's elements. */
static __device__ __forceinline__ float values_lose(const chunk &at) {
  constexpr population_layer LAYER = layer(LAST);
  float loss = 0;
  for (int i = threadIdx.x; i < CHUNK_ROWS * OUT; i += THREADS) {
    const int row = i / OUT, j = i % OUT;
    float *sum = sums_of<LAST>(at) + row * LAYER.out_stride + j;
    const float y[1] = {features_of<LAST>(at)[row * LAYER.out_stride + j]};
    if (row >= at.rows) {
      *sum = 0;
      continue;
    }
    const float target = memory[TARGETS_AT + i];
    loss += ep_loss_value(LOSS, y[0], target, at.loss_parameter);
    const float grad = at.scale * ep_loss_derivative(LOSS, y[0], target, at.loss_parameter);
    *sum = ops_backward<LAYER.op + 1, LAYER.end>(at, row, j, *sum, grad);
  }
  return loss;
}

/* --- back ----------------------------------------------------------------------------------- */

/* Of the gradients by layer L's sums, those by the sums of the layer before. */
template <int L> static __device__ __forceinline__ void layer_backward(const chunk &at) {
  constexpr population_layer LAYER = layer(L), BEFORE = layer(L - 1);
  constexpr int N_TILES = (LAYER.in + 7) / 8;
  constexpr tile_shape TILE = tile_of(ROW_TILES, N_TILES, WARPS, TILES_MOST);
  constexpr int M_TASKS = ROW_TILES / TILE.m, TASKS = M_TASKS * (N_TILES / TILE.n);
#pragma unroll 1
  for (int task = threadIdx.x / WARP; task < TASKS; task += WARPS) {
    const int row = task % M_TASKS * TILE.m * 16, column = task / M_TASKS * TILE.n * 8;
    tile_sums<PRECISE, TILE.m, TILE.n> sums;
    tile_multiply(sums, rows_operand<LAYER.out_stride>(sums_of<L>(at) + row * LAYER.out_stride),
                  columns_operand<LAYER.in_stride, true>(memory + LAYER.weights + column),
                  up(LAYER.out, 8));
    tile_each(sums.c, row, column, [&](int r, int k, float2 grad) {
      float2 *place = (float2 *)(sums_of<L - 1>(at) + r * LAYER.in_stride + k);
      float2 two = *place;
      const bool counts = r < at.rows;
      two.x = counts && k < LAYER.in
                  ? ops_backward<BEFORE.op + 1, BEFORE.end>(at, r, k, two.x, grad.x)
                  : 0;
      two.y = counts && k + 1 < LAYER.in
                  ? ops_backward<BEFORE.op + 1, BEFORE.end>(at, r, k + 1, two.y, grad.y)
                  : 0;
      *place = two;
    });
  }
  __syncthreads();
}

/* From the last layer to the one behind the first that is trained. Each ends with a barrier. */
template <int L = LAST> static __device__ __forceinline__ void rows_backward(const chunk &at) {
  if constexpr (L > FIRST_LAYER) {
    layer_backward<L>(at);
    rows_backward<L - 1>(at);
  }
}

/* --- gradients by weights ------------------------------------------------------------------- */

/* Tasks of a layer's weights and biases; none of the weights that gathered_weights_grad takes. */
template <int L> constexpr tile_shape grad_tile() {
  return tile_of((layer(L).out + 15) / 16, (layer(L).in + 7) / 8, WARPS, TILES_MOST);
}
template <int L> constexpr int weight_tasks() {
  constexpr tile_shape TILE = grad_tile<L>();
  if (!layer(L).trains_weight || (L == 0 && !X_STAGED)) return 0;
  return (layer(L).out + 15) / 16 / TILE.m * ((layer(L).in + 7) / 8 / TILE.n);
}
template <int L> constexpr int bias_tasks() {
  return layer(L).trains_bias ? (layer(L).out + 7) / 8 : 0;
}

template <int L, class TAKE>
static __device__ __forceinline__ void weights_grad(const chunk &at, int task, TAKE &take) {
  constexpr population_layer LAYER = layer(L);
  constexpr tile_shape TILE = grad_tile<L>();
  constexpr int M_TASKS = (LAYER.out + 15) / 16 / TILE.m;
  const int j_from = task % M_TASKS * TILE.m * 16, k_from = task / M_TASKS * TILE.n * 8;
  const float decay = __ldg(&at.ops[LAYER.op].weight_decay);
  tile_sums<PRECISE, TILE.m, TILE.n> sums;
  tile_multiply(sums, columns_operand<LAYER.out_stride, false>(sums_of<L>(at) + j_from),
                columns_operand<LAYER.in_stride, false>(inputs_of<L>(at) + k_from), up(at.rows, 8));
  tile_each(sums.c, j_from, k_from, [&](int j, int k, float2 two) {
    if (j >= LAYER.out) return;
    const int place = LAYER.weights + j * LAYER.in_stride + k,
              parameter = LAYER.weight + j * LAYER.in + k;
    if (k < LAYER.in) take.one(place, parameter, decay, two.x);
    if (k + 1 < LAYER.in) take.one(place + 1, parameter + 1, decay, two.y);
  });
}

/* Of the first layer where the rows are read where they lie: the gradients by the sums of 32 of its
 * outputs at a time are copied to shared memory, and a warp takes 32 columns of the weights. Begins
 * with a barrier behind it, and has more. */
constexpr int GATHERED_COLUMNS = 32, STAGE_STRIDE = 40;

static __device__ __forceinline__ void stage_fill(const chunk &at, int j_from) {
  constexpr int STRIDE = layer(0).out_stride, QUADS = GATHERED_COLUMNS / 4;
  const float *grads = sums_of<0>(at) + j_from;
  for (int i = threadIdx.x; i < CHUNK_ROWS * QUADS; i += THREADS) {
    const int row = i / QUADS, j = i % QUADS * 4;
    float4 four = {0, 0, 0, 0};
    if (j_from + j < STRIDE) four = *(const float4 *)(grads + row * STRIDE + j);
    *(float4 *)(memory + STAGE_AT + row * STAGE_STRIDE + j) = four;
  }
}

template <class TAKE>
static __device__ __forceinline__ void gathered_task(const chunk &at, int j_from, int k_from,
                                                     TAKE &take) {
  constexpr population_layer LAYER = layer(0);
  const float decay = __ldg(&at.ops[LAYER.op].weight_decay);
  tile_sums<PRECISE, 2, 4> sums;
  tile_multiply_gathered(sums, columns_operand<STAGE_STRIDE, false>(memory + STAGE_AT),
                         gathered_columns<IN>(at.x, (const int *)memory + NUMBERS_AT, k_from),
                         up(at.rows, 8));
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int j = j_from + 16 * i + q / 2 * 8 + lane_row(),
                k = k_from + 8 * lane_column() + q % 2 * 4;
      if (j >= LAYER.out || k >= IN) continue;
      take.four(LAYER.weights + j * LAYER.in_stride + k, LAYER.weight + j * IN + k, decay,
                make_float4(sums.c[i][0][q], sums.c[i][1][q], sums.c[i][2][q], sums.c[i][3][q]));
    }
}

template <class TAKE>
static __device__ __forceinline__ void gathered_weights_grad(const chunk &at, TAKE &take) {
#pragma unroll 1
  for (int j_from = 0; j_from < layer(0).out; j_from += GATHERED_COLUMNS) {
    if (j_from > 0) __syncthreads();
    stage_fill(at, j_from);
    __syncthreads();
#pragma unroll 1
    for (int k_from = threadIdx.x / WARP * GATHERED_COLUMNS; k_from < IN;
         k_from += WARPS * GATHERED_COLUMNS)
      gathered_task(at, j_from, k_from, take);
  }
}

/* Eight biases from j_from on: four lanes share the rows of each. */
template <int L, class TAKE>
static __device__ __forceinline__ void biases_grad(const chunk &at, int j_from, TAKE &take) {
  constexpr population_layer LAYER = layer(L);
  const int lane = threadIdx.x % WARP, j = j_from + lane % 8;
  const float *grads = sums_of<L>(at) + j;
  float sum = 0;
#pragma unroll 4
  for (int row = lane / 8; row < at.rows; row += 4) sum += grads[row * LAYER.out_stride];
  __syncwarp();
  sum += __shfl_xor_sync(ALL_LANES, sum, 8);
  sum += __shfl_xor_sync(ALL_LANES, sum, 16);
  if (lane < 8 && j < LAYER.out)
    take.one(LAYER.biases + j, LAYER.bias + j, __ldg(&at.ops[LAYER.op].bias_decay), sum);
}

/* The gradients by the parameters of layers L to TILL - 1: take.one(place, parameter, decay, grad)
 * of each, by whichever thread has it; place: in the block's weights. take.four: of four neighbours
 * that lie on 16 bytes. BEFORE: tasks that the layers
 * before gave to the warps. No barriers. */
template <int L, int TILL, int BEFORE, class TAKE>
static __device__ __forceinline__ void parameters_grad(const chunk &at, TAKE &take) {
  if constexpr (L < TILL) {
    constexpr int WEIGHTS = weight_tasks<L>(), ALL = WEIGHTS + bias_tasks<L>();
#pragma unroll 1
    for (int task = (threadIdx.x / WARP + WARPS - BEFORE % WARPS) % WARPS; task < ALL;
         task += WARPS) {
      if constexpr (WEIGHTS > 0)
        if (task < WEIGHTS) {
          weights_grad<L>(at, task, take);
          continue;
        }
      biases_grad<L>(at, (task - WEIGHTS) * 8, take);
    }
    parameters_grad<L + 1, TILL, BEFORE + ALL>(at, take);
  }
}

#endif
