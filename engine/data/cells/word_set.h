/* word_set.h: words, of one column say, and how often each occurs, as they come. */
#ifndef EP_ENGINE_DATA_CELLS_WORD_SET_H
#define EP_ENGINE_DATA_CELLS_WORD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"

typedef struct {
  uint64_t hash;
  int64_t rows;
  uint32_t offset, bytes; /* of its text; of a longer word the first EP_LIMIT_WORD_BYTES + 1 */
  uint32_t number;        /* as it came: 0, 1, … */
  uint32_t mark;          /* the caller's: 0 when it is new */
} ep_word_entry;

/* A zeroed one is empty. */
typedef struct {
  ep_word_entry *entry; /* [capacity], owned; `count` are used */
  uint32_t *slot; /* [2 * capacity], owned: by hash, open addressing: an entry and one; 0: none */
  char *text;     /* [text_capacity], owned */
  uint32_t count, capacity;
  size_t text_bytes, text_capacity;
  uint64_t seed;
  bool too_long; /* a word has more than EP_LIMIT_WORD_BYTES */
} ep_word_set;

/* Counts a word: UTF-8 without a zero byte. `count` grows by one when it is new. Returns its entry,
 * good until the next word; NULL, with an error: there is no memory. */
ep_word_entry *ep_word_set_add(ep_word_set *set, const char *text, size_t bytes, ep_error *error);

/* Counts a word again. Returns its entry; NULL, and nothing is counted: the set does not have it.
 */
ep_word_entry *ep_word_set_count(ep_word_set *set, const char *text, size_t bytes);

/* How much memory it has. */
size_t ep_word_set_bytes(const ep_word_set *set);

/* The number of a word; -1 when the set does not have it. */
int64_t ep_word_set_find(const ep_word_set *set, const char *text, size_t bytes);

/* A zeroed one is allowed. */
void ep_word_set_deinit(ep_word_set *set);

#endif
