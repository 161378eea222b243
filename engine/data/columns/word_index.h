/* word_index.h: the words of a column by their keys (engine/data/cells/word_key.h), for lookups
 * that do not depend on their number. */
#ifndef EP_ENGINE_DATA_COLUMNS_WORD_INDEX_H
#define EP_ENGINE_DATA_COLUMNS_WORD_INDEX_H

#include "engine/data/cells/word_key.h"
#include "engine/data/cells/word_set.h"
#include "engine/data/datasets/dataset.h"

/* A zeroed one finds nothing. */
typedef struct {
  ep_word_compare compare;
  ep_word_set words, keys; /* owned; the mark of an entry is the number of its first word */
} ep_word_index;

/* words: at most UINT32_MAX. On failure there is nothing to deinit. */
ep_status ep_word_index_init(ep_word_compare compare, const ep_words *words, ep_word_index *out,
                             ep_error *error);
void ep_word_index_deinit(ep_word_index *index);

/* *word: that of exactly these bytes, else the first with their key; -1: there is none. text:
 * [bytes]. EP_NO_MEMORY. */
ep_status ep_word_index_find(const ep_word_index *index, const char *text, size_t bytes,
                             int64_t *word);

#endif
