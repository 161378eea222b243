/* word_key.h: what two spellings of one word have in common. A table writes True, 5.0 or "café" in
 * its way, a request in another: words are equal where their keys are. */
#ifndef EP_ENGINE_DATA_CELLS_WORD_KEY_H
#define EP_ENGINE_DATA_CELLS_WORD_KEY_H

#include <stddef.h>

#include "api/limits.h"
#include "api/status.h"

/* What makes two words of a column equal. */
typedef enum {
  EP_WORD_VALUE,  /* numbers by value: 5, 05, 5.0 and 5e0; all others as texts */
  EP_WORD_CODE,   /* texts alone, as those of codes: 02134 is not 2134 */
  EP_WORD_BOOLEAN /* true and false in any spelling, 1 and 0 too; all others by value */
} ep_word_compare;

/* NFC takes at most three times the bytes (Unicode Standard Annex 15). */
enum { EP_WORD_KEY_BYTES = 3 * EP_LIMIT_WORD_BYTES };

/* The key of a word: in NFC, without Unicode's white space at both ends; a number, of any length,
 * as its digits and its exponent, so that numbers that differ have different keys. text: [bytes];
 * key: [*key_bytes], written, without a zero byte behind it. EP_TOO_LARGE: a text of more than
 * EP_WORD_KEY_BYTES, which is never a word; EP_NO_MEMORY. Depends on its arguments alone. */
ep_status ep_word_key(ep_word_compare compare, const char *text, size_t bytes,
                      char key[EP_WORD_KEY_BYTES], size_t *key_bytes);

#endif
