/* layers.cuh: the kernel of cuda/grid, compiled at run time for one program: all steps of a segment
 * in one launch, by blocks that stay. A step is a row of phases with a barrier after each:
 *
 *   chain     the thin layers at the front, forward: eight rows a block
 *   forward   each wide layer: 16 outputs and some rows a block, its warps share out the inputs
 *   head      the last layer, the loss, and the gradient by the last layer's input: a row a warp
 *   backward  each wide layer: the gradient by its input; and the weights of the layer behind it,
 *             which nobody needs any more, are summed and updated: 32 by 32 a warp
 *   back      the thin layers, backward: partial sums of eight rows a block
 *   thin      those partial sums, added and the thin layers updated
 *
 * Products run on tensor cores: TF32 once, or three times on the halves of a float32, which keeps
 * its precision. "resident_program.h" is made from the program: see program.c. */
#include "kernels/cuda/grid/span.h"
#include "kernels/formulas/losses.h"
#include "resident_program.h"

typedef ep_grid_span span;

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;
constexpr int GROUP = 8; /* rows of a tile */
constexpr int TILES = (BATCH_ROWS + GROUP - 1) / GROUP, ROWS = TILES * GROUP;
constexpr int LAST = LAYERS - 1;

/* --- where things lie in the scratch --------------------------------------------------------- */

/* Of layer l's output: before the activation, after it, and the gradient by the first:
 * [ROWS, out] each. The last layer has the gradient alone. */
constexpr long long layer_at(int l) {
  long long at = 0;
  for (int i = 0; i < l; i++) at += 3ll * ROWS * ((layer(i).out + 3) / 4 * 4);
  return at;
}
constexpr long long rows_at() {
  return layer_at(LAYERS);
} /* loss, errors: [2, ROWS] */
constexpr long long partials_at() {
  return rows_at() + 2 * ROWS;
}

constexpr int stride_of(int l) {
  return (layer(l).out + 3) / 4 * 4;
}
static __device__ __forceinline__ float *before_of(const span &s, int l) {
  return s.scratch + layer_at(l);
}
static __device__ __forceinline__ float *after_of(const span &s, int l) {
  return s.scratch + layer_at(l) + (long long)ROWS * stride_of(l);
}
static __device__ __forceinline__ float *grad_of(const span &s, int l) {
  return s.scratch + layer_at(l) + 2ll * ROWS * stride_of(l);
}

constexpr int thin_parameters() {
  int count = 0;
  for (int l = 0; l < THIN; l++)
    count += layer(l).out * layer(l).in + (layer(l).bias >= 0 ? layer(l).out : 0);
  return count;
}
constexpr int THIN_PARAMETERS = thin_parameters(); /* the first of all parameters */
/* Rows of thin layers in shared memory: input, then before, after, gradient of each layer. */
constexpr int thin_row_at(int l) {
  int at = THIN > 0 ? IN : 0;
  for (int i = 0; i < l; i++) at += 3 * layer(i).out;
  return at;
}
constexpr int THIN_ROW = thin_row_at(THIN);

/* The step at hand, the same in all threads. */
struct now {
  int rows; /* of the batch */
  float scale;
  ep_optimizer optimizer;
  ep_optimizer_step update;
};

struct shared_memory {
  int order[ROWS]; /* this batch's rows in the training set */
  float thin_weights[THIN_PARAMETERS > 0 ? THIN_PARAMETERS : 1];
  float thin_rows[THIN > 0 ? GROUP *THIN_ROW : 1];
  float sums[REDUCTION]; /* [WARPS, …] */
};

/* --- the barrier ----------------------------------------------------------------------------- */

static __device__ __forceinline__ void blocks_wait(const span &s, unsigned &turn) {
  if constexpr (CLUSTER) {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
  } else {
    turn += BLOCKS;
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned seen;
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(s.barrier) : "memory");
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(s.barrier)
                     : "memory");
      } while ((int)(seen - turn) < 0);
    }
    __syncthreads();
  }
}

/* --- products -------------------------------------------------------------------------------- */

struct part {
  unsigned high, low;
};

