/* fuzz_format.h: the checks of a dataset's format on any bytes. */
#ifndef EP_TESTS_FUZZ_FORMAT_H
#define EP_TESTS_FUZZ_FORMAT_H

#include <math.h>
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/formats/format.h"
#include "kernels/backend.h"
#include "tests/fuzz/fuzz.h"

/* The words in their order; each cell is one of them, or is missing. */
static inline void words_hold(const ep_part *part, const ep_column *column) {
  const ep_words *words = &column->words;
  int64_t rows = column->missing;
  FUZZ_HOLDS((column->type == EP_COLUMN_CATEGORY) == (words->count > 0));
  FUZZ_HOLDS(column->missing >= 0 && column->missing <= part->rows);
  FUZZ_HOLDS(column->distinct >= 0 && column->distinct <= EP_LIMIT_CATEGORIES);
  if (words->count == 0) return;
  FUZZ_HOLDS(column->distinct == words->count);
  FUZZ_HOLDS(column->min == 0 && column->max == (double)(words->count - 1));
  for (int64_t i = 0; i < words->count; i++) {
    size_t bytes = strlen(words->word[i]);
    FUZZ_HOLDS(bytes > 0 && bytes <= EP_LIMIT_WORD_BYTES && ep_utf8_valid(words->word[i], bytes));
    FUZZ_HOLDS(
        i == 0 || words->rows[i - 1] > words->rows[i] ||
        (words->rows[i - 1] == words->rows[i] && strcmp(words->word[i - 1], words->word[i]) < 0));
    rows += words->rows[i];
  }
  FUZZ_HOLDS(rows == part->rows);
}

static inline void part_holds(const ep_part *part) {
  FUZZ_HOLDS(part->rows > 0 && part->rows <= EP_LIMIT_ROWS);
  FUZZ_HOLDS(part->columns > 0 && part->columns <= EP_LIMIT_COLUMNS);
  for (int64_t i = 0; i < part->columns; i++) {
    const ep_column *column = &part->column[i];
    FUZZ_HOLDS(isfinite(column->min) && isfinite(column->max) && column->min <= column->max);
    FUZZ_HOLDS(ep_utf8_valid(column->name, strlen(column->name)));
    FUZZ_HOLDS(!column->integer ||
               (column->min == floor(column->min) && column->max == floor(column->max)));
    words_hold(part, column);
  }
}

/* Reads the bytes as that format and writes nothing. Either they are refused, with a printable
 * reason, or the parts agree with each other and lie within the budget. */
static inline void format_holds_with(const ep_format *format, const ep_ingest_options *options,
                                     const uint8_t *bytes, size_t count, int64_t budget_bytes) {
  ep_dataset_meta meta = {0};
  ep_error error = {0};
  ep_ingest ingest = {.bytes = bytes,
                      .size = count,
                      .options = *options,
                      .budget_bytes = budget_bytes,
                      .meta = &meta};
  ep_status status = format->read(&ingest, &error);
  FUZZ_HOLDS(ingest.budget_bytes >= 0);
  if (status != EP_OK) {
    FUZZ_HOLDS(error.status == status && error.message[0]);
    FUZZ_HOLDS(status == EP_INVALID || status == EP_TOO_LARGE);
    FUZZ_HOLDS(ep_utf8_valid(error.message, strlen(error.message)));
  } else {
    FUZZ_HOLDS(meta.faults >= 0);
    for (int64_t i = 0; i < meta.faults && i < EP_LIMIT_PROBLEM_ERRORS; i++)
      FUZZ_HOLDS(meta.fault[i].row > 0 && meta.fault[i].column > 0 &&
                 ep_utf8_valid(meta.fault[i].text, strlen(meta.fault[i].text)));
    const ep_part *train = meta.part[EP_SPLIT_TRAIN];
    FUZZ_HOLDS((train[EP_ROLE_TABLE].rows > 0) != (train[EP_ROLE_X].rows > 0));
    int64_t written = 0;
    for (int split = 0; split < EP_SPLIT_COUNT; split++) {
      const ep_part *parts = meta.part[split];
      FUZZ_HOLDS(parts[EP_ROLE_X].rows == parts[EP_ROLE_Y].rows ||
                 (split == EP_SPLIT_TEST && parts[EP_ROLE_Y].rows == 0)); /* to be predicted */
      for (int role = 0; role < EP_ROLE_COUNT; role++) {
        if (parts[role].rows == 0) continue;
        part_holds(&parts[role]);
        written += parts[role].rows * parts[role].columns;
      }
    }
    FUZZ_HOLDS(budget_bytes - ingest.budget_bytes >
               written); /* a byte a value at least, and heads */
  }
  ep_dataset_meta_deinit(&meta);
}

static inline void format_holds(const ep_format *format, const uint8_t *bytes, size_t count,
                                int64_t budget_bytes) {
  const ep_ingest_options options = {0};
  format_holds_with(format, &options, bytes, count, budget_bytes);
}

#endif
