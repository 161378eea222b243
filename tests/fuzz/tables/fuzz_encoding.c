/* Any text as an encoding: refused with a reason, or one that encodes any row, by the same text
 * again too. Any text as a row by names: refused with a reason, or encoded. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "engine/data/columns/encoding_json.h"
#include "engine/data/columns/named_row.h"
#include "tests/fuzz/fuzz.h"

static const char known[] =
    "[{\"name\":\"a\",\"type\":\"number\",\"encode\":\"number\",\"missing_words\":[\"n.a.\",\"05\"]"
    ",\"scaling\":\"log1p\",\"fill\":1,"
    "\"shift\":0,\"scale\":2,\"indicator\":true},{\"name\":\"b\",\"type\":\"category\",\"encode\":"
    "\"one_hot\",\"words\":[\"x\",\"y\"],\"base\":0,\"untrained\":[1],\"scaling\":\"standard\","
    "\"fill\":null,\"shift\":0,\"scale\":1,\"indicator\":false},{\"name\":\"d\",\"type\":"
    "\"category\",\"encode\":"
    "\"embedding\",\"words\":[\"x\",\"y\"],\"base\":0,\"untrained\":[1],\"scaling\":\"standard\","
    "\"fill\":null,\"shift\":0,\"scale\":1,\"indicator\":true},{\"name\":\"e\",\"type\":"
    "\"category\",\"encode\":"
    "\"hash\",\"buckets\":3,\"words\":[\"True\",\"no\"],\"boolean\":true,\"untrained\":[],"
    "\"scaling\":\"standard\","
    "\"fill\":null,\"shift\":0,\"scale\":1,\"indicator\":false},{\"name\":\"f\",\"type\":"
    "\"number\",\"encode\":\"one_hot\",\"words\":[\"-1.5\",\"501\"],\"untrained\":[],\"scaling\":"
    "\"standard\",\"fill\":null,\"shift\":0,\"scale\":1,\"indicator\":false},{\"name\":\"c\","
    "\"type\":\"date\","
    "\"encode\":\"date\",\"parts\":[\"year\",\"hour\"],\"scaling\":\"standard\",\"fill\":0,"
    "\"shift\":1970,\"scale\":1,\"indicator\":false}]";

static void rows_apply(const ep_encoding *encoding) {
  const double cells[] = {NAN, -1, 0, 1e300, -1e300, 3.5};
  double *row = malloc((size_t)encoding->columns * sizeof *row);
  double *out = malloc((size_t)encoding->features * sizeof *out);
  FUZZ_HOLDS(row && out);
  for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++) {
    for (int64_t i = 0; i < encoding->columns; i++) row[i] = cells[k];
    ep_encoding_apply(encoding, row, out);
    for (int64_t i = 0; i < encoding->features; i++) FUZZ_HOLDS(!isnan(out[i]));
  }
  free(row);
  free(out);
}

static void columns_read(const char *text) {
  ep_encoding encoding, again;
  ep_error error = {0};
  ep_status status = ep_encoding_parse(text, NULL, "y", &encoding, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_DATA && error.message[0] && !encoding.column);
    return;
  }
  rows_apply(&encoding);
  char *written = ep_encoding_format(&encoding);
  FUZZ_HOLDS(written && ep_encoding_parse(written, NULL, "y", &again, &error) == EP_OK);
  FUZZ_HOLDS(again.features == encoding.features);
  free(written);
  ep_encoding_deinit(&again);
  ep_encoding_deinit(&encoding);
}

static void row_read(const uint8_t *bytes, size_t count) {
  ep_encoding encoding;
  ep_problem problem = {0};
  json_t *object;
  double cells[32], out[32];
  if (ep_json_load((const char *)bytes, count, 1 << 20, &object, NULL) != EP_OK) return;
  FUZZ_HOLDS(ep_encoding_parse(known, NULL, "y", &encoding, NULL) == EP_OK);
  ep_status status = ep_encoding_cells_read(&encoding, object, "/x/0", cells, NULL, &problem);
  if (status == EP_OK) ep_encoding_apply(&encoding, cells, out);
  FUZZ_HOLDS((status == EP_OK) == (problem.errors_count == 0));
  for (int64_t i = 0; status == EP_OK && i < encoding.features; i++) FUZZ_HOLDS(!isnan(out[i]));
  ep_encoding_deinit(&encoding);
  json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char *text = malloc(count + 1);
  FUZZ_HOLDS(text);
  memcpy(text, bytes, count);
  text[count] = 0;
  columns_read(text);
  row_read(bytes, count);
  free(text);
  return 0;
}