static __device__ __forceinline__ unsigned tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

static __device__ __forceinline__ part part_of(float value) {
  part p = {tf32(value), 0};
  if constexpr (PRECISE) p.low = tf32(value - __uint_as_float(p.high));
  return p;
}

static __device__ __forceinline__ void multiply_once(float (&c)[4], unsigned a0, unsigned a1,
                                                     unsigned a2, unsigned a3, unsigned b0,
                                                     unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* c += a b: 16 by 8 by 8. */
static __device__ __forceinline__ void multiply(float (&c)[4], const part &a0, const part &a1,
                                                const part &a2, const part &a3, const part &b0,
                                                const part &b1) {
  if constexpr (PRECISE) {
    multiply_once(c, a0.low, a1.low, a2.low, a3.low, b0.high, b1.high);
    multiply_once(c, a0.high, a1.high, a2.high, a3.high, b0.low, b1.low);
  }
  multiply_once(c, a0.high, a1.high, a2.high, a3.high, b0.high, b1.high);
}

struct four {
  float of[4];
};

/* from[at … at + 3], zero from `count` on. ALIGNED: all four lie together, on 16 bytes. */
template <bool ALIGNED>
static __device__ __forceinline__ four load_four(const float *from, int at, int count) {
  four f = {{0, 0, 0, 0}};
  if constexpr (ALIGNED) {
    if (at < count) {
      float4 v = *(const float4 *)(from + at);
      f = {{v.x, v.y, v.z, v.w}};
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (at + i < count) f.of[i] = from[at + i];
  }
  return f;
}

constexpr bool aligned(int l) {
  return layer(l).in % 4 == 0 && layer(l).weight % 4 == 0;
}

/* The row of layer l's input: a batch's of the training set, or of the layer before. */
template <int L>
static __device__ __forceinline__ const float *input_row(const span &s, const shared_memory &m,
                                                         int row) {
  if constexpr (L == 0)
    return s.x + (long long)m.order[row] * IN;
  else
    return after_of(s, L - 1) + (long long)row * stride_of(L - 1);
}
template <int L> constexpr bool input_aligned() {
  return L > 0 || IN % 4 == 0;
}

static __device__ __forceinline__ ep_op activation_of(const resident_layer &of) {
  ep_op op = {};
  op.type = of.activation;
  op.negative_slope = of.negative_slope;
  op.alpha = of.alpha;
  op.beta = of.beta;
  op.threshold = of.threshold;
  return op;
}

/* Into how many chunks of tiles the rows are cut for `work` pieces of a block each. */
constexpr int chunk_tiles(int work) {
  int chunks = 1;
  while (chunks < TILES && work * chunks * 2 <= BLOCKS + BLOCKS / 4) chunks *= 2;
  int tiles = (TILES + chunks - 1) / chunks;
  return tiles < TILES_MAX ? tiles : TILES_MAX;
}

constexpr int SUM_STRIDE = 20; /* of 16 outputs: no two of a warp's stores meet in a bank */

/* Adds the warps' accumulators for each output o and row n of a piece, and calls use(o, n, sum). */
template <int M, int T, typename Use>
static __device__ __forceinline__ void warps_add(shared_memory &m, const float (&c)[M][T][4],
                                                 Use use) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  constexpr int SIZE = M * T * GROUP * SUM_STRIDE;
  float *mine = m.sums + warp * SIZE;
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < T; j++) {
      float *at = mine + ((i * T + j) * GROUP + 2 * t) * SUM_STRIDE + g;
      at[0] = c[i][j][0];
      at[SUM_STRIDE] = c[i][j][1];
      at[8] = c[i][j][2];
      at[SUM_STRIDE + 8] = c[i][j][3];
    }
  __syncthreads();
  for (int e = threadIdx.x; e < M * T * GROUP * 16; e += THREADS) {
    int o = e % 16, n = e / 16 % (T * GROUP), i = e / (16 * T * GROUP);
    const float *at = m.sums + (i * T * GROUP + n) * SUM_STRIDE + o;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += at[w * SIZE];
    use(i, o, n, sum);
  }
  __syncthreads();
}

