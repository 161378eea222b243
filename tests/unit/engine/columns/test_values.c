/* Words of requests by their keys, columns by their names, and types that a spec sets. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/encoding_json.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/columns/retype.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"

static const ep_word_index *index_of(ep_word_compare compare, char **words, int64_t count) {
  static ep_words list;
  static ep_word_index index;
  ep_word_index_deinit(&index);
  list = (ep_words){.word = words, .count = count};
  ck_assert_int_eq(ep_word_index_init(compare, &list, &index, NULL), EP_OK);
  return &index;
}

static int64_t found(const ep_word_index *index, const char *text) {
  int64_t word = -2;
  ck_assert_int_eq(ep_word_index_find(index, text, strlen(text), &word), EP_OK);
  return word;
}

START_TEST(the_same_bytes_come_before_the_same_key) {
  char *words[] = {"05", "5", "5.0", " x", "x"};
  const ep_word_index *index = index_of(EP_WORD_VALUE, words, 5);
  for (int64_t i = 0; i < 5; i++) ck_assert_int_eq(found(index, words[i]), i);
  ck_assert_int_eq(found(index, "5e0"), 0); /* the first of the key */
  ck_assert_int_eq(found(index, "x "), 3);
  ck_assert_int_eq(found(index, "y"), -1);
  ck_assert_int_eq(found(index, ""), -1);
}
END_TEST

START_TEST(codes_are_texts) {
  char *words[] = {"02134", "2135"};
  const ep_word_index *index = index_of(EP_WORD_CODE, words, 2);
  ck_assert_int_eq(found(index, " 02134"), 0);
  ck_assert_int_eq(found(index, "2134"), -1);
  ck_assert_int_eq(found(index, "02135"), -1);
}
END_TEST

START_TEST(ten_thousand_words_are_found) {
  static char text[EP_LIMIT_CATEGORIES][16];
  static char *words[EP_LIMIT_CATEGORIES];
  for (int i = 0; i < EP_LIMIT_CATEGORIES; i++) {
    snprintf(text[i], sizeof text[i], "word %d", i);
    words[i] = text[i];
  }
  const ep_word_index *index = index_of(EP_WORD_VALUE, words, EP_LIMIT_CATEGORIES);
  for (int64_t i = 0; i < EP_LIMIT_CATEGORIES; i++) ck_assert_int_eq(found(index, words[i]), i);
  ck_assert_int_eq(found(index, "word 10000"), -1);
}
END_TEST

/* smoker: a boolean; zip: codes; city: words; size: a number. Through JSON and back. */
static void encoding_make(ep_encoding *out) {
  ep_column columns[] = {category_column("smoker", "False True", 0),
                         category_column("zip", "02134 501", 0),
                         category_column("caf\xC3\xA9", "Oslo Rome", 1),
                         number_column("size", 1, 9, 0), number_column("y", 0, 1, 0)};
  columns[0].boolean = columns[1].codes = true;
  ep_part table = table_make(columns, 5, 4);
  const double rows[] = {0, 0, 0, 1, 1, 1, 1, 9, 0, 0, NAN, 3, 1, 1, 1, 2};
  encoding_plan(NULL, &table, 4, out);
  encoding_fit(out, rows, 4);
  char *text = ep_encoding_format(out);
  ep_encoding_deinit(out);
  ck_assert_int_eq(ep_encoding_parse(text, NULL, "y", out, NULL), EP_OK);
  free(text);
  table_free(&table);
}

static ep_status row_read(const ep_encoding *encoding, const char *text, double *cells,
                          ep_warnings *warnings, ep_problem *problem) {
  json_t *object = json_loads(text, 0, NULL);
  ck_assert_msg(object != NULL, "%s", text);
  *problem = (ep_problem){0};
  *warnings = (ep_warnings){0};
  ep_status status = ep_encoding_cells_read(encoding, object, "/rows/0", cells, warnings, problem);
  json_decref(object);
  return status;
}

START_TEST(cells_mean_what_training_cells_did) {
  static const char *const rows[] = {
      "{\"smoker\":true,\"zip\":\"02134\",\"caf\xC3\xA9\":\"Oslo\",\"size\":2}",
      "{\"smoker\":\"YES\",\"zip\":\" 02134\",\"cafe\xCC\x81\":\"Oslo \",\"size\":\"2.0\"}",
      "{\"smoker\":1,\"zip\":\"02134\",\" caf\xC3\xA9\":\"Oslo\",\"size\":2}",
  };
  ep_encoding encoding;
  ep_problem problem;
  ep_warnings warnings;
  double cells[4];
  encoding_make(&encoding);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_msg(row_read(&encoding, rows[i], cells, &warnings, &problem) == EP_OK, "%s: %s",
                  rows[i], problem.detail);
    ck_assert_int_eq(warnings.count, 0);
    ck_assert(cells[0] == 1 && cells[1] == 0 && cells[2] == 0 && cells[3] == 2);
  }
  ep_encoding_deinit(&encoding);
}
END_TEST

