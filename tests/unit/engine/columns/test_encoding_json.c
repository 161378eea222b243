#include "engine/data/columns/encoding_json.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/memory.h"
#include "engine/data/columns/inputs_json.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/columns/range.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"

enum { COLUMNS = 6, ROWS = 4, FEATURES_MOST = 64 };

/* One column of each kind, the target of three classes last. */
static void encoding_make(ep_encoding *out) {
  ep_column columns[] = {
      number_column("age", 1, 9, 1),       category_column("city", "Oslo Rome \"q\"", 1),
      date_column("since", -1e9, 1e9, 0),  text_column("id"),
      category_column("size", "L S M", 0), category_column("kind", "cat dog cow", 0)};
  ep_column_rule rules[] = {
      {.name = "size", .encode = EP_CATEGORY_ORDINAL, .indicator = -1},
      {.name = "age", .scale = EP_COLUMN_SCALE_LOG1P, .indicator = -1},
  };
  ep_data_spec data = {.columns = rules, .columns_count = 2};
  ep_part table = table_make(columns, COLUMNS, ROWS);
  const double rows[ROWS * (COLUMNS - 1)] = {1,   0,   -1e9, 0, 0, 9, 1, 1e9,       0, 2,
                                             NAN, NAN, 0,    0, 2, 4, 0, 12345.678, 0, 0};
  encoding_plan(&data, &table, COLUMNS - 1, out);
  encoding_fit(out, rows, ROWS);
  table_free(&table);
}

static void same_rows(const ep_encoding *a, const ep_encoding *b) {
  const double rows[][COLUMNS - 1] = {
      {1, 0, -1e9, 0, 0}, {NAN, NAN, NAN, 0, NAN}, {7, 2, 1.7e9, 0, 1}, {3, -1, 0, 0, 9}};
  double out_a[FEATURES_MOST], out_b[FEATURES_MOST];
  ck_assert_int_eq(a->features, b->features);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_encoding_apply(a, rows[i], out_a);
    ep_encoding_apply(b, rows[i], out_b);
    ck_assert_mem_eq(out_a, out_b, (size_t)a->features * sizeof *out_a);
  }
}

START_TEST(an_encoding_comes_back_to_the_bit) {
  ep_encoding encoding, again;
  ep_error error = {0};
  encoding_make(&encoding);
  char *columns = ep_encoding_format(&encoding), *classes = ep_classes_format(&encoding.classes);
  ck_assert_str_eq(classes, "[\"cat\",\"dog\",\"cow\"]");
  ck_assert_msg(ep_encoding_parse(columns, classes, "kind", &again, &error) == EP_OK, "%s: %s",
                error.message, columns);
  same_rows(&encoding, &again);
  ck_assert_str_eq(again.target, "kind");
  ck_assert_int_eq(again.classes.count, 3);
  ck_assert(again.column[0].ranged && again.column[0].least == 1 && again.column[0].greatest == 9);
  ck_assert(!again.column[1].ranged && !again.column[2].ranged);
  char *columns_again = ep_encoding_format(&again);
  ck_assert_str_eq(columns, columns_again);
  free(columns);
  free(columns_again);
  free(classes);
  ep_encoding_deinit(&encoding);
  ep_encoding_deinit(&again);
}
END_TEST

START_TEST(a_form_is_told_of_each_column) {
  ep_encoding encoding, again;
  encoding_make(&encoding);
  char *columns = ep_encoding_format(&encoding);
  ck_assert_int_eq(ep_encoding_parse(columns, NULL, "kind", &again, NULL), EP_OK);
  json_t *inputs = ep_encoding_inputs_json(&again);
  char *text = ep_json_write(inputs, JSON_COMPACT);
  ck_assert_str_eq(
      text,
      "[{\"name\":\"age\",\"used\":true,\"type\":\"number\",\"min\":1,\"max\":9,\"integer\":true,"
      "\"typical\":4}"
      ",{\"name\":\"city\",\"used\":true,\"type\":\"category\",\"distinct\":3,\"categories\":[{"
      "\"value\":\"Oslo\"},{\"value\":\"Rome\"},{\"value\":\"\\\"q\\\"\"}],\"typical\":\"Oslo\"}"
      ",{\"name\":\"since\",\"used\":true,\"type\":\"date\",\"min\":-1000000000,\"max\":1000000000,"
      "\"integer\":true,\"typical\":\"1970-01-01T01:42:52\"}"
      ",{\"name\":\"id\",\"used\":false,\"type\":\"text\"}"
      ",{\"name\":\"size\",\"used\":true,\"type\":\"category\",\"distinct\":3,\"categories\":[{"
      "\"value\":\"L\"},{\"value\":\"S\"},{\"value\":\"M\"}],\"typical\":\"L\"}]");
  free(text);
  json_decref(inputs);
  free(columns);
  ep_encoding_deinit(&encoding);
  ep_encoding_deinit(&again);
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  static const char *const texts[] = {
      "",
      "{}",
      "[]",
      "[7]",
      "[{\"name\":\"a\",\"type\":\"number\",\"encode\":\"none\"}]",
      "[{\"name\":\"a\",\"type\":\"numbr\",\"encode\":\"number\"}]",
      "[{\"name\":\"a\",\"type\":\"number\",\"encode\":\"number\",\"scaling\":\"none\",\"fill\":0,"
      "\"shift\":0,\"scale\":0}]",
      "[{\"name\":\"a\",\"type\":\"number\",\"encode\":\"number\",\"scaling\":\"none\",\"fill\":"
      "null,\"shift\":0,\"scale\":1}]",
      "[{\"name\":\"a\",\"type\":\"category\",\"encode\":\"one_hot\",\"scaling\":\"none\",\"fill\":"
      "0,\"shift\":0,\"scale\":1,\"words\":[\"b\"],\"base\":0,\"untrained\":[1]}]",
      "[{\"name\":\"a\",\"type\":\"category\",\"encode\":\"one_hot\",\"scaling\":\"none\",\"fill\":"
      "0,\"shift\":0,\"scale\":1,\"words\":[1],\"base\":0,\"untrained\":[]}]",
      "[{\"name\":\"a\",\"type\":\"date\",\"encode\":\"date\",\"scaling\":\"none\",\"fill\":0,"
      "\"shift\":0,\"scale\":1,\"parts\":[\"century\"]}]",
  };
  ep_encoding encoding;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    ep_error error = {0};
    ck_assert_int_eq(ep_encoding_parse(texts[i], NULL, "y", &encoding, &error), EP_DATA);
    ck_assert_ptr_null(encoding.column);
  }
}
END_TEST

