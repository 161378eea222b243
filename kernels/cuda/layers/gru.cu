/* gru: a block goes through the steps of a few rows, forward or back, a thread a gate of a unit, so
 * that a weight that is read counts for all of these rows. Then the gradients by the weights and by
 * x are products by tiles, over all steps at once. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/activations.h"

/* Parameters, and gates: r, z, n. What is saved of a step of a unit: r, z, n and m = W_hn h + b_hn;
 * on the way back the gradients by what these gates take of x, and, of n, by m. */
enum { BY_INPUT, BY_STATE, INPUT_BIAS, STATE_BIAS, PARAMETERS };
enum { RESET, UPDATE, NEW, GATES, PRODUCT = GATES, SAVED };

/* Rows of a block at most, and blocks that fill a device. */
enum { THREADS_MOST = 1024, EACH_MOST = 8, BLOCKS_ENOUGH = 128, SHARED_FLOATS = 48 * 1024 / 4 };

typedef struct {
  int64_t rows;
  int channels, units, length;
  const float *x; /* [rows, channels, length] */
  float *y;       /* [rows, units, length] */
  const float *weight[PARAMETERS];
  float *turned[2];    /* the weights by input and by state, [channels or units, gates units] */
  float *work;         /* [blocks, work_floats], where shared memory is too small */
  int64_t work_floats; /* of a row */
  float *saved;        /* [rows, length, SAVED, units]; NULL: not saved */
  /* The way back. */
  const float *grad;
  float *grad_x, *gradient;              /* NULL: nobody asks */
  int64_t place[PARAMETERS], parameters; /* in the gradient; -1: there is none */
} gru;

static int64_t work_floats_of(const ep_op *op) {
  const int64_t forward = 5 * op->out.channels + op->in.channels, backward = 7 * op->out.channels;
  return forward > backward ? forward : backward;
}

static bool is_shared(const ep_op *op) {
  return work_floats_of(op) <= SHARED_FLOATS;
}

static int64_t turned_floats_of(const ep_op *op) {
  return GATES * op->out.channels * (op->in.channels + op->out.channels);
}

static gru gru_of(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  gru of = {};
  of.rows = call->rows;
  of.channels = (int)op->in.channels;
  of.units = (int)op->out.channels;
  of.length = (int)op->in.width;
  of.x = call->x[0];
  of.y = call->y;
  of.work_floats = work_floats_of(op);
  of.grad = call->grad;
  of.grad_x = call->grad_x[0];
  of.gradient = call->gradient;
  const int64_t gates = GATES * op->out.channels;
  const int64_t count[PARAMETERS] = {gates * of.channels, gates * of.units, gates, gates};
  for (int k = 0; k < PARAMETERS; k++) {
    const bool exists = op->parameter[k] >= 0;
    of.place[k] = exists ? op->parameter[k] - op->parameter[0] : -1;
    of.weight[k] = exists ? call->weight + of.place[k] : NULL;
    if (exists) of.parameters += count[k];
  }
  of.turned[BY_INPUT] = call->saved;
  of.turned[BY_STATE] = of.turned[BY_INPUT] + count[BY_INPUT];
  of.work = of.turned[BY_STATE] + count[BY_STATE];
  return of;
}

/* --- weights, turned ----------------------------------------------------------------------- */

enum { TILE = WARP, TILE_WARPS = 8, TILE_THREADS = TILE_WARPS * WARP };

/* A block a tile, blockIdx.z one of both weights. */
static __global__ void __launch_bounds__(TILE_THREADS) turn(gru of) {
  __shared__ float tile[TILE][TILE + 1];
  const int which = blockIdx.z, lines = GATES * of.units;
  const int columns = which == BY_INPUT ? of.channels : of.units;
  const int line = blockIdx.y * TILE, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int64_t column = (int64_t)blockIdx.x * TILE;
  if (column >= columns) return;
  const float *from = of.weight[which];
  float *to = of.turned[which];
  for (int i = warp; i < TILE; i += TILE_WARPS)
    if (line + i < lines && column + lane < columns)
      tile[i][lane] = from[(int64_t)(line + i) * columns + column + lane];
  __syncthreads();
  for (int i = warp; i < TILE; i += TILE_WARPS)
    if (column + i < columns && line + lane < lines)
      to[(column + i) * lines + line + lane] = tile[lane][i];
}

