/* kernel.cuh: the kernel of cuda/resident, compiled at run time for one program. A thread takes
 * rows; everything about a row lies in its registers, as do the weights and the sums of their
 * gradients. All steps of a segment run in one launch: a block, or a cluster of blocks that add up
 * their sums through distributed shared memory.
 */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RESIDENT_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_RESIDENT_KERNEL_CUH

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/thread_loss.cuh"
#include "kernels/cuda/executors/resident/args.h"

typedef ep_resident_args args;

constexpr int WARPS = THREADS / WARP;
constexpr int SUMS = (PARAMETERS + 2 + WARP - 1) / WARP * WARP; /* gradients, loss, errors */
constexpr int SHARE = SUMS / WARP;                              /* a lane's */
constexpr int ROWS_EACH = (BATCH_ROWS + THREADS * BLOCKS - 1) / (THREADS * BLOCKS);
constexpr bool KEEPS =
    !SHUFFLES && BATCH_ROWS == TRAIN_ROWS; /* a thread's rows are always the same */
constexpr bool X_IN_REGISTERS =
    KEEPS && ROWS_EACH * (IN + TARGETS) + PARAMETERS + SUMS <= 192; /* of a thread's 255 */
/* Rows that are read are under way several at a time; a hundred would compile for seconds. */
constexpr int ROWS_UNROLLED = X_IN_REGISTERS || ROWS_EACH < 8 ? ROWS_EACH : 8;

struct row_sums {
  float of[SUMS];
};

/* --- one row -------------------------------------------------------------------------------- */

/* Takes a row through op I and all after it, and back: grad becomes the gradient by x. */
template <int I>
static __device__ __forceinline__ void
row_run(const args &s, const float (&w)[PARAMETERS], const float (&x)[op(I).in],
        const float *target, float scale, float (&grad)[op(I).in], row_sums &sums) {
  if constexpr (I == OPS) {
    const thread_loss loss =
        loss_of<OUT>(s.loss_parameter, s.label_smoothing, x, target, scale, grad);
    sums.of[PARAMETERS] += loss.value;
    sums.of[PARAMETERS + 1] += loss.misses;
  } else {
    constexpr resident_op OP = op(I);
    float y[OP.out], grad_y[OP.out];
    if constexpr (OP.type == EP_LAYER_LINEAR) {
#pragma unroll
      for (int j = 0; j < OP.out; j++) {
        float sum = OP.bias >= 0 ? w[OP.bias >= 0 ? OP.bias + j : 0] : 0;
#pragma unroll
        for (int k = 0; k < OP.in; k++) sum = fmaf(w[OP.weight + j * OP.in + k], x[k], sum);
        y[j] = sum;
      }
      row_run<I + 1>(s, w, y, target, scale, grad_y, sums);
#pragma unroll
      for (int j = 0; j < OP.out; j++) {
        if constexpr (OP.bias >= 0) sums.of[OP.bias + j] += grad_y[j];
#pragma unroll
        for (int k = 0; k < OP.in; k++)
          sums.of[OP.weight + j * OP.in + k] =
              fmaf(grad_y[j], x[k], sums.of[OP.weight + j * OP.in + k]);
      }
      if constexpr (I > FIRST_TRAINED) {
#pragma unroll
        for (int k = 0; k < OP.in; k++) {
          float sum = 0;
#pragma unroll
          for (int j = 0; j < OP.out; j++) sum = fmaf(w[OP.weight + j * OP.in + k], grad_y[j], sum);
          grad[k] = sum;
        }
      }
    } else {
      const ep_op about = activation_of(OP.type, OP);
#pragma unroll
      for (int k = 0; k < OP.in; k++) y[k] = ep_activation(&about, x[k]);
      row_run<I + 1>(s, w, y, target, scale, grad_y, sums);
      if constexpr (I > FIRST_TRAINED) {
#pragma unroll
        for (int k = 0; k < OP.in; k++)
          grad[k] = grad_y[k] * ep_activation_derivative(&about, x[k], y[k]);
      }
    }
  }
}

/* --- sums ----------------------------------------------------------------------------------- */

/* Writes to the shared memory of block `rank` what lies at `mine` in this one's. */
static __device__ __forceinline__ void give(const float *mine, unsigned rank, float value) {
  cluster_store(cluster_address(shared_address(mine), rank), value);
}

