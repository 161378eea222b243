#include "engine/data/columns/word_list.h"

#include <stdlib.h>
#include <string.h>

bool ep_word_list_init(ep_words *out, int64_t count) {
  *out = (ep_words){.word = calloc((size_t)count + 1, sizeof *out->word), .count = count};
  if (!out->word) out->count = 0;
  return out->word;
}

bool ep_word_list_copy(ep_words *out, const ep_words *from, int64_t count) {
  if (!ep_word_list_init(out, count)) return false;
  for (int64_t i = 0; i < count; i++) {
    out->word[i] = strdup(from->word[i]);
    if (out->word[i]) continue;
    ep_words_deinit(out);
    return false;
  }
  return true;
}

int64_t ep_word_list_find(const ep_words *words, const char *word) {
  for (int64_t i = 0; i < words->count; i++)
    if (strcmp(words->word[i], word) == 0) return i;
  return -1;
}