/* --- steps --------------------------------------------------------------------------------- */

/* One of each row of a block. */
template <int EACH> struct alignas(EACH < 4 ? 4 * EACH : 16) numbers { float of[EACH]; };

/* start + the sum of weights `apart` times what they belong to. */
template <int EACH>
static __device__ numbers<EACH> product(const float *weight, int64_t apart, const numbers<EACH> *by,
                                        int count, float start) {
  numbers<EACH> sum;
#pragma unroll
  for (int r = 0; r < EACH; r++) sum.of[r] = start;
#pragma unroll 8
  for (int k = 0; k < count; k++) {
    const float factor = __ldg(weight + k * apart);
    const numbers<EACH> value = by[k];
#pragma unroll
    for (int r = 0; r < EACH; r++) sum.of[r] = fmaf(factor, value.of[r], sum.of[r]);
  }
  return sum;
}

/* A block's memory. */
template <int EACH, bool SHARED> static __device__ numbers<EACH> *work_of(const gru &of) {
  extern __shared__ float4 shared[];
  return (numbers<EACH> *)(SHARED ? (float *)shared : of.work + blockIdx.x * of.work_floats);
}

/* Step t of x; zeros behind the last row. */
template <int EACH> static __device__ void input_read(const gru &of, int t, numbers<EACH> *input) {
  for (int i = threadIdx.x; i < of.channels * EACH; i += blockDim.x) {
    const int r = i / of.channels, channel = i - r * of.channels;
    const int64_t row = (int64_t)blockIdx.x * EACH + r;
    input[channel].of[r] = row < of.rows ? of.x[(row * of.channels + channel) * of.length + t] : 0;
  }
}

/* Of a unit and a row of the block: the state after step t. sums: what r and z take in all, then m,
 * then what n takes of x. */
template <int EACH>
static __device__ void state_move(const gru &of, int t, int unit, int r, const numbers<EACH> *sums,
                                  numbers<EACH> *state) {
  const int units = of.units;
  const int64_t row = (int64_t)blockIdx.x * EACH + r;
  const float reset = ep_sigmoid(sums[RESET * units + unit].of[r]);
  const float update = ep_sigmoid(sums[UPDATE * units + unit].of[r]);
  const float m = sums[NEW * units + unit].of[r];
  const float fresh = tanhf(fmaf(reset, m, sums[GATES * units + unit].of[r]));
  const float value = (1 - update) * fresh + update * state[unit].of[r];
  state[unit].of[r] = value;
  if (row >= of.rows) return;
  of.y[(row * units + unit) * of.length + t] = value;
  if (!of.saved) return;
  float *to = of.saved + (row * of.length + t) * SAVED * units + unit;
  to[RESET * units] = reset;
  to[UPDATE * units] = update;
  to[NEW * units] = fresh;
  to[PRODUCT * units] = m;
}

template <int EACH, bool SHARED>
static __global__ void __launch_bounds__(THREADS_MOST) forward(gru of) {
  const int units = of.units, gates = GATES * units;
  numbers<EACH> *const state = work_of<EACH, SHARED>(of);
  numbers<EACH> *const input = state + units, *const sums = input + of.channels;
  for (int i = threadIdx.x; i < units; i += blockDim.x) state[i] = {};
  input_read(of, 0, input);
  __syncthreads();
  for (int t = 0; t < of.length; t++) {
    for (int at = threadIdx.x; at < gates; at += blockDim.x) {
      const float input_bias = of.weight[INPUT_BIAS] ? of.weight[INPUT_BIAS][at] : 0;
      const float state_bias = of.weight[STATE_BIAS] ? of.weight[STATE_BIAS][at] : 0;
      numbers<EACH> by_state = product(of.turned[BY_STATE] + at, gates, state, units, state_bias);
      const numbers<EACH> by_input =
          product(of.turned[BY_INPUT] + at, gates, input, of.channels, input_bias);
      if (at < NEW * units)
        for (int r = 0; r < EACH; r++) by_state.of[r] += by_input.of[r];
      else
        sums[units + at] = by_input;
      sums[at] = by_state;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < units * EACH; i += blockDim.x)
      state_move(of, t, i % units, i / units, sums, state);
    if (t + 1 < of.length) input_read(of, t + 1, input);
    __syncthreads();
  }
}

