/* chain.cuh: a warp takes its eight rows through all layers and back. It waits for no other warp of
 * its block; where layers are sliced, for the same warp of the other blocks. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_CHAIN_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_CHAIN_CUH

#include "kernels/cuda/executors/cluster/behind.cuh"
#include "kernels/cuda/executors/cluster/products.cuh"

#include "kernels/cuda/device/mbarrier.cuh"
#include "kernels/cuda/device/row_loss.cuh"

/* One warp: waits until `bytes` of other blocks have come in this step. */
static __device__ __forceinline__ void given_wait(unsigned barrier, unsigned bytes,
                                                  unsigned parity) {
  if (threadIdx.x % WARP == 0) mbarrier_expect(barrier, (int)bytes);
  mbarrier_wait_cluster(barrier, (int)parity);
}

/* --- forward --------------------------------------------------------------------------------- */

/* y of layer L, tile FIRST + i: becomes the activation's, and slope its derivative; both zero where
 * there is no output. */
template <int L, int FIRST, int COUNT, int DOWN>
static __device__ __forceinline__ void activate(const row_set &rows, float (&y)[COUNT][4],
                                                float (&slope)[DOWN][4]) {
  constexpr cluster_layer OF = layer(L);
  constexpr bool whole = (is_sliced(L) ? OF.outputs * SLICES : OF.outputs) == OF.out;
  const ep_op about = activation_of<L>();
  int g = threadIdx.x % WARP / 4, first = is_sliced(L) ? rows.slice * OF.outputs : 0;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    float mask[4];
    if constexpr (OF.mask >= 0) mask_make<L>(rows, first + (FIRST + i) * 16, mask);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      float z = y[i][q];
      bool there = whole || first + (FIRST + i) * 16 + q / 2 * 8 + g < OF.out;
      y[i][q] = there ? ep_activation(&about, z) : 0;
      slope[FIRST + i][q] = there ? ep_activation_derivative(&about, z, y[i][q]) : 0;
      if constexpr (OF.mask >= 0) y[i][q] *= mask[q], slope[FIRST + i][q] *= mask[q];
    }
  }
}

/* Tile FIRST + i of a matrix of OUTPUTS features, [OUTPUTS, STRIDE], at this warp's rows. */
template <int OUTPUTS, int FIRST, int COUNT>
static __device__ __forceinline__ void tiles_store(float *to, const float (&y)[COUNT][4]) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  to += g * STRIDE + 2 * t;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
#pragma unroll
    for (int h = 0; h < 2; h++)
      if ((FIRST + i) * 16 + h * 8 < OUTPUTS)
        *(float2 *)(to + ((FIRST + i) * 16 + h * 8) * STRIDE) =
            make_float2(operand_of<PRECISE>(y[i][2 * h]), operand_of<PRECISE>(y[i][2 * h + 1]));
}

/* The same, a slice of what all slices of the row block get. */
template <int L, int FIRST, int COUNT>
static __device__ __forceinline__ void tiles_give(const row_set &rows, const float (&y)[COUNT][4]) {
  constexpr int OUTPUTS = layer(L).outputs;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const float *to = memory + layer(L + 1).x + rows.first + t / 2 * 4 +
                    (rows.slice * OUTPUTS + FIRST * 16 + t % 2 * 8 + g) * STRIDE;
  unsigned barrier = rows.barrier(GATHERS + L), at = shared_address(to);
  float4 share[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const float rounded[4] = {operand_of<PRECISE>(y[i][0]), operand_of<PRECISE>(y[i][1]),
                              operand_of<PRECISE>(y[i][2]), operand_of<PRECISE>(y[i][3])};
    share[i] = fragment_row(rounded);
  }
#pragma unroll 4
  for (int s = 0; s < SLICES; s++) {
    unsigned rank = rows.rank_of(s), there = cluster_address(at, rank),
             counts = cluster_address(barrier, rank);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if ((FIRST + i) * 16 + t % 2 * 8 < OUTPUTS)
        cluster_store_async(there + i * 16 * STRIDE * 4, share[i], counts);
  }
}

