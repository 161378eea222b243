/* Any bytes behind the first one as rows to predict, delimited or JSON records: refused with a
 * reason, or whole rows, whose lines can be written again. The first byte says which. */
#include <string.h>

#include "engine/data/columns/encoding_json.h"
#include "engine/data/inputs/text_rows.h"
#include "tests/fuzz/fuzz.h"

static const char columns[] =
    "[{\"name\":\"a\",\"type\":\"number\",\"encode\":\"number\",\"missing_words\":[\"n.a.\"],"
    "\"scaling\":\"standard\",\"fill\":1,\"shift\":0,\"scale\":2,\"indicator\":true},"
    "{\"name\":\"b\",\"type\":\"category\",\"encode\":\"one_hot\",\"words\":[\"x\",\"y\"],\"base\":"
    "0,"
    "\"untrained\":[1],\"scaling\":\"standard\",\"fill\":null,\"shift\":0,\"scale\":1,"
    "\"indicator\":false},"
    "{\"name\":\"c\",\"type\":\"date\",\"encode\":\"date\",\"parts\":[\"year\",\"hour\"],"
    "\"scaling\":\"standard\",\"fill\":0,\"shift\":1970,\"scale\":1,\"indicator\":false}]";

static void copies_hold(const ep_row_lines *copied, int64_t rows) {
  FUZZ_HOLDS(copied->rows == rows && copied->header <= copied->text_bytes);
  for (int64_t i = 0; i < rows; i++)
    FUZZ_HOLDS(copied->end[i] <= copied->text_bytes &&
               copied->end[i] >= (i ? copied->end[i - 1] : copied->header));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_encoding encoding;
  ep_row_lines copied = {0};
  ep_warnings warnings = {0};
  ep_problem problem = {0};
  double *x = NULL;
  int64_t rows = 0;
  if (count == 0) return 0;
  FUZZ_HOLDS(ep_encoding_parse(columns, NULL, "y", &encoding, NULL) == EP_OK);
  const ep_text_body body = {.text = (const char *)bytes + 1,
                             .bytes = count - 1,
                             .lines = bytes[0] & 1,
                             .ahead = bytes[0] & 2,
                             .steps = bytes[0] & 4 ? 3 : 0,
                             .copied = bytes[0] & 8 ? &copied : NULL};
  ep_status status = ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem);
  if (status == EP_OK) {
    double sum = 0;
    FUZZ_HOLDS(rows > 0 && rows <= EP_LIMIT_PREDICT_ROWS && x);
    for (int64_t i = 0; i < rows * encoding.columns; i++) sum += x[i];
    FUZZ_HOLDS(sum == sum || sum != sum); /* reads every cell */
    if (body.copied) copies_hold(&copied, rows);
  } else {
    FUZZ_HOLDS(status == EP_INVALID || status == EP_TOO_LARGE || status == EP_MALFORMED ||
               status == EP_MEDIA_TYPE);
    FUZZ_HOLDS(problem.errors_count > 0 || problem.detail[0]);
  }
  free(x);
  ep_row_lines_deinit(&copied);
  ep_warnings_deinit(&warnings);
  ep_encoding_deinit(&encoding);
  return 0;
}
