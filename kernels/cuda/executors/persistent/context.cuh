/* context.cuh: what a thread of cuda/persistent knows of its step. The constants come from
 * codegen.c: those of the program, those of the plan, and a struct of constants for each stage. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_CONTEXT_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_CONTEXT_CUH

#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/device/dynamic_memory.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/device/tagged.cuh"
#include "kernels/cuda/executors/persistent/args.h"
#include "kernels/formulas/dropout.h"

typedef ep_persistent_args args;

constexpr int THREADS = WARPS * WARP, BLOCKS = GROUPS * SLICES;
constexpr bool ROWS_ALL_VALID =
    GROUPS * ROWS == BATCH_ROWS && TRAIN_ROWS == STEPS_PER_EPOCH * BATCH_ROWS;
constexpr bool ROWS_STAY = STEPS_PER_EPOCH == 1; /* each step has the same rows */

/* What a block has of a tensor's `count` values, cut into slices of `each`. */
static __device__ __forceinline__ int part_of(int count, int each, int number) {
  return max(0, min(each, count - number * each));
}

/* What was given, but for its last bit. An exact zero stays one. */
static __device__ __forceinline__ float untagged(float value) {
  return __uint_as_float(__float_as_uint(value) & ~1u);
}
static __device__ __forceinline__ float4 untagged(const float4 &v) {
  return make_float4(untagged(v.x), untagged(v.y), untagged(v.z), untagged(v.w));
}

struct context {
  const args &s;
  ep_optimizer optimizer;
  ep_optimizer_step update; /* this step's rates */
  int thread, lane, warp;
  int group, slice; /* the block's: of rows, of features */
  int parity;       /* of the step, counted from the launch's first */
  int rows;         /* of the step's batch */
  long long step;   /* of the training */
  long long epoch;
  int number;         /* of the step, in its epoch */
  unsigned tag;       /* of this step's exchanges */
  float *exchange;    /* this step's half */
  float scale;        /* of the loss's gradients */
  float loss, misses; /* sums of what this thread has seen in this step */

  __device__ __forceinline__ bool is_valid(int row) const {
    return ROWS_ALL_VALID || group * ROWS + row < rows;
  }
  /* Where this step's rows lie. */
  __device__ __forceinline__ float *input() const {
    return memory + INPUT + (INPUT_BUFFERS > 1 ? parity * ROWS * INPUT_LINE : 0);
  }
  /* Features of a stage's value that this block has. */
  template <class S> __device__ __forceinline__ int features() const {
    if constexpr (S::SLICED && S::OUT != SLICES * S::SLICE)
      return part_of(S::OUT, S::SLICE, slice);
    else
      return S::SLICED ? S::SLICE : S::OUT;
  }
  /* The number of its first one. */
  template <class S> __device__ __forceinline__ int first() const {
    return S::SLICED ? slice * S::SLICE : 0;
  }

  /* Stores of tagged words, `at` words into this step's exchanges. */
  __device__ __forceinline__ float tagged(float value) const {
    return __uint_as_float(__float_as_uint(untagged(value)) | tag);
  }
  __device__ __forceinline__ void give(int at, const float (&value)[2]) const {
    tagged_store2(exchange + at, make_float2(tagged(value[0]), tagged(value[1])));
  }
  __device__ __forceinline__ void give(int at, const float (&value)[1]) const {
    tagged_store1(exchange + at, tagged(value[0]));
  }
  __device__ __forceinline__ unsigned is_missing(const float4 &v) const {
    return ((__float_as_uint(v.x) ^ tag) | (__float_as_uint(v.y) ^ tag) |
            (__float_as_uint(v.z) ^ tag) | (__float_as_uint(v.w) ^ tag)) &
           1u;
  }
  __device__ __forceinline__ unsigned is_missing(const float2 &v) const {
    return ((__float_as_uint(v.x) ^ tag) | (__float_as_uint(v.y) ^ tag)) & 1u;
  }
};

/* Of the exchanges of a step of the training. */
static __device__ __forceinline__ unsigned tag_of(long long step) {
  return (unsigned)(step >> 1 & 1) ^ 1;
}

constexpr int divide_up(int count, int each) {
  return (count + each - 1) / each;
}
constexpr int power_above(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

/* N neighbouring values of shared memory. */
template <int N> static __device__ __forceinline__ void load(float (&to)[N], const float *from) {
  if constexpr (N == 2) {
    const float2 of = *(const float2 *)from;
    to[0] = of.x, to[1] = of.y;
  } else {
    to[0] = from[0];
  }
}
template <int N> static __device__ __forceinline__ void store(float *to, const float (&from)[N]) {
  if constexpr (N == 2)
    *(float2 *)to = make_float2(from[0], from[1]);
  else
    to[0] = from[0];
}

#endif