/* What a layer gives for this warp's rows, before its activation. */
template <int L, int FIRST, int COUNT>
static __device__ __forceinline__ void forward_multiply(const row_set &rows, float (&c)[COUNT][4]) {
  constexpr cluster_layer OF = layer(L);
  int g = threadIdx.x % WARP / 4;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      constexpr bool adds = OF.bias >= 0 && !takes_slice(L);
      bool there = (FIRST + i) * 16 + h * 8 < OF.outputs;
      float bias = adds && there ? memory[OF.biases + (FIRST + i) * 16 + h * 8 + g] : 0;
      c[i][2 * h] = c[i][2 * h + 1] = bias;
    }
  product<FIRST, COUNT, OF.outputs, OF.inputs, false>(c, memory + OF.weights,
                                                      memory + OF.x + rows.first);
}

/* All of it, a few tiles at a time. */
template <int L, int FIRST, int DOWN>
static __device__ __forceinline__ void forward_all(const row_set &rows, float (&y)[DOWN][4]) {
  if constexpr (FIRST < DOWN) {
    constexpr int COUNT = DOWN - FIRST < 4 ? DOWN - FIRST : 4;
    float some[COUNT][4];
    forward_multiply<L, FIRST>(rows, some);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) y[FIRST + i][q] = some[i][q];
    forward_all<L, FIRST + COUNT>(rows, y);
  }
}

template <int L, int FIRST, int DOWN>
static __device__ __forceinline__ void forward(const row_set &rows, float (&slope)[DOWN][4]) {
  if constexpr (has_norm(L)) {
    float y[DOWN][4];
    forward_all<L, 0>(rows, y);
    normalize<L>(rows, y);
    activate<L, 0>(rows, y, slope);
    tiles_store<layer(L).outputs, 0>(memory + layer(L + 1).x + rows.first, y);
  } else if constexpr (FIRST < DOWN) {
    constexpr int COUNT = DOWN - FIRST < 4 ? DOWN - FIRST : 4;
    float y[COUNT][4];
    forward_multiply<L, FIRST>(rows, y);
    activate<L, FIRST>(rows, y, slope);
    if constexpr (is_sliced(L) && L + 1 < LAST)
      tiles_give<L, FIRST>(rows, y);
    else
      tiles_store<layer(L).outputs, FIRST>(memory + layer(L + 1).x + rows.first, y);
    forward<L, FIRST + COUNT>(rows, slope);
  }
}

/* The last layer's sums over all slices, in their order, and its bias. */
static __device__ __forceinline__ void outputs_sum(const row_set &rows,
                                                   float (&z)[tiles_down(LAST)][4]) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const float *landing = memory + layer(LAST).landing + (rows.warp * SLICES * OUT + g) * 8 + 2 * t;
  unsigned barrier = rows.barrier(SCATTERS + LAST);
#pragma unroll
  for (int i = 0; i < tiles_down(LAST); i++) {
    float4 share = fragment_row(z[i]);
    int output = i * 16 + t % 2 * 8 + g;
    unsigned at = shared_address(memory + layer(LAST).landing + t / 2 * 4 +
                                 ((rows.warp * SLICES + rows.slice) * OUT + output) * 8);
    if (output < OUT)
#pragma unroll 4
      for (int s = 0; s < SLICES; s++) {
        unsigned rank = rows.rank_of(s);
        cluster_store_async(cluster_address(at, rank), share, cluster_address(barrier, rank));
      }
  }
  given_wait(barrier, SLICES * OUT * 32, rows.parity);
#pragma unroll
  for (int h = 0; h < 2 * tiles_down(LAST); h++) {
    bool there = h * 8 + g < OUT;
    float bias = layer(LAST).bias >= 0 && there ? memory[layer(LAST).biases + h * 8 + g] : 0;
    float2 sum = make_float2(bias, bias);
    if (there)
#pragma unroll
      for (int s = 0; s < SLICES; s++) {
        float2 part = *(const float2 *)(landing + (s * OUT + h * 8) * 8);
        sum.x += part.x, sum.y += part.y;
      }
    z[h / 2][h % 2 * 2] = sum.x, z[h / 2][h % 2 * 2 + 1] = sum.y;
  }
}

/* --- backward -------------------------------------------------------------------------------- */

/* c: sums over this block's outputs, halves of tiles FIRST + i of the gradient by layer L's inputs:
 * each goes to the slice that adds it up. */
