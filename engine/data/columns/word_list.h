/* word_list.h: lists of words of an encoding, which have no counts of rows. ep_words_deinit frees
 * them. */
#ifndef EP_ENGINE_DATA_COLUMNS_WORD_LIST_H
#define EP_ENGINE_DATA_COLUMNS_WORD_LIST_H

#include <stdbool.h>

#include "engine/data/datasets/dataset.h"

/* Makes room for so many words, all NULL. False when memory is short, and then *out is empty. */
bool ep_word_list_init(ep_words *out, int64_t count);
/* The first `count` words of `from`. False when memory is short, and then *out is empty. */
bool ep_word_list_copy(ep_words *out, const ep_words *from, int64_t count);
/* The number of the word, or -1. */
int64_t ep_word_list_find(const ep_words *words, const char *word);

#endif
