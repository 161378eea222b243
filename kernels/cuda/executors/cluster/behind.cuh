/* behind.cuh: what stands behind a layer of cuda/cluster besides an activation: a layer_norm, whose
 * layer a block has whole, and a dropout. A lane has numbers q of tiles of 16 outputs: output
 * q / 2 * 8 + g, row 2 t + q % 2, with g = lane / 4 and t = lane % 4. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_BEHIND_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_BEHIND_CUH

#include "kernels/cuda/executors/cluster/network.cuh"

#include "kernels/cuda/device/mma.cuh"
#include "kernels/formulas/dropout.h"

/* --- dropout --------------------------------------------------------------------------------- */

/* What a lane's numbers of the tile from output `first` on are multiplied by. */
template <int L>
static __device__ __forceinline__ void mask_make(const row_set &rows, int first, float (&mask)[4]) {
  constexpr cluster_layer OF = layer(L);
  const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const long long row = rows.row_block * ROWS_EACH + rows.first + 2 * t;
  const float scale = ep_dropout_scale(OF.p);
  const unsigned long long seed = rows.s.seed;
  if constexpr (OF.out % 4 == 0) { /* four lanes have a quad of a row: each draws one of four */
    const int mine = g % 4;
    const long long element = (row + mine % 2) * OF.out + first + mine / 2 * 8 + g / 4 * 4;
    const ep_random4 drawn = ep_dropout_words(seed, rows.step, OF.mask, element / 4);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      unsigned word = 0;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const unsigned given = __shfl_sync(ALL_LANES, drawn.word[i], (g / 4 * 4 + q) * 4 + t);
        word = g % 4 == i ? given : word;
      }
      mask[q] = ep_dropout_word_keeps(word, OF.p) ? scale : 0;
    }
  } else {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const long long element = (row + q % 2) * OF.out + first + q / 2 * 8 + g;
      const ep_random4 drawn = ep_dropout_words(seed, rows.step, OF.mask, element / 4);
      unsigned word = drawn.word[0];
#pragma unroll
      for (int i = 1; i < 4; i++) word = element % 4 == i ? drawn.word[i] : word;
      mask[q] = ep_dropout_word_keeps(word, OF.p) ? scale : 0;
    }
  }
}

/* --- layer_norm ------------------------------------------------------------------------------ */

/* The sums over a row's outputs of what the lanes have of it, in all of them. */
static __device__ __forceinline__ void rows_sum(float (&of)[2]) {
#pragma unroll
  for (int distance = 4; distance < WARP; distance *= 2)
#pragma unroll
    for (int r = 0; r < 2; r++) of[r] += __shfl_xor_sync(ALL_LANES, of[r], distance);
}

/* Whether the layer has the output; the others fill it up to whole tiles. */
template <int L> static __device__ __forceinline__ bool is_output(int output) {
  return layer(L).outputs % 16 == 0 && layer(L).outputs == layer(L).out ? true
                                                                        : output < layer(L).out;
}

/* y: what layer L gives, becomes what its norm gives. */
template <int L, int DOWN>
static __device__ __forceinline__ void normalize(const row_set &rows, float (&y)[DOWN][4]) {
  constexpr cluster_layer OF = layer(L);
  const int g = threadIdx.x % WARP / 4, row = rows.first + threadIdx.x % 4 * 2;
  float mean[2] = {}, inverse[2] = {};
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) mean[q % 2] += is_output<L>(i * 16 + q / 2 * 8 + g) ? y[i][q] : 0;
  rows_sum(mean);
  mean[0] *= 1.0f / OF.out, mean[1] *= 1.0f / OF.out;
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const float apart = is_output<L>(i * 16 + q / 2 * 8 + g) ? y[i][q] - mean[q % 2] : 0;
      y[i][q] = apart;
      inverse[q % 2] += apart * apart;
    }
  rows_sum(inverse);
#pragma unroll
  for (int r = 0; r < 2; r++) {
    inverse[r] = 1 / sqrtf(inverse[r] * (1.0f / OF.out) + OF.eps);
    if (g == 0) memory[OF.deviations + row + r] = inverse[r];
  }
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int output = i * 16 + h * 8 + g;
      if (i * 16 + h * 8 >= OF.outputs) continue; /* y is zero */
      const float scale = OF.norm_weight >= 0 ? memory[OF.scales + output] : 1;
      const float offset = OF.norm_bias >= 0 ? memory[OF.offsets + output] : 0;
      float2 normal = make_float2(y[i][2 * h] * inverse[0], y[i][2 * h + 1] * inverse[1]);
      *(float2 *)(memory + OF.normal + output * STRIDE + row) = normal;
      y[i][2 * h] = normal.x * scale + offset;
      y[i][2 * h + 1] = normal.y * scale + offset;
    }
}

/* c: the gradient by what layer L's norm gives, becomes that by what the layer gives. What the
 * norm's parameters need is left in shared memory. */
template <int L, int DOWN>
static __device__ __forceinline__ void norm_back(const row_set &rows, float (&c)[DOWN][4]) {
  constexpr cluster_layer OF = layer(L);
  const int g = threadIdx.x % WARP / 4, row = rows.first + threadIdx.x % 4 * 2;
  float normal[DOWN][4] = {}, sum[2] = {}, product[2] = {};
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int output = i * 16 + h * 8 + g;
      if (i * 16 + h * 8 >= OF.outputs) continue;
      float2 *at = (float2 *)(memory + OF.normal + output * STRIDE + row);
      float2 *shift = (float2 *)(memory + OF.shifts + output * STRIDE + row);
      const float scale = OF.norm_weight >= 0 ? memory[OF.scales + output] : 1;
      const float2 of = *at;
      *at = make_float2(operand_of<PRECISE>(c[i][2 * h] * of.x),
                        operand_of<PRECISE>(c[i][2 * h + 1] * of.y));
      *shift = make_float2(operand_of<PRECISE>(c[i][2 * h]), operand_of<PRECISE>(c[i][2 * h + 1]));
      normal[i][2 * h] = of.x, normal[i][2 * h + 1] = of.y;
#pragma unroll
      for (int r = 0; r < 2; r++) {
        c[i][2 * h + r] *= scale;
        sum[r] += c[i][2 * h + r];
        product[r] += c[i][2 * h + r] * normal[i][2 * h + r];
      }
    }
  rows_sum(sum);
  rows_sum(product);
  const float inverse[2] = {memory[OF.deviations + row], memory[OF.deviations + row + 1]};
#pragma unroll
  for (int i = 0; i < DOWN; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int r = q % 2;
      const float less = (sum[r] + normal[i][q] * product[r]) * (1.0f / OF.out);
      c[i][q] = is_output<L>(i * 16 + q / 2 * 8 + g) ? inverse[r] * (c[i][q] - less) : 0;
    }
}

#endif
