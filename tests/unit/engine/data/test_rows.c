#include <jansson.h>

#include "engine/data/datasets/rows.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static json_t *rows_of(const void *bytes, size_t size, const ep_rows_page *page) {
  ep_dataset_meta meta;
  ep_error error;
  char *text = NULL;
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  ck_assert_msg(ep_dataset_rows_format(scratch_folder, &meta, page, &text, &error) == EP_OK, "%s",
                error.message);
  ep_dataset_meta_deinit(&meta);
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  ck_assert_ptr_nonnull(json);
  free(text);
  return json;
}

/* What the rows of a CSV are, as compact JSON. */
static void expect_rows(const char *csv, const ep_rows_page *page, const char *expected) {
  json_t *json = rows_of(csv, strlen(csv), page);
  char *data = json_dumps(json_object_get(json, "data"), JSON_COMPACT | JSON_REAL_PRECISION(15));
  ck_assert_str_eq(data, expected);
  free(data);
  json_decref(json);
}

static const ep_rows_page FIRST = {.split = EP_SPLIT_TRAIN, .limit = 1};

START_TEST(cells_are_what_they_were) {
  static const char CSV[] =
      "city,since,at,seen,n\nOslo,2024-02-29,12:30:00,2024-02-29T01:02:03,0.1\n"
      "Bergen,,06:00:05.137,1969-12-31T23:59:59.5,-3\nOslo,1024-01-02,,2024-03-01,4e20\n"
      "Bergen,,24:00,2024-03-01 00:00:00.000001,0\n";
  static const ep_rows_page ALL = {.split = EP_SPLIT_TRAIN, .limit = 9};
  expect_rows(CSV, &ALL,
              "[{\"city\":\"Oslo\",\"since\":\"2024-02-29\",\"at\":\"12:30:00\","
              "\"seen\":\"2024-02-29T01:02:03\",\"n\":0.1},"
              "{\"city\":\"Bergen\",\"since\":null,\"at\":\"06:00:05.137\","
              "\"seen\":\"1969-12-31T23:59:59.500\",\"n\":-3},"
              "{\"city\":\"Oslo\",\"since\":\"1024-01-02\",\"at\":null,\"seen\":\"2024-03-01\","
              "\"n\":4e20},"
              "{\"city\":\"Bergen\",\"since\":null,\"at\":\"24:00:00\","
              "\"seen\":\"2024-03-01T00:00:00.000001\",\"n\":0}]");
}
END_TEST

START_TEST(rows_without_names_are_arrays) {
  expect_rows("1,2\n3,4\n", &FIRST, "[[1,2]]");
  ep_rows_page second = {.split = EP_SPLIT_TRAIN, .offset = 1, .limit = 1};
  expect_rows("1,2\n3,4\n", &second, "[[3,4]]");
  ep_rows_page none = {.split = EP_SPLIT_TRAIN, .offset = 2, .limit = 1};
  expect_rows("1,2\n3,4\n", &none, "[]");
}
END_TEST

START_TEST(x_and_y_that_come_apart_are_two) {
  static const char JSON[] =
      "{\"m\":2,\"n\":2,\"x\":[1,2,3,4],\"y\":[0,1],\"m_test\":1,\"x_test\":[5,6],\"y_test\":[1]}";
  ep_rows_page page = {.split = EP_SPLIT_TEST, .limit = 5};
  expect_rows(JSON, &page, "[{\"x\":[5,6],\"y\":[1]}]");
}
END_TEST

START_TEST(a_page_says_what_comes_next) {
  json_t *json = rows_of("a,b\n1,2\n3,4\n", 12, &FIRST);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "total")), 2);
  ck_assert_int_eq(json_integer_value(json_object_get(json, "next")), 1);
  ck_assert(json_is_true(json_object_get(json, "has_more")));
  json_decref(json);
  ep_rows_page both = {.split = EP_SPLIT_TRAIN, .limit = 2};
  json = rows_of("a,b\n1,2\n3,4\n", 12, &both);
  ck_assert(json_is_null(json_object_get(json, "next")));
  ck_assert(json_is_false(json_object_get(json, "has_more")));
  json_decref(json);
}
END_TEST

/* Rows of 20,000 numbers: some of the 50 fit, and one at least of wider ones. */
START_TEST(wide_rows_are_fewer) {
  enum { ROWS = 50 };
  static const int COLUMNS[] = {20000, EP_LIMIT_COLUMNS};
  ep_rows_page page = {.split = EP_SPLIT_TRAIN, .limit = ROWS};
  for (size_t i = 0; i < 2; i++) {
    size_t line = (size_t)COLUMNS[i] * 2;
    char *csv = malloc(ROWS * line);
    for (size_t at = 0; at < ROWS * line; at += 2) memcpy(csv + at, "1,", 2);
    for (size_t row = 1; row <= ROWS; row++) csv[row * line - 1] = '\n';
    json_t *json = rows_of(csv, ROWS * line, &page);
    size_t rows = json_array_size(json_object_get(json, "data"));
    ck_assert_uint_ge(rows, 1);
    ck_assert_uint_lt(rows, 4);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "next")), (json_int_t)rows);
    json_decref(json);
    free(csv);
  }
}
END_TEST

START_TEST(what_is_not_there_is_refused) {
  ep_dataset_meta meta;
  ep_error error;
  char *text;
  ep_rows_page page = {.split = EP_SPLIT_TEST, .limit = 1};
  ck_assert_int_eq(scratch_ingest("a,b\n1,2\n", 8, NULL, &meta, &error), EP_OK);
  ck_assert_int_eq(ep_dataset_rows_format(scratch_folder, &meta, &page, &text, &error),
                   EP_MALFORMED);
  meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows = 2; /* the file has one */
  ck_assert_int_eq(ep_dataset_rows_format(scratch_folder, &meta, &FIRST, &text, &error),
                   EP_DAMAGED);
  ck_assert_ptr_null(text);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

EP_SUITE("engine/rows") {
  TCase *tests = ep_suite_case(suite, "rows to look at");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_add_test(tests, cells_are_what_they_were);
  tcase_add_test(tests, rows_without_names_are_arrays);
  tcase_add_test(tests, x_and_y_that_come_apart_are_two);
  tcase_add_test(tests, a_page_says_what_comes_next);
  tcase_add_test(tests, wide_rows_are_fewer);
  tcase_add_test(tests, what_is_not_there_is_refused);
}
