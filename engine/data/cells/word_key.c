#include "engine/data/cells/word_key.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/boolean.h"
#include "engine/data/cells/unicode.h"

enum { EXPONENT_DIGITS = 6, EXPONENT_BYTES = 16 }; /* longer exponents are those of texts */

/* A decimal number: 0.digits * 10^exponent. */
typedef struct {
  bool negative;
  char digits[EP_WORD_KEY_BYTES]; /* without zeros at both ends */
  size_t count;                   /* 0: it is zero */
  long exponent;
} decimal;

static bool is_digit(const char *at, const char *end) {
  return at < end && *at >= '0' && *at <= '9';
}

/* The digits at `at`, on one side of the point; returns what follows them. Zeros before the first
 * other digit move the point where they stand behind it. */
static const char *digits_read(const char *at, const char *end, bool fraction, decimal *out) {
  for (; is_digit(at, end); at++) {
    bool leading = *at == '0' && out->count == 0;
    if (!leading) out->digits[out->count++] = *at;
    if (leading && fraction) out->exponent--;
    if (!leading && !fraction) out->exponent++;
  }
  return at;
}

/* e+12, which may be absent. Returns what follows it; NULL where it is none. */
static const char *exponent_read(const char *at, const char *end, long *exponent) {
  long value = 0;
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  at++;
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  const char *first = at;
  while (at < end && *at == '0') at++;
  for (const char *digits = at; is_digit(at, end); at++) {
    if (at - digits == EXPONENT_DIGITS) return NULL;
    value = 10 * value + (*at - '0');
  }
  *exponent += negative ? -value : value;
  return at > first ? at : NULL;
}

/* All of the text; false where it is not a number. */
static bool decimal_read(const char *text, size_t bytes, decimal *out) {
  const char *at = text, *end = text + bytes;
  out->count = 0;
  out->exponent = 0;
  out->negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  const char *first = at;
  at = digits_read(at, end, false, out);
  size_t counted = (size_t)(at - first);
  if (at < end && *at == '.') {
    first = at + 1;
    at = digits_read(first, end, true, out);
    counted += (size_t)(at - first);
  }
  if (counted == 0) return false;
  at = exponent_read(at, end, &out->exponent);
  while (out->count > 0 && out->digits[out->count - 1] == '0') out->count--;
  return at == end;
}

/* -12e3 is -0.12 * 10^3. False, and nothing written, where the text is not a number. */
static bool number_key(const char *text, size_t bytes, char key[EP_WORD_KEY_BYTES],
                       size_t *key_bytes) {
  decimal number;
  char exponent[EXPONENT_BYTES] = "0";
  if (!decimal_read(text, bytes, &number)) return false;
  size_t used = 0, count = number.count;
  if (count > 0) snprintf(exponent, sizeof exponent, "e%ld", number.exponent);
  if (count + 1 + strlen(exponent) > EP_WORD_KEY_BYTES) return false;
  if (count > 0 && number.negative) key[used++] = '-';
  memcpy(key + used, number.digits, count);
  memcpy(key + used + count, exponent, strlen(exponent));
  *key_bytes = used + count + strlen(exponent);
  return true;
}

/* text: in NFC, not longer than a key. */
static void key_write(ep_word_compare compare, const char *text, size_t bytes,
                      char key[EP_WORD_KEY_BYTES], size_t *key_bytes) {
  if (compare == EP_WORD_CODE || !number_key(text, bytes, key, key_bytes)) {
    memcpy(key, text, bytes);
    *key_bytes = bytes;
  }
  if (compare != EP_WORD_BOOLEAN) return;
  int meaning = ep_boolean_meaning(text, bytes);
  if (meaning < 0 && *key_bytes == 1 && *key == '0') meaning = 0;
  if (meaning < 0 && *key_bytes == 3 && memcmp(key, "1e1", 3) == 0) meaning = 1;
  if (meaning < 0) return;
  *key_bytes = meaning ? 4 : 5;
  memcpy(key, meaning ? "true" : "false", *key_bytes);
}

ep_status ep_word_key(ep_word_compare compare, const char *text, size_t bytes,
                      char key[EP_WORD_KEY_BYTES], size_t *key_bytes) {
  char *owned = NULL;
  ep_status status = ep_text_nfc(&text, &bytes, &owned) ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK && bytes > EP_WORD_KEY_BYTES) status = EP_TOO_LARGE;
  if (status == EP_OK) key_write(compare, text, bytes, key, key_bytes);
  free(owned);
  return status;
}