template <int L> static __device__ void forward(const span &s, shared_memory &m) {
  constexpr resident_layer OF = layer(L);
  constexpr int PIECES = (OF.out + 15) / 16, T = chunk_tiles(PIECES), CHUNKS = (TILES + T - 1) / T;
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  const float *weights = s.parameters + OF.weight;
  for (int task = blockIdx.x; task < PIECES * CHUNKS; task += BLOCKS) {
    int o = task % PIECES * 16, tile = task / PIECES * T;
    float c[1][T][4] = {};
    const float *rows[T];
#pragma unroll
    for (int j = 0; j < T; j++) {
      int row = (tile + j) * GROUP + g;
      rows[j] = input_row<L>(s, m, row < ROWS ? row : ROWS - 1);
    }
    for (int k = warp * 16; k < OF.in; k += WARPS * 16) {
      four x[T], w0 = {}, w1 = {};
      if (o + g < OF.out) w0 = load_four<aligned(L)>(weights + (o + g) * OF.in, k + 4 * t, OF.in);
      if (o + g + 8 < OF.out)
        w1 = load_four<aligned(L)>(weights + (o + g + 8) * OF.in, k + 4 * t, OF.in);
#pragma unroll
      for (int j = 0; j < T; j++) x[j] = load_four<input_aligned<L>()>(rows[j], k + 4 * t, OF.in);
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        part a0 = part_of(w0.of[i]), a1 = part_of(w1.of[i]), a2 = part_of(w0.of[i + 1]),
             a3 = part_of(w1.of[i + 1]);
#pragma unroll
        for (int j = 0; j < T; j++)
          multiply(c[0][j], a0, a1, a2, a3, part_of(x[j].of[i]), part_of(x[j].of[i + 1]));
      }
    }
    const ep_op about = activation_of(OF);
    float *before = before_of(s, L), *after = after_of(s, L);
    warps_add(m, c, [&](int, int at, int n, float sum) {
      int row = tile * GROUP + n;
      if (o + at >= OF.out || row >= ROWS) return;
      float z = sum + (OF.bias >= 0 ? s.parameters[OF.bias + o + at] : 0);
      long long place = (long long)row * stride_of(L) + o + at;
      before[place] = z;
      after[place] = ep_activation(&about, z);
    });
  }
}

/* The gradient by layer L's input, times the derivative of the activation before it. */
template <int L> static __device__ void backward(const span &s, shared_memory &m) {
  constexpr resident_layer OF = layer(L), BEFORE = layer(L - 1);
  constexpr int PIECES = (OF.in + 31) / 32,
                T = chunk_tiles(PIECES) < TILES_MAX / 2 ? chunk_tiles(PIECES) : TILES_MAX / 2,
                CHUNKS = (TILES + T - 1) / T;
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  const float *weights = s.parameters + OF.weight, *grad = grad_of(s, L);
  for (int task = blockIdx.x; task < PIECES * CHUNKS; task += BLOCKS) {
    int k = task % PIECES * 32, tile = task / PIECES * T;
    float c[2][T][4] = {};
    for (int o = warp * 16; o < OF.out; o += WARPS * 16) {
      four w[4], z[T];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        w[i] = {};
        if (o + 4 * t + i < OF.out)
          w[i] = load_four<aligned(L)>(weights + (o + 4 * t + i) * OF.in, k + 4 * g, OF.in);
      }
#pragma unroll
      for (int j = 0; j < T; j++) {
        int row = (tile + j) * GROUP + g;
        z[j] = load_four<OF.out % 4 == 0>(
            grad + (long long)(row < ROWS ? row : ROWS - 1) * stride_of(L), o + 4 * t, OF.out);
      }
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        part b0[T], b1[T];
#pragma unroll
        for (int j = 0; j < T; j++) b0[j] = part_of(z[j].of[i]), b1[j] = part_of(z[j].of[i + 1]);
#pragma unroll
        for (int h = 0; h < 2; h++) {
          part a0 = part_of(w[i].of[2 * h]), a1 = part_of(w[i].of[2 * h + 1]),
               a2 = part_of(w[i + 1].of[2 * h]), a3 = part_of(w[i + 1].of[2 * h + 1]);
#pragma unroll
          for (int j = 0; j < T; j++) multiply(c[h][j], a0, a1, a2, a3, b0[j], b1[j]);
        }
      }
    }
    const ep_op about = activation_of(BEFORE);
    const float *z = before_of(s, L - 1), *y = after_of(s, L - 1);
    float *to = grad_of(s, L - 1);
    warps_add(m, c, [&](int h, int at, int n, float sum) {
      int row = tile * GROUP + n, column = k + 4 * (at % 8) + 2 * h + at / 8;
      if (column >= OF.in || row >= ROWS) return;
      long long place = (long long)row * stride_of(L - 1) + column;
      to[place] = sum * ep_activation_derivative(&about, z[place], y[place]);
    });
  }
}