static ep_status row_read(const ep_encoding *encoding, const char *text, double *out,
                          ep_problem *problem) {
  json_error_t fault;
  double cells[FEATURES_MOST];
  json_t *object = json_loads(text, JSON_DECODE_ANY, &fault);
  ck_assert_ptr_nonnull(object);
  *problem = (ep_problem){0};
  ep_status status = ep_encoding_cells_read(encoding, object, "/x/0", cells, NULL, problem);
  if (status == EP_OK) ep_encoding_apply(encoding, cells, out);
  json_decref(object);
  return status;
}

START_TEST(a_row_is_read_by_names) {
  ep_encoding encoding;
  ep_problem problem;
  double out[FEATURES_MOST], wanted[FEATURES_MOST];
  encoding_make(&encoding);
  const size_t bytes = (size_t)encoding.features * sizeof *out;
  const double cells[] = {4, 1, 86400, 0, 2}, gaps[] = {NAN, NAN, NAN, 0, NAN};
  ep_encoding_apply(&encoding, cells, wanted);
  ck_assert_msg(row_read(&encoding,
                         "{\"size\":\"M\",\"age\":4,\"since\":\"1970-01-02\",\"city\":\"Rome\","
                         "\"id\":7,\"kind\":\"dog\"}",
                         out, &problem) == EP_OK,
                "%s", problem.detail);
  ck_assert_mem_eq(out, wanted, bytes);
  ep_encoding_apply(&encoding, gaps, wanted);
  ck_assert_int_eq(row_read(&encoding,
                            "{\"size\":null,\"age\":null,\"since\":null,\"city\":\"Bern\"}", out,
                            &problem),
                   EP_OK); /* a word not seen is another word, as a missing one is */
  ck_assert_mem_eq(out, wanted, bytes);
  ep_encoding_deinit(&encoding);
}
END_TEST

/* Through JSON and back. */
static void encoding_again(ep_encoding *encoding) {
  ep_error error;
  char *columns = ep_encoding_format(encoding), *classes = ep_classes_format(&encoding->classes);
  ep_encoding_deinit(encoding);
  ck_assert_int_eq(ep_encoding_parse(columns, classes, "kind", encoding, &error), EP_OK);
  free(columns);
  free(classes);
}

