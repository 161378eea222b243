#include "engine/data/columns/word_index.h"

#include <string.h>

/* Adds a word of the column, or its key; of several alike the first one counts. */
static ep_status number_add(ep_word_set *set, const char *text, size_t bytes, uint32_t number,
                            ep_error *error) {
  ep_word_entry *entry = ep_word_set_add(set, text, bytes, error);
  if (entry && entry->rows == 1) entry->mark = number;
  return entry ? EP_OK : EP_NO_MEMORY;
}

/* -1: the set does not have it. */
static int64_t number_find(const ep_word_set *set, const char *text, size_t bytes) {
  int64_t found = ep_word_set_find(set, text, bytes);
  return found < 0 ? -1 : (int64_t)set->entry[found].mark;
}

ep_status ep_word_index_init(ep_word_compare compare, const ep_words *words, ep_word_index *out,
                             ep_error *error) {
  char key[EP_WORD_KEY_BYTES];
  size_t key_bytes;
  ep_status status = EP_OK;
  *out = (ep_word_index){.compare = compare};
  for (int64_t i = 0; i < words->count && status == EP_OK; i++) {
    const char *word = words->word[i];
    size_t bytes = strlen(word);
    status = number_add(&out->words, word, bytes, (uint32_t)i, error);
    if (status == EP_OK) status = ep_word_key(compare, word, bytes, key, &key_bytes);
    if (status == EP_OK)
      status = number_add(&out->keys, key, key_bytes, (uint32_t)i, error);
    else if (status == EP_TOO_LARGE)
      status = EP_OK; /* no request has it */
  }
  if (status == EP_OK) return EP_OK;
  ep_word_index_deinit(out);
  return ep_fail_memory(error);
}

void ep_word_index_deinit(ep_word_index *index) {
  ep_word_set_deinit(&index->words);
  ep_word_set_deinit(&index->keys);
}

ep_status ep_word_index_find(const ep_word_index *index, const char *text, size_t bytes,
                             int64_t *word) {
  char key[EP_WORD_KEY_BYTES];
  size_t key_bytes;
  *word = number_find(&index->words, text, bytes);
  if (*word >= 0 || index->words.count == 0) return EP_OK;
  ep_status status = ep_word_key(index->compare, text, bytes, key, &key_bytes);
  if (status == EP_OK) *word = number_find(&index->keys, key, key_bytes);
  return status == EP_TOO_LARGE ? EP_OK : status;
}