/* --- updates --------------------------------------------------------------------------------- */

static __device__ __forceinline__ void parameter_update(const span &s, const now &n, float decay,
                                                        long long at, float grad) {
  float *state = SLOTS > 0 ? s.state + at : nullptr;
  s.parameters[at] = ep_optimizer_update(&n.optimizer, &n.update, decay, s.parameters[at],
                                         ep_clip(&n.optimizer, 1, grad), state, PARAMETERS);
}

static __device__ __forceinline__ void store_four(float *to, const four &f) {
  *(float4 *)to = make_float4(f.of[0], f.of[1], f.of[2], f.of[3]);
}

/* Weights [output, input … input + 3] of layer L. */
template <int L>
static __device__ __forceinline__ void four_update(const span &s, const now &n, int output,
                                                   int input, const four &grad) {
  constexpr resident_layer OF = layer(L);
  int at = OF.weight + output * OF.in + input;
  if constexpr (aligned(L) && PARAMETERS % 4 == 0) {
    if (input >= OF.in) return;
    four w = load_four<true>(s.parameters, at, PARAMETERS), slots[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      slots[slot] = load_four<true>(s.state, slot * PARAMETERS + at, SLOTS * PARAMETERS);
#pragma unroll
    for (int i = 0; i < 4; i++)
      w.of[i] = ep_optimizer_update(&n.optimizer, &n.update, s.weight_decay[L], w.of[i],
                                    ep_clip(&n.optimizer, 1, grad.of[i]), &slots[0].of[i], 4);
    store_four(s.parameters + at, w);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      store_four(s.state + slot * PARAMETERS + at, slots[slot]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (input + i < OF.in) parameter_update(s, n, s.weight_decay[L], at + i, grad.of[i]);
  }
}

/* 32 by 32 of layer L's weights: the gradient summed over all rows, and the update. */
template <int L>
static __device__ void weights_tile(const span &s, const shared_memory &m, const now &n, int o,
                                    int k) {
  constexpr resident_layer OF = layer(L);
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const float *grad = grad_of(s, L);
  float c[2][4][4] = {};
#pragma unroll 2
  for (int row = 0; row < ROWS; row += GROUP) {
    four z0 =
        load_four<OF.out % 4 == 0>(grad + (long long)(row + t) * stride_of(L), o + 4 * g, OF.out);
    four z1 = load_four<OF.out % 4 == 0>(grad + (long long)(row + t + 4) * stride_of(L), o + 4 * g,
                                         OF.out);
    four x0 = load_four<input_aligned<L>()>(input_row<L>(s, m, row + t), k + 4 * g, OF.in);
    four x1 = load_four<input_aligned<L>()>(input_row<L>(s, m, row + t + 4), k + 4 * g, OF.in);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      part a0 = part_of(z0.of[2 * h]), a1 = part_of(z0.of[2 * h + 1]), a2 = part_of(z1.of[2 * h]),
           a3 = part_of(z1.of[2 * h + 1]);
#pragma unroll
      for (int j = 0; j < 4; j++)
        multiply(c[h][j], a0, a1, a2, a3, part_of(x0.of[j]), part_of(x1.of[j]));
    }
  }
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int output = o + 4 * g + 2 * h + i;
      if (output >= OF.out) continue;
#pragma unroll
      for (int q = 0; q < 2; q++) {
        four sum = {
            {c[h][0][2 * i + q], c[h][1][2 * i + q], c[h][2][2 * i + q], c[h][3][2 * i + q]}};
        four_update<L>(s, n, output, k + 8 * t + 4 * q, sum);
      }
    }
}

