/* Which steps of a series are gaps: of hours, days, business days, months, years and numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare/gaps.h"
#include "tests/suite.h"

enum { ROWS_MOST = 4096, TEXT_BYTES = 400 };

static const double hour = 3600, day = 86400;
static const double monday = 1704067200; /* 2024-01-01 */

static double times[ROWS_MOST];
static int64_t rows;
static bool odd[ROWS_MOST];
static ep_series_gaps found;

static void setup(void) {
  rows = 0;
  found = (ep_series_gaps){.dates = true};
}

static void row_add(double time) {
  ck_assert_int_lt(rows, ROWS_MOST);
  times[rows++] = time;
}

/* Days of the month, 12 a year. */
static double month_start(int month) {
  static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  double start = monday;
  for (int i = 0; i < month; i++) start += day * (days[i % 12] - (i % 12 == 1 && i / 12 % 4 != 0));
  return start;
}

static void look(void) {
  ck_assert_int_eq(ep_gaps_find(times, rows, &found, odd, NULL), EP_OK);
  ep_gaps_judge(&found);
}

static void assert_counts(int64_t gaps, int64_t repeated, int64_t close) {
  look();
  int64_t marked = 0;
  for (int64_t i = 0; i < rows; i++) marked += odd[i];
  ck_assert_int_eq(found.gaps, gaps);
  ck_assert_int_eq(found.repeated, repeated);
  ck_assert_int_eq(found.close, close);
  ck_assert_int_eq(marked, gaps + repeated + close);
  ck_assert_int_eq(found.steps, rows - 1);
  ck_assert(!found.uneven);
}

START_TEST(hours_with_a_hole_and_one_twice) {
  for (int i = 0; i < 24 * 21; i++)
    if (i < 300 || i >= 372) row_add(monday + i * hour);
  row_add(times[rows - 1]);
  assert_counts(1, 1, 0);
  ck_assert(odd[300] && odd[rows - 1]);
  ck_assert_double_eq(found.after, monday + 299 * hour);
  ck_assert_double_eq(found.missing, 72 * hour);
}
END_TEST

START_TEST(a_row_between_two_hours_is_too_close) {
  for (int i = 0; i < 100; i++) row_add(monday + i * hour + (i >= 50 ? hour / 4 - hour : 0));
  assert_counts(0, 0, 1);
  ck_assert(odd[50]);
}
END_TEST

START_TEST(a_step_of_one_and_a_half_is_the_last_that_is_no_gap) {
  row_add(monday);
  for (int i = 0; i < 50; i++) row_add(times[rows - 1] + hour);
  row_add(times[rows - 1] + 1.5 * hour);
  row_add(times[rows - 1] + 0.5 * hour);
  row_add(times[rows - 1] + 1.5 * hour + 1);
  row_add(times[rows - 1] + 0.5 * hour - 1);
  assert_counts(1, 0, 1);
}
END_TEST

START_TEST(months_quarters_and_years_are_even) {
  static const int step[] = {1, 3, 12};
  for (int i = 0; i < 3; i++) {
    setup();
    for (int month = 0; month < 20 * 12; month += step[i]) row_add(month_start(month));
    assert_counts(0, 0, 0);
    setup();
    for (int month = 0; month < 20 * 12; month += step[i])
      if (month != 36) row_add(month_start(month));
    assert_counts(1, 0, 0);
  }
}
END_TEST

START_TEST(weeks_and_days_are_even_and_a_missing_one_is_a_gap) {
  for (int i = 0; i < 100; i++)
    if (i != 50) row_add(monday + i * 7 * day);
  assert_counts(1, 0, 0);
  setup();
  for (int i = 0; i < 365; i++)
    if (i % 40 != 13) row_add(monday + i * day); /* of each weekday, some are missing */
  assert_counts(9, 0, 0);
}
END_TEST

/* Weekends, single holidays, and ten days without a row. */
START_TEST(business_days_close_for_weekends_and_holidays) {
  for (int i = 0; i < 52 * 7; i++) {
    bool holiday = i == 14 * 7 || i == 20 * 7 + 4 || (i >= 25 * 7 + 2 && i <= 25 * 7 + 4);
    bool hole = i >= 40 * 7 + 1 && i <= 41 * 7 + 3;
    if (i % 7 < 5 && !holiday && !hole) row_add(monday + i * day);
  }
  assert_counts(1, 0, 0);
  ck_assert_double_eq(found.after, monday + 40 * 7 * day);
}
END_TEST

