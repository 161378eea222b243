/* update.cuh: parameters and their updates, for cuda/persistent. A stage's parameters lie in a
 * segment of shared memory: its weight [inputs, line], and its bias at word S::BIAS_WORD; a norm's
 * weight has one number a feature.
 *
 * With one group of rows each block updates its own segments. With several, the parameters of a
 * slice are one vector of CHUNK words a group, of which each group's block sums up its words'
 * gradients, updates its own copy of them, and gives it to the others. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_UPDATE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_UPDATE_CUH

#include "kernels/cuda/executors/persistent/stages.cuh"

/* What a thread keeps for a launch: optimizer state and, of several groups, its words. */
constexpr int OWN_WORDS = GROUPS > 1 ? reduced_words<CHUNK>() : STATE_WORDS;
constexpr bool OWNS_DECAYS = GROUPS > 1 && (DECAYS || !ALL_TRAIN);

struct own_words {
  float state[SLOTS > 0 ? SLOTS : 1][OWN_WORDS];
  float word[GROUPS > 1 ? OWN_WORDS : 1];
  float decay[OWNS_DECAYS ? OWN_WORDS : 1]; /* negative: frozen */
};

template <class... S, class RUN>
static __device__ __forceinline__ void stages_each(sequence<S...>, RUN run) {
  (run(S{}), ...);
}

/* --- places ---------------------------------------------------------------------------------- */

constexpr int NOWHERE = -1;

/* The parameter of [PARAMETERS] that a word of a stage's segment is; NOWHERE: none. */
template <class S> static __device__ __forceinline__ int parameter_of(const context &c, int word) {
  if (S::IS_LINEAR && word < S::BIAS_WORD) {
    const int k = word / S::WEIGHT_LINE, m = word % S::WEIGHT_LINE;
    const int input = S::TAKES_SLICE ? c.slice * S::INPUTS + k : k;
    const int output = S::SPLITS_OUTPUTS ? c.slice * S::OUTPUTS + m : m;
    if (k >= S::INPUTS || m >= S::OUTPUTS || input >= S::IN || output >= S::OUT) return NOWHERE;
    return S::WEIGHT + output * S::IN + input;
  }
  const bool is_bias = word >= S::BIAS_WORD;
  const int feature = is_bias ? word - S::BIAS_WORD : word;
  if ((is_bias ? S::BIAS_PARAMETER : S::WEIGHT) < 0 || feature >= c.features<S>()) return NOWHERE;
  return (is_bias ? S::BIAS_PARAMETER : S::WEIGHT) + c.first<S>() + feature;
}

/* Whether the word is one that the training changes. */
template <class S> static __device__ __forceinline__ bool is_trained(const context &c, int word) {
  if (!(word >= S::BIAS_WORD ? S::BIAS_TRAINS : S::WEIGHT_TRAINS)) return false;
  constexpr bool EVEN = S::IN == S::INPUTS * (S::TAKES_SLICE ? SLICES : 1) &&
                        S::OUT == S::OUTPUTS * (S::SPLITS_OUTPUTS ? SLICES : 1) &&
                        S::OUT == S::SLICE * (S::SLICED ? SLICES : 1);
  if (!EVEN) return parameter_of<S>(c, word) != NOWHERE;
  if (word >= S::BIAS_WORD) return word < S::BIAS_WORD + S::FEATURES;
  if (!S::IS_LINEAR) return word < S::FEATURES;
  return word < S::INPUTS * S::WEIGHT_LINE &&
         (S::WEIGHT_LINE == S::OUTPUTS || word % S::WEIGHT_LINE < S::OUTPUTS);
}

/* The word of the segment that word `at` of the stage's part of the vector is; NOWHERE: none. */
template <class S> static __device__ __forceinline__ int segment_word(int at) {
  const int bias = S::DENSE_BIAS - S::DENSE;
  if (at >= bias) return at - bias < S::FEATURES ? S::BIAS_WORD + at - bias : NOWHERE;
  if (!S::IS_LINEAR) return at < S::FEATURES ? at : NOWHERE;
  if (at >= S::INPUTS * S::OUTPUTS) return NOWHERE;
  return at / S::OUTPUTS * S::WEIGHT_LINE + at % S::OUTPUTS;
}

/* Of the stages: the one whose part of the vector has word `dense`: run(stage, word in its part).
 */
template <class S, class... MORE, class RUN>
static __device__ __forceinline__ void stage_of(sequence<S, MORE...>, int dense, RUN run) {
  if constexpr (sizeof...(MORE) > 0)
    if (dense >= S::DENSE_END) {
      stage_of(sequence<MORE...>{}, dense, run);
      return;
    }
  run(S{}, dense - S::DENSE);
}