/* The weights and biases of layer L, by the warps that have nothing else to do. */
template <int L>
static __device__ void layer_update(const span &s, const shared_memory &m, const now &n) {
  constexpr resident_layer OF = layer(L);
  constexpr int DOWN = (OF.out + 31) / 32, RIGHT = (OF.in + 31) / 32,
                BIASES = OF.bias >= 0 ? DOWN : 0;
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  /* Backwards over the blocks: the first ones have more of the gradient by the input to do. */
  int first = warp * BLOCKS + (BLOCKS - 1 - (int)blockIdx.x);
  for (int task = first; task < DOWN * RIGHT + BIASES; task += WARPS * BLOCKS) {
    if (task < DOWN * RIGHT) {
      if (s.weight_decay[L] >= 0) weights_tile<L>(s, m, n, task / RIGHT * 32, task % RIGHT * 32);
      continue;
    }
    int output = (task - DOWN * RIGHT) * 32 + lane;
    if (output >= OF.out || s.bias_decay[L] < 0) continue;
    float sum = 0;
#pragma unroll 8
    for (int row = 0; row < ROWS; row++)
      sum += grad_of(s, L)[(long long)row * stride_of(L) + output];
    parameter_update(s, n, s.bias_decay[L], OF.bias + output, sum);
  }
}

/* --- the last layer and the loss -------------------------------------------------------------- */

static __device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(ALL, value, distance);
  return value;
}

/* The loss of a row of outputs; output becomes the gradient by it. Every lane does the same. */
static __device__ __forceinline__ void row_loss(const span &s, const float *target, float scale,
                                                float (&output)[OUT], float &value, float &misses) {
  value = misses = 0;
  if constexpr (TAKES_CLASSES) {
    int label = __float_as_int(target[0]), place = 0;
    float greatest = output[0], sum = 0, power[OUT];
#pragma unroll
    for (int j = 1; j < OUT; j++)
      if (output[j] > greatest || (isnan(output[j]) && !isnan(greatest)))
        greatest = output[j], place = j;
    misses = place != label;
    if constexpr (LOSS == EP_LOSS_CROSS_ENTROPY) {
#pragma unroll
      for (int j = 0; j < OUT; j++) sum += power[j] = expf(output[j] - greatest);
      float log_sum = logf(sum);
#pragma unroll
      for (int j = 0; j < OUT; j++) {
        float t = ep_class_target(s.label_smoothing, OUT, label, 1.0f, j, 1.0f);
        if (t != 0) value += t * (log_sum + greatest - output[j]);
        output[j] = scale * (power[j] / sum - t);
      }
    } else {
#pragma unroll
      for (int j = 0; j < OUT; j++) {
        if (j == label) value = -output[j];
        output[j] = j == label ? -scale : 0.0f;
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < OUT; j++) {
      float z = output[j], y = target[j];
      value += ep_loss_value(LOSS, z, y, s.huber_delta);
      misses += ep_loss_misses(LOSS, z, y);
      output[j] = scale * ep_loss_derivative(LOSS, z, y, s.huber_delta);
    }
  }
}

static __device__ void head(const span &s, shared_memory &m, const now &n) {
  constexpr resident_layer OF = layer(LAST);
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const float *weights = s.parameters + OF.weight;
  const ep_op about = activation_of(OF),
              about_before = activation_of(layer(LAST > 0 ? LAST - 1 : 0));
  for (int row = warp * BLOCKS + blockIdx.x; row < ROWS; row += WARPS * BLOCKS) {
    float z[OUT] = {}, grad[OUT], value = 0, misses = 0;
    const float *x = input_row<LAST>(s, m, row);
    for (int k = lane; k < OF.in; k += WARP) {
      float of_x = x[k];
#pragma unroll
      for (int j = 0; j < OUT; j++) z[j] = fmaf(weights[j * OF.in + k], of_x, z[j]);
    }
#pragma unroll
    for (int j = 0; j < OUT; j++) {
      z[j] = warp_sum(z[j]) + (OF.bias >= 0 ? s.parameters[OF.bias + j] : 0);
      grad[j] = ep_activation(&about, z[j]);
    }
    float y[OUT];
#pragma unroll
    for (int j = 0; j < OUT; j++) y[j] = grad[j];
    if (row < n.rows)
      row_loss(s, s.y + (long long)m.order[row] * TARGETS, n.scale, grad, value, misses);
#pragma unroll
    for (int j = 0; j < OUT; j++) {
      grad[j] = row < n.rows ? grad[j] * ep_activation_derivative(&about, z[j], y[j]) : 0;
      if (lane == j % WARP) grad_of(s, LAST)[(long long)row * stride_of(LAST) + j] = grad[j];
    }
    if (lane == 0) {
      s.scratch[rows_at() + row] = value;
      s.scratch[rows_at() + ROWS + row] = misses;
    }
    if constexpr (LAST > 0) {
      const float *before = before_of(s, LAST - 1) + (long long)row * stride_of(LAST - 1);
      float *to = grad_of(s, LAST - 1) + (long long)row * stride_of(LAST - 1);
      for (int k = lane; k < OF.in; k += WARP) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < OUT; j++) sum = fmaf(weights[j * OF.in + k], grad[j], sum);
        to[k] = sum * ep_activation_derivative(&about_before, before[k], x[k]);
      }
    }
  }
}

