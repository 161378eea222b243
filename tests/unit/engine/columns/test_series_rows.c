/* Rows of a request as series: told apart, in order of their time, with those that are to come. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/inputs/series_rows.h"
#include "engine/data/inputs/text_rows.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"

enum { COLUMNS = 4, TEMP = 2, WIND = 3 };

static ep_encoding encoding;
static ep_word_set sites;
static ep_warnings warnings;
static ep_problem problem;

/* hour, site, temp, wind: two rows make an example, temp of the next row is its target. */
static void setup(void) {
  const double rows[] = {0, 0, 10, 1, 1, 1, 20, 5};
  ep_column columns[] = {number_column("hour", 0, 99, 0), category_column("site", "Oslo Rome", 0),
                         number_column("temp", 0, 99, 0), number_column("wind", 0, 9, 0)};
  ep_part table = table_make(columns, COLUMNS, 2);
  ep_data_spec data = {.time = "hour", .window = {.length = 2, .horizon = 1, .group = "site"}};
  encoding_plan(&data, &table, TEMP, &encoding);
  encoding_fit(&encoding, rows, 2);
  table_free(&table);
  encoding.window.series = &sites;
}

static void teardown(void) {
  ep_encoding_deinit(&encoding);
  ep_word_set_deinit(&sites);
  ep_warnings_deinit(&warnings);
}

/* ahead: NULL: nothing is known of rows to come. */
static ep_status take(const char *text, const char *ahead, int64_t steps, ep_series_rows *out) {
  double *x, *behind = NULL;
  ep_given_rows given = {.steps = steps};
  ep_text_body body = {.text = text, .bytes = strlen(text)};
  problem = (ep_problem){0};
  ck_assert_msg(ep_text_rows_read(&encoding, &body, &x, &given.rows, &warnings, &problem) == EP_OK,
                "%s", problem.detail);
  if (ahead) {
    body = (ep_text_body){.text = ahead, .bytes = strlen(ahead), .ahead = true};
    ck_assert_msg(ep_text_rows_read(&encoding, &body, &behind, &given.ahead, &warnings, &problem) ==
                      EP_OK,
                  "%s", problem.errors[0].detail);
    x = realloc(x, (size_t)((given.rows + given.ahead) * COLUMNS) * sizeof *x);
    memcpy(x + given.rows * COLUMNS, behind, (size_t)(given.ahead * COLUMNS) * sizeof *x);
    free(behind);
  }
  given.x = x;
  ep_status status = ep_series_rows_take(&encoding, &given, out, &warnings, &problem);
  free(x);
  return status;
}

static double cell(const ep_series_rows *rows, int64_t series, int64_t row, int64_t column) {
  return rows->x[series * rows->columns + row * COLUMNS + column];
}

START_TEST(windows_are_of_one_series_in_order_of_time) {
  static const char text[] = "hour,site,temp,wind\n3,Rome,23,1\n2,Oslo,12,1\n1,Rome,21,1\n"
                             "1,Oslo,11,1\n2,Rome,22,1\n";
  static const int64_t last[] = {0, 1, 4}, example[] = {1, 2, 0};
  static const char *const name[] = {"Rome", "Oslo", "Rome"};
  ep_series_rows rows;
  ck_assert_msg(take(text, NULL, 0, &rows) == EP_OK, "%s", problem.detail);
  ck_assert_int_eq(rows.rows, 2);
  ck_assert_int_eq(rows.columns, 3 * COLUMNS);
  ck_assert_int_eq(rows.windows, 2);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(cell(&rows, 0, i, TEMP), 21 + i);
  for (int i = 0; i < 2; i++) ck_assert_double_eq(cell(&rows, 1, i, TEMP), 11 + i);
  ck_assert(isnan(cell(&rows, 1, 2, TEMP)) && rows.moved);
  ck_assert_int_eq(rows.count, 3);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(rows.last[i], last[i]);
    ck_assert_int_eq(rows.example[i], example[i]);
    ck_assert_str_eq(rows.name[i], name[i]);
  }
  ep_series_rows_deinit(&rows);
}
END_TEST

START_TEST(rows_without_these_columns_are_one_series) {
  static const char *const texts[] = {"{\"temp\": 1, \"wind\": 1}\n{\"temp\": 2, \"wind\": 1}\n",
                                      "{\"site\": \"Bern\", \"temp\": 1, \"wind\": 1}\n"
                                      "{\"site\": \" Bern\", \"temp\": 2, \"wind\": 1}\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ep_text_body body = {.text = texts[i], .bytes = strlen(texts[i]), .lines = true};
    double *x;
    ep_given_rows given = {0};
    ep_series_rows rows;
    ck_assert_int_eq(ep_text_rows_read(&encoding, &body, &x, &given.rows, &warnings, &problem),
                     EP_OK);
    given.x = x;
    ck_assert_int_eq(ep_series_rows_take(&encoding, &given, &rows, &warnings, &problem), EP_OK);
    ck_assert_int_eq(rows.count, 1);
    ck_assert(!rows.name && !rows.moved && rows.last[0] == 1);
    ep_series_rows_deinit(&rows);
    free(x);
  }
}
END_TEST

