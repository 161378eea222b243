/* context.cuh: what a thread of cuda/persistent knows of its step. The constants come from
 * codegen.c: those of the program, those of the plan, and a struct of constants for each stage. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_CONTEXT_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_CONTEXT_CUH

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/device/dynamic_memory.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/device/named_barrier.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/tagged.cuh"
#include "kernels/cuda/executors/persistent/args.h"
#include "kernels/formulas/dropout.h"

typedef ep_persistent_args args;

/* Those that compute. HELPED: a warp more prepares what the next micro-batches take. */
constexpr int THREADS = WARPS * WARP, BLOCK_THREADS = THREADS + (HELPED ? WARP : 0);
constexpr bool ROWS_ALL_VALID =
    GROUPS * MICRO_BATCHES * ROWS == BATCH_ROWS && TRAIN_ROWS == STEPS_PER_EPOCH * BATCH_ROWS;
/* Each micro-batch has the same rows. */
constexpr bool ROWS_STAY = STEPS_PER_EPOCH == 1 && MICRO_BATCHES == 1;

/* A barrier of COUNT threads. A named one asks for whole warps: lanes that polled for different
 * times meet first. */
template <int COUNT> static __device__ __forceinline__ void warps_sync(int number) {
  if constexpr (HELPED) {
    __syncwarp();
    named_barrier_sync<COUNT>(number);
  } else {
    __syncthreads();
  }
}

/* Of the threads that compute, and of all. */
static __device__ __forceinline__ void block_sync() {
  warps_sync<THREADS>(1);
}
static __device__ __forceinline__ void all_sync() {
  warps_sync<BLOCK_THREADS>(2);
}

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

/* Of the exchanges of a micro-batch, or of a step, by its number in the training. */
static __device__ __forceinline__ unsigned tag_of(long long number) {
  return (unsigned)(number >> 1 & 1) ^ 1;
}

/* Tagged words of a micro-batch, or of a step: in device memory, or, CLUSTERED, in the shared
 * memory of each block that they are given to. */
struct exchange {
  float *words;
  unsigned at; /* CLUSTERED: their shared address */
  unsigned tag;

  static __device__ __forceinline__ exchange of(const args &s, int place, unsigned tag) {
    if constexpr (CLUSTERED) return {nullptr, shared_address(memory + EXCHANGE + place), tag};
    return {s.exchange + place, 0, tag};
  }

  __device__ __forceinline__ float tagged(float value) const {
    return __uint_as_float(__float_as_uint(untagged(value)) | tag);
  }
  template <class TO> __device__ __forceinline__ void store_to(TO to, const float (&of)[2]) const {
    tagged_store2(to, make_float2(tagged(of[0]), tagged(of[1])));
  }
  template <class TO> __device__ __forceinline__ void store_to(TO to, const float (&of)[1]) const {
    tagged_store1(to, tagged(of[0]));
  }

  /* Stores at word `word`, for all blocks that read it there. */
  template <int N> __device__ __forceinline__ void give(int word, const float (&value)[N]) const {
    store_to(words + word, value);
  }
  /* CLUSTERED: of block `block`. */
  template <int N>
  __device__ __forceinline__ void give_to(unsigned block, int word, const float (&value)[N]) const {
    store_to(cluster_address(at + 4 * word, block), value);
  }

  __device__ __forceinline__ float4 load4(int word) const {
    if constexpr (CLUSTERED) return tagged_load4(at + 4 * word);
    return tagged_load4(words + word);
  }
  __device__ __forceinline__ float2 load2(int word) const {
    if constexpr (CLUSTERED) return tagged_load2(at + 4 * word);
    return tagged_load2(words + word);
  }

  /* asked: which of the words, a bit each. */
  __device__ __forceinline__ unsigned is_missing(const float4 &v, unsigned asked) const {
    return (((__float_as_uint(v.x) ^ tag) & asked) | ((__float_as_uint(v.y) ^ tag) & asked >> 1) |
            ((__float_as_uint(v.z) ^ tag) & asked >> 2) |
            ((__float_as_uint(v.w) ^ tag) & asked >> 3)) &
           1u;
  }
  __device__ __forceinline__ unsigned is_missing(const float2 &v) const {
    return ((__float_as_uint(v.x) ^ tag) | (__float_as_uint(v.y) ^ tag)) & 1u;
  }
};

