/* chain.cuh: a crew takes its rows through all layers and back. Layers of the front are computed by
 * each block, with the same bits; of the others each has a sixteenth of the outputs. What such a
 * layer gives is stored into all blocks' shared memory; the gradient by its inputs is scattered and
 * summed there, in the order of the ranks. What the weights' gradients are made of goes to memory
 * on the way. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_CHAIN_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_CHAIN_CUH

#include "kernels/cuda/executors/crews/tiles.cuh"

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/row_loss.cuh"

/* The derivatives of activations that a thread keeps: of the front, as a product leaves its tile;
 * of the others, four outputs of a row. */
typedef float slopes[LAYERS][4];

static __device__ __forceinline__ float4 rounded(const float4 &of) {
  return make_float4(operand_of<PRECISE>(of.x), operand_of<PRECISE>(of.y),
                     operand_of<PRECISE>(of.z), operand_of<PRECISE>(of.w));
}

/* Layer l's input `feature` of this crew's row, in memory. */
static __device__ __forceinline__ float *features_of_all(const row_set &rows, int l, int row,
                                                         int feature) {
  return rows.s.scratch + layer(l).x + (feature / 16 * CREWS + (int)rows.row_block) * 256 +
         features_at(row, feature % 16);
}

/* z becomes the activation's, slope its derivative; both zero where there is no output. */
template <int L>
static __device__ __forceinline__ void activate(float &z, float &slope, int output) {
  const ep_op about = activation_of<L>();
  bool there = output < layer(L).out;
  float y = ep_activation(&about, z);
  slope = there ? ep_activation_derivative(&about, z, y) : 0;
  z = there ? y : 0;
}

/* --- the front ------------------------------------------------------------------------------- */

/* This step's rows become the first layer's input. */
static __device__ __forceinline__ void rows_take(const row_set &rows) {
  const float *from = memory + FETCHED + rows.parity * ROWS * IN;
  for (int i = threadIdx.x; i < ROWS * layer(0).inputs; i += THREADS) {
    int row = i % ROWS, feature = i / ROWS;
    float value = feature < IN ? operand_of<PRECISE>(from[row * IN + feature]) : 0;
    memory[front_place(0) + features_at(row, feature)] = value;
    if (rows.rank == 0) *features_of_all(rows, 0, row, feature) = value;
  }
}

template <int L>
static __device__ __forceinline__ void front_forward(const row_set &rows, slopes &slope) {
  if constexpr (L < FRONT) {
    constexpr crews_layer OF = layer(L);
    const lane_place lane = lane_place_make();
    int output = rows.warp * 8 + 2 * lane.t;
    if (rows.warp < down(L)) {
      float2 bias = *(const float2 *)(memory + OF.biases + output);
      float c[1][4] = {{bias.x, bias.y, bias.x, bias.y}};
      forward_multiply<1, across(L), 0>(c, memory + front_place(L),
                                        memory + OF.weights + rows.warp * across(L) * 128);
      float *to = memory + front_place(L + 1);
#pragma unroll
      for (int q = 0; q < 4; q++) activate<L>(c[0][q], slope[L][q], output + q % 2);
#pragma unroll
      for (int h = 0; h < 2; h++) {
        int row = lane.g + 8 * h;
        float2 y =
            make_float2(operand_of<PRECISE>(c[0][2 * h]), operand_of<PRECISE>(c[0][2 * h + 1]));
        *(float2 *)(to + features_at(row, output)) = y;
        if (rows.rank == L + 1) *(float2 *)features_of_all(rows, L + 1, row, output) = y;
      }
    }
    __syncthreads();
    front_forward<L + 1>(rows, slope);
  }
}

