/* ULID: https://github.com/ulid/spec */
#include "server/process/id.h"

#include <pthread.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "server/process/clock.h"

enum { PREFIX_BYTES = EP_ID_PREFIX_BYTES, DIGITS = 26, RANDOM_BYTES = 10, VALUE_BYTES = 16 };

static const char ALPHABET[] = "0123456789abcdefghjkmnpqrstvwxyz";

static pthread_mutex_t last_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards last */
static uint8_t last[VALUE_BYTES]; /* the last id's 128 bits, big-endian */

static void value_write(const uint8_t value[VALUE_BYTES], const char *prefix,
                        char id[EP_ID_BYTES]) {
  memcpy(id, prefix, PREFIX_BYTES);
  unsigned held = 0; /* 130 bits in 26 digits: the first digit has two bits of zero before it */
  int bits = 2, digit = 0;
  for (int i = 0; i < VALUE_BYTES; i++) {
    held = held << 8 | value[i];
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      id[PREFIX_BYTES + digit++] = ALPHABET[held >> bits & 31];
    }
    held &= (1u << bits) - 1;
  }
  id[PREFIX_BYTES + DIGITS] = 0;
}

static void value_read(const char *id, uint8_t value[VALUE_BYTES]) {
  unsigned held = 0;
  int bits = -2, byte = 0;
  for (int i = 0; i < DIGITS; i++) {
    const char *digit = strchr(ALPHABET, id[PREFIX_BYTES + i]);
    held = held << 5 | (unsigned)(digit - ALPHABET);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      value[byte++] = (uint8_t)(held >> bits);
      held &= (1u << bits) - 1;
    }
  }
}

static void value_increment(uint8_t value[VALUE_BYTES]) {
  for (int i = VALUE_BYTES - 1; i >= 0 && ++value[i] == 0; i--) {
  }
}

void ep_id_create(const char *prefix, char id[EP_ID_BYTES]) {
  uint8_t value[VALUE_BYTES];
  int64_t now_ms = ep_clock_utc_us() / 1000;
  for (int i = 0; i < 6; i++) value[i] = (uint8_t)(now_ms >> (40 - 8 * i));
  randombytes_buf(value + 6, RANDOM_BYTES);
  pthread_mutex_lock(&last_mutex);
  if (memcmp(value, last, 6) <= 0) {
    value_increment(last); /* the same millisecond, or a clock that went back */
    memcpy(value, last, VALUE_BYTES);
  } else {
    memcpy(last, value, VALUE_BYTES);
  }
  pthread_mutex_unlock(&last_mutex);
  value_write(value, prefix, id);
}

void ep_id_observe(const char *id) {
  uint8_t value[VALUE_BYTES];
  if (!ep_id_valid(id)) return;
  value_read(id, value);
  pthread_mutex_lock(&last_mutex);
  if (memcmp(value, last, VALUE_BYTES) > 0) memcpy(last, value, VALUE_BYTES);
  pthread_mutex_unlock(&last_mutex);
}

bool ep_id_is_sweep(const char *id) {
  return strncmp(id, EP_SWEEP_PREFIX, PREFIX_BYTES) == 0;
}

const char *ep_id_noun(const char *id) {
  return ep_id_is_sweep(id) ? "sweep" : "job";
}

bool ep_id_is_later(const char *id, const char *other) {
  return strcmp(id + PREFIX_BYTES, other + PREFIX_BYTES) > 0;
}

bool ep_id_valid(const char *id) {
  bool prefixed = ep_id_is_sweep(id) || strncmp(id, EP_JOB_PREFIX, PREFIX_BYTES) == 0;
  return prefixed && strspn(id + PREFIX_BYTES, ALPHABET) == DIGITS &&
         id[PREFIX_BYTES + DIGITS] == 0 && id[PREFIX_BYTES] <= '7';
}