struct context {
  const args &s;
  ep_optimizer optimizer;
  ep_optimizer_step update; /* this step's rates */
  int thread, lane, warp;
  int group, slice; /* the block's: of rows, of features */
  int micro_batch;  /* of the step */
  int parity;       /* of the micro-batch, counted over the training */
  int rows;         /* of the step's batch */
  long long step;   /* of the training */
  long long epoch;
  int number;         /* of the step, in its epoch */
  exchange of_rows;   /* this micro-batch's: values and gradients of rows */
  exchange of_words;  /* this step's: gradients by parameters, and the parameters */
  float scale;        /* of the loss's gradients */
  float loss, misses; /* sums of what this thread has seen in this step */

  /* The number in the batch of the first row that this block has of a micro-batch. */
  __device__ __forceinline__ int first_row(int of_micro_batch) const {
    return (group * MICRO_BATCHES + of_micro_batch) * ROWS;
  }
  __device__ __forceinline__ bool is_valid(int row) const {
    return ROWS_ALL_VALID || first_row(micro_batch) + row < rows;
  }
  __device__ __forceinline__ bool is_last_micro_batch() const {
    return MICRO_BATCHES == 1 || micro_batch == MICRO_BATCHES - 1;
  }
  /* Where this micro-batch's rows lie. */
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
};

/* at: the step's number in the launch. */
static __device__ __forceinline__ void step_begin(context &c, long long at) {
  c.step = c.s.first_step + at;
  if (at > 0) c.number++;
  if (c.number == STEPS_PER_EPOCH) c.number = 0, c.epoch++;
  c.rows = rows_of(c.number);
  c.scale = 1.0f / (float)(c.rows * (TAKES_CLASSES ? 1 : OUT));
  c.of_words = exchange::of(c.s, 2 * ROWS_HALF + (int)(c.step & 1) * WORDS_HALF, tag_of(c.step));
  c.loss = c.misses = 0;
}

static __device__ __forceinline__ void micro_batch_begin(context &c, int number) {
  const long long of_all = c.step * MICRO_BATCHES + number;
  c.micro_batch = number;
  c.parity = (int)(of_all & 1);
  c.of_rows = exchange::of(c.s, c.parity * ROWS_HALF, tag_of(of_all));
}

constexpr int divide_up(int count, int each) {
  return (count + each - 1) / each;
}
constexpr int power_above(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

/* --- numbers of shared memory ---------------------------------------------------------------- */

template <bool IS, class A, class B> struct chosen { typedef A type; };
template <class A, class B> struct chosen<false, A, B> { typedef B type; };

/* A constant as a type. */
template <bool IS> struct constant { static constexpr bool value = IS; };

/* Values and gradients of rows: HALF: bfloat16, else float32; from a word of memory on. */
typedef unsigned short half_bits;
typedef chosen<HALF, half_bits, float>::type number;
static __device__ __forceinline__ number *numbers_at(int word) {
  return (number *)(memory + word);
}

/* N neighbours. */
template <int N> static __device__ __forceinline__ void load(float (&to)[N], const float *from) {
  if constexpr (N == 2) {
    const float2 of = *(const float2 *)from;
    to[0] = of.x, to[1] = of.y;
  } else if constexpr (N == 4) {
    const float4 of = *(const float4 *)from;
    to[0] = of.x, to[1] = of.y, to[2] = of.z, to[3] = of.w;
  } else {
    to[0] = from[0];
  }
}
template <int N> static __device__ __forceinline__ void store(float *to, const float (&from)[N]) {
  if constexpr (N == 2)
    *(float2 *)to = make_float2(from[0], from[1]);
  else if constexpr (N == 4)
    *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
  else
    to[0] = from[0];
}
template <int N>
static __device__ __forceinline__ void load(float (&to)[N], const half_bits *from) {
  if constexpr (N == 1) {
    to[0] = __uint_as_float((unsigned)from[0] << 16);
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const unsigned pair = ((const unsigned *)from)[i / 2];
      to[i] = __uint_as_float(pair << 16);
      to[i + 1] = __uint_as_float(pair & 0xffff0000u);
    }
  }
}
template <int N>
static __device__ __forceinline__ void store(half_bits *to, const float (&from)[N]) {
  if constexpr (N == 1) {
    to[0] = (half_bits)bf16_pair(from[0], 0);
  } else if constexpr (N == 4) {
    *(uint2 *)to = make_uint2(bf16_pair(from[0], from[1]), bf16_pair(from[2], from[3]));
  } else {
    *(unsigned *)to = bf16_pair(from[0], from[1]);
  }
}

#endif