/* Layer L's gradient by outputs; a lane has outputs `output` and the next of rows g and g + 8. */
template <int L>
static __device__ __forceinline__ void front_store(const row_set &rows, float (&c)[4], int output) {
  const lane_place lane = lane_place_make();
#pragma unroll
  for (int q = 0; q < 4; q++) c[q] = operand_of<PRECISE>(c[q]);
#pragma unroll
  for (int i = 0; i < 2; i++)
    *(float2 *)(memory + front_place(L) + grads_at(lane.g, output + i)) =
        make_float2(c[i], c[2 + i]);
  if (rows.rank != L) return;
#pragma unroll
  for (int q = 0; q < 4; q++)
    rows.s.scratch[layer(L).grad +
                   terms_at((int)rows.row_block, lane.g + q / 2 * 8, output + q % 2)] = c[q];
}

/* From the gradient by layer L's outputs to that by the outputs of the layer before. */
template <int L>
static __device__ __forceinline__ void front_backward(const row_set &rows, const slopes &slope) {
  if constexpr (L > 0) {
    const lane_place lane = lane_place_make();
    if (rows.warp < across(L) * 2) {
      const float *grads = memory + front_place(L) + lane.grads,
                  *w = memory + layer(L).weights + rows.warp / 2 * 128 +
                       tile_at(lane.t, rows.warp % 2 * 8 + lane.g);
      float c[4] = {};
#pragma unroll
      for (int k = 0; k < down(L); k++) {
        float4 of = *(const float4 *)(grads + k * 128);
        hi_lo a[4];
        hi_lo_of(a, of.x, of.y, of.z, of.w);
        multiply<PRECISE>(c, a, hi_lo_of<PRECISE>(w[k * across(L) * 128]),
                          hi_lo_of<PRECISE>(w[k * across(L) * 128 + 64]));
      }
#pragma unroll
      for (int q = 0; q < 4; q++) c[q] *= slope[L - 1][q];
      front_store<L - 1>(rows, c, rows.warp * 8 + 2 * lane.t);
    }
    __syncthreads();
    front_backward<L - 1>(rows, slope);
  }
}

/* --- layers that are shared out -------------------------------------------------------------- */

/* A thread's four outputs of a row, of those that a block has. */
struct quad {
  int column, row;
};
static __device__ __forceinline__ quad quad_make() {
  return {(int)threadIdx.x / ROWS, (int)threadIdx.x % ROWS};
}

/* Warps that share a layer's terms; their sums take the place of its inputs. */
constexpr int term_groups(int l) {
  int groups = WARPS;
  while (groups > 1 && (across(l) % groups != 0 || groups * layer(l).outputs > layer(l).inputs))
    groups /= 2;
  return groups;
}

/* The block's outputs, before the bias, as sums of parts: [groups, outputs / 8, 16, 8]. */
template <int L> static __device__ __forceinline__ void parts_make(const row_set &rows) {
  constexpr int GROUPS = term_groups(L), BANDS = WARPS / GROUPS, STEPS = across(L) / GROUPS,
                TILES = (down(L) + BANDS - 1) / BANDS;
  const lane_place lane = lane_place_make();
  int group = rows.warp % GROUPS, first = rows.warp / GROUPS * TILES;
  float c[TILES][4] = {};
  if (first < down(L))
    forward_multiply<TILES, STEPS, across(L) * 128>(c, memory + place(L) + group * STEPS * 256,
                                                    memory + layer(L).weights +
                                                        (first * across(L) + group * STEPS) * 128);
  __syncthreads();
  float *to = memory + place(L) + group * down(L) * 128 + first * 128 + lane.g * 8 + 2 * lane.t;
#pragma unroll
  for (int i = 0; i < TILES; i++)
    if (first + i < down(L)) {
      *(float2 *)(to + i * 128) = make_float2(c[i][0], c[i][1]);
      *(float2 *)(to + i * 128 + 64) = make_float2(c[i][2], c[i][3]);
    }
  __syncthreads();
}

template <int L>
static __device__ __forceinline__ void quads_give(const row_set &rows, const quad &of,
                                                  const float4 &y) {
  int feature = (int)rows.rank * layer(L).outputs + of.column * 4;
  unsigned at = shared_address(memory + place(L + 1) + features_at(of.row, feature)),
           barrier = rows.barrier(GATHERS + L);
#pragma unroll 4
  for (int i = 0; i < RANKS; i++) {
    unsigned rank = (rows.rank + i) % RANKS;
    cluster_store_async(cluster_address(at, rank), y, cluster_address(barrier, rank));
  }
}