template <int L, int FIRST, int COUNT>
static __device__ __forceinline__ void sums_give(const row_set &rows, const float (&c)[COUNT][4]) {
  constexpr int EACH = halves_each(L), HALVES = layer(L).inputs / 8;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const float *to =
      memory + layer(L).landing + (rows.warp * SLICES + rows.slice) * EACH * 64 + g * 8 + t / 2 * 4;
  unsigned barrier = rows.barrier(SCATTERS + L), at = shared_address(to);
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    float4 share = fragment_row(c[i]);
    int half = (FIRST + i) * 2 + t % 2;
    if (half >= HALVES) continue;
    unsigned rank = rows.rank_of(half / EACH);
    cluster_store_async(cluster_address(at + half % EACH * 256, rank), share,
                        cluster_address(barrier, rank));
  }
}

/* This block's share of the sums, half by half, once all slices' are there. */
template <int L>
static __device__ __forceinline__ void sums_take(const row_set &rows,
                                                 float (&sum)[halves_each(L)][2]) {
  constexpr int EACH = halves_each(L), HALVES = layer(L).inputs / 8;
  int mine = HALVES - rows.slice * EACH;
  mine = mine < 0 ? 0 : mine < EACH ? mine : EACH;
  given_wait(rows.barrier(SCATTERS + L), (unsigned)(mine * SLICES * 256), rows.parity);
  const float *from =
      memory + layer(L).landing + rows.warp * SLICES * EACH * 64 + threadIdx.x % WARP * 2;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    sum[i][0] = sum[i][1] = 0;
    if (i < mine)
#pragma unroll
      for (int s = 0; s < SLICES; s++) {
        float2 part = *(const float2 *)(from + (s * EACH + i) * 64);
        sum[i][0] += part.x, sum[i][1] += part.y;
      }
  }
}

/* The gradient by the inputs of layer L, and, with the slope of the layer before, by that one's
 * outputs before their activation. */
template <int L, int FIRST, int DOWN>
static __device__ __forceinline__ void backward_all(const row_set &rows, float (&all)[DOWN][4]) {
  if constexpr (FIRST < DOWN) {
    constexpr cluster_layer OF = layer(L);
    constexpr int COUNT = DOWN - FIRST < 4 ? DOWN - FIRST : 4;
    float c[COUNT][4] = {};
    product<FIRST, COUNT, OF.outputs, OF.inputs, true>(c, memory + OF.weights,
                                                       memory + OF.grad + rows.first);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) all[FIRST + i][q] = c[i][q];
    backward_all<L, FIRST + COUNT>(rows, all);
  }
}

template <int L, int FIRST, int DOWN>
static __device__ __forceinline__ void backward_whole(const row_set &rows,
                                                      const float (&slope)[DOWN][4]) {
  if constexpr (has_norm(L - 1)) {
    float c[DOWN][4];
    backward_all<L, 0>(rows, c);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][q] *= slope[i][q];
    norm_back<L - 1>(rows, c);
    tiles_store<layer(L - 1).outputs, 0>(memory + layer(L - 1).grad + rows.first, c);
  } else if constexpr (FIRST < DOWN) {
    constexpr cluster_layer OF = layer(L);
    constexpr int COUNT = DOWN - FIRST < 4 ? DOWN - FIRST : 4;
    float c[COUNT][4] = {};
    product<FIRST, COUNT, OF.outputs, OF.inputs, true>(c, memory + OF.weights,
                                                       memory + OF.grad + rows.first);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][q] *= slope[FIRST + i][q];
    tiles_store<layer(L - 1).outputs, FIRST>(memory + layer(L - 1).grad + rows.first, c);
    backward_whole<L, FIRST + COUNT>(rows, slope);
  }
}

template <int L, int FIRST>
static __device__ __forceinline__ void backward_give(const row_set &rows) {
  constexpr cluster_layer OF = layer(L);
  constexpr int DOWN = (OF.inputs + 15) / 16;
  if constexpr (FIRST < DOWN) {
    constexpr int COUNT = DOWN - FIRST < 4 ? DOWN - FIRST : 4;
    float c[COUNT][4] = {};
    product<FIRST, COUNT, OF.outputs, OF.inputs, true>(c, memory + OF.weights,
                                                       memory + OF.grad + rows.first);
    sums_give<L, FIRST>(rows, c);
    backward_give<L, FIRST + COUNT>(rows);
  }
}

