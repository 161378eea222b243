/* layers.cuh: the layers of a tile of rows, there and back, by a block. All threads call. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_LAYERS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_LAYERS_CUH

#include "kernels/cuda/executors/fused/fragments.cuh"

constexpr int ROW_PIECES = TILE_ROWS / 16;
constexpr int OUTPUTS_PITCH = padded(OUT) + 2;

/* Where a layer's numbers lie: what layers of the same shape differ in, so that they share code. */
struct layer_offsets {
  int image, x, after; /* after: its outputs, or, of the last one, the network's */
  int slopes, slopes_before;
  int quads;
};

constexpr layer_offsets offsets_of(int l) {
  return {layer(l).image,
          layer(l).x,
          l + 1 < LAYERS ? layer(l + 1).x : LAST_AT,
          layer(l).slopes,
          l > 0 ? layer(l - 1).slopes : -1,
          layer(l).quads};
}

constexpr bool activations_alike(const fused_layer &a, const fused_layer &b) {
  return a.activation == b.activation && a.negative_slope == b.negative_slope &&
         a.alpha == b.alpha && a.beta == b.beta && a.threshold == b.threshold &&
         a.slopes < 0 == b.slopes < 0;
}

/* The first layer that is run by the same code as layer l. */
constexpr int like(int l) {
  for (int i = 0; i < l; i++) {
    if (layer(i).in != layer(l).in || layer(i).out != layer(l).out ||
        layer(i).bias < 0 != layer(l).bias < 0)
      continue;
    if (!activations_alike(layer(i), layer(l)) || (l == LAYERS - 1) != (i == LAYERS - 1)) continue;
    if (i > 0 && activations_alike(layer(i - 1), layer(l - 1))) return i;
  }
  return l;
}

/* The first layer whose activation is the same. */
constexpr int activated_like(int l) {
  for (int i = 0; i < l; i++)
    if (activations_alike(layer(i), layer(l))) return i;
  return l;
}

/* How the block's warps lie on pieces: down × across of them, each taking rows × columns. */
struct cut {
  int down, across, rows, columns;
};

constexpr cut cut_of(int rows, int columns) {
  cut best = {1, 1, rows, columns};
  int least = 1 << 30;
  for (int down = 1; down <= WARPS; down++) {
    int across = WARPS / down < columns ? WARPS / down : columns;
    if (down > rows) break;
    int r = parts_of(rows, down), c = parts_of(columns, across);
    int cost = r * c * 4 + r + c; /* products, and loads */
    if (cost < least) least = cost, best = {down, across, r, c};
  }
  return best;
}

/* A warp's pieces of a product's result. */
template <int ROWS, int COLUMNS> struct share {
  static constexpr cut C = cut_of(ROWS, COLUMNS);
  static constexpr bool EXACT_ROWS = C.rows * C.down == ROWS,
                        EXACT_COLUMNS = C.columns * C.across == COLUMNS;
  int row, column; /* the first piece */
  bool works;

  __device__ __forceinline__ explicit share(int warp) {
    row = warp / C.across * C.rows;
    column = warp % C.across * C.columns;
    works = warp < C.down * C.across;
  }
  __device__ __forceinline__ bool has_row(int i) const { return EXACT_ROWS || row + i < ROWS; }
  __device__ __forceinline__ bool has_column(int j) const {
    return EXACT_COLUMNS || column + j < COLUMNS;
  }
};

static __device__ __forceinline__ ep_op activation_of(const fused_layer &of) {
  return activation_of(of.activation, of);
}

/* Four numbers through an activation; slopes where they are kept. */
struct activated {
  float y[4], slope[4];
};

template <int L>
static __device__ __forceinline__ activated activate_here(float z0, float z1, float z2, float z3) {
  const ep_op activation = activation_of(layer(L));
  const float z[4] = {z0, z1, z2, z3};
  activated a;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    a.y[i] = ep_activation(&activation, z[i]);
    a.slope[i] = layer(L).slopes >= 0 ? ep_activation_derivative(&activation, z[i], a.y[i]) : 1;
  }
  return a;
}

/* The code of a long function once, not once for each register: else it fills the cache. */
template <int L>
static __device__ __noinline__ activated activate_there(float z0, float z1, float z2, float z3) {
  return activate_here<L>(z0, z1, z2, z3);
}