template <int L>
static __device__ __forceinline__ void shared_forward(const row_set &rows, slopes &slope) {
  constexpr crews_layer OF = layer(L);
  constexpr int GROUPS = term_groups(L);
  const quad of = quad_make();
  mbarrier_wait_cluster(rows.barrier(PIECES + L), rows.parity);
  parts_make<L>(rows);
  if (of.column < OF.outputs / 4) {
    const float *from = memory + place(L) + of.column / 2 * 128 + of.row * 8 + of.column % 2 * 4;
    float4 sum = *(const float4 *)(memory + OF.biases + of.column * 4);
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
      float4 part = *(const float4 *)(from + k * down(L) * 128);
      sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
    }
    int output = (int)rows.rank * OF.outputs + of.column * 4;
    activate<L>(sum.x, slope[L][0], output), activate<L>(sum.y, slope[L][1], output + 1);
    activate<L>(sum.z, slope[L][2], output + 2), activate<L>(sum.w, slope[L][3], output + 3);
    float4 y = rounded(sum);
    if constexpr (L + 1 < LAST)
      quads_give<L>(rows, of, y);
    else
      *(float4 *)(memory + place(L + 1) + features_at(of.row, of.column * 4)) = y;
    *(float4 *)features_of_all(rows, L + 1, of.row, output) = y;
  }
  if constexpr (L + 1 < LAST) {
    given_await(rows, GATHERS + L, OF.outputs * RANKS * ROWS * 4);
    shared_forward<L + 1>(rows, slope);
  } else {
    __syncthreads();
  }
}

/* The gradient by layer L's inputs, this block's part of the sums: each goes to the block that adds
 * it up, the last layer's, whose inputs are this block's alone, to where they lay. */
template <int L, int TILES>
static __device__ __forceinline__ void sums_give(const row_set &rows, int first) {
  constexpr int EACH = columns_each(L);
  const lane_place lane = lane_place_make();
  float c[TILES][2][4] = {};
  const float *weights[TILES];
#pragma unroll
  for (int i = 0; i < TILES; i++)
    weights[i] = memory + layer(L).weights + min(first + i * WARPS, across(L) - 1) * 128;
  backward_multiply<TILES, down(L), across(L) * 128>(c, memory + GRADS, weights);
#pragma unroll
  for (int i = 0; i < TILES; i++) {
    int column = (first + i * WARPS) * 4 + lane.t;
    if (column >= across(L) * 4) continue;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int row = lane.g + 8 * h;
      float4 of = inputs_of(c[i], h);
      if constexpr (L == LAST) {
        *(float4 *)(memory + place(L) + (column * ROWS + row) * 4) = of;
      } else {
        unsigned rank = column / EACH;
        const float *to =
            memory + place(L) + (((int)rows.rank * EACH + column % EACH) * ROWS + row) * 4;
        cluster_store_async(cluster_address(shared_address(to), rank), of,
                            cluster_address(rows.barrier(SCATTERS + L), rank));
      }
    }
  }
}
template <int L> static __device__ __forceinline__ void shared_multiply(const row_set &rows) {
  constexpr int TILES = across(L) > WARPS ? 2 : 1;
#pragma unroll 1
  for (int first = rows.warp; first < across(L); first += TILES * WARPS)
    sums_give<L, TILES>(rows, first);
}

/* Four sums over all ranks, once they are there. */
template <int L>
static __device__ __forceinline__ float4 sums_take(const row_set &rows, const quad &of) {
  constexpr int EACH = columns_each(L);
  int mine = max(0, min(EACH, layer(L).inputs / 4 - (int)rows.rank * EACH));
  given_await(rows, SCATTERS + L, mine * RANKS * ROWS * 16);
  float4 sum = {};
  if (of.column < mine)
#pragma unroll
    for (int s = 0; s < RANKS; s++) {
      float4 part =
          *(const float4 *)(memory + place(L) + ((s * EACH + of.column) * ROWS + of.row) * 4);
      sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
    }
  return sum;
}