/* --- the thin layers -------------------------------------------------------------------------- */

template <int L> static __device__ void thin_forward(const span &s, shared_memory &m, int group) {
  if constexpr (L < THIN) {
    constexpr resident_layer OF = layer(L);
    const ep_op about = activation_of(OF);
    constexpr int FROM = L == 0 ? 0 : thin_row_at(L > 0 ? L - 1 : 0) + layer(L > 0 ? L - 1 : 0).out;
    for (int e = threadIdx.x; e < GROUP * OF.out; e += THREADS) {
      int row = e % GROUP, o = e / GROUP;
      const float *x = m.thin_rows + row * THIN_ROW + FROM,
                  *w = m.thin_weights + OF.weight + o * OF.in;
      float z = OF.bias >= 0 ? m.thin_weights[OF.bias + o] : 0;
#pragma unroll 8
      for (int k = 0; k < OF.in; k++) z = fmaf(w[k], x[k], z);
      float y = ep_activation(&about, z);
      float *to = m.thin_rows + row * THIN_ROW + thin_row_at(L) + o;
      to[0] = z;
      to[OF.out] = y;
      if constexpr (L == THIN - 1) {
        long long place = (long long)(group * GROUP + row) * stride_of(L) + o;
        before_of(s, L)[place] = z;
        after_of(s, L)[place] = y;
      }
    }
    __syncthreads();
    thin_forward<L + 1>(s, m, group);
  }
}

static __device__ void chain(const span &s, shared_memory &m) {
  for (int i = threadIdx.x; i < THIN_PARAMETERS; i += THREADS) m.thin_weights[i] = s.parameters[i];
  for (int group = blockIdx.x; group < TILES; group += BLOCKS) {
    for (int e = threadIdx.x; e < GROUP * IN; e += THREADS)
      m.thin_rows[e / IN * THIN_ROW + e % IN] =
          s.x[(long long)m.order[group * GROUP + e / IN] * IN + e % IN];
    __syncthreads();
    thin_forward<0>(s, m, group);
  }
}

