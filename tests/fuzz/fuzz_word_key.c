/* Any bytes as a word: the same key with white space around it; a number, as api/json/number_scan.h
 * reads it, by its value; a boolean by its meaning. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number_scan.h"
#include "engine/data/cells/boolean.h"
#include "engine/data/cells/unicode.h"
#include "engine/data/cells/word_key.h"
#include "tests/fuzz/fuzz.h"

typedef struct {
  char text[EP_WORD_KEY_BYTES + 1];
  size_t bytes;
} word;

static bool key_find(ep_word_compare compare, const char *text, size_t bytes, word *out) {
  ep_status status = ep_word_key(compare, text, bytes, out->text, &out->bytes);
  FUZZ_HOLDS(status == EP_OK || status == EP_TOO_LARGE);
  FUZZ_HOLDS(status == EP_TOO_LARGE || out->bytes <= EP_WORD_KEY_BYTES);
  if (status == EP_OK) out->text[out->bytes] = 0;
  return status == EP_OK;
}

/* A number whose exponent is too long stays a text. */
static void number_check(const char *text, size_t bytes, const word *key) {
  char number[EP_WORD_KEY_BYTES + 8];
  double value, again;
  bool zero = key->bytes == 1 && key->text[0] == '0', negative = key->text[0] == '-';
  if (bytes == 0 || ep_number_scan(text, text + bytes, EP_NUMBER_CSV, &value) != text + bytes)
    return;
  if (!zero && key->bytes == bytes && memcmp(key->text, text, bytes) == 0) {
    FUZZ_HOLDS(bytes > EP_LIMIT_WORD_BYTES || isinf(value) || value == 0);
    return;
  }
  snprintf(number, sizeof number, "%s0.%s", negative ? "-" : "", key->text + negative);
  const char *end = number + strlen(number);
  FUZZ_HOLDS(ep_number_scan(number, end, EP_NUMBER_CSV, &again) == end && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count) {
  static word keys[3], again;
  char *text = malloc(count + 8), *owned;
  FUZZ_HOLDS(text);
  memcpy(text, " \xC2\xA0", 3);
  memcpy(text + 3, data, count);
  memcpy(text + 3 + count, "\xE2\x80\x83\t ", 5);
  const char *trimmed = text + 3;
  size_t bytes = count;
  FUZZ_HOLDS(ep_text_nfc(&trimmed, &bytes, &owned));
  for (int compare = EP_WORD_VALUE; compare <= EP_WORD_BOOLEAN; compare++) {
    bool there = key_find((ep_word_compare)compare, text + 3, count, &keys[compare]);
    FUZZ_HOLDS(there == (bytes <= EP_WORD_KEY_BYTES));
    if (!there) continue;
    FUZZ_HOLDS(key_find((ep_word_compare)compare, text, count + 8, &again));
    FUZZ_HOLDS(again.bytes == keys[compare].bytes &&
               memcmp(again.text, keys[compare].text, again.bytes) == 0);
  }
  if (bytes <= EP_WORD_KEY_BYTES) {
    int meaning = ep_boolean_meaning(trimmed, bytes);
    FUZZ_HOLDS(keys[EP_WORD_CODE].bytes == bytes &&
               memcmp(keys[EP_WORD_CODE].text, trimmed, bytes) == 0);
    FUZZ_HOLDS(meaning < 0 || strcmp(keys[EP_WORD_BOOLEAN].text, meaning ? "true" : "false") == 0);
    number_check(trimmed, bytes, &keys[EP_WORD_VALUE]);
  }
  free(owned);
  free(text);
  return 0;
}
