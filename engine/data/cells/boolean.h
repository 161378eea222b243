/* boolean.h: words of two meanings: true or false, and the wider list that names the positive of
 * two classes. */
#ifndef EP_ENGINE_DATA_CELLS_BOOLEAN_H
#define EP_ENGINE_DATA_CELLS_BOOLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1: true, t, yes, y, 1, 1., 1.0; 0: false, f, no, n, 0, 0., 0.0; -1: any other text. Regardless of
 * case and of the spaces around the word. */
int ep_boolean_meaning(const char *text, size_t bytes);

/* What words are, a bit each: those of a column are the bits of all its words. */
enum {
  EP_WORD_FALSE = 1,
  EP_WORD_TRUE = 2,
  EP_WORD_T_OR_F = 4,
  EP_WORD_Y_OR_N = 8,
  EP_WORD_OTHER = 16
};
int ep_boolean_bits(const char *text, size_t bytes);

/* Whether so many words with these bits are booleans: both meanings are there, or one word alone,
 * and letters are of one pair. Else t and y, or N and F, would be one word. */
bool ep_words_are_booleans(int bits, int64_t words);

/* The same, and 1: positive, pos, on, +; 0: negative, neg, off, -. */
int ep_positive_meaning(const char *text, size_t bytes);

#endif