/* Layer L's partial sums over the group's rows, and the gradient by what came before. */
template <int L>
static __device__ void thin_backward(const span &s, shared_memory &m, float *partials) {
  if constexpr (L >= 0) {
    constexpr resident_layer OF = layer(L);
    constexpr int FROM = L == 0 ? 0 : thin_row_at(L > 0 ? L - 1 : 0) + layer(L > 0 ? L - 1 : 0).out;
    constexpr int GRAD = thin_row_at(L) + 2 * OF.out;
    for (int e = threadIdx.x; e < OF.out * OF.in + (OF.bias >= 0 ? OF.out : 0); e += THREADS) {
      bool bias = e >= OF.out * OF.in;
      int o = bias ? e - OF.out * OF.in : e / OF.in, k = e % OF.in;
      float sum = 0;
#pragma unroll
      for (int row = 0; row < GROUP; row++) {
        const float *of_row = m.thin_rows + row * THIN_ROW;
        sum = fmaf(of_row[GRAD + o], bias ? 1.0f : of_row[FROM + k], sum);
      }
      partials[bias ? OF.bias + o : OF.weight + e] = sum;
    }
    if constexpr (L > 0) {
      constexpr resident_layer BEFORE = layer(L > 0 ? L - 1 : 0);
      const ep_op about = activation_of(BEFORE);
      for (int e = threadIdx.x; e < GROUP * OF.in; e += THREADS) {
        int row = e % GROUP, k = e / GROUP;
        float *of_row = m.thin_rows + row * THIN_ROW, sum = 0;
#pragma unroll 8
        for (int o = 0; o < OF.out; o++)
          sum = fmaf(m.thin_weights[OF.weight + o * OF.in + k], of_row[GRAD + o], sum);
        float *at = of_row + thin_row_at(L - 1) + k;
        at[2 * BEFORE.out] = sum * ep_activation_derivative(&about, at[0], at[BEFORE.out]);
      }
    }
    __syncthreads();
    thin_backward<L - 1>(s, m, partials);
  }
}

/* The rows that a block took forward are still in its shared memory, but for the last group's when
 * it had several: then they are taken forward again. */
static __device__ void back(const span &s, shared_memory &m) {
  constexpr resident_layer OF = layer(THIN > 0 ? THIN - 1 : 0);
  for (int group = blockIdx.x; group < TILES; group += BLOCKS) {
    if constexpr (TILES > BLOCKS) {
      for (int e = threadIdx.x; e < GROUP * IN; e += THREADS)
        m.thin_rows[e / IN * THIN_ROW + e % IN] =
            s.x[(long long)m.order[group * GROUP + e / IN] * IN + e % IN];
      __syncthreads();
      thin_forward<0>(s, m, group);
    }
    for (int e = threadIdx.x; e < GROUP * OF.out; e += THREADS) {
      int row = e / OF.out, o = e % OF.out;
      m.thin_rows[row * THIN_ROW + thin_row_at(THIN - 1) + 2 * OF.out + o] =
          grad_of(s, THIN - 1)[(long long)(group * GROUP + row) * stride_of(THIN - 1) + o];
    }
    __syncthreads();
    thin_backward<THIN - 1>(s, m, s.scratch + partials_at() + (long long)group * THIN_PARAMETERS);
  }
}

template <int L> static __device__ __forceinline__ float thin_decay(const span &s, int at) {
  if constexpr (L >= THIN) {
    return -1;
  } else {
    constexpr resident_layer OF = layer(L);
    if (OF.bias >= 0 && at >= OF.bias && at < OF.bias + OF.out) return s.bias_decay[L];
    if (at >= OF.weight && at < OF.weight + OF.out * OF.in) return s.weight_decay[L];
    return thin_decay<L + 1>(s, at);
  }
}

static __device__ void thin_update(const span &s, const now &n) {
  const float *partials = s.scratch + partials_at();
  for (int at = blockIdx.x * THREADS + threadIdx.x; at < THIN_PARAMETERS; at += BLOCKS * THREADS) {
    float decay = thin_decay<0>(s, at), sum = 0;
#pragma unroll 13
    for (int group = 0; group < TILES; group++)
      sum += partials[(long long)group * THIN_PARAMETERS + at];
    if (decay >= 0) parameter_update(s, n, decay, at, sum);
  }
}

/* --- the steps ------------------------------------------------------------------------------- */