/* Of a unit and a row of the block: `grad` by its state after step t becomes gradients by what the
 * gates take, which are saved. of_state: the same by what they take of the state, [GATES, units].
 * Returns the gradient by the state before, as far as it is kept. */
template <int EACH>
static __device__ float gates_backward(const gru &of, int t, int unit, int r, float grad,
                                       numbers<EACH> *of_state) {
  const int units = of.units;
  const int64_t row = (int64_t)blockIdx.x * EACH + r;
  const float *y = of.y + (row * units + unit) * of.length + t;
  float *saved = of.saved + (row * of.length + t) * SAVED * units + unit;
  const float reset = saved[RESET * units], update = saved[UPDATE * units];
  const float fresh = saved[NEW * units], m = saved[PRODUCT * units];
  const float before = t > 0 ? y[-1] : 0;
  const float by_new = grad * (1 - update) * (1 - fresh * fresh);
  const float by_reset = by_new * m * reset * (1 - reset);
  const float by_update = grad * (before - fresh) * update * (1 - update);
  saved[RESET * units] = of_state[RESET * units + unit].of[r] = by_reset;
  saved[UPDATE * units] = of_state[UPDATE * units + unit].of[r] = by_update;
  saved[NEW * units] = by_new;
  saved[PRODUCT * units] = of_state[NEW * units + unit].of[r] = by_new * reset;
  return grad * update;
}

template <int EACH, bool SHARED>
static __global__ void __launch_bounds__(THREADS_MOST) backward(gru of) {
  const int units = of.units, gates = GATES * units;
  numbers<EACH> *const kept = work_of<EACH, SHARED>(of); /* [units] */
  numbers<EACH> *const parts = kept + units;             /* [GATES, units]: what comes by each */
  numbers<EACH> *const of_state = parts + gates;
  for (int i = threadIdx.x; i < GATES * gates - 2 * units; i += blockDim.x) kept[i] = {};
  __syncthreads();
  for (int t = of.length - 1; t >= 0; t--) {
    for (int i = threadIdx.x; i < units * EACH; i += blockDim.x) {
      const int r = i / units, unit = i - r * units;
      const int64_t row = (int64_t)blockIdx.x * EACH + r;
      if (row >= of.rows) continue; /* zeros */
      float grad = of.grad[(row * units + unit) * of.length + t] + kept[unit].of[r];
      for (int gate = 0; gate < GATES; gate++) grad += parts[gate * units + unit].of[r];
      kept[unit].of[r] = gates_backward(of, t, unit, r, grad, of_state);
    }
    if (t == 0) break;
    __syncthreads();
    for (int at = threadIdx.x; at < gates; at += blockDim.x) {
      const int first = at / units * units; /* the gate's */
      const float *weight = of.weight[BY_STATE] + (int64_t)first * units + (at - first);
      parts[at] = product(weight, units, of_state + first, units, 0);
    }
    __syncthreads();
  }
}

typedef void steps_kernel(gru of);

static steps_kernel *kernel_of(bool back, bool shared, int each) {
  if (!shared) return back ? backward<1, false> : forward<1, false>;
  switch (each) {
  case 1: return back ? backward<1, true> : forward<1, true>;
  case 2: return back ? backward<2, true> : forward<2, true>;
  case 4: return back ? backward<4, true> : forward<4, true>;
  default: return back ? backward<8, true> : forward<8, true>;
  }
}

static cudaError_t steps_run(const ep_cuda_call *call, const gru &of, bool back) {
  const bool shared = is_shared(call->op);
  const int gates = GATES * of.units;
  const int threads = gates < THREADS_MOST ? (gates + WARP - 1) / WARP * WARP : THREADS_MOST;
  int each = EACH_MOST; /* rows of a block */
  while (each > 1 && (of.rows < (int64_t)each * BLOCKS_ENOUGH || !shared ||
                      each * of.work_floats > SHARED_FLOATS))
    each /= 2;
  const unsigned int blocks = (unsigned int)((of.rows + each - 1) / each);
  const size_t bytes = shared ? (size_t)(each * of.work_floats) * sizeof(float) : 0;
  steps_kernel *const kernel = kernel_of(back, shared, each);
  kernel<<<blocks, threads, bytes, call->stream>>>(of);
  return cudaGetLastError();
}

