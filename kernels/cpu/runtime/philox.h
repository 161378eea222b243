/* philox.h: ep_random (kernels/random.h) of a vector of indices. */
#ifndef EP_KERNELS_CPU_RUNTIME_PHILOX_H
#define EP_KERNELS_CPU_RUNTIME_PHILOX_H

#include <math.h>

#include "kernels/cpu/runtime/lanes.h"
#include "kernels/random.h"

/* word[i], lane j: word i of ep_random(seed, purpose, epoch, first + offset[j]). */
LANES_INLINE void lanes_random_at(uint64_t seed, ep_random_purpose purpose, uint64_t epoch,
                                  uint64_t first, lanes_word offset, lanes_word word[4]) {
  const lanes_word none = {0};
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
  word[0] = (uint32_t)first + offset;
  word[1] = (uint32_t)(first >> 32) + none;
  word[1] -= (lanes_word)(word[0] < (uint32_t)first); /* what the lower words carry over */
  word[2] = (uint32_t)epoch + none;
  word[3] = ((uint32_t)purpose << 28 ^ ((uint32_t)(epoch >> 32) & UINT32_C(0x0FFFFFFF))) + none;
  for (int round = 0; round < 10; round++) {
    lanes_word high0, high1;
    const lanes_word low0 = lanes_word_multiply(word[0], UINT32_C(0xD2511F53), &high0);
    const lanes_word low1 = lanes_word_multiply(word[2], UINT32_C(0xCD9E8D57), &high1);
    word[0] = high1 ^ word[1] ^ key0;
    word[1] = low1;
    word[2] = high0 ^ word[3] ^ key1;
    word[3] = low0;
    key0 += UINT32_C(0x9E3779B9);
    key1 += UINT32_C(0xBB67AE85);
  }
}

/* Of neighbours: first + j. */
LANES_INLINE void lanes_random(uint64_t seed, ep_random_purpose purpose, uint64_t epoch,
                               uint64_t first, lanes_word word[4]) {
  lanes_random_at(seed, purpose, epoch, first, (lanes_word)lanes_iota, word);
}

/* For who compares integers: ep_random_float(word) >= p where word >> 8 is at least this. */
LANES_INLINE int32_t lanes_random_least(float p) {
  return (int32_t)ceilf(p * 0x1p24f);
}

#endif