/* Of layer L, which is shared out: the gradient by a thread's four outputs of a row. */
template <int L>
static __device__ __forceinline__ void shared_store(const row_set &rows, const quad &of,
                                                    const float4 &sum, const slopes &slope) {
  __syncthreads();
  if (of.column < layer(L).outputs / 4) {
    const float grad[4] = {sum.x, sum.y, sum.z, sum.w};
    float *all = rows.s.scratch + layer(L).grad + rows.rank * layer(L).outputs * CREWS * ROWS;
#pragma unroll
    for (int q = 0; q < 4; q++) {
      float value = operand_of<PRECISE>(grad[q] * slope[L][q]);
      memory[GRADS + grads_at(of.row, of.column * 4 + q)] = value;
      all[terms_at((int)rows.row_block, of.row, of.column * 4 + q)] = value;
    }
  }
  __syncthreads();
}

/* The front's weights once more, when the wide layers' features are done with. */
static __device__ __forceinline__ void front_refetch(const row_set &rows) {
  if (threadIdx.x != 0) return;
  async_fence_all();
  mbarrier_expect(rows.barrier(REFETCH), FRONT_FLOATS * 4);
  floats_fetch(memory + FRONT_WEIGHTS, rows.s.scratch + layer(0).image, FRONT_FLOATS,
               rows.barrier(REFETCH));
}

/* The gradient by the outputs of the front, whose sums the blocks share out: all get those of all.
 */
template <int L>
static __device__ __forceinline__ void front_enter(const row_set &rows, const quad &of,
                                                   const float4 &sum, const slopes &slope) {
  constexpr int EACH = columns_each(L), COLUMNS = layer(L).inputs / 4;
  int column = (int)rows.rank * EACH + of.column;
  const float *landing = memory + PLACE_SECOND;
  if (of.column < EACH && column < COLUMNS)
#pragma unroll 4
    for (int s = 0; s < RANKS; s++)
      cluster_store_async(
          cluster_address(shared_address(landing + (column * ROWS + of.row) * 4), s), sum,
          cluster_address(rows.barrier(FRONT_GATHER), s));
  given_await(rows, FRONT_GATHER, COLUMNS * ROWS * 16);
  if constexpr (REFETCHES) mbarrier_wait_cluster(rows.barrier(REFETCH), rows.parity);
  const lane_place lane = lane_place_make();
  if (rows.warp < across(L) * 2) {
    int output = rows.warp * 8 + 2 * lane.t;
    float c[4];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float2 both =
          *(const float2 *)(landing + (output / 4 * ROWS + lane.g + 8 * h) * 4 + output % 4);
      c[2 * h] = both.x * slope[L - 1][2 * h], c[2 * h + 1] = both.y * slope[L - 1][2 * h + 1];
    }
    front_store<L - 1>(rows, c, output);
  }
  __syncthreads();
}

/* From the gradient by layer L's outputs to the front. */
template <int L>
static __device__ __forceinline__ void shared_backward(const row_set &rows, const slopes &slope) {
  if constexpr (L > 0) {
    const quad of = quad_make();
    shared_multiply<L>(rows);
    float4 sum = {};
    if constexpr (L < LAST) {
      sum = sums_take<L>(rows, of);
    } else {
      __syncthreads();
      if (of.column < layer(L).inputs / 4)
        sum = *(const float4 *)(memory + place(L) + threadIdx.x * 4);
    }
    if constexpr (L == FRONT) {
      front_enter<L>(rows, of, sum, slope);
    } else {
      shared_store<L - 1>(rows, of, sum, slope);
      if constexpr (REFETCHES && L == FRONT + 3) front_refetch(rows);
      shared_backward<L - 1>(rows, slope);
    }
  }
}