/* From 9 to 16 on business days: nights, weekends and a holiday are none, a missing hour is one. */
START_TEST(trading_hours_close_at_night) {
  for (int i = 0; i < 20 * 7; i++)
    for (int h = 9; h < 17; h++)
      if (i % 7 < 5 && i != 21 && !(i == 30 && h == 12)) row_add(monday + i * day + h * hour);
  assert_counts(1, 0, 0);
  ck_assert_double_eq(found.after, monday + 30 * day + 11 * hour);
}
END_TEST

/* A day that is missing now and then is no closing time. */
START_TEST(an_hour_without_rows_on_all_days_is_a_closing_time) {
  for (int i = 0; i < 24 * 60; i++)
    if (i % 24 != 3 && i / 24 != 17) row_add(monday + i * hour);
  assert_counts(1, 0, 0);
  ck_assert_double_eq(found.missing, 24 * hour);
}
END_TEST

START_TEST(quarters_of_an_hour_have_gaps_within_an_hour) {
  for (int i = 0; i < 4 * 24 * 30; i++)
    if (i < 1001 || i > 1003) row_add(monday + i * hour / 4);
  assert_counts(1, 0, 0);
}
END_TEST

START_TEST(numbers_have_no_calendar) {
  found.dates = false;
  for (int i = 0; i < 100; i++)
    if (i < 40 || i >= 45) row_add(i);
  assert_counts(1, 0, 0);
  ck_assert_double_eq(found.after, 39);
  ck_assert_double_eq(found.missing, 5);
}
END_TEST

START_TEST(times_without_a_usual_step_are_uneven) {
  for (int i = 0; i < 100; i++) row_add(monday + i * i * 977.0);
  look();
  ck_assert(found.uneven);
  setup();
  for (int i = 0; i < 100; i++)
    row_add(monday + i / 2 * hour); /* two series that nobody tells apart */
  look();
  ck_assert(found.uneven && found.repeated == 50);
}
END_TEST

START_TEST(short_series_have_no_gaps) {
  for (int count = 0; count < 3; count++) {
    setup();
    for (int i = 0; i < count; i++) row_add(monday + i * i * 99 * day);
    look();
    ck_assert(found.gaps == 0 && !found.uneven);
  }
}
END_TEST

static void assert_text(const ep_series_gaps *gaps, const char *expected) {
  char text[TEXT_BYTES];
  ep_gaps_format(gaps, text, sizeof text);
  ck_assert_str_eq(text, expected);
}

START_TEST(the_sentence_has_all_counts) {
  assert_text(&(ep_series_gaps){.steps = 100, .windows = 7}, "");
  assert_text(&(ep_series_gaps){.dates = true,
                                .steps = 504,
                                .gaps = 1,
                                .repeated = 1,
                                .after = monday + 23 * hour,
                                .missing = 3 * day,
                                .windows = 457,
                                .left_out = 48},
              "1 gap (3 days after 2024-01-01 23:00), 1 repeated time: 48 of 457 windows are left "
              "out; \"gaps\": \"keep\" in \"window\" takes them");
  assert_text(&(ep_series_gaps){.steps = 40,
                                .gaps = 2,
                                .close = 3,
                                .after = 39,
                                .missing = 5,
                                .windows = 9,
                                .left_out = 1},
              "2 gaps (the longest: 5 after 39), 3 short steps: 1 of 9 windows "
              "is left out; \"gaps\": \"keep\" in \"window\" takes them");
  assert_text(
      &(ep_series_gaps){.dates = true, .steps = 40, .repeated = 20, .uneven = true},
      "20 repeated times in 40 steps: the times are uneven, so windows count rows, whatever "
      "their times; of several series, name the column of each row's series as \"group\" in "
      "\"window\"");
}
END_TEST

EP_SUITE("gaps") {
  TCase *tests = ep_suite_case(suite, "gaps");
  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, hours_with_a_hole_and_one_twice);
  tcase_add_test(tests, a_row_between_two_hours_is_too_close);
  tcase_add_test(tests, a_step_of_one_and_a_half_is_the_last_that_is_no_gap);
  tcase_add_test(tests, months_quarters_and_years_are_even);
  tcase_add_test(tests, weeks_and_days_are_even_and_a_missing_one_is_a_gap);
  tcase_add_test(tests, business_days_close_for_weekends_and_holidays);
  tcase_add_test(tests, trading_hours_close_at_night);
  tcase_add_test(tests, an_hour_without_rows_on_all_days_is_a_closing_time);
  tcase_add_test(tests, quarters_of_an_hour_have_gaps_within_an_hour);
  tcase_add_test(tests, numbers_have_no_calendar);
  tcase_add_test(tests, times_without_a_usual_step_are_uneven);
  tcase_add_test(tests, short_series_have_no_gaps);
  tcase_add_test(tests, the_sentence_has_all_counts);
}
