#include "engine/data/columns/word_hash.h"

#include <string.h>

static uint32_t rotated(uint32_t value, int bits) {
  return value << bits | value >> (32 - bits);
}

/* Four bytes, or what is left of them, the first one lowest. */
static uint32_t block_mixed(const uint8_t *bytes, size_t count) {
  uint32_t block = 0;
  for (size_t i = 0; i < count; i++) block |= (uint32_t)bytes[i] << (8 * i);
  return rotated(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static uint32_t murmur_hash(const char *word) {
  const uint8_t *bytes = (const uint8_t *)word;
  size_t count = strlen(word), left = count;
  uint32_t hash = 0;
  for (; left >= 4; left -= 4, bytes += 4)
    hash = rotated(hash ^ block_mixed(bytes, 4), 13) * 5 + 0xe6546b64u;
  hash ^= block_mixed(bytes, left) ^ (uint32_t)count;
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

ep_word_bucket ep_word_bucket_of(const char *word, int64_t buckets) {
  int64_t hash = murmur_hash(word);
  if (hash > INT32_MAX) hash -= INT64_C(1) << 32;
  return (ep_word_bucket){(hash < 0 ? -hash : hash) % buckets, hash < 0 ? -1 : 1};
}
