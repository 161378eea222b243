/* Any bytes as CSV, and any bytes as a number: the nearest double, as the C library has it. */
#include "api/json/number_scan.h"
#include "tests/fuzz/fuzz_format.h"

static void number_holds(const char *text, size_t count, ep_number_grammar grammar) {
  char copy[128];
  double value;
  const char *end = ep_number_scan(text, text + count, grammar, &value);
  if (!end) return;
  size_t length = (size_t)(end - text);
  FUZZ_HOLDS(length > 0 && length <= count);
  if (length >= sizeof copy) return;
  memcpy(copy, text, length);
  copy[length] = 0;
  char *comma = grammar == EP_NUMBER_CSV_COMMA ? strchr(copy, ',') : NULL;
  if (comma) *comma = '.';
  double wanted = strtod(copy, NULL);
  FUZZ_HOLDS(memcmp(&value, &wanted, sizeof value) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count && i < 64; i++) {
    number_holds((const char *)bytes + i, count - i, EP_NUMBER_CSV);
    number_holds((const char *)bytes + i, count - i, EP_NUMBER_CSV_COMMA);
    number_holds((const char *)bytes + i, count - i, EP_NUMBER_JSON);
  }
  if (count == 0) return 0; /* ingest refuses nothing at all before a format sees it */
  ep_format_csv.recognise(bytes, count);
  format_holds(&ep_format_csv, bytes, count, INT64_MAX);
  format_holds(&ep_format_csv, bytes, count, 300);
  return 0;
}
