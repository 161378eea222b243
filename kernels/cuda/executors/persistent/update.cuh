/* update.cuh: parameters and their updates, for cuda/persistent. Stages' parameters lie one behind
 * the other at the beginning of shared memory, each stage's in a segment: its weight [inputs,
 * line], and its bias at word S::BIAS_WORD; a norm's weight has one number a feature, an
 * embedding's is [WORDS, DIMENSION]. What a word is says a table that the plan makes
 * (ep_persistent_places).
 *
 * With one group of rows each block updates its own words. With several, a slice's words are cut
 * into a chunk a group, of which each group's block sums up the gradients, updates its own copy,
 * and gives it to the others. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_UPDATE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_UPDATE_CUH

#include "kernels/cuda/executors/persistent/stages.cuh"

/* What a thread keeps for a launch: optimizer state and, of several groups, its words. */
constexpr int OWN_WORDS = GROUPS > 1 ? reduced_words<CHUNK>() : STATE_WORDS;
constexpr int OWN_SETS = OWN_WORDS > 0 ? divide_up(OWN_WORDS, 32) : 1;

struct own_words {
  float state[SLOTS > 0 ? SLOTS : 1][OWN_WORDS];
  float word[GROUPS > 1 ? OWN_WORDS : 1];
  float decay[GROUPS > 1 && DECAYS ? OWN_WORDS : 1];
  unsigned trained[OWN_SETS]; /* a bit a word */
  unsigned
      polled[polled_vectors<CHUNK>()]; /* of each vector of four that it sums up: a bit a word */

  __device__ __forceinline__ bool is_trained(int at) const {
    return trained[at / 32] >> at % 32 & 1;
  }
};

template <class... S, class RUN>
static __device__ __forceinline__ void stages_each(sequence<S...>, RUN run) {
  (run(S{}), ...);
}

/* --- places ---------------------------------------------------------------------------------- */

/* What a word of this block's segments is. */
static __device__ __forceinline__ int place_of(const context &c, int word) {
  return c.s.places[c.slice * VECTOR_WORDS + word];
}
static __device__ __forceinline__ bool is_parameter(int place) {
  return place >= 0;
}
static __device__ __forceinline__ int parameter_of(int place) {
  return place / EP_PERSISTENT_PLACE;
}

/* --- one update ------------------------------------------------------------------------------ */

/* Number `at` of the thread's words; one that is not trained stays as it is. */
static __device__ __forceinline__ float word_update(const context &c, float decay, float word,
                                                    float grad, own_words &own, int at) {
  const bool trains = own.is_trained(at);
  float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++) state[slot] = own.state[slot][at];
  const float next = ep_optimizer_update(&c.optimizer, &c.update, decay, word,
                                         ep_clip(&c.optimizer, 1, grad), state, 1);
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++)
    own.state[slot][at] = trains ? state[slot] : own.state[slot][at];
  return trains ? next : word;
}

/* --- one group of rows ----------------------------------------------------------------------- */

/* A thread's words of a segment, four at a time: run(word, number of the word among its own). */
template <class S, class RUN>
static __device__ __forceinline__ void own_each(const context &c, RUN run) {
  constexpr int VECTORS = S::SEGMENT_WORDS / 4;
#pragma unroll
  for (int i = 0; i < divide_up(VECTORS, THREADS); i++) {
    const int vector = c.thread + i * THREADS;
    if (vector < VECTORS) run(vector * 4, S::STATE + i * 4);
  }
}

template <class S>
static __device__ __forceinline__ void segment_update(const context &c, own_words &own) {
  if constexpr (S::WEIGHT_TRAINS || S::BIAS_TRAINS)
    own_each<S>(c, [&](int word, int at) {
      float4 *to = (float4 *)(memory + S::WEIGHTS + word);
      const float4 old = *to, grad = *(const float4 *)(gradients_of<S>() + word);
      const float before[4] = {old.x, old.y, old.z, old.w};
      const float by[4] = {grad.x, grad.y, grad.z, grad.w};
      float after[4];
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const float decay = DECAYS ? c.s.decay[S::NUMBER][word + q >= S::BIAS_WORD] : 0;
        after[q] = word_update(c, decay, before[q], by[q], own, at + q);
      }
      *to = make_float4(after[0], after[1], after[2], after[3]);
    });
}

/* --- several groups -------------------------------------------------------------------------- */

/* Sums up the groups' gradients of this block's chunk, updates it, and takes the others'. */
static __device__ __forceinline__ void chunk_update(context &c, own_words &own) {
  if constexpr (GROUPS > 1) {
    const int first = c.group * CHUNK, words = part_of(VECTOR_WORDS, CHUNK, c.group);
    constexpr int STRIDE = CLUSTERED ? CHUNK : VECTOR_WORDS; /* as group_give has it */
    reduce<GROUPS, CHUNK, STRIDE>(
        c, c.of_words, GIVEN_GRADIENTS + (CLUSTERED ? 0 : c.slice * GROUPS * VECTOR_WORDS + first),
        words, [&](int vector) { return own.polled[vector]; },
        [&](int pair, int word, const float(&grad)[2]) {
          float value[2];
#pragma unroll
          for (int q = 0; q < 2; q++) {
            const int at = pair * 2 + q;
            own.word[at] =
                word_update(c, DECAYS ? own.decay[at] : 0, own.word[at], grad[q], own, at);
            value[q] = own.word[at];
          }
          const int at = GIVEN_WORDS + c.slice * VECTOR_WORDS + first + word;
          if constexpr (CLUSTERED) {
#pragma unroll 4
            for (int block = 0; block < GROUPS; block++) c.of_words.give_to(block, at, value);
          } else {
            c.of_words.give(at, value);
          }
        });
    gather<VECTOR_WORDS / 4>(
        c, c.of_words, GIVEN_WORDS + c.slice * VECTOR_WORDS,
        [&](int vector, const float4 &value) { *(float4 *)(memory + vector * 4) = value; });
  }
}

