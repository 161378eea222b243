#include "engine/data/cells/word_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { FIRST_CAPACITY = 4, FIRST_TEXT_BYTES = 32 };

__extension__ typedef unsigned __int128 product;

static uint64_t folded(uint64_t value) {
  product wide = (product)value * 0x9E3779B97F4A7C15ULL;
  return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* At most eight bytes, in two halves that may overlap. */
static uint64_t last_block(const char *text, size_t bytes) {
  uint32_t first = 0, last = 0;
  if (bytes >= sizeof first) {
    memcpy(&first, text, sizeof first);
    memcpy(&last, text + bytes - sizeof last, sizeof last);
  } else if (bytes > 0) {
    first = (uint8_t)text[0] | (uint32_t)(uint8_t)text[bytes / 2] << 8;
    last = (uint8_t)text[bytes - 1];
  }
  return (uint64_t)first << 32 | last;
}

/* Eight bytes at a time, from an unpredictable seed: both halves of a product are folded, so that
 * no difference of two words has a hash's difference that is known beforehand. */
static uint64_t hash_of(const ep_word_set *set, const char *text, size_t bytes) {
  uint64_t hash = set->seed ^ bytes * 0x100000001B3ULL, block;
  size_t left = bytes;
  for (; left > sizeof block; left -= sizeof block, text += sizeof block) {
    memcpy(&block, text, sizeof block);
    hash = folded(hash ^ block);
  }
  return folded(hash ^ last_block(text, left));
}

static size_t kept_bytes(size_t bytes) {
  return bytes <= EP_LIMIT_WORD_BYTES ? bytes : EP_LIMIT_WORD_BYTES + 1;
}

/* The slot of the word, or the empty one where it belongs. */
static uint32_t *slot_find(const ep_word_set *set, uint64_t hash, const char *text, size_t bytes) {
  size_t mask = 2 * (size_t)set->capacity - 1, at = hash & mask;
  for (; set->slot[at] != 0; at = (at + 1) & mask) {
    const ep_word_entry *entry = &set->entry[set->slot[at] - 1];
    if (entry->hash == hash && entry->bytes == kept_bytes(bytes) &&
        memcmp(set->text + entry->offset, text, entry->bytes) == 0)
      break;
  }
  return &set->slot[at];
}

static void slots_fill(ep_word_set *set) {
  size_t mask = 2 * (size_t)set->capacity - 1;
  for (uint32_t i = 0; i < set->count; i++) {
    size_t at = set->entry[i].hash & mask;
    while (set->slot[at] != 0) at = (at + 1) & mask;
    set->slot[at] = i + 1;
  }
}

static ep_status entries_grow(ep_word_set *set, ep_error *error) {
  uint32_t capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY;
  ep_word_entry *entry = realloc(set->entry, capacity * sizeof *entry);
  if (entry) set->entry = entry;
  uint32_t *slot = entry ? calloc(2 * (size_t)capacity, sizeof *slot) : NULL;
  if (!slot) return ep_fail_memory(error);
  free(set->slot);
  set->slot = slot;
  set->capacity = capacity;
  slots_fill(set);
  return EP_OK;
}

static ep_status text_grow(ep_word_set *set, size_t bytes, ep_error *error) {
  size_t capacity = set->text_capacity ? set->text_capacity : FIRST_TEXT_BYTES;
  while (capacity < set->text_bytes + bytes) capacity *= 2;
  char *text = realloc(set->text, capacity);
  if (!text) return ep_fail_memory(error);
  set->text = text;
  set->text_capacity = capacity;
  return EP_OK;
}

static ep_status seed_make(ep_word_set *set, ep_error *error) {
  if (getrandom(&set->seed, sizeof set->seed, 0) != (ssize_t)sizeof set->seed)
    return ep_fail(error, EP_IO, "no random bytes available");
  set->seed |= 1;
  return EP_OK;
}

ep_word_entry *ep_word_set_count(ep_word_set *set, const char *text, size_t bytes) {
  int64_t number = ep_word_set_find(set, text, bytes);
  if (number >= 0) set->entry[number].rows++;
  return number >= 0 ? &set->entry[number] : NULL;
}

ep_word_entry *ep_word_set_add(ep_word_set *set, const char *text, size_t bytes, ep_error *error) {
  ep_status status = set->seed ? EP_OK : seed_make(set, error);
  if (status == EP_OK && set->count == set->capacity) status = entries_grow(set, error);
  if (status != EP_OK) return NULL;
  uint64_t hash = hash_of(set, text, bytes);
  uint32_t *slot = slot_find(set, hash, text, bytes);
  if (*slot != 0) {
    set->entry[*slot - 1].rows++;
    return &set->entry[*slot - 1];
  }
  size_t kept = kept_bytes(bytes);
  if (set->text_bytes + kept >= set->text_capacity && text_grow(set, kept, error) != EP_OK)
    return NULL;
  memcpy(set->text + set->text_bytes, text, kept);
  set->entry[set->count] = (ep_word_entry){.hash = hash,
                                           .rows = 1,
                                           .offset = (uint32_t)set->text_bytes,
                                           .bytes = (uint32_t)kept,
                                           .number = set->count};
  set->text_bytes += kept;
  set->too_long |= bytes > EP_LIMIT_WORD_BYTES;
  *slot = ++set->count;
  return &set->entry[set->count - 1];
}

size_t ep_word_set_bytes(const ep_word_set *set) {
  return set->capacity * (sizeof *set->entry + 2 * sizeof *set->slot) + set->text_capacity;
}

int64_t ep_word_set_find(const ep_word_set *set, const char *text, size_t bytes) {
  if (set->count == 0) return -1;
  return (int64_t)*slot_find(set, hash_of(set, text, bytes), text, bytes) - 1;
}

void ep_word_set_deinit(ep_word_set *set) {
  free(set->entry);
  free(set->slot);
  free(set->text);
  *set = (ep_word_set){0};
}