struct exchange {
  float of_warp[2][WARPS][SUMS];
  float of_block[BLOCKS > 1 ? 2 : 1][BLOCKS][SUMS];
  __align__(16) float weights[WARPS][SUMS];
};

/* share: this lane's part of all blocks' sums, the same in each warp of each block. turn: 0 and 1
 * alternately, so that one barrier a step is enough. */
static __device__ __forceinline__ void all_sums(exchange &e, int turn, row_sums &sums,
                                                float (&share)[SHARE]) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  lanes_scatter<SUMS, WARP / 2>(sums.of);
#pragma unroll
  for (int i = 0; i < SHARE; i++) e.of_warp[turn][warp][lane * SHARE + i] = sums.of[i];
  __syncthreads();
  if constexpr (BLOCKS > 1) {
    /* Warp w brings the block's sums to the blocks w, w + WARPS, … */
    if (warp < BLOCKS) {
      float whole[SHARE];
#pragma unroll
      for (int i = 0; i < SHARE; i++) {
        whole[i] = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) whole[i] += e.of_warp[turn][w][lane * SHARE + i];
      }
      unsigned rank = cluster_rank();
#pragma unroll
      for (int to = 0; to < BLOCKS; to += WARPS)
        if (to + warp < BLOCKS)
#pragma unroll
          for (int i = 0; i < SHARE; i++)
            give(&e.of_block[turn][rank][lane * SHARE + i], to + warp, whole[i]);
    }
    cluster_sync();
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
      share[i] = 0;
#pragma unroll
      for (int b = 0; b < BLOCKS; b++) share[i] += e.of_block[turn][b][lane * SHARE + i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
      share[i] = 0;
#pragma unroll
      for (int w = 0; w < WARPS; w++) share[i] += e.of_warp[turn][w][lane * SHARE + i];
    }
  }
}

/* The number `at` of all sums, from the lane that has it; every lane of the warp calls. */
static __device__ __forceinline__ float sum_at(const float (&share)[SHARE], int at) {
  float value = 0;
#pragma unroll
  for (int i = 0; i < SHARE; i++)
    if (at % SHARE == i) value = share[i];
  return __shfl_sync(ALL_LANES, value, at / SHARE);
}

/* --- the steps ------------------------------------------------------------------------------ */

struct mine { /* a lane's part of the parameters; the same in each warp */
  float parameter[SHARE], decay[SHARE], state[SHARE][SLOTS > 0 ? SLOTS : 1];
};

static __device__ __forceinline__ void parameters_update(const args &s,
                                                         const ep_optimizer &optimizer,
                                                         const ep_optimizer_step &update,
                                                         const float (&share)[SHARE], mine &m) {
  int lane = threadIdx.x % WARP;
  float scale = 1;
  if constexpr (CLIPS_NORM) {
    double squares = 0;
#pragma unroll
    for (int i = 0; i < SHARE; i++)
      if (lane * SHARE + i < PARAMETERS && m.decay[i] >= 0) squares += (double)share[i] * share[i];
    scale = ep_clip_scale(&optimizer, sqrt(warp_sum(squares)));
  }
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    bool trains = lane * SHARE + i < PARAMETERS && m.decay[i] >= 0;
    float grad = ep_clip(&optimizer, scale, share[i]);
    if (trains)
      m.parameter[i] =
          ep_optimizer_update(&optimizer, &update, m.decay[i], m.parameter[i], grad, m.state[i], 1);
  }
}

/* Every lane of the warp gets all weights. */
static __device__ __forceinline__ void weights_spread(exchange &e, const mine &m,
                                                      float (&w)[PARAMETERS]) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < SHARE; i++) e.weights[warp][lane * SHARE + i] = m.parameter[i];
  __syncwarp();
  const float4 *all = (const float4 *)e.weights[warp];
#pragma unroll
  for (int i = 0; i < PARAMETERS / 4; i++) {
    float4 four = all[i];
    w[4 * i] = four.x, w[4 * i + 1] = four.y, w[4 * i + 2] = four.z, w[4 * i + 3] = four.w;
  }
#pragma unroll
  for (int i = PARAMETERS / 4 * 4; i < PARAMETERS; i++) w[i] = e.weights[warp][i];
}