/* --- the launch's ends ----------------------------------------------------------------------- */

/* A thread's words: run(word of the segments, number among its own). */
template <class RUN> static __device__ __forceinline__ void words_each(const context &c, RUN run) {
  if constexpr (GROUPS > 1) {
#pragma unroll
    for (int i = 0; i < OWN_WORDS; i++) {
      const int word = reduced_word<CHUNK>(c, i);
      if (word < CHUNK && c.group * CHUNK + word < VECTOR_WORDS) run(c.group * CHUNK + word, i);
    }
  } else {
    stages_each(network(), [&](auto stage) {
      using S = decltype(stage);
      own_each<S>(c, [&](int word, int at) {
#pragma unroll
        for (int q = 0; q < 4; q++) run(S::WEIGHTS + word + q, at + q);
      });
    });
  }
}

static __device__ __forceinline__ float word_load(const context &c, int word) {
  const int place = place_of(c, word);
  if (is_parameter(place)) return c.s.parameters[parameter_of(place)];
  return place == EP_PERSISTENT_PLACE_OF_ONE ? 1 : 0;
}

/* A block's copy of the parameters. Of several groups, as it is when it comes by an exchange. */
static __device__ __forceinline__ void words_load(const context &c) {
  for (int word = c.thread; word < VECTOR_WORDS; word += THREADS) {
    const float value = word_load(c, word);
    memory[word] = GROUPS > 1 ? untagged(value) : value;
  }
}

static __device__ __forceinline__ float decay_of(const context &c, int word) {
  float decay = 0;
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    const int at = word - S::WEIGHTS;
    if (at >= 0 && at < S::SEGMENT_WORDS) decay = c.s.decay[S::NUMBER][at >= S::BIAS_WORD];
  });
  return decay;
}

static __device__ __forceinline__ void own_load(const context &c, own_words &own) {
#pragma unroll
  for (int i = 0; i < OWN_SETS; i++) own.trained[i] = 0;
  words_each(c, [&](int word, int at) {
    const int place = place_of(c, word);
    const bool trains = is_parameter(place) && (place & EP_PERSISTENT_PLACE_TRAINS);
    if (trains) own.trained[at / 32] |= 1u << at % 32;
    if constexpr (GROUPS > 1) own.word[at] = word_load(c, word);
    if constexpr (GROUPS > 1 && DECAYS) own.decay[at] = trains ? decay_of(c, word) : 0;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      own.state[slot][at] =
          is_parameter(place) ? c.s.state[(long long)slot * PARAMETERS + parameter_of(place)] : 0;
  });
  if constexpr (GROUPS > 1) {
#pragma unroll
    for (int i = 0; i < polled_vectors<CHUNK>(); i++) {
      own.polled[i] = 0;
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int word = c.group * CHUNK + polled_vector<CHUNK>(c, i) * 4 + q;
        if (word < VECTOR_WORDS && place_of(c, word) >= 0 &&
            (place_of(c, word) & EP_PERSISTENT_PLACE_TRAINS))
          own.polled[i] |= 1u << q;
      }
    }
  }
}

static __device__ __forceinline__ void own_store(const context &c, const own_words &own) {
  words_each(c, [&](int word, int at) {
    const int place = place_of(c, word);
    if (!is_parameter(place) || !(place & EP_PERSISTENT_PLACE_STORES)) return;
    if constexpr (GROUPS > 1)
      c.s.parameters[parameter_of(place)] = own.word[at];
    else
      c.s.parameters[parameter_of(place)] = memory[word];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      c.s.state[(long long)slot * PARAMETERS + parameter_of(place)] = own.state[slot][at];
  });
}

/* A stage's running statistics, to it or, of the first block that has them, back. */
template <class S> static __device__ __forceinline__ float *running_at(const context &c, int i) {
  return c.s.parameters + PARAMETERS + S::RUNNING_FIRST + i % 2 * S::OUT + c.first<S>() + i / 2;
}
template <class S> static __device__ __forceinline__ void running_load(const context &c) {
  if constexpr (S::HAS_RUNNING)
    for (int i = c.thread; i < 2 * c.features<S>(); i += THREADS)
      memory[S::RUNNING + i] = *running_at<S>(c, i);
}
template <class S> static __device__ __forceinline__ void running_store(const context &c) {
  if constexpr (S::HAS_RUNNING)
    if (c.group == 0 && (S::SLICED || c.slice == 0))
      for (int i = c.thread; i < 2 * c.features<S>(); i += THREADS)
        *running_at<S>(c, i) = memory[S::RUNNING + i];
}

#endif
