/* exchange.cuh: reading what other blocks gave, for cuda/persistent: each word is polled until it
 * has the exchange's tag (tagged.cuh). All threads of a block that compute call. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EXCHANGE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EXCHANGE_CUH

#include "kernels/cuda/executors/persistent/context.cuh"

constexpr int LOADS = 4; /* of four words that a thread has under way */
constexpr unsigned ALL_WORDS = 15;

/* From word `at` on: vectors number first, first + every, … of those that are `stride` words apart,
 * COUNT of them as far as they are below `end`, without their tags. asked: which words of a vector,
 * a bit each. */
template <int COUNT>
static __device__ __forceinline__ void vectors_wait(const exchange &given, int at, int first,
                                                    int every, int end, int stride, unsigned asked,
                                                    float4 (&to)[COUNT]) {
  for (int turns = 0;; tagged_poll(turns)) {
    unsigned missing = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (first + i * every < end) to[i] = given.load4(at + (first + i * every) * stride);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (first + i * every < end) missing |= given.is_missing(to[i], asked);
    if (!missing) break;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) to[i] = untagged(to[i]);
}

/* The same of four words from each of COUNT places on; -1: none. asked: which of the four,
 * a bit each. */
template <int COUNT, class PLACE>
static __device__ __forceinline__ void words_wait(const exchange &given, PLACE place,
                                                  unsigned asked, float4 (&to)[COUNT]) {
  for (int turns = 0;; tagged_poll(turns)) {
    unsigned missing = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (place(i) >= 0) to[i] = given.load4(place(i));
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (place(i) >= 0) missing |= given.is_missing(to[i], asked);
    if (!missing) break;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) to[i] = untagged(to[i]);
}

/* All-gather: VECTORS vectors of four words; take(vector, value). */
template <int VECTORS, class TAKE>
static __device__ __forceinline__ void gather(const context &c, const exchange &given, int at,
                                              TAKE take) {
  constexpr int EACH = divide_up(VECTORS, THREADS), COUNT = EACH < LOADS ? EACH : LOADS;
#pragma unroll 1
  for (int first = c.thread; first < VECTORS; first += THREADS * COUNT) {
    float4 value[COUNT];
    vectors_wait<COUNT>(given, at, first, THREADS, VECTORS, 4, ALL_WORDS, value);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (first + i * THREADS < VECTORS) take(first + i * THREADS, value[i]);
  }
}

static __device__ __forceinline__ void add(float4 &sum, const float4 &value) {
  sum.x += value.x, sum.y += value.y, sum.z += value.z, sum.w += value.w;
}

/* How the sums of a reduction are shared out: threads of a part have WORDS words, in vectors of
 * four; PARTS parts have some of the sources each. */
template <int WORDS> struct reduction {
  static constexpr int VECTORS = power_above(divide_up(WORDS, 4));
  static constexpr bool SPLIT = VECTORS <= THREADS;
  static constexpr int PARTS = SPLIT ? THREADS / VECTORS : 1;
  static constexpr int IN_SCRATCH = VECTORS < WARP ? WARPS : PARTS; /* sums of vectors there */
};

/* Words that a thread gets the sums of, as far as there are so many; number i of them. */
template <int WORDS> constexpr int reduced_words() {
  return reduction<WORDS>::SPLIT ? divide_up(WORDS / 2, THREADS) * 2
                                 : divide_up(WORDS / 4, THREADS) * 4;
}
template <int WORDS> static __device__ __forceinline__ int reduced_word(const context &c, int i) {
  if (reduction<WORDS>::SPLIT) return (c.thread + i / 2 * THREADS) * 2 + i % 2;
  return (c.thread + i / 4 * THREADS) * 4 + i % 4;
}

/* Vectors that a thread sums up the sources of, or some of them; number i of these. */
template <int WORDS> constexpr int polled_vectors() {
  return reduction<WORDS>::SPLIT ? 1 : divide_up(WORDS / 4, THREADS);
}
template <int WORDS> static __device__ __forceinline__ int polled_vector(const context &c, int i) {
  return reduction<WORDS>::SPLIT ? c.thread % reduction<WORDS>::VECTORS : c.thread + i * THREADS;
}

