/* dropout.h: which elements a dropout layer keeps, and what it multiplies them by: program.h says
 * which element an activation is. Plain C that also compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_DROPOUT_H
#define EP_KERNELS_FORMULAS_DROPOUT_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"
#include "kernels/random.h"

/* The words of elements 4 quad … 4 quad + 3, for who takes four at a time. */
EP_DEVICE_INLINE ep_random4 ep_dropout_words(uint64_t seed, int64_t step, int layer, int64_t quad) {
  return ep_random(seed, EP_RANDOM_DROPOUT, (uint64_t)step, (uint64_t)layer << 40 | (uint64_t)quad);
}

EP_DEVICE_INLINE bool ep_dropout_word_keeps(uint32_t word, float p) {
  return ep_random_float(word) >= p;
}

/* Whether one element of a batch is kept. */
EP_DEVICE_INLINE bool ep_dropout_keeps(uint64_t seed, int64_t step, int layer, int64_t element,
                                       float p) {
  ep_random4 words = ep_dropout_words(seed, step, layer, element / 4);
  return ep_dropout_word_keeps(words.word[element % 4], p);
}

/* 1 / (1 - p), what a kept element is multiplied by; p = 1 keeps none. */
EP_DEVICE_INLINE ep_real ep_dropout_scale(float p) {
  return p < 1 ? 1 / (1 - (ep_real)p) : (ep_real)0;
}

#endif