template <int L>
static __device__ void all_forward(const span &s, shared_memory &m, unsigned &turn) {
  if constexpr (L < LAST) {
    forward<L>(s, m);
    blocks_wait(s, turn);
    all_forward<L + 1>(s, m, turn);
  }
}

template <int L>
static __device__ void all_backward(const span &s, shared_memory &m, const now &n, unsigned &turn) {
  if constexpr (L > 0 && L >= THIN) {
    if constexpr (L < LAST) backward<L>(s, m);
    if constexpr (L < LAST) {
      layer_update<L + 1>(s, m, n);
      blocks_wait(s, turn);
    }
    all_backward<L - 1>(s, m, n, turn);
  }
}

static __device__ void loss_write(const span &s, const now &n, long long step) {
  if (blockIdx.x != 0 || threadIdx.x >= WARP) return;
  float loss = 0, errors = 0;
  for (int row = threadIdx.x; row < n.rows; row += WARP) {
    loss += s.scratch[rows_at() + row];
    errors += s.scratch[rows_at() + ROWS + row];
  }
  loss = warp_sum(loss);
  errors = warp_sum(errors);
  if (threadIdx.x != 0) return;
  s.loss[step] = loss / (float)(n.rows * (TAKES_CLASSES ? 1 : OUT));
  s.errors[step] = (int)errors;
}

/* This batch's rows; what lies beyond its end repeats its first. */
static __device__ void order_make(const span &s, shared_memory &m, long long epoch, int batch,
                                  int rows) {
  __shared__ ep_permutation permutation;
  if constexpr (SHUFFLES) {
    if (threadIdx.x == 0)
      permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, TRAIN_ROWS);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < ROWS; i += THREADS) {
    int row = batch * BATCH_ROWS + (i < rows ? i : 0);
    m.order[i] = SHUFFLES ? (int)ep_permutation_at(&permutation, row) : row;
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) grid(const __grid_constant__ span s) {
  extern __shared__ __align__(16) char memory[];
  shared_memory &m = *(shared_memory *)memory;
  now n;
  unsigned turn = 0;
  n.optimizer = s.optimizer;
  n.optimizer.type = OPTIMIZER;
  if (!CLIPS_VALUE) n.optimizer.clip_value = 0;
  if (!HAS_MOMENTUM) n.optimizer.momentum = 0;
  long long epoch = s.first_step / STEPS_PER_EPOCH;
  int batch = (int)(s.first_step % STEPS_PER_EPOCH);
  for (long long step = 0; step < s.steps; step++) {
    n.rows =
        batch == STEPS_PER_EPOCH - 1 ? TRAIN_ROWS - (STEPS_PER_EPOCH - 1) * BATCH_ROWS : BATCH_ROWS;
    n.scale = 1.0f / (float)(n.rows * (TAKES_CLASSES ? 1 : OUT));
    if constexpr (PLAIN_RATE) {
      float lr = s.lr[s.lr_count == 1 ? 0 : step];
      n.update = {lr, lr, 1, 1 - n.optimizer.beta1,
                  OPTIMIZER == EP_OPTIMIZER_RMSPROP ? 1 - n.optimizer.alpha
                                                    : 1 - n.optimizer.beta2};
    } else {
      n.update = s.update[step];
    }
    order_make(s, m, epoch, batch, n.rows);
    if constexpr (THIN > 0) {
      chain(s, m);
      blocks_wait(s, turn);
    }
    all_forward<THIN>(s, m, turn);
    head(s, m, n);
    blocks_wait(s, turn);
    loss_write(s, n, step);
    all_backward<LAST>(s, m, n, turn);
    /* The first of the wide layers, whose input's gradient, if wanted, is done. */
    if constexpr (THIN > 0) {
      back(s, m);
      layer_update<THIN>(s, m, n);
      blocks_wait(s, turn);
      thin_update(s, n);
    } else {
      layer_update<0>(s, m, n);
      if constexpr (LAST > 0) layer_update<1>(s, m, n);
    }
    blocks_wait(s, turn);
    if (++batch == STEPS_PER_EPOCH) {
      batch = 0;
      epoch++;
    }
  }
}