/* Reduce-scatter: the sums, over SOURCES sources that are STRIDE words apart, of `words` of WORDS
 * words, in a fixed order; take(number of the thread's pair, word, sums of words `word` and word +
 * 1): reduced_word says which. asked(i): which words of its vector i are given, a bit each. */
template <int SOURCES, int WORDS, int STRIDE, class ASKED, class TAKE>
static __device__ __forceinline__ void reduce(const context &c, const exchange &given, int at,
                                              int words, ASKED asked, TAKE take) {
  using OF = reduction<WORDS>;
  if constexpr (OF::SPLIT) {
    constexpr int EACH = divide_up(SOURCES, OF::PARTS), COUNT = EACH < LOADS ? EACH : LOADS;
    const int vector = c.thread % OF::VECTORS, part = c.thread / OF::VECTORS;
    float4 *scratch = (float4 *)(memory + SCRATCH), sum = make_float4(0, 0, 0, 0);
    if (vector * 4 < words)
#pragma unroll 1
      for (int first = 0; first < EACH; first += COUNT) {
        float4 value[COUNT];
        vectors_wait<COUNT>(given, at + vector * 4, part + first * OF::PARTS, OF::PARTS, SOURCES,
                            STRIDE, asked(0), value);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
          if (part + (first + i) * OF::PARTS < SOURCES) add(sum, value[i]);
      }
    if constexpr (OF::VECTORS < WARP) {
#pragma unroll
      for (int distance = OF::VECTORS; distance < WARP; distance *= 2)
        add(sum, make_float4(__shfl_xor_sync(ALL_LANES, sum.x, distance),
                             __shfl_xor_sync(ALL_LANES, sum.y, distance),
                             __shfl_xor_sync(ALL_LANES, sum.z, distance),
                             __shfl_xor_sync(ALL_LANES, sum.w, distance)));
      if (c.lane < OF::VECTORS) scratch[c.warp * OF::VECTORS + c.lane] = sum;
    } else {
      scratch[part * OF::VECTORS + vector] = sum;
    }
    block_sync();
#pragma unroll
    for (int i = 0; i < divide_up(WORDS / 2, THREADS); i++) {
      const int word = (c.thread + i * THREADS) * 2;
      if (word >= words) break;
      float all[2] = {0, 0};
#pragma unroll
      for (int p = 0; p < OF::IN_SCRATCH; p++) {
        float of[2];
        load(of, (const float *)(scratch + p * OF::VECTORS) + word);
        all[0] += of[0], all[1] += of[1];
      }
      take(i, word, all);
    }
  } else {
    constexpr int COUNT = SOURCES < LOADS ? SOURCES : LOADS;
#pragma unroll
    for (int j = 0; j < divide_up(WORDS / 4, THREADS); j++) {
      const int word = (c.thread + j * THREADS) * 4;
      if (word >= words) break;
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
      for (int first = 0; first < SOURCES; first += COUNT) {
        float4 value[COUNT];
        vectors_wait<COUNT>(given, at + word, first, 1, SOURCES, STRIDE, asked(j), value);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
          if (first + i < SOURCES) add(sum, value[i]);
      }
      const float lower[2] = {sum.x, sum.y}, upper[2] = {sum.z, sum.w};
      take(2 * j, word, lower);
      if (word + 2 < words) take(2 * j + 1, word + 2, upper);
    }
  }
}

/* The same where all words are given. */
template <int SOURCES, int WORDS, int STRIDE, class TAKE>
static __device__ __forceinline__ void reduce(const context &c, const exchange &given, int at,
                                              int words, TAKE take) {
  reduce<SOURCES, WORDS, STRIDE>(
      c, given, at, words, [](int) { return ALL_WORDS; }, take);
}

#endif
