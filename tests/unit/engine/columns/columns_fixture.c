#include "tests/unit/engine/columns/columns_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/retype.h"

ep_column number_column(const char *name, double min, double max, int64_t missing) {
  ep_column column = {.min = min, .max = max, .integer = true, .missing = missing, .distinct = 3};
  snprintf(column.name, sizeof column.name, "%s", name);
  return column;
}

ep_column date_column(const char *name, double min, double max, int64_t missing) {
  ep_column column = number_column(name, min, max, missing);
  column.type = EP_COLUMN_DATE;
  return column;
}

ep_column category_column(const char *name, const char *text, int64_t missing) {
  ep_column column = number_column(name, 0, 0, missing);
  char *words = strdup(text), *rest = NULL;
  column.type = EP_COLUMN_CATEGORY;
  column.words.word = calloc(EP_LIMIT_CATEGORIES, sizeof *column.words.word);
  column.words.rows = calloc(EP_LIMIT_CATEGORIES, sizeof *column.words.rows);
  for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    column.words.rows[column.words.count] = 1;
    column.words.word[column.words.count++] = strdup(word);
  }
  free(words);
  column.distinct = column.words.count;
  column.max = (double)column.words.count - 1;
  return column;
}

ep_column text_column(const char *name) {
  ep_column column = number_column(name, 0, 0, 0);
  column.type = EP_COLUMN_TEXT;
  return column;
}

ep_part table_make(const ep_column *columns, int64_t count, int64_t rows) {
  ep_part table = {.rows = rows, .columns = count, .dtype = EP_DTYPE_F64, .dimensions = 1};
  table.shape[0] = count;
  table.column = malloc((size_t)count * sizeof *columns);
  memcpy(table.column, columns, (size_t)count * sizeof *columns);
  return table;
}

void table_free(ep_part *table) {
  for (int64_t i = 0; i < table->columns; i++) {
    ep_words *words = &table->column[i].words;
    for (int64_t k = 0; k < words->count; k++) free(words->word[k]);
    free(words->word);
    free(words->rows);
    free(table->column[i].value);
    free(table->column[i].note);
  }
  free(table->column);
}

void table_save(const char *path, const double *cells, int rows, int columns) {
  char head[128], text[118];
  int bytes =
      snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }",
               rows, columns);
  memset(head, ' ', sizeof head);
  memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
  memcpy(head + 10, text, (size_t)bytes);
  head[sizeof head - 1] = '\n';
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  size_t count = (size_t)rows * (size_t)columns;
  ck_assert_uint_eq(fwrite(head, 1, sizeof head, file), sizeof head);
  ck_assert_uint_eq(fwrite(cells, sizeof *cells, count, file), count);
  ck_assert_int_eq(fclose(file), 0);
}

void encoding_plan(const ep_data_spec *data, ep_part *table, int64_t target, ep_encoding *out) {
  static const ep_data_spec plain;
  ep_error error = {0};
  ck_assert_int_eq(ep_columns_retype(data ? data : &plain, NULL, table, target, &error), EP_OK);
  ck_assert_msg(ep_encoding_plan(data ? data : &plain, table, target, out, &error) == EP_OK,
                "%s: %s", error.pointer, error.message);
}

void encoding_fit(ep_encoding *encoding, const double *rows, int64_t count) {
  ep_error error = {0};
  double *cells = malloc((size_t)count * sizeof *cells);
  for (int64_t j = 0; j < encoding->columns; j++) {
    for (int64_t i = 0; i < count; i++) cells[i] = rows[i * encoding->columns + j];
    ck_assert_msg(ep_encoding_fit(encoding, j, cells, count, &error) == EP_OK, "%s", error.message);
  }
  free(cells);
}