/* The layer before is sliced as well: this block's sums are those of its own outputs. */
template <int L, int DOWN>
static __device__ __forceinline__ void backward_slice(const row_set &rows,
                                                      const float (&slope)[DOWN][4]) {
  float sum[halves_each(L)][2], c[DOWN][4] = {};
  backward_give<L, 0>(rows);
  sums_take<L>(rows, sum);
#pragma unroll
  for (int i = 0; i < halves_each(L); i++)
#pragma unroll
    for (int q = 0; q < 2; q++) c[i / 2][i % 2 * 2 + q] = sum[i][q] * slope[i / 2][i % 2 * 2 + q];
  tiles_store<layer(L - 1).outputs, 0>(memory + layer(L - 1).grad + rows.first, c);
}

/* The layer before is each block's own: all get the sums of all. */
template <int L, int DOWN>
static __device__ __forceinline__ void backward_front(const row_set &rows,
                                                      const float (&slope)[DOWN][4]) {
  constexpr int EACH = halves_each(L), HALVES = layer(L).inputs / 8;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  float sum[EACH][2], *grad = memory + layer(L - 1).grad + rows.first;
  float4 share[(EACH + 1) / 2];
  backward_give<L, 0>(rows);
  sums_take<L>(rows, sum);
#pragma unroll
  for (int i = 0; i < EACH; i += 2) {
    int other = i + 1 < EACH ? i + 1 : i;
    const float both[4] = {sum[i][0], sum[i][1], sum[other][0], sum[other][1]};
    share[i / 2] = fragment_row(both);
  }
  int mine = rows.slice * EACH + t % 2;
  unsigned barrier = rows.barrier(FRONT_GATHER),
           at = shared_address(grad + (mine * 8 + g) * STRIDE + t / 2 * 4);
#pragma unroll 4
  for (int s = 0; s < SLICES; s++) {
    unsigned rank = rows.rank_of(s);
#pragma unroll
    for (int i = 0; i < EACH; i += 2)
      if (i + t % 2 < EACH && mine + i < HALVES)
        cluster_store_async(cluster_address(at + i * 8 * STRIDE * 4, rank), share[i / 2],
                            cluster_address(barrier, rank));
  }
  given_wait(barrier, HALVES * 256, rows.parity);
  float c[DOWN][4] = {};
#pragma unroll
  for (int half = 0; half < HALVES; half++) {
    float2 all = *(const float2 *)(grad + (half * 8 + g) * STRIDE + 2 * t);
    c[half / 2][half % 2 * 2] = all.x * slope[half / 2][half % 2 * 2];
    c[half / 2][half % 2 * 2 + 1] = all.y * slope[half / 2][half % 2 * 2 + 1];
  }
  if constexpr (has_norm(L - 1)) norm_back<L - 1>(rows, c);
  tiles_store<layer(L - 1).outputs, 0>(grad, c);
}

/* --- the way there and back ------------------------------------------------------------------ */

/* slope: of the layer before. Leaves all layers' inputs, and the gradients by their outputs before
 * the activation, in shared memory. */
template <int L, int DOWN>
static __device__ __forceinline__ void rows_run(const row_set &rows, const float (&slope)[DOWN][4],
                                                row_metrics &out) {
  if constexpr (L == LAST) {
    float z[tiles_down(L)][4];
    forward_multiply<L, 0>(rows, z);
    if constexpr (SLICES > 1) outputs_sum(rows, z);
    loss_take(rows, z, out);
    tiles_store<layer(L).outputs, 0>(memory + layer(L).grad + rows.first, z);
  } else {
    float own[tiles_down(L)][4];
    if constexpr (SLICES > 1 && ROW_BLOCKS == 1 && L == FRONT) blocks_wait();
    forward<L, 0>(rows, own);
    if constexpr (is_sliced(L) && L + 1 < LAST)
      given_wait(rows.barrier(GATHERS + L), layer(L).outputs * SLICES * 32, rows.parity);
    __syncwarp();
    rows_run<L + 1>(rows, own, out);
  }
  __syncwarp();
  if constexpr (L > 0) {
    if constexpr (!is_sliced(L))
      backward_whole<L, 0>(rows, slope);
    else if constexpr (L == FRONT)
      backward_front<L>(rows, slope);
    else
      backward_slice<L>(rows, slope);
  }
}

#endif