template <int L> static __device__ __forceinline__ activated activate(const float (&z)[4]) {
  constexpr ep_layer_type TYPE = layer(L).activation;
  if constexpr (TYPE == EP_LAYER_LINEAR || TYPE == EP_LAYER_RELU || TYPE == EP_LAYER_LEAKY_RELU)
    return activate_here<L>(z[0], z[1], z[2], z[3]);
  else
    return activate_there<activated_like(L)>(z[0], z[1], z[2], z[3]);
}

static __device__ __forceinline__ const float *biases_of(const fused_layer &of, int image) {
  return (const float *)(block_memory + image +
                         padded(of.out) * pitch_of(of.in) * (int)sizeof(number));
}

/* --- forward --------------------------------------------------------------------------------- */

/* The last layer leaves its outputs before the activation, as float32. */
template <int L> static __device__ __noinline__ void layer_forward(layer_offsets at) {
  constexpr fused_layer A = layer(L);
  constexpr int X_PITCH = pitch_of(A.in), Y_PITCH = pitch_of(A.out);
  typedef share<ROW_PIECES, padded(A.out) / 16> mine_type;
  constexpr int R = mine_type::C.rows, C = mine_type::C.columns;
  const mine_type mine((int)threadIdx.x / WARP);
  if (!mine.works) return;
  int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  const number *x = numbers_at(at.x), *weights = numbers_at(at.image);
  const float *biases = biases_of(A, at.image);
  float c[R][2 * C][4];
#pragma unroll
  for (int j = 0; j < 2 * C; j++) {
    float2 bias = make_float2(0, 0);
    if (A.bias >= 0 && mine.has_column(j / 2))
      bias = *(const float2 *)(biases + mine.column * 16 + 8 * j + 2 * t);
#pragma unroll
    for (int i = 0; i < R; i++) c[i][j][0] = c[i][j][2] = bias.x, c[i][j][1] = c[i][j][3] = bias.y;
  }
#pragma unroll(HALF ? 8 : 2)
  for (int k = 0; k < padded(A.in); k += 16) {
    left a[R];
#pragma unroll
    for (int i = 0; i < R; i++)
      if (mine.has_row(i)) a[i] = left_rows<X_PITCH>(x, (mine.row + i) * 16, k);
#pragma unroll
    for (int j = 0; j < C; j++) {
      if (!mine.has_column(j)) continue;
      right b[2];
      right_rows<X_PITCH>(b, weights, (mine.column + j) * 16, k);
#pragma unroll
      for (int i = 0; i < R; i++) {
        multiply(c[i][2 * j], a[i], b[0]);
        multiply(c[i][2 * j + 1], a[i], b[1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < R; i++)
#pragma unroll
    for (int j = 0; j < 2 * C; j++) {
      if (!mine.has_row(i) || !mine.has_column(j / 2)) continue;
      int row = (mine.row + i) * 16 + g, column = mine.column * 16 + 8 * j + 2 * t;
      if constexpr (L == LAYERS - 1) {
        float *to = (float *)(block_memory + at.after) + row * OUTPUTS_PITCH + column;
        *(float2 *)to = make_float2(c[i][j][0], c[i][j][1]);
        *(float2 *)(to + 8 * OUTPUTS_PITCH) = make_float2(c[i][j][2], c[i][j][3]);
      } else {
        const activated a = activate<L>(c[i][j]);
#pragma unroll
        for (int q = 0; q < 4; q += 2) {
          pair_put(place_of<Y_PITCH>(numbers_at(at.after), row + q * 4, column), a.y[q],
                   a.y[q + 1]);
          if constexpr (A.slopes >= 0)
            pair_put(place_of<Y_PITCH>(numbers_at(at.slopes), row + q * 4, column), a.slope[q],
                     a.slope[q + 1]);
        }
      }
    }
}

/* --- back ------------------------------------------------------------------------------------ */

/* The gradient by a layer's input, times the slopes of the activation before it, in that input's
 * place. grads: where the gradient by the layer's output lies. Waits once for all, before it
 * writes. */
template <int L> static __device__ __noinline__ void layer_back(layer_offsets at, int grads) {
  constexpr fused_layer A = layer(L), BEFORE = layer(L - 1);
  constexpr int X_PITCH = pitch_of(A.in), Y_PITCH = pitch_of(A.out);
  typedef share<ROW_PIECES, padded(A.in) / 16> mine_type;
  constexpr int R = mine_type::C.rows, C = mine_type::C.columns;
  const mine_type mine((int)threadIdx.x / WARP);
  int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
  const number *grad = numbers_at(grads), *weights = numbers_at(at.image);
  float c[R][2 * C][4];
#pragma unroll
  for (int i = 0; i < R; i++)
#pragma unroll
    for (int j = 0; j < 2 * C; j++) c[i][j][0] = c[i][j][1] = c[i][j][2] = c[i][j][3] = 0;
  if (mine.works) {
#pragma unroll(HALF ? 8 : 2)
    for (int k = 0; k < padded(A.out); k += 16) {
      left a[R];
#pragma unroll
      for (int i = 0; i < R; i++)
        if (mine.has_row(i)) a[i] = left_rows<Y_PITCH>(grad, (mine.row + i) * 16, k);
#pragma unroll
      for (int j = 0; j < C; j++) {
        if (!mine.has_column(j)) continue;
        right b[2];
        right_columns<X_PITCH>(b, weights, k, (mine.column + j) * 16);
#pragma unroll
        for (int i = 0; i < R; i++) {
          multiply(c[i][2 * j], a[i], b[0]);
          multiply(c[i][2 * j + 1], a[i], b[1]);
        }
      }
    }
  }
  __syncthreads();
  if (!mine.works) return;
  const ep_op activation = activation_of(BEFORE);
#pragma unroll
  for (int i = 0; i < R; i++)
#pragma unroll
    for (int j = 0; j < 2 * C; j++)
#pragma unroll
      for (int q = 0; q < 4; q += 2) {
        if (!mine.has_row(i) || !mine.has_column(j / 2)) continue;
        int row = (mine.row + i) * 16 + g + q / 2 * 8, column = mine.column * 16 + 8 * j + 2 * t;
        number *to = place_of<X_PITCH>(numbers_at(at.x), row, column);
        float2 slope = make_float2(1, 1);
        if constexpr (BEFORE.slopes >= 0) {
          slope = pair_get(place_of<X_PITCH>(numbers_at(at.slopes_before), row, column));
        } else if constexpr (BEFORE.activation != EP_LAYER_LINEAR) {
          float2 y = pair_get(to); /* relu, tanh, sigmoid: told by the output alone */
          slope.x = ep_activation_derivative(&activation, y.x, y.x);
          slope.y = ep_activation_derivative(&activation, y.y, y.y);
        }
        pair_put(to, c[i][j][q] * slope.x, c[i][j][q + 1] * slope.y);
      }
}

/* --- gradients of weights -------------------------------------------------------------------- */

template <int L> struct weights {
  static constexpr fused_layer A = layer(L);
  static constexpr int OUTS = padded(A.out) / 16, INS = padded(A.in) / 16, TILES = OUTS * INS * 2;
  static constexpr int QUADS = TILES * WARP + (A.bias >= 0 ? OUTS * 4 : 0);
  typedef share<OUTS, INS> mine_type;
  static constexpr int USED = mine_type::C.down * mine_type::C.across;
  /* Warps that share out the rows. */
  static constexpr int splits() {
    int count = 1;
    while (2 * count * USED <= WARPS && 2 * count <= ROW_PIECES) count *= 2;
    return count;
  }
  static constexpr int SPLITS = splits();
  static_assert(SPLITS * QUADS * 16 <= SUMS_BYTES || SPLITS == 1, "what plan.c reserves");
};

static __device__ __forceinline__ float4 quad_old(const float4 *from, bool adds) {
  return adds ? *from : make_float4(0, 0, 0, 0);
}

static __device__ __forceinline__ float4 quad_sum(const float4 &a, const float4 &b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* The sums over the tile's rows of the gradients of a layer's weights and biases: to the block's
 * sums, or, when warps share out the rows, to shared memory, from where sums_join takes them. */
template <int L>
static __device__ __noinline__ void layer_weights(layer_offsets at, int grads, float4 *sums,
                                                  bool adds) {
  typedef weights<L> W;
  constexpr int X_PITCH = pitch_of(W::A.in), Y_PITCH = pitch_of(W::A.out);
  constexpr int R = W::mine_type::C.rows, C = W::mine_type::C.columns;
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, split = warp / W::USED;
  const typename W::mine_type mine(warp % W::USED);
  if (split >= W::SPLITS) return;
  const number *grad = numbers_at(grads), *x = numbers_at(at.x);
  if constexpr (W::SPLITS > 1) {
    sums = (float4 *)(block_memory + SUMS_AT) + split * W::QUADS;
    adds = false;
  }
  float4 *mine_sums = sums + (mine.row * W::INS + mine.column) * 2 * WARP + lane;
  constexpr int DOWN = W::INS * 2 * WARP; /* from a row of pieces to the next */
  constexpr bool EARLY = R * C <= 2;      /* what is added to is read while all is multiplied */
  float4 old[EARLY ? R : 1][EARLY ? 2 * C : 1];
  if constexpr (EARLY) {
#pragma unroll
    for (int i = 0; i < R; i++)
#pragma unroll
      for (int j = 0; j < 2 * C; j++)
        old[i][j] = quad_old(mine_sums + i * DOWN + j * WARP,
                             adds && mine.has_row(i) && mine.has_column(j / 2));
  }
  float c[R][2 * C][4], bias[R][4];
#pragma unroll
  for (int i = 0; i < R; i++) {
    bias[i][0] = bias[i][1] = bias[i][2] = bias[i][3] = 0;
#pragma unroll
    for (int j = 0; j < 2 * C; j++) c[i][j][0] = c[i][j][1] = c[i][j][2] = c[i][j][3] = 0;
  }
#pragma unroll(HALF ? 4 : 1)
  for (int k = split; k < ROW_PIECES; k += W::SPLITS) {
    left a[R];
#pragma unroll
    for (int i = 0; i < R; i++)
      if (mine.has_row(i)) a[i] = left_columns<Y_PITCH>(grad, k * 16, (mine.row + i) * 16);
#pragma unroll
    for (int j = 0; j < C; j++) {
      if (!mine.has_column(j)) continue;
      right b[2];
      right_inputs<X_PITCH>(b, x, k * 16, (mine.column + j) * 16);
#pragma unroll
      for (int i = 0; i < R; i++) {
        multiply(c[i][2 * j], a[i], b[0]);
        multiply(c[i][2 * j + 1], a[i], b[1]);
      }
    }
    /* By all who have these rows: a branch would cost more than the products. */
    if constexpr (W::A.bias >= 0)
#pragma unroll
      for (int i = 0; i < R; i++) ones_multiply(bias[i], a[i]);
  }
#pragma unroll
  for (int i = 0; i < R; i++) {
    if (!mine.has_row(i)) continue;
#pragma unroll
    for (int j = 0; j < 2 * C; j++) {
      if (!mine.has_column(j / 2)) continue;
      float4 *to = mine_sums + i * DOWN + j * WARP;
      *to = quad_sum(EARLY ? old[EARLY ? i : 0][EARLY ? j : 0] : quad_old(to, adds),
                     make_float4(c[i][j][0], c[i][j][1], c[i][j][2], c[i][j][3]));
    }
    if (W::A.bias < 0 || mine.column != 0 || lane % 4 != 0) continue;
    float *to = (float *)(sums + W::TILES * WARP) + (mine.row + i) * 16 + lane / 4;
    to[0] = bias[i][0] + (adds ? to[0] : 0);
    to[8] = bias[i][2] + (adds ? to[8] : 0);
  }
}

/* Adds up what the splits left. */
template <int L> static __device__ __noinline__ void sums_join(float4 *sums, bool adds) {
  typedef weights<L> W;
  const float4 *from = (const float4 *)(block_memory + SUMS_AT);
  for (int i = threadIdx.x; i < W::QUADS; i += THREADS) {
    float4 quad = quad_old(sums + i, adds);
#pragma unroll
    for (int s = 0; s < W::SPLITS; s++) quad = quad_sum(quad, from[s * W::QUADS + i]);
    sums[i] = quad;
  }
}

/* --- all of them ----------------------------------------------------------------------------- */

template <int L> static __device__ __forceinline__ void forward_run() {
  if constexpr (L < LAYERS) {
    constexpr layer_offsets AT = offsets_of(L);
    layer_forward<like(L)>(AT);
    __syncthreads();
    forward_run<L + 1>();
  }
}

/* From the gradient by the last layer's output, which lies where the output was. sums: the block's.
 */
template <int L> static __device__ __forceinline__ void back_run(float4 *sums, bool adds) {
  if constexpr (L >= 0) {
    constexpr layer_offsets AT = offsets_of(L);
    constexpr int GRADS = L + 1 < LAYERS ? layer(L + 1 < LAYERS ? L + 1 : L).x : LAST_AT;
    layer_weights<like(L)>(AT, GRADS, sums + AT.quads, adds);
    if constexpr (L > 0)
      layer_back<like(L)>(AT, GRADS);
    else
      __syncthreads();
    if constexpr (weights<L>::SPLITS > 1) sums_join<like(L)>(sums + AT.quads, adds);
    __syncthreads();
    back_run<L - 1>(sums, adds);
  }
}

#endif