/* --- products by tiles --------------------------------------------------------------------- */

/* A part of two factors: the sums over k of a line's and a column's numbers. A warp has LINES lines
 * of a tile, a lane one column. */
enum { LINES = TILE / TILE_WARPS };

typedef struct {
  float4 lines[TILE][TILE / 4 + 1];
  float columns[TILE][TILE + 1];
} tile_factors;

static __device__ void line_put(tile_factors *tile, int k, int line, float value) {
  ((float *)tile->lines[k])[line] = value;
}

static __device__ void tile_add(const tile_factors &tile, float (&sum)[LINES]) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll 8
  for (int k = 0; k < TILE; k++) {
    const float4 line = tile.lines[k][warp];
    const float column = tile.columns[k][lane];
    sum[0] = fmaf(line.x, column, sum[0]);
    sum[1] = fmaf(line.y, column, sum[1]);
    sum[2] = fmaf(line.z, column, sum[2]);
    sum[3] = fmaf(line.w, column, sum[3]);
  }
}

/* A block a tile of the gradient by one weight: lines are gates, columns what they are multiplied
 * with, and at the end a bias's ones. k: steps of a slice's rows. The first `input_blocks` have the
 * weight by input. */
static __global__ void __launch_bounds__(TILE_THREADS) weights(gru of, unsigned int input_blocks) {
  __shared__ tile_factors tile;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const bool by_state = blockIdx.x >= input_blocks;
  const int columns = by_state ? of.units : of.channels, lines = GATES * of.units;
  const int64_t first_column = (int64_t)(blockIdx.x - (by_state ? input_blocks : 0)) * TILE;
  const int first_line = blockIdx.y * TILE, gate = (first_line + lane) / of.units;
  const int moved = by_state && gate == NEW ? of.units : 0; /* by m, which is behind n */
  int64_t first, last;
  slice_rows(of.rows, blockIdx.z, gridDim.z, &first, &last);
  const int64_t depth = (last - first) * of.length, step = (int64_t)SAVED * of.units;
  const float *changes = of.saved + first * of.length * step + moved + first_line + lane;
  const float *values = by_state ? of.y : of.x;
  float sum[LINES] = {};
  for (int64_t begin = 0; begin < depth; begin += TILE) {
    __syncthreads(); /* the tile may still be read */
    for (int i = warp; i < TILE; i += TILE_WARPS) {
      const bool exists = first_line + lane < lines && begin + i < depth;
      line_put(&tile, i, lane, exists ? changes[(begin + i) * step] : 0);
    }
    const int64_t k = begin + lane, row = first + k / of.length, t = k % of.length - by_state;
    for (int i = warp; i < TILE; i += TILE_WARPS) {
      const int64_t column = first_column + i;
      float value = column == columns;
      if (column < columns && k < depth && t >= 0)
        value = values[(row * columns + column) * of.length + t];
      tile.columns[lane][i] = value;
    }
    __syncthreads();
    tile_add(tile, sum);
  }
  const int64_t column = first_column + lane;
  const int64_t place = of.place[by_state ? BY_STATE : BY_INPUT];
  const int64_t bias = of.place[by_state ? STATE_BIAS : INPUT_BIAS];
  float *gradient = of.gradient + blockIdx.z * of.parameters;
  for (int i = 0; i < LINES; i++) {
    const int64_t line = first_line + warp * LINES + i;
    if (line >= lines) break;
    if (column < columns) gradient[place + line * columns + column] = sum[i];
    if (column == columns && bias >= 0) gradient[bias + line] = sum[i];
  }
}