/* --- one update ------------------------------------------------------------------------------ */

static __device__ __forceinline__ float word_update(const context &c, float decay, float word,
                                                    float grad, own_words &own, int at) {
  float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++) state[slot] = own.state[slot][at];
  const float next = ep_optimizer_update(&c.optimizer, &c.update, decay, word,
                                         ep_clip(&c.optimizer, 1, grad), state, 1);
#pragma unroll
  for (int slot = 0; slot < SLOTS; slot++) own.state[slot][at] = state[slot];
  return next;
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
      const float4 old = *to, grad = *(const float4 *)(memory + GRADIENT + word);
      const float before[4] = {old.x, old.y, old.z, old.w};
      const float by[4] = {grad.x, grad.y, grad.z, grad.w};
      float after[4];
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const float decay = DECAYS ? c.s.decay[S::NUMBER][word + q >= S::BIAS_WORD] : 0;
        after[q] = is_trained<S>(c, word + q) ? word_update(c, decay, before[q], by[q], own, at + q)
                                              : before[q];
      }
      *to = make_float4(after[0], after[1], after[2], after[3]);
    });
}

/* --- several groups -------------------------------------------------------------------------- */

/* A thread's words of its block's chunk: run(word of the vector, number among its own). */
template <class RUN> static __device__ __forceinline__ void chunk_each(const context &c, RUN run) {
#pragma unroll
  for (int i = 0; i < OWN_WORDS; i++) {
    const int word = reduced_word<CHUNK>(c, i);
    if (word < CHUNK && c.group * CHUNK + word < VECTOR_WORDS) run(c.group * CHUNK + word, i);
  }
}

/* The words between the parts of the vector that have no gradient: all are polled. */
template <class S> static __device__ __forceinline__ void gaps_give(const context &c) {
  const float none[1] = {0};
  constexpr int BIAS = S::DENSE_BIAS - S::DENSE, END = S::DENSE_END - S::DENSE;
  const int weights = S::IS_LINEAR ? S::INPUTS * S::OUTPUTS : c.features<S>();
  for (int i = weights + c.thread; i < BIAS; i += THREADS) gradient_give(c, 0, S::DENSE + i, none);
  const int biases = S::GIVES_BIAS ? (S::IS_LINEAR ? S::FEATURES : c.features<S>()) : 0;
  for (int i = BIAS + biases + c.thread; i < END; i += THREADS)
    gradient_give(c, 0, S::DENSE + i, none);
}

/* Sums up the groups' gradients of this block's chunk, updates it, and takes the others'. */
static __device__ __forceinline__ void chunk_update(context &c, own_words &own) {
  if constexpr (GROUPS > 1) {
    const int words = part_of(VECTOR_WORDS, CHUNK, c.group);
    reduce<GROUPS, CHUNK, CHUNK>(
        c, c.exchange + GIVEN_GRADIENTS + (c.slice * GROUPS + c.group) * GROUPS * CHUNK, words,
        [&](int pair, int word, const float(&grad)[2]) {
          float value[2];
#pragma unroll
          for (int q = 0; q < 2; q++) {
            const int at = pair * 2 + q;
            const float decay = OWNS_DECAYS ? own.decay[at] : 0;
            if (ALL_TRAIN || decay >= 0)
              own.word[at] = word_update(c, decay, own.word[at], grad[q], own, at);
            value[q] = own.word[at];
          }
          c.give(GIVEN_WORDS + (c.slice * GROUPS + c.group) * CHUNK + word, value);
        });
    gather<VECTOR_WORDS / 4>(c, c.exchange + GIVEN_WORDS + c.slice * GROUPS * CHUNK,
                             [&](int vector, const float4 &value) {
                               stage_of(network(), vector * 4, [&](auto stage, int at) {
                                 using S = decltype(stage);
                                 const float of[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
                                 for (int q = 0; q < 4; q++) {
                                   const int word = segment_word<S>(at + q);
                                   if (word != NOWHERE) memory[S::WEIGHTS + word] = of[q];
                                 }
                               });
                             });
  }
}

/* --- the launch's ends ----------------------------------------------------------------------- */

/* A stage's parameters to its segment, and its running statistics. */
template <class S> static __device__ __forceinline__ void segment_load(const context &c) {
  for (int word = c.thread; word < S::SEGMENT_WORDS; word += THREADS) {
    const int parameter = parameter_of<S>(c, word);
    const bool is_factor = !S::IS_LINEAR && word < S::BIAS_WORD; /* of a norm without parameters */
    float value = parameter == NOWHERE ? (is_factor ? 1.0f : 0.0f) : c.s.parameters[parameter];
    memory[S::WEIGHTS + word] = value;
  }
  if constexpr (S::HAS_RUNNING)
    for (int i = c.thread; i < 2 * c.features<S>(); i += THREADS)
      memory[S::RUNNING + i] =
          c.s.parameters[PARAMETERS + S::RUNNING_FIRST + i % 2 * S::OUT + c.first<S>() + i / 2];
}

/* Whether this block is the one that brings back what several blocks of its group have. */
template <class S> static __device__ __forceinline__ bool is_keeper(const context &c, int word) {
  const bool apart =
      S::IS_LINEAR && word < S::BIAS_WORD ? S::TAKES_SLICE || S::SPLITS_OUTPUTS : S::SLICED;
  return apart || c.slice == 0;
}

template <class S> static __device__ __forceinline__ void running_store(const context &c) {
  if constexpr (S::HAS_RUNNING) {
    if (c.group != 0 || !is_keeper<S>(c, S::BIAS_WORD)) return;
    for (int i = c.thread; i < 2 * c.features<S>(); i += THREADS)
      c.s.parameters[PARAMETERS + S::RUNNING_FIRST + i % 2 * S::OUT + c.first<S>() + i / 2] =
          memory[S::RUNNING + i];
  }
}

template <class S>
static __device__ __forceinline__ void state_load(const context &c, own_words &own) {
  own_each<S>(c, [&](int word, int at) {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int parameter = parameter_of<S>(c, word + q);
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        own.state[slot][at + q] =
            parameter == NOWHERE ? 0 : c.s.state[(long long)slot * PARAMETERS + parameter];
    }
  });
}

