/* constants.cuh: what follows from a program's constants, for every kernel that is compiled with
 * them: "kernels/cuda/device/program.h" is the source that codegen.h and the executor's own
 * codegen.c write.
 */
#ifndef EP_KERNELS_CUDA_DEVICE_CONSTANTS_CUH
#define EP_KERNELS_CUDA_DEVICE_CONSTANTS_CUH

#include "kernels/cuda/device/program.h"
#include "kernels/cuda/device/reduce.cuh"
#include "kernels/formulas/losses.h"
#include "kernels/formulas/optimizers.h"

/* Rows of a batch of an epoch. */
static __device__ __forceinline__ int rows_of(int batch) {
  return batch == STEPS_PER_EPOCH - 1 ? TRAIN_ROWS - (STEPS_PER_EPOCH - 1) * BATCH_ROWS
                                      : BATCH_ROWS;
}

/* An activation as the formulas take it; of: its figures. */
template <class FIGURES>
static __device__ __forceinline__ ep_op activation_of(ep_layer_type type, const FIGURES &of) {
  ep_op op = {};
  op.type = type;
  op.negative_slope = of.negative_slope;
  op.alpha = of.alpha;
  op.beta = of.beta;
  op.threshold = of.threshold;
  return op;
}

/* The optimizer, as far as it is known when the kernel is compiled. */
static __device__ __forceinline__ ep_optimizer optimizer_of(const ep_optimizer &given) {
  ep_optimizer optimizer = given;
  optimizer.type = OPTIMIZER;
  if (!CLIPS_VALUE) optimizer.clip_value = 0;
  if (!HAS_MOMENTUM) optimizer.momentum = 0;
  return optimizer;
}

/* A step's rates where they are its learning rate alone. */
static __device__ __forceinline__ ep_optimizer_step plain_rates(const ep_optimizer &optimizer,
                                                                float lr) {
  ep_optimizer known = optimizer;
  known.type = OPTIMIZER;
  return ep_optimizer_step_make(&known, lr, 1);
}

/* The rates of step `at` of the segment. */
template <class SPAN>
static __device__ __forceinline__ ep_optimizer_step update_of(const SPAN &s, long long at) {
  if constexpr (PLAIN_RATE)
    return plain_rates(s.optimizer, __ldg(s.lr + (s.lr_count == 1 ? 0 : at)));
  else
    return s.update[at];
}

#endif