/* A block a tile of the gradient by x: lines are channels, columns steps of all rows. k: gates. */
static __global__ void __launch_bounds__(TILE_THREADS) inputs(gru of) {
  __shared__ tile_factors tile;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, gates = GATES * of.units;
  const int64_t steps = of.rows * of.length, first_step = (int64_t)blockIdx.x * TILE;
  const int64_t own = first_step + lane, row = own / of.length, t = own % of.length;
  for (int64_t first = (int64_t)blockIdx.y * TILE; first < of.channels;
       first += (int64_t)gridDim.y * TILE) {
    float sum[LINES] = {};
    for (int begin = 0; begin < gates; begin += TILE) {
      __syncthreads(); /* the tile may still be read */
      for (int i = warp; i < TILE; i += TILE_WARPS) {
        const bool exists = first + lane < of.channels && begin + i < gates;
        const int64_t at = (int64_t)(begin + i) * of.channels + first + lane;
        line_put(&tile, i, lane, exists ? of.weight[BY_INPUT][at] : 0);
      }
      for (int i = warp; i < TILE; i += TILE_WARPS) {
        const bool exists = first_step + i < steps && begin + lane < gates;
        const int64_t at = (first_step + i) * SAVED * of.units + begin + lane;
        tile.columns[lane][i] = exists ? of.saved[at] : 0;
      }
      __syncthreads();
      tile_add(tile, sum);
    }
    for (int i = 0; i < LINES; i++) {
      const int64_t channel = first + warp * LINES + i;
      if (channel < of.channels && own < steps)
        of.grad_x[(row * of.channels + channel) * of.length + t] = sum[i];
    }
  }
}

/* --- row ----------------------------------------------------------------------------------- */

static unsigned int tiles_of(int64_t count) {
  return (unsigned int)((count + TILE - 1) / TILE);
}

/* Behind what the pass's blocks work with. */
static float *saved_of(const ep_cuda_call *call, const gru &of) {
  return of.work + (is_shared(call->op) ? 0 : call->rows * of.work_floats);
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  gru of = gru_of(call);
  if (call->training) of.saved = saved_of(call, of);
  const int widest = of.channels > of.units ? of.channels : of.units;
  const dim3 blocks(tiles_of(widest), tiles_of(GATES * of.units), 2);
  turn<<<blocks, TILE_THREADS, 0, call->stream>>>(of);
  const cudaError_t code = cudaGetLastError();
  return code == cudaSuccess ? steps_run(call, of, false) : code;
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  gru of = gru_of(call);
  of.saved = saved_of(call, of);
  cudaError_t code = steps_run(call, of, true);
  if (code == cudaSuccess && of.gradient) {
    const unsigned int input_blocks = tiles_of((int64_t)of.channels + 1);
    const dim3 blocks(input_blocks + tiles_of(of.units + 1), tiles_of(GATES * of.units),
                      (unsigned int)call->slices);
    weights<<<blocks, TILE_THREADS, 0, call->stream>>>(of, input_blocks);
    code = cudaGetLastError();
  }
  if (code == cudaSuccess && of.grad_x) {
    const unsigned int most = 65535, across = tiles_of(of.channels);
    const dim3 blocks(tiles_of(of.rows * of.length), across < most ? across : most);
    inputs<<<blocks, TILE_THREADS, 0, call->stream>>>(of);
    code = cudaGetLastError();
  }
  return code;
}

/* The weights, turned; what blocks work with where it is not shared; the gates of the steps. */
static int64_t saved_floats(const ep_op *op, int64_t rows, int64_t batch) {
  const int64_t work = is_shared(op) ? 0 : rows * work_floats_of(op);
  return turned_floats_of(op) + work + batch * SAVED * op->out_features;
}

/* Steps of a slice, and weights of all slices together. */
enum { SLICE_STEPS = 2048, SLICED_WEIGHTS_MAX = 1 << 22 };

static int slices_of(const ep_op *op, int64_t batch) {
  const int64_t each = op->in.width < SLICE_STEPS ? SLICE_STEPS / op->in.width : 1;
  const int64_t slices = ep_cuda_row_slices(batch, each);
  const int64_t most = SLICED_WEIGHTS_MAX / turned_floats_of(op);
  const int64_t wanted = slices < most ? slices : most;
  return wanted > 1 ? (int)wanted : 1;
}

EP_CUDA_OPERATOR(GRU, forward_run, backward_run, APART, saved_floats, slices_of);
