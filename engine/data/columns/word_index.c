#include "engine/data/columns/word_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* FNV-1a (Fowler, Noll, Vo) from a seed that nobody can foresee, with its bits mixed in the end. */
static uint64_t key_hash(const ep_word_index *index, const char *key, size_t bytes) {
  uint64_t hash = index->seed;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ (uint8_t)key[i]) * 0x100000001B3ULL;
  hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ULL;
  return hash ^ hash >> 32;
}

/* Words of one key follow each other in their order. */
static ep_status word_add(ep_word_index *index, int64_t number) {
  char key[EP_WORD_KEY_BYTES];
  size_t bytes;
  const char *word = index->words->word[number];
  ep_status status = ep_word_key(index->compare, word, strlen(word), key, &bytes);
  if (status != EP_OK) return status == EP_TOO_LARGE ? EP_OK : status; /* no request has it */
  uint64_t hash = key_hash(index, key, bytes), at = hash & (index->capacity - 1);
  while (index->slot[at] != 0) at = (at + 1) & (index->capacity - 1);
  index->slot[at] = (hash >> 32 << 32) | (uint64_t)(number + 1);
  return EP_OK;
}

ep_status ep_word_index_init(ep_word_compare compare, const ep_words *words, ep_word_index *out,
                             ep_error *error) {
  *out = (ep_word_index){.compare = compare, .words = words, .capacity = 2};
  while (out->capacity < 2 * (uint64_t)words->count) out->capacity *= 2;
  if (getrandom(&out->seed, sizeof out->seed, 0) != (ssize_t)sizeof out->seed)
    return ep_fail(error, EP_IO, "there are no random bytes");
  out->slot = calloc(out->capacity, sizeof *out->slot);
  ep_status status = out->slot ? EP_OK : EP_NO_MEMORY;
  for (int64_t i = 0; i < words->count && status == EP_OK; i++) status = word_add(out, i);
  if (status == EP_OK) return EP_OK;
  ep_word_index_deinit(out);
  return ep_fail_memory(error);
}

void ep_word_index_deinit(ep_word_index *index) {
  free(index->slot);
  *index = (ep_word_index){0};
}

ep_status ep_word_index_find(const ep_word_index *index, const char *text, size_t bytes,
                             int64_t *word) {
  char key[EP_WORD_KEY_BYTES], other[EP_WORD_KEY_BYTES];
  size_t key_bytes, other_bytes;
  *word = -1;
  if (!index->slot) return EP_OK;
  ep_status status = ep_word_key(index->compare, text, bytes, key, &key_bytes);
  if (status != EP_OK) return status == EP_TOO_LARGE ? EP_OK : status;
  uint64_t hash = key_hash(index, key, key_bytes), at = hash & (index->capacity - 1);
  for (; index->slot[at] != 0; at = (at + 1) & (index->capacity - 1)) {
    if (index->slot[at] >> 32 != hash >> 32) continue;
    int64_t number = (int64_t)(uint32_t)index->slot[at] - 1;
    const char *one = index->words->word[number];
    size_t one_bytes = strlen(one);
    if (one_bytes == bytes && memcmp(one, text, bytes) == 0) {
      *word = number;
      return EP_OK;
    }
    if (*word >= 0) continue;
    status = ep_word_key(index->compare, one, one_bytes, other, &other_bytes);
    if (status != EP_OK) return status;
    if (other_bytes == key_bytes && memcmp(other, key, key_bytes) == 0) *word = number;
  }
  return EP_OK;
}