/* As "-999" of a table is, where the dialect has the word. */
START_TEST(numbers_may_be_missing_cells) {
  static const char row[] = "{\"smoker\":true,\"zip\":-999,\"caf\xC3\xA9\":-999.0,\"size\":-999}";
  ep_encoding encoding;
  ep_problem problem;
  ep_warnings warnings;
  ep_error error;
  double cells[4];
  encoding_make(&encoding);
  ck_assert_int_eq(row_read(&encoding, row, cells, &warnings, &problem), EP_INVALID);
  ck_assert_int_eq(ep_dialect_set(&encoding.dialect, EP_DIALECT_MISSING, "gone,-999", &error),
                   EP_OK);
  ck_assert_int_eq(row_read(&encoding, row, cells, &warnings, &problem), EP_OK);
  ck_assert(isnan(cells[1]) && isnan(cells[2]) && isnan(cells[3]) && warnings.count == 0);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(unknown_words_are_warned_of_and_numbers_for_codes_refused) {
  ep_encoding encoding;
  ep_problem problem;
  ep_warnings warnings;
  double cells[4];
  encoding_make(&encoding);
  ck_assert_int_eq(row_read(&encoding,
                            "{\"smoker\":\"maybe\",\"zip\":\"2134\",\"caf\xC3\xA9\":\"Bern\","
                            "\"size\":2}",
                            cells, &warnings, &problem),
                   EP_OK);
  ck_assert_int_eq(warnings.count, 3);
  ck_assert_str_eq(warnings.entry[1].pointer, "/rows/0/zip");
  ck_assert_ptr_nonnull(strstr(warnings.entry[1].detail, "\"2134\" is not one of the 2 words"));
  ck_assert(cells[0] == -1 && cells[1] == -1 && cells[2] == -1);
  ep_warnings_deinit(&warnings);
  ck_assert_int_eq(row_read(&encoding,
                            "{\"smoker\":true,\"zip\":501,\"caf\xC3\xA9\":null,\"size\":2}", cells,
                            &warnings, &problem),
                   EP_OK); /* a code as it is stored */
  ck_assert(cells[1] == 1 && isnan(cells[2]));
  ck_assert_int_eq(row_read(&encoding,
                            "{\"smoker\":true,\"zip\":2134,\"caf\xC3\xA9\":null,\"size\":2}", cells,
                            &warnings, &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/rows/0/zip");
  ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "write it in quotes, such as \"02134\""));
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(names_that_only_their_bytes_tell_apart_have_no_other) {
  char *names[] = {"caf\xC3\xA9", "cafe\xCC\x81", "x "};
  ep_encoding encoding;
  ck_assert_int_eq(ep_encoding_plain(&(ep_words){.word = names, .count = 3}, "y", &encoding, NULL),
                   EP_OK);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(ep_encoding_column_find(&encoding, names[i]), i);
  ck_assert_int_eq(ep_encoding_column_find(&encoding, " caf\xC3\xA9"), -1);
  ck_assert_int_eq(ep_encoding_column_find(&encoding, "x"), 2);
  ck_assert_int_eq(ep_encoding_column_find(&encoding, "\xC2\xA0x"), 2);
  ck_assert_int_eq(ep_encoding_column_find(&encoding, "X"), -1);
  ep_encoding_deinit(&encoding);
}
END_TEST

static ep_status retype(ep_column column, ep_column_as type, ep_part *table, ep_error *error) {
  ep_column_rule rule = {.name = "a", .type = type, .indicator = -1};
  ep_data_spec data = {.columns = &rule, .columns_count = 1};
  *table = table_make((ep_column[]){column, number_column("y", 0, 1, 0)}, 2, 10);
  *error = (ep_error){0};
  return ep_columns_retype(&data, NULL, table, 1, error);
}

START_TEST(words_become_numbers) {
  ep_part table;
  ep_error error;
  ck_assert_int_eq(
      retype(category_column("a", "7 n.a. -2.5 ? 7.0", 2), EP_COLUMN_AS_NUMBER, &table, &error),
      EP_OK);
  const ep_column *column = &table.column[0];
  ck_assert_int_eq(column->type, EP_COLUMN_NUMBER);
  ck_assert(column->min == -2.5 && column->max == 7 && !column->integer);
  ck_assert_int_eq(column->missing, 4);
  ck_assert_int_eq(column->distinct, 2);
  ck_assert_str_eq(column->note,
                   "3 numbers; 2 cells of 2 words (`n.a.`, `?`) are taken as missing");
  ck_assert(ep_retyped_cell(column, 0) == 7 && isnan(ep_retyped_cell(column, 1)) &&
            ep_retyped_cell(column, 2) == -2.5 && isnan(ep_retyped_cell(column, NAN)));
  table_free(&table);
  ck_assert_int_eq(
      retype(category_column("a", "x 01/13/2024 02/01/2024", 0), EP_COLUMN_AS_DATE, &table, &error),
      EP_OK); /* the month comes first, as the first one shows */
  ck_assert(ep_retyped_cell(&table.column[0], 2) == 1706745600);
  table_free(&table);
  ck_assert_int_eq(retype(category_column("a", "01/02/2024", 0), EP_COLUMN_AS_DATE, &table, &error),
                   EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "?dates=day_first"));
  table_free(&table);
}
END_TEST

START_TEST(numbers_become_words) {
  static const double values[] = {-1.5, 501, 99950};
  ep_part table;
  ep_error error;
  ep_column column = number_column("a", -1.5, 99950, 0);
  column.integer = false;
  column.value = malloc(sizeof values);
  memcpy(column.value, values, sizeof values);
  ck_assert_int_eq(retype(column, EP_COLUMN_AS_CATEGORY, &table, &error), EP_OK);
  ck_assert_int_eq(table.column[0].words.count, 3);
  ck_assert_str_eq(table.column[0].words.word[0], "-1.5");
  ck_assert_str_eq(table.column[0].words.word[2], "99950");
  for (int k = 0; k < 3; k++) ck_assert(ep_retyped_cell(&table.column[0], values[k]) == k);
  ck_assert(ep_retyped_cell(&table.column[0], 502) == -1);
  table_free(&table);
  column = number_column("a", 0.5, 9, 0);
  column.integer = false; /* and no values, as in a description from before */
  ck_assert_int_eq(retype(column, EP_COLUMN_AS_CATEGORY, &table, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/columns/a/type");
  table_free(&table);
}
END_TEST

/* The target, c, has words, and a has numbers. */
START_TEST(the_task_sets_the_type_of_the_target) {
  const struct {
    ep_column target;
    ep_task task;
    ep_column_type type; /* EP_COLUMN_TYPES: refused */
  } rows[] = {
      {category_column("c", "1 2 5", 0), EP_TASK_REGRESSION, EP_COLUMN_NUMBER},
      {category_column("c", "a b", 0), EP_TASK_REGRESSION, EP_COLUMN_TYPES},
      {category_column("c", "a b", 0), EP_TASK_CLASSIFICATION, EP_COLUMN_CATEGORY},
      {number_column("c", 3, 5, 0), EP_TASK_CLASSIFICATION, EP_COLUMN_CATEGORY},
      {number_column("c", 0, 2, 0), EP_TASK_CLASSIFICATION, EP_COLUMN_NUMBER}, /* it has them */
      {number_column("c", 0, 1e9, 0), EP_TASK_CLASSIFICATION, EP_COLUMN_TYPES},
      {date_column("c", 0, 1e9, 0), EP_TASK_CLASSIFICATION, EP_COLUMN_TYPES},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const ep_column columns[] = {number_column("a", 0, 1, 0), rows[i].target};
    ep_part table = table_make(columns, 2, 10);
    ep_data_spec data = {.task = rows[i].task};
    ep_error error = {0};
    ep_status status = ep_columns_retype(&data, NULL, &table, 1, &error);
    ck_assert_int_eq(status, rows[i].type == EP_COLUMN_TYPES ? EP_INVALID : EP_OK);
    if (status == EP_OK) ck_assert_int_eq(table.column[1].type, rows[i].type);
    if (status != EP_OK) ck_assert_str_eq(error.pointer, "/data/task");
    ck_assert_int_eq(table.column[0].type, EP_COLUMN_NUMBER);
    table_free(&table);
  }
  ep_column_rule rule = {.name = "c", .type = EP_COLUMN_AS_NUMBER, .indicator = -1};
  ep_data_spec data = {.task = EP_TASK_CLASSIFICATION, .columns = &rule, .columns_count = 1};
  const ep_column columns[] = {number_column("a", 0, 1, 0), number_column("c", 3, 5, 0)};
  ep_part table = table_make(columns, 2, 10);
  ep_error error = {0};
  ck_assert_int_eq(ep_columns_retype(&data, NULL, &table, 1, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/task");
  table_free(&table);
}
END_TEST

EP_SUITE("values") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, the_same_bytes_come_before_the_same_key);
  tcase_add_test(all, codes_are_texts);
  tcase_add_test(all, ten_thousand_words_are_found);
  tcase_add_test(all, cells_mean_what_training_cells_did);
  tcase_add_test(all, numbers_may_be_missing_cells);
  tcase_add_test(all, unknown_words_are_warned_of_and_numbers_for_codes_refused);
  tcase_add_test(all, names_that_only_their_bytes_tell_apart_have_no_other);
  tcase_add_test(all, words_become_numbers);
  tcase_add_test(all, numbers_become_words);
  tcase_add_test(all, the_task_sets_the_type_of_the_target);
}