static __device__ __forceinline__ void row_load(const args &s, long long row, float (&x)[IN],
                                                float (&y)[TARGETS]) {
#pragma unroll
  for (int k = 0; k < IN; k++) x[k] = __ldg(s.x + row * IN + k);
#pragma unroll
  for (int j = 0; j < TARGETS; j++) y[j] = __ldg(s.y + row * TARGETS + j);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) resident(const __grid_constant__ args s) {
  extern __shared__ __align__(16) char memory[];
  exchange &e = *(exchange *)memory;
  int *order = (int *)(memory + sizeof(exchange)); /* [TRAIN_ROWS] when rows are shuffled */
  __shared__ ep_permutation permutation;
  int lane = threadIdx.x % WARP;
  int first =
      (BLOCKS > 1 ? (int)cluster_rank() : 0) * THREADS + threadIdx.x; /* of this thread's rows */
  const ep_optimizer optimizer = optimizer_of(s.optimizer);

  mine m;
  float w[PARAMETERS], kept_x[X_IN_REGISTERS ? ROWS_EACH : 1][IN],
      kept_y[X_IN_REGISTERS ? ROWS_EACH : 1][TARGETS];
#pragma unroll
  for (int i = 0; i < SHARE; i++) {
    int at = lane * SHARE + i;
    m.parameter[i] = at < PARAMETERS ? s.parameters[at] : 0;
    m.decay[i] = at < PARAMETERS ? s.decay[at] : -1;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      m.state[i][slot] = at < PARAMETERS ? s.state[slot * PARAMETERS + at] : 0;
  }
  weights_spread(e, m, w);
  if constexpr (X_IN_REGISTERS) {
#pragma unroll
    for (int r = 0; r < ROWS_EACH; r++) {
      int row = first + r * THREADS * BLOCKS;
      row_load(s, row < TRAIN_ROWS ? row : 0, kept_x[r], kept_y[r]);
    }
  }
  long long epoch = s.first_step / STEPS_PER_EPOCH;
  int batch = (int)(s.first_step % STEPS_PER_EPOCH);
  bool ordered = false;
  if constexpr (BLOCKS > 1) cluster_sync(); /* all blocks are there */

  for (long long step = 0; step < s.steps; step++) {
    float lr = __ldg(s.lr + (s.lr_count == 1 ? 0 : step));
    if constexpr (SHUFFLES) {
      if (!ordered || batch == 0) {
        __syncthreads();
        if (threadIdx.x == 0)
          permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, TRAIN_ROWS);
        __syncthreads();
        for (int i = threadIdx.x; i < TRAIN_ROWS; i += THREADS)
          order[i] = (int)ep_permutation_at(&permutation, i);
        __syncthreads();
        ordered = true;
      }
    }
    int rows = rows_of(batch);
    long long losses = (long long)rows * (TAKES_CLASSES ? 1 : OUT);
    float scale = 1.0f / (float)losses;
    row_sums sums;
#pragma unroll
    for (int i = 0; i < SUMS; i++) sums.of[i] = 0;
#pragma unroll ROWS_UNROLLED
    for (int r = 0; r < ROWS_EACH; r++) {
      int at = first + r * THREADS * BLOCKS;
      if (at < rows) {
        float grad[IN];
        if constexpr (X_IN_REGISTERS) {
          row_run<0>(s, w, kept_x[r], kept_y[r], scale, grad, sums);
        } else {
          float x[IN], y[TARGETS];
          long long row = (long long)batch * BATCH_ROWS + at;
          if constexpr (SHUFFLES) row = order[row];
          row_load(s, row, x, y);
          row_run<0>(s, w, x, y, scale, grad, sums);
        }
      }
    }
    float share[SHARE];
    all_sums(e, (int)(step & 1), sums, share);
    float loss = sum_at(share, PARAMETERS), errors = sum_at(share, PARAMETERS + 1);
    if (first == 0) {
      s.loss[step] = loss / (float)losses;
      s.errors[step] = (int)errors;
    }
    ep_optimizer_step update;
    if constexpr (PLAIN_RATE)
      update = plain_rates(optimizer, lr);
    else
      update = s.update[step];
    parameters_update(s, optimizer, update, share, m);
    weights_spread(e, m, w);
    if (++batch == STEPS_PER_EPOCH) {
      batch = 0;
      epoch++;
    }
  }
  if (first < WARP) {
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
      int at = lane * SHARE + i;
      if (at >= PARAMETERS) continue;
      s.parameters[at] = m.parameter[i];
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++) s.state[slot * PARAMETERS + at] = m.state[i][slot];
    }
  }
  if constexpr (BLOCKS > 1) cluster_sync(); /* nobody writes into a block that has ended */
}

#endif
