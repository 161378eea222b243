/* random.h: all randomness of the project. Counter-based, so that the shuffle, the masks and the
 * first weights are the same on every device, in every executor, after every resume.
 *
 * Philox4x32-10: J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. */
#ifndef EP_KERNELS_RANDOM_H
#define EP_KERNELS_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define EP_DEVICE_INLINE static __host__ __device__ __forceinline__
#else
#define EP_DEVICE_INLINE static inline
#endif
/* A function that the compiler can evaluate, where the language has such. */
#ifdef __cplusplus
#define EP_DEVICE_CONSTEXPR constexpr EP_DEVICE_INLINE
#else
#define EP_DEVICE_CONSTEXPR EP_DEVICE_INLINE
#endif

/* What a number is for: the same seed gives unrelated streams. Rows are only ever added at the end.
 */
typedef enum {
  EP_RANDOM_INIT,      /* epoch: layer, index: parameter within the layer's weight, then bias */
  EP_RANDOM_SHUFFLE,   /* epoch: epoch, index: round keys of the permutation */
  EP_RANDOM_SPLIT,     /* epoch: 0 */
  EP_RANDOM_GENERATOR, /* epoch: 0 train, 1 test; index: value */
  EP_RANDOM_DROPOUT,   /* epoch: step, index: layer << 40 | element / 4 */
  EP_RANDOM_AUGMENT,   /* epoch: epoch, index: row of the training set */
  EP_RANDOM_SEARCH,    /* epoch: trial, index: what for << 32 | axis (engine/search/draws.h) */
  EP_RANDOM_PLOT       /* epoch: column << 8 | repeat, index: row (engine/plots/columns.c) */
} ep_random_purpose;

typedef struct {
  uint32_t word[4];
} ep_random4;

EP_DEVICE_INLINE ep_random4 ep_philox(uint32_t key0, uint32_t key1, ep_random4 counter) {
  for (int round = 0; round < 10; round++) {
    uint64_t product0 = (uint64_t)UINT32_C(0xD2511F53) * counter.word[0];
    uint64_t product1 = (uint64_t)UINT32_C(0xCD9E8D57) * counter.word[2];
    ep_random4 next = {{(uint32_t)(product1 >> 32) ^ counter.word[1] ^ key0, (uint32_t)product1,
                        (uint32_t)(product0 >> 32) ^ counter.word[3] ^ key1, (uint32_t)product0}};
    counter = next;
    key0 += UINT32_C(0x9E3779B9);
    key1 += UINT32_C(0xBB67AE85);
  }
  return counter;
}

/* Four words for (seed, purpose, epoch, index). The key is the seed; the counter holds the index in
 * 64 bits, the epoch's low 32 bits, and the purpose with 28 more bits of the epoch. */
EP_DEVICE_INLINE ep_random4 ep_random(uint64_t seed, ep_random_purpose purpose, uint64_t epoch,
                                      uint64_t index) {
  ep_random4 counter = {
      {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)epoch,
       (uint32_t)purpose << 28 ^ ((uint32_t)(epoch >> 32) & UINT32_C(0x0FFFFFFF))}};
  return ep_philox((uint32_t)seed, (uint32_t)(seed >> 32), counter);
}

/* A float in [0, 1), 24 bits. */
EP_DEVICE_INLINE float ep_random_float(uint32_t word) {
  return (float)(word >> 8) * 0x1p-24f;
}

/* A double in [0, 1), 53 bits of two words. */
EP_DEVICE_INLINE double ep_random_double(uint32_t low, uint32_t high) {
  return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

/* A random permutation of 0 … n-1, one element at a time: a Feistel network on the smallest number
 * of bits that holds n, walked until it lands below n (J. Black and P. Rogaway, "Ciphers with
 * Arbitrary Finite Domains", CT-RSA 2002). No sort and no table: any thread of any device finds its
 * own row. */
/* Halves of 1 to 3 bits mix slowly and need more rounds: with 8, some orders of five elements came
 * almost twice as often as they should, and neighbours stayed together 1 % too often up to 128. */
enum { EP_SHUFFLE_ROUNDS = 8, EP_SHUFFLE_ROUNDS_SMALL = 24, EP_SHUFFLE_SMALL_BITS = 7 };

typedef struct {
  uint32_t key[EP_SHUFFLE_ROUNDS_SMALL]; /* [rounds] */
  uint32_t rounds;
  uint32_t n;
  uint32_t left_bits, right_bits; /* 1 … 16 each */
} ep_permutation;

EP_DEVICE_INLINE ep_permutation ep_permutation_make(uint64_t seed, ep_random_purpose purpose,
                                                    uint64_t epoch, uint64_t n) {
  ep_permutation permutation;
  uint32_t bits = 2;
  while (((uint64_t)1 << bits) < n) bits++;
  permutation.rounds = bits <= EP_SHUFFLE_SMALL_BITS ? EP_SHUFFLE_ROUNDS_SMALL : EP_SHUFFLE_ROUNDS;
  for (uint32_t i = 0; i < permutation.rounds / 4; i++) {
    ep_random4 words = ep_random(seed, purpose, epoch, i);
    for (uint32_t j = 0; j < 4; j++) permutation.key[4 * i + j] = words.word[j];
  }
  permutation.n = (uint32_t)n;
  permutation.left_bits = bits / 2;
  permutation.right_bits = bits - bits / 2;
  return permutation;
}

/* `value` of `bits` bits from a value and a key: the finalizer of a multiplicative hash. */
EP_DEVICE_INLINE uint32_t ep_permutation_mix(uint32_t value, uint32_t key, uint32_t bits) {
  uint32_t hash = (value + 1) * UINT32_C(0x9E3779B1) ^ key;
  hash = (hash ^ hash >> 16) * UINT32_C(0x85EBCA6B);
  hash = (hash ^ hash >> 13) * UINT32_C(0xC2B2AE35);
  return (hash ^ hash >> 16) & ((UINT32_C(1) << bits) - 1);
}

/* Where each of `count` elements (0 … n-1) of the shuffled order comes from, in place. count: up to
 * EP_SHUFFLE_TOGETHER; their rounds do not wait for each other. */
enum { EP_SHUFFLE_TOGETHER = 4 };
EP_DEVICE_INLINE void ep_permutation_each(const ep_permutation *permutation, uint32_t *index,
                                          int count) {
  const uint32_t left_bits = permutation->left_bits, right_bits = permutation->right_bits;
  uint32_t left[EP_SHUFFLE_TOGETHER], right[EP_SHUFFLE_TOGETHER];
  int walks = (1 << count) - 1; /* a bit for each that is not there yet */
  while (walks) {
    for (int i = 0; i < count; i++) {
      left[i] = index[i] >> right_bits;
      right[i] = index[i] & ((UINT32_C(1) << right_bits) - 1);
    }
    for (uint32_t round = 0; round < permutation->rounds; round += 2) {
      const uint32_t first = permutation->key[round], second = permutation->key[round + 1];
      for (int i = 0; i < count; i++) {
        left[i] ^= ep_permutation_mix(right[i], first, left_bits);
        right[i] ^= ep_permutation_mix(left[i], second, right_bits);
      }
    }
    for (int i = 0; i < count; i++) {
      if (walks >> i & 1) index[i] = left[i] << right_bits | right[i];
      if (index[i] < permutation->n) walks &= ~(1 << i);
    }
  }
}

/* Where element `index` comes from. */
EP_DEVICE_INLINE uint32_t ep_permutation_at(const ep_permutation *permutation, uint32_t index) {
  ep_permutation_each(permutation, &index, 1);
  return index;
}

#endif