/* The first row without a target is the first one that is forecast. */
START_TEST(a_forecast_goes_on_from_the_last_target) {
  static const char names[] = "hour,site,temp,wind\n";
  static const struct {
    const char *rows, *ahead;
  } cases[] = {
      {"0,Oslo,9,0\n1,Oslo,10,1\n2,Oslo,11,2\n", "hour,site,wind\n4,Oslo,4\n3,Oslo,3\n"},
      {"0,Oslo,9,0\n1,Oslo,10,1\n2,Oslo,11,2\n", "wind\n3\n4\n"},
      {"4,Oslo,,4\n1,Oslo,10,1\n3,Oslo,,3\n2,Oslo,11,2\n", NULL},
      {"1,Oslo,10,1\n2,Oslo,11,2\n3,Oslo,,3\n", "wind,temp\n4,99\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    ep_series_rows rows;
    snprintf(text, sizeof text, "%s%s", names, cases[i].rows);
    ck_assert_msg(take(text, cases[i].ahead, 3, &rows) == EP_OK, "%zu: %s %s", i, problem.detail,
                  problem.errors[0].detail);
    ck_assert_int_eq(rows.rows, 1);
    ck_assert_int_eq(rows.columns, 4 * COLUMNS);
    ck_assert_int_eq(rows.windows, 3);
    ck_assert_int_eq(rows.count, 3);
    for (int k = 0; k < 4; k++) {
      double temp = cell(&rows, 0, k, TEMP);
      ck_assert_msg(cell(&rows, 0, k, WIND) == 1 + k, "%zu: %d", i, k);
      ck_assert_msg(k < 2 ? temp == 10 + k : isnan(temp), "%zu: %d: %g", i, k, temp);
    }
    ep_series_rows_deinit(&rows);
  }
}
END_TEST

START_TEST(what_a_forecast_lacks_is_named) {
#define KNOWN "hour,site,temp,wind\n1,Oslo,10,1\n2,Oslo,11,2\n"
  static const struct {
    const char *rows, *ahead, *pointer, *detail;
  } cases[] = {
      {KNOWN, NULL, "/future",
       "2 rows after the last one, and 0 are given: the model requires "
       "their \"wind\""},
      {KNOWN, "wind\n1\n", "/future", "and 1 are given"},
      {KNOWN, "wind,temp\n1,\n,1\n", "/future/1/wind", "missing in a row to come"},
      {KNOWN "3,Oslo,,\n4,Oslo,,4\n", NULL, "/rows/2/wind", "missing in a row to come"},
      {KNOWN "3,,,\n", NULL, "/rows/2/site", "identifies the series"},
      {KNOWN ",Oslo,,\n", NULL, "/rows/2/hour", "orders the rows"},
      {KNOWN "1,Rome,1,1\n2,Rome,1,1\n", "wind\n1\n2\n", "/future",
       "rows to come require \"site\""},
      {KNOWN "1,Rome,1,1\n2,Rome,1,1\n", "wind,site\n1,Oslo\n2,Oslo\n", "/future", "of \"Rome\""},
      {"hour,site,temp,wind\n1,Oslo,1,1\n2,Rome,1,1\n", NULL, "/rows", "none of the 2 series"},
      {"hour,site,temp,wind\n1,Oslo,1,1\n", NULL, "/rows", "the last 2 rows"},
  };
#undef KNOWN
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_series_rows rows;
    ep_word_set_deinit(&sites);
    sites = (ep_word_set){0};
    ck_assert_int_eq(take(cases[i].rows, cases[i].ahead, 3, &rows), EP_INVALID);
    ck_assert_int_ge(problem.errors_count, 1);
    ck_assert_str_eq(problem.errors[0].pointer, cases[i].pointer);
    ck_assert_msg(strstr(problem.errors[0].detail, cases[i].detail), "%zu: %s", i,
                  problem.errors[0].detail);
  }
}
END_TEST

START_TEST(a_series_that_is_too_short_is_left_out) {
  ep_series_rows rows;
  ck_assert_int_eq(
      take("hour,site,temp,wind\n1,Oslo,1,1\n1,Rome,5,1\n2,Rome,6,1\n", NULL, 1, &rows), EP_OK);
  ck_assert_int_eq(rows.rows, 1);
  ck_assert_double_eq(cell(&rows, 0, 0, TEMP), 5);
  ck_assert_str_eq(rows.name[0], "Rome");
  ck_assert_int_eq(warnings.count, 1);
  ck_assert_ptr_nonnull(strstr(warnings.entry[0].detail, "\"Oslo\" has 1 rows"));
  ep_series_rows_deinit(&rows);
}
END_TEST

EP_SUITE("engine/series_rows") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, windows_are_of_one_series_in_order_of_time);
  tcase_add_test(tests, rows_without_these_columns_are_one_series);
  tcase_add_test(tests, a_forecast_goes_on_from_the_last_target);
  tcase_add_test(tests, what_a_forecast_lacks_is_named);
  tcase_add_test(tests, a_series_that_is_too_short_is_left_out);
}