/* --- the last layer -------------------------------------------------------------------------- */

/* A warp for eight outputs: what this block's inputs add to the scores, and one block's
 * biases, to all blocks. */
static __device__ __forceinline__ void scores_give(const row_set &rows) {
  constexpr int DOWN = down(LAST);
  if (rows.warp >= DOWN) return;
  const lane_place lane = lane_place_make();
  float2 bias = *(const float2 *)(memory + layer(LAST).biases + rows.warp * 8 + 2 * lane.t);
  if (rows.rank != 0) bias = make_float2(0, 0);
  float c[1][4] = {{bias.x, bias.y, bias.x, bias.y}};
  forward_multiply<1, across(LAST), 0>(
      c, memory + place(LAST), memory + layer(LAST).weights + rows.warp * across(LAST) * 128);
  float4 share = fragment_row(c[0]);
  if (rows.warp * 8 + lane.t / 2 * 4 >= OUT) return;
  int row = lane.g + lane.t % 2 * 8;
  unsigned at = shared_address(memory + place(LAST) + layer(LAST).inputs * ROWS +
                               ((rows.rank * DOWN + rows.warp) * ROWS + row) * 8 + lane.t / 2 * 4),
           barrier = rows.barrier(SCORES);
#pragma unroll 4
  for (int i = 0; i < RANKS; i++) {
    unsigned rank = (rows.rank + i) % RANKS;
    cluster_store_async(cluster_address(at, rank), share, cluster_address(barrier, rank));
  }
}

/* Two warps, eight rows each: the scores, as loss_take wants them. */
static __device__ __forceinline__ void scores_sum(const row_set &rows,
                                                  float (&z)[tiles_down(LAST)][4]) {
  constexpr int DOWN = down(LAST);
  const lane_place lane = lane_place_make();
#pragma unroll
  for (int i = 0; i < tiles_down(LAST); i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      int tile = i * 2 + q / 2, row = rows.first + 2 * lane.t + q % 2;
      z[i][q] = 0;
      if (tile * 8 + lane.g >= OUT) continue;
#pragma unroll
      for (int s = 0; s < RANKS; s++)
        z[i][q] += memory[place(LAST) + layer(LAST).inputs * ROWS +
                          ((s * DOWN + tile) * ROWS + row) * 8 + lane.g];
    }
}

static __device__ __forceinline__ void metrics_give(const row_set &rows, const row_metrics &of) {
  if (rows.warp >= 2) return;
  float loss = warp_sum(of.loss) * rows.scale, errors = warp_sum(of.errors);
  if (threadIdx.x % WARP == 0 && rows.rank == 0)
    *(float2 *)(rows.s.scratch + METRICS + (rows.row_block * 2 + rows.warp) * 2) =
        make_float2(loss, errors);
}

/* The loss of the crew's rows, by every block of it, and the gradient by the scores. */
static __device__ __forceinline__ void scores_run(const row_set &rows, row_metrics &metrics) {
  mbarrier_wait_cluster(rows.barrier(PIECES + LAST), rows.parity);
  scores_give(rows);
  given_await(rows, SCORES, RANKS * ((OUT + 3) / 4) * ROWS * 16);
  if (rows.warp < 2) {
    const lane_place lane = lane_place_make();
    float z[tiles_down(LAST)][4];
    scores_sum(rows, z);
    loss_take(rows, z, metrics);
#pragma unroll
    for (int i = 0; i < tiles_down(LAST); i++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        int output = i * 16 + q / 2 * 8 + lane.g, row = rows.first + 2 * lane.t + q % 2;
        if (i * 2 + q / 2 >= down(LAST)) continue;
        float value = operand_of<PRECISE>(z[i][q]);
        memory[GRADS + grads_at(row, output)] = value;
        if (rows.rank == 0)
          rows.s.scratch[layer(LAST).grad + terms_at((int)rows.row_block, row, output)] = value;
      }
  }
  __syncthreads();
}

#endif
