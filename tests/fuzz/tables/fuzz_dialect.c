/* Any bytes as a text of any dialect, of which some keys are given: where a layout is found, it
 * lies within the text, and its dialect survives being written and read. */
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/dialect/layout.h"
#include "engine/data/dialect/text_encoding.h"
#include "tests/fuzz/fuzz.h"

static void encodings_hold(const uint8_t *bytes, size_t count) {
  char evidence[EP_DIALECT_EVIDENCE_BYTES];
  ep_text_encoding found;
  ep_error refused = {0};
  ep_status known = ep_text_encoding_find(bytes, count, false, &found, evidence, &refused);
  FUZZ_HOLDS(known == EP_OK || (known == EP_INVALID && refused.message[0]));
  FUZZ_HOLDS(found < EP_TEXT_ENCODINGS && strlen(evidence) < sizeof evidence);
  for (ep_text_encoding at = EP_TEXT_UTF_16LE; at < EP_TEXT_ENCODINGS; at++) {
    int64_t budget_bytes = 3 * (int64_t)count;
    ep_text text;
    ep_error error = {0};
    ep_status status = ep_text_open(at, bytes, count, NULL, &budget_bytes, &text, &error);
    FUZZ_HOLDS(status == EP_OK || (status == EP_INVALID && error.message[0]));
    FUZZ_HOLDS(status != EP_OK || ep_utf8_valid(text.start, text.size));
    ep_mapping_close(&text.decoded);
  }
}

static ep_dialect given_of(uint8_t keys, uint8_t values) {
  ep_dialect given = {0};
  static const char *const words[] = {"comma", "tab", "space", ";"};
  if (keys & 1)
    FUZZ_HOLDS(ep_dialect_set(&given, EP_DIALECT_DELIMITER, words[values & 3], NULL) == EP_OK);
  if (keys & 2) ep_dialect_set(&given, EP_DIALECT_QUOTE, values & 4 ? "none" : "'", NULL);
  if (keys & 4) ep_dialect_set(&given, EP_DIALECT_HEADER, values & 8 ? "true" : "false", NULL);
  if (keys & 8) ep_dialect_set(&given, EP_DIALECT_ROW_NAMES, values & 16 ? "true" : "false", NULL);
  if (keys & 16) ep_dialect_set(&given, EP_DIALECT_PREAMBLE, values & 32 ? "2" : "0", NULL);
  if (keys & 32) ep_dialect_set(&given, EP_DIALECT_COMMENT, values & 64 ? "#" : "none", NULL);
  if (keys & 64) ep_dialect_set(&given, EP_DIALECT_MISSING, values & 128 ? "a,b" : "", NULL);
  return given;
}

static void layout_holds(const char *start, size_t count, const ep_dialect *given) {
  static ep_csv_cell cell;
  ep_csv_layout layout;
  ep_error error = {0};
  const char *end = start + count;
  const ep_csv_source source = {.start = start, .end = end, .table = true};
  ep_status status = ep_csv_layout_find(&source, given, &cell, &layout, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_INVALID || status == EP_TOO_LARGE);
    FUZZ_HOLDS(error.message[0] && ep_utf8_valid(error.message, strlen(error.message)));
    return;
  }
  FUZZ_HOLDS(layout.columns >= 1 && layout.header.at >= start && layout.header.at <= end);
  FUZZ_HOLDS(layout.rows.at >= start && layout.rows.at <= end && layout.rows.end <= end);
  FUZZ_HOLDS(ep_utf8_valid(layout.notes.text, strlen(layout.notes.text)) ||
             !ep_utf8_valid(start, count));
  ep_dialect again;
  json_t *object = ep_dialect_json(&layout.found.dialect);
  FUZZ_HOLDS(object && ep_dialect_parse(object, &again));
  json_t *second = ep_dialect_json(&again);
  FUZZ_HOLDS(second && json_equal(object, second));
  json_decref(object);
  json_decref(second);
  free(layout.labels.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count < 3) return 0;
  ep_dialect given = given_of(bytes[0], bytes[1]);
  encodings_hold(bytes + 2, count - 2);
  layout_holds((const char *)bytes + 2, count - 2, &given);
  return 0;
}
