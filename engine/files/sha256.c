#include "engine/files/sha256.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_BYTES = 64 };

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { SHA_BIT = 29 }; /* of what leaf 7 of cpuid leaves in ebx */

/* Asked once: under a hypervisor the question takes as long as hashing kilobytes. */
static bool processor_hashes(void) {
  enum { UNASKED, NO, YES };
  static atomic_int answer = UNASKED;
  if (atomic_load_explicit(&answer, memory_order_relaxed) == UNASKED) {
    unsigned eax, ebx, ecx, edx;
    bool has = __builtin_cpu_supports("sse4.1") &&
               __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> SHA_BIT & 1) != 0;
    atomic_store_explicit(&answer, has ? YES : NO, memory_order_relaxed);
  }
  return atomic_load_explicit(&answer, memory_order_relaxed) == YES;
}

/* The fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define SHA_TARGET __attribute__((target("sha,sse4.1")))

/* Words t … t + 3 of a block's schedule from the sixteen before them, four in each of w; t / 4 is
 * `group`. */
SHA_TARGET static inline __m128i words_next(const __m128i w[4], int group) {
  __m128i before = w[(group + 3) % 4];
  __m128i sum = _mm_sha256msg1_epu32(w[group % 4], w[(group + 1) % 4]);
  sum = _mm_add_epi32(sum, _mm_alignr_epi8(before, w[(group + 2) % 4], 4));
  return _mm_sha256msg2_epu32(sum, before);
}

/* The instructions want the eight words of the state as a b e f and c d g h, the first on top. */
SHA_TARGET static void blocks_add(uint32_t state[8], const uint8_t *at, size_t blocks) {
  const __m128i turn = _mm_set_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
  __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
  __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
  for (; blocks > 0; blocks--, at += BLOCK_BYTES) {
    __m128i w[4], abef_before = abef, cdgh_before = cdgh;
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)at + i), turn);
#pragma GCC unroll 16
    for (int group = 0; group < 16; group++) {
      if (group >= 4) w[group % 4] = words_next(w, group);
      const __m128i *constant = (const __m128i *)(const void *)constants + group;
      __m128i words = _mm_add_epi32(w[group % 4], _mm_loadu_si128(constant));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  uint32_t left[4], right[4]; /* f e b a, h g d c */
  _mm_storeu_si128((__m128i *)(void *)left, abef);
  _mm_storeu_si128((__m128i *)(void *)right, cdgh);
  for (int i = 0; i < 2; i++) {
    state[i] = left[3 - i], state[4 + i] = left[1 - i];
    state[2 + i] = right[3 - i], state[6 + i] = right[1 - i];
  }
}
#else
static bool processor_hashes(void) {
  return false;
}
static void blocks_add(uint32_t state[8], const uint8_t *at, size_t blocks) {
  (void)state, (void)at, (void)blocks;
}
#endif

void ep_sha256_update(crypto_hash_sha256_state *state, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  size_t waiting = state->count / 8 % BLOCK_BYTES; /* it counts bits */
  size_t head = (BLOCK_BYTES - waiting) % BLOCK_BYTES;
  if (count >= head + BLOCK_BYTES && processor_hashes()) {
    crypto_hash_sha256_update(state, at, head);
    size_t blocks = (count - head) / BLOCK_BYTES;
    blocks_add(state->state, at + head, blocks);
    state->count += (uint64_t)blocks * BLOCK_BYTES * 8;
    at += head + blocks * BLOCK_BYTES;
    count -= head + blocks * BLOCK_BYTES;
  }
  crypto_hash_sha256_update(state, at, count);
}

void ep_sha256_final(crypto_hash_sha256_state *state, char text[EP_SHA256_HEX_BYTES]) {
  uint8_t digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256_final(state, digest);
  sodium_bin2hex(text, EP_SHA256_HEX_BYTES, digest, sizeof digest);
}