/* Text is read as the table was: forms of numbers and dates, words of missing cells. */
START_TEST(text_is_read_as_the_table_was) {
  ep_encoding encoding;
  ep_problem problem;
  double out[FEATURES_MOST], wanted[FEATURES_MOST];
  encoding_make(&encoding);
  for (int64_t i = 0; i < encoding.columns; i++) {
    if (strcmp(encoding.column[i].name, "age") == 0) {
      encoding.column[i].form = EP_CELL_DECIMAL_COMMA;
      strcpy(encoding.column[i].unit, "€");
    }
    if (strcmp(encoding.column[i].name, "since") == 0) encoding.column[i].form = EP_CELL_DAY_FIRST;
  }
  encoding_again(&encoding);
  static const char *const texts[] = {
      "{\"size\":\"M\",\"age\":4.5,\"since\":\"1970-01-02\",\"city\":\"NA\"}",
      "{\"size\":\" M \",\"age\":\" 4,5\",\"since\":\"02.01.1970\",\"city\":null}",
      "{\"size\":\" M \",\"age\":\" 4,5 €\",\"since\":\"02.01.1970\",\"city\":null}",
  };
  ck_assert_msg(row_read(&encoding, texts[0], wanted, &problem) == EP_OK, "%s", problem.detail);
  for (int i = 1; i < 3; i++) {
    ck_assert_msg(row_read(&encoding, texts[i], out, &problem) == EP_OK, "%s", problem.detail);
    ck_assert_mem_eq(out, wanted, (size_t)encoding.features * sizeof *out);
  }
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(each_form_comes_back) {
  for (int kind = 0; kind < EP_CELL_KINDS; kind++) {
    ep_encoding encoding;
    encoding_make(&encoding);
    encoding.column[0].form = (ep_cell_kind)kind;
    encoding_again(&encoding);
    ck_assert_int_eq(encoding.column[0].form, kind);
    ep_encoding_deinit(&encoding);
  }
}
END_TEST

/* A table that is not encoded has nothing to fill a gap with. */
START_TEST(plain_columns_have_names_too) {
  char *names[] = {"area", "rooms"};
  const ep_words words = {.word = names, .count = 2};
  ep_encoding encoding;
  ep_problem problem;
  ep_error error;
  double out[2];
  ck_assert_int_eq(ep_encoding_plain(&words, "price", &encoding, &error), EP_OK);
  ck_assert_int_eq(row_read(&encoding, "{\"price\":9,\"rooms\":3,\"area\":-60.5}", out, &problem),
                   EP_OK);
  ck_assert(out[0] == -60.5 && out[1] == 3);
  ck_assert_int_eq(row_read(&encoding, "{\"rooms\":null,\"area\":60}", out, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/x/0/rooms");
  ck_assert_str_eq(problem.errors[0].detail, "must be a number, not null");
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(faults_of_a_row_have_their_place) {
  ep_encoding encoding;
  ep_problem problem;
  double out[FEATURES_MOST];
  encoding_make(&encoding);
  ck_assert_int_eq(
      row_read(&encoding,
               "{\"size\":[],\"age\":\"4 y\",\"since\":\"1970-02-30\",\"citi\":\"Rome\"}", out,
               &problem),
      EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 5);
  ck_assert_str_eq(problem.errors[0].pointer, "/x/0/citi");
  ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "did you mean \"city\"?"));
  ck_assert_str_eq(problem.errors[1].pointer, "/x/0/age");
  ck_assert_str_eq(problem.errors[1].detail, "must be a number or null, not \"4 y\"");
  ck_assert_str_eq(problem.errors[2].pointer, "/x/0/city");
  ck_assert_ptr_nonnull(strstr(problem.errors[2].detail, "is required by the model"));
  ck_assert_str_eq(problem.errors[3].pointer, "/x/0/since");
  ck_assert_str_eq(problem.errors[4].pointer, "/x/0/size");
  ck_assert_int_eq(row_read(&encoding, "[1]", out, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/x/0");
  ep_encoding_deinit(&encoding);
}
END_TEST

/* The training cells of "age" are 1, 4 and 9: what is beyond -7 to 17 is named, once a column. */
START_TEST(cells_far_outside_of_the_training_are_named) {
  ep_encoding encoding;
  ep_warnings warnings = {0};
  encoding_make(&encoding);
  const double near[][COLUMNS - 1] = {{-7, 0, 0, 0, 0}, {17, 0, 9e12, 0, 0}, {NAN, 0, 0, 0, 0}};
  const double far[][COLUMNS - 1] = {{5, 0, 0, 0, 0}, {17.5, 0, 0, 0, 0}, {900, 0, 0, 0, 0}};
  ep_encoding_range_warn(&encoding, near[0], 3, &warnings);
  ck_assert_int_eq(warnings.count, 0);
  ep_encoding_range_warn(&encoding, far[0], 3, &warnings);
  ck_assert_int_eq(warnings.count, 1);
  ck_assert_str_eq(warnings.entry[0].pointer, "/rows/1/age");
  ck_assert_ptr_nonnull(strstr(warnings.entry[0].detail, "17.5 is far outside of"));
  ck_assert_ptr_nonnull(strstr(warnings.entry[0].detail, ", 1 to 9:"));
  encoding.column[0].ranged = false; /* of an older version */
  ep_encoding_range_warn(&encoding, far[0], 3, &warnings);
  ck_assert_int_eq(warnings.count, 1);
  ep_warnings_deinit(&warnings);
  ep_encoding_deinit(&encoding);
}
END_TEST

EP_SUITE("encoding_json") {
  TCase *all = ep_suite_case(suite, "encoding_json");
  tcase_add_test(all, an_encoding_comes_back_to_the_bit);
  tcase_add_test(all, a_form_is_told_of_each_column);
  tcase_add_test(all, what_cannot_be_is_refused);
  tcase_add_test(all, a_row_is_read_by_names);
  tcase_add_test(all, text_is_read_as_the_table_was);
  tcase_add_test(all, each_form_comes_back);
  tcase_add_test(all, cells_far_outside_of_the_training_are_named);
  tcase_add_test(all, plain_columns_have_names_too);
  tcase_add_test(all, faults_of_a_row_have_their_place);
}