template <class S>
static __device__ __forceinline__ void segment_store(const context &c, const own_words &own) {
  own_each<S>(c, [&](int word, int at) {
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int parameter = parameter_of<S>(c, word + q);
      if (parameter == NOWHERE || !is_trained<S>(c, word + q) || !is_keeper<S>(c, word + q))
        continue;
      c.s.parameters[parameter] = memory[S::WEIGHTS + word + q];
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++)
        c.s.state[(long long)slot * PARAMETERS + parameter] = own.state[slot][at + q];
    }
  });
}

static __device__ __forceinline__ void chunk_load(const context &c, own_words &own) {
  if constexpr (GROUPS > 1) {
#pragma unroll
    for (int i = 0; i < OWN_WORDS; i++) {
      own.word[i] = 0;
      if (OWNS_DECAYS) own.decay[i] = -1;
#pragma unroll
      for (int slot = 0; slot < SLOTS; slot++) own.state[slot][i] = 0;
    }
    chunk_each(c, [&](int dense, int i) {
      stage_of(network(), dense, [&](auto stage, int at) {
        using S = decltype(stage);
        const int word = segment_word<S>(at);
        const int parameter = word == NOWHERE ? NOWHERE : parameter_of<S>(c, word);
        if (word != NOWHERE) own.word[i] = memory[S::WEIGHTS + word];
        if (parameter == NOWHERE) return;
        if (OWNS_DECAYS && is_trained<S>(c, word))
          own.decay[i] = c.s.decay[S::NUMBER][word >= S::BIAS_WORD];
        for (int slot = 0; slot < SLOTS; slot++)
          own.state[slot][i] = c.s.state[(long long)slot * PARAMETERS + parameter];
      });
    });
  }
}

/* A block's copies of what others own, as they are when they come by an exchange. */
static __device__ __forceinline__ void copies_untag(const context &c) {
  if constexpr (GROUPS > 1)
    stages_each(network(), [&](auto stage) {
      using S = decltype(stage);
      for (int word = c.thread; word < S::SEGMENT_WORDS; word += THREADS)
        memory[S::WEIGHTS + word] = untagged(memory[S::WEIGHTS + word]);
    });
}

static __device__ __forceinline__ void chunk_store(const context &c, const own_words &own) {
  if constexpr (GROUPS > 1) {
    chunk_each(c, [&](int dense, int i) {
      stage_of(network(), dense, [&](auto stage, int at) {
        using S = decltype(stage);
        const int word = segment_word<S>(at);
        const int parameter = word == NOWHERE ? NOWHERE : parameter_of<S>(c, word);
        if (parameter == NOWHERE || !is_trained<S>(c, word) || !is_keeper<S>(c, word)) return;
        c.s.parameters[parameter] = own.word[i];
        for (int slot = 0; slot < SLOTS; slot++)
          c.s.state[(long long)slot * PARAMETERS + parameter] = own.state[slot][i];
      });
    });
  }
}

#endif
