#include "engine/data/columns/encoding.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/date.h"
#include "engine/data/columns/calendar.h"
#include "engine/data/columns/order_statistic.h"
#include "engine/data/columns/retype.h"
#include "engine/data/columns/rules.h"
#include "engine/data/columns/word_hash.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

static const double missing = NAN;

/* One column beside a target. */
static ep_part table_of(ep_column column, int64_t rows) {
  return table_make((ep_column[]){column, number_column("y", 0, 1, 0)}, 2, rows);
}

/* Plans and fits one column, with a rule for it or none. */
static void column_fit(ep_column column, const ep_column_rule *rule, const double *cells,
                       int64_t rows, ep_encoding *out) {
  ep_column_rule rules[1] = {rule ? *rule : (ep_column_rule){.indicator = -1}};
  ep_data_spec data = {.columns = rules, .columns_count = rule != NULL};
  snprintf(rules[0].name, sizeof rules[0].name, "a");
  ep_part table = table_of(column, rows);
  encoding_plan(&data, &table, 1, out);
  encoding_fit(out, cells, rows);
  table_free(&table);
}

static void encodes(const ep_encoding *encoding, double cell, const double *wanted, int64_t count) {
  double out[64];
  ck_assert_int_eq(encoding->features, count);
  for (int i = 0; i < 64; i++) out[i] = 777;
  ep_encoding_apply(encoding, &cell, out);
  for (int64_t i = 0; i < count; i++) {
    ck_assert(!isnan(out[i]));
    ck_assert_double_eq_tol(out[i], wanted[i], 1e-12);
  }
  ck_assert_double_eq(out[count], 777);
}
#define ENCODES(encoding, cell, ...) \
  encodes(encoding, cell, (double[]){__VA_ARGS__}, COUNT(((double[]){__VA_ARGS__})))

START_TEST(medians_are_exact) {
  const double odd[] = {5, -1, 3}, even[] = {4, 1, 3, 2}, tied[] = {-0.0, 0.0, 2, -7};
  const double wide[] = {-DBL_MAX, DBL_MAX, 1e-300, -1e-300, 0};
  ck_assert_double_eq(ep_median(odd, 3), 3);
  ck_assert_double_eq(ep_median(even, 4), 2.5);
  ck_assert_double_eq(ep_median(tied, 4), 0);
  ck_assert_double_eq(ep_median(wide, 5), 0);
  for (int i = 0; i < 5; i++) {
    const double sorted[] = {-DBL_MAX, -1e-300, 0, 1e-300, DBL_MAX};
    ck_assert_double_eq(ep_order_statistic(wide, 5, i), sorted[i]);
  }
  double modes[] = {3, 1, 3, 1, 2};
  ck_assert_double_eq(ep_mode(modes, 5), 1);
}
END_TEST

START_TEST(a_number_is_scaled_by_the_training_rows) {
  ep_encoding encoding;
  const double cells[] = {1, 3, 5, 7};
  column_fit(number_column("a", 1, 7, 0), NULL, cells, 4, &encoding);
  ck_assert_double_eq(encoding.column[0].shift, 4);
  ck_assert_double_eq(encoding.column[0].scale, sqrt(5));
  ENCODES(&encoding, 4, 0);
  ENCODES(&encoding, NAN, 0); /* none was missing: the median, and no indicator */
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(missing_numbers_become_the_median_and_an_indicator) {
  ep_encoding encoding;
  const double cells[] = {missing, 1, 10, missing, 4};
  column_fit(number_column("a", 1, 10, 2), NULL, cells, 5, &encoding);
  const ep_column_encoding *column = &encoding.column[0];
  ck_assert_double_eq(column->fill, 4);
  ck_assert_double_eq(column->shift, 23.0 / 5); /* of the cells as they are filled */
  ENCODES(&encoding, NAN, (4 - column->shift) / column->scale, 1);
  ENCODES(&encoding, 10, (10 - column->shift) / column->scale, 0);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(fillings_and_scales) {
  static const struct {
    ep_column_rule rule;
    double fill, shift, scale;
  } rows[] = {
      {{.missing = EP_FILL_MEAN, .indicator = 0, .scale = EP_COLUMN_SCALE_NONE}, 3, 0, 1},
      {{.missing = EP_FILL_ZERO, .indicator = 0, .scale = EP_COLUMN_SCALE_MINMAX}, 0, 0, 6},
      {{.missing = EP_FILL_MOST_FREQUENT, .indicator = 0, .scale = EP_COLUMN_SCALE_NONE}, 1, 0, 1},
      {{.has_value = true, .value = -2, .indicator = 0, .scale = EP_COLUMN_SCALE_MINMAX},
       -2,
       -2,
       8},
  };
  const double cells[] = {1, missing, 6, 1, 4};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_encoding encoding;
    column_fit(number_column("a", 1, 6, 1), &rows[i].rule, cells, 5, &encoding);
    ck_assert_int_eq(encoding.features, 1);
    ck_assert_double_eq(encoding.column[0].fill, rows[i].fill);
    ck_assert_double_eq(encoding.column[0].shift, rows[i].shift);
    ck_assert_double_eq(encoding.column[0].scale, rows[i].scale);
    ep_encoding_deinit(&encoding);
  }
}
END_TEST

START_TEST(logarithms_of_both_signs) {
  ep_encoding encoding;
  const double cells[] = {0, M_E - 1, 1 - M_E};
  column_fit(number_column("a", -2, 2, 0),
             &(ep_column_rule){.indicator = -1, .scale = EP_COLUMN_SCALE_LOG1P}, cells, 3,
             &encoding);
  ENCODES(&encoding, 0, 0);
  ENCODES(&encoding, M_E - 1, sqrt(1.5));
  ENCODES(&encoding, 1 - M_E, -sqrt(1.5));
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(constants_and_too_large_values) {
  ep_encoding encoding;
  const double cells[] = {0.1, 0.1, 0.1}, none[] = {missing, missing};
  column_fit(number_column("a", 0.1, 5, 0), NULL, cells, 3, &encoding);
  ENCODES(&encoding, 0.1, 0); /* of the training rows alone: divided by 1 */
  ep_encoding_deinit(&encoding);
  column_fit(number_column("a", 1, 2, 1), NULL, none, 2, &encoding);
  ENCODES(&encoding, NAN, 0, 1);
  ep_part table = table_of(number_column("a", 0, 1e308, 0), 3);
  ep_error error = {0};
  ep_encoding large;
  encoding_plan(NULL, &table, 1, &large);
  double huge[] = {1e308, 1e308, -1e308};
  ck_assert_int_eq(ep_encoding_fit(&large, 0, huge, 3, &error), EP_DATA);
  ck_assert_str_eq(error.pointer, "/data/columns/a");
  table_free(&table);
  ep_encoding_deinit(&large);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(words_become_one_hot) {
  ep_encoding encoding;
  const double cells[] = {0, 2, 0, missing};
  column_fit(category_column("a", "red green blue", 1), NULL, cells, 4, &encoding);
  ENCODES(&encoding, 0, 1, 0, 0, 0);
  ENCODES(&encoding, 2, 0, 0, 1, 0);
  ENCODES(&encoding, 1, 0, 0, 0, 1); /* no training row has it */
  ENCODES(&encoding, NAN, 0, 0, 0, 1);
  ENCODES(&encoding, -1, 0, 0, 0, 1);
  ENCODES(&encoding, 3, 0, 0, 0, 1);
  ep_encoding_deinit(&encoding);
  column_fit(category_column("a", "red green", 1),
             &(ep_column_rule){.missing = EP_FILL_MOST_FREQUENT, .indicator = 1}, cells, 4,
             &encoding);
  ENCODES(&encoding, NAN, 1, 0, 0, 1);
  ENCODES(&encoding, 9, 0, 0, 1, 0);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(many_words_keep_the_commonest) {
  char text[1024] = "";
  for (int i = 0; i < 40; i++) snprintf(text + strlen(text), 16, "w%02d ", i);
  double cells[40], out[EP_LIMIT_ONE_HOT + 1];
  for (int i = 0; i < 40; i++) cells[i] = i;
  ep_encoding encoding;
  const ep_column_rule one_hot = {.encode = EP_CATEGORY_ONE_HOT, .indicator = -1};
  column_fit(category_column("a", text, 0), &one_hot, cells, 40, &encoding);
  ck_assert_int_eq(encoding.features, EP_LIMIT_ONE_HOT + 1);
  for (int i = 0; i < 40; i++) {
    ep_encoding_apply(&encoding, &cells[i], out);
    for (int k = 0; k <= EP_LIMIT_ONE_HOT; k++)
      ck_assert_double_eq(out[k], k == (i < EP_LIMIT_ONE_HOT ? i : EP_LIMIT_ONE_HOT));
  }
  ep_encoding_deinit(&encoding);
  column_fit(category_column("a", text, 0),
             &(ep_column_rule){
                 .encode = EP_CATEGORY_ORDINAL, .indicator = 1, .scale = EP_COLUMN_SCALE_NONE},
             cells, 40, &encoding);
  ENCODES(&encoding, 39, 39, 0);
  ENCODES(&encoding, 40, 0, 1); /* no word: as a missing cell, which is the commonest */
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(many_words_are_embedded) {
  char text[1024] = "";
  for (int i = 0; i < EP_LIMIT_ONE_HOT + 1; i++) snprintf(text + strlen(text), 16, "w%02d ", i);
  enum { ROWS = 5 * (EP_LIMIT_ONE_HOT + 1) + 1 };
  double cells[ROWS];
  for (int i = 0; i < ROWS; i++) cells[i] = i % 3 == 2 ? missing : i % 3 == 1 ? 5 : 0;
  cells[0] = EP_LIMIT_ONE_HOT;
  ep_encoding encoding;
  column_fit(category_column("a", text, 2), NULL, cells, ROWS, &encoding);
  ck_assert_int_eq(encoding.embedded_columns, 0); /* too few rows of a word */
  ep_encoding_deinit(&encoding);
  column_fit(category_column("a", text, 1), NULL, cells, ROWS, &encoding);
  ck_assert_int_eq(encoding.embedded_columns, 1);
  ck_assert_int_eq(encoding.embedded_rows, EP_LIMIT_ONE_HOT + 3); /* others, and missing ones */
  ENCODES(&encoding, 5, 5);
  ENCODES(&encoding, EP_LIMIT_ONE_HOT, EP_LIMIT_ONE_HOT);
  ENCODES(&encoding, 6, EP_LIMIT_ONE_HOT + 1); /* no training row has it */
  ENCODES(&encoding, -1, EP_LIMIT_ONE_HOT + 1);
  ENCODES(&encoding, NAN, EP_LIMIT_ONE_HOT + 2);
  ep_encoding_deinit(&encoding);
  const ep_column_rule filled = {
      .encode = EP_CATEGORY_EMBEDDING, .missing = EP_FILL_MOST_FREQUENT, .indicator = -1};
  column_fit(category_column("a", "x z", 1), &filled, (double[]){1, 1, missing, 0}, 4, &encoding);
  ck_assert_int_eq(encoding.embedded_rows, 3);
  ENCODES(&encoding, NAN, 1);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(embedded_columns_come_last) {
  ep_column columns[] = {category_column("c", "x z", 0), number_column("a", 0, 4, 0),
                         category_column("d", "u v w", 0), number_column("y", 0, 1, 0)};
  ep_column_rule rule = {.name = "?", .encode = EP_CATEGORY_EMBEDDING, .indicator = -1},
                 number = {.name = "a", .scale = EP_COLUMN_SCALE_NONE, .indicator = -1};
  ep_data_spec data = {.columns = (ep_column_rule[]){number, rule}, .columns_count = 2};
  ep_part table = table_make(columns, COUNT(columns), 2);
  ep_encoding encoding;
  double out[3];
  encoding_plan(&data, &table, 3, &encoding);
  encoding_fit(&encoding, (double[]){0, 4, 2, 1, 2, 0}, 2);
  ep_encoding_apply(&encoding, (double[]){1, 2, 0}, out);
  ck_assert_double_eq(out[0], 2);
  ck_assert_double_eq(out[1], 1);
  ck_assert_double_eq(out[2], 3); /* behind two words and others */
  ck_assert_int_eq(encoding.embedded_rows, 3 + 4);
  ep_encoding_deinit(&encoding);
  table_free(&table);
}
END_TEST

/* sklearn.feature_extraction.FeatureHasher(8, input_type="string"), of scikit-learn 1.2 */
START_TEST(words_are_hashed_as_scikit_learn_does) {
  static const struct {
    const char *word;
    int64_t index;
    double sign;
  } rows[] = {{"Oslo", 3, -1},     {"Bergen", 0, -1}, {"a", 2, 1},
              {"New York", 2, -1}, {"Århus", 0, 1},   {"dog", 5, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_word_bucket bucket = ep_word_bucket_of(rows[i].word, 8);
    ck_assert_int_eq(bucket.index, rows[i].index);
    ck_assert_double_eq(bucket.sign, rows[i].sign);
  }
  const ep_column_rule rule = {.encode = EP_CATEGORY_HASH, .buckets = 8, .indicator = 1};
  ep_encoding encoding;
  column_fit(category_column("a", "Oslo Bergen", 1), &rule, (double[]){0, 0, missing}, 3,
             &encoding);
  ENCODES(&encoding, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0);
  ENCODES(&encoding, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* no training row has it */
  ENCODES(&encoding, NAN, 0, 0, 0, 0, 0, 0, 0, 0, 1);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(whole_numbers_can_be_a_category) {
  ep_encoding encoding;
  const double cells[] = {3, 5, 3};
  const ep_column_rule category = {.type = EP_COLUMN_AS_CATEGORY, .indicator = -1};
  column_fit(number_column("a", 3, 5, 0), &category, cells, 3, &encoding);
  ck_assert_str_eq(encoding.column[0].words.word[2], "5");
  ENCODES(&encoding, 3, 1, 0, 0, 0);
  ENCODES(&encoding, 5, 0, 0, 1, 0);
  ENCODES(&encoding, 4, 0, 0, 0, 1);
  ENCODES(&encoding, 3.5, 0, 0, 0, 1);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(rare_words_count_as_others) {
  ep_encoding encoding;
  const double cells[] = {0, 0, 0, 1, 1, 2};
  const ep_column_rule rule = {.indicator = -1, .min_count = 2};
  const ep_column_rule ordinal = {.indicator = -1,
                                  .min_count = 3,
                                  .encode = EP_CATEGORY_ORDINAL,
                                  .scale = EP_COLUMN_SCALE_NONE};
  column_fit(category_column("a", "x y z", 0), &rule, cells, 6, &encoding);
  ENCODES(&encoding, 1, 0, 1, 0, 0);
  ENCODES(&encoding, 2, 0, 0, 0, 1);
  ep_encoding_deinit(&encoding);
  column_fit(category_column("a", "x y z", 0), &ordinal, cells, 6, &encoding);
  ENCODES(&encoding, 0, 0);
  ENCODES(&encoding, 1, 0); /* as a missing cell, which is the commonest */
  ep_encoding_deinit(&encoding);
}
END_TEST

static bool date_read(const char *text, double *seconds) {
  return ep_date_read(EP_DATE_ISO, text, strlen(text), seconds) ||
         ep_date_read(EP_DATE_TIME, text, strlen(text), seconds);
}

START_TEST(the_calendar) {
  static const struct {
    const char *text;
    int64_t year;
    int month, day, weekday;
    double second;
  } rows[] = {{"1970-01-01", 1970, 1, 1, 3, 0},
              {"2000-02-29", 2000, 2, 29, 1, 0},
              {"2024-02-29T12:30", 2024, 2, 29, 3, 45000},
              {"1900-03-01", 1900, 3, 1, 3, 0},
              {"1969-12-31T23:59:59Z", 1969, 12, 31, 2, 86399},
              {"0001-01-01", 1, 1, 1, 0, 0},
              {"9999-12-31 00:00:00.5", 9999, 12, 31, 4, 0.5},
              {"13:45", 1970, 1, 1, 3, 49500}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double seconds;
    ck_assert(date_read(rows[i].text, &seconds));
    ep_calendar date = ep_calendar_of(seconds);
    ck_assert_int_eq(date.year, rows[i].year);
    ck_assert(date.month == rows[i].month && date.day == rows[i].day);
    ck_assert_int_eq(date.weekday, rows[i].weekday);
    ck_assert_double_eq_tol(date.day_second, rows[i].second, 1e-3);
  }
  double unused;
  static const char *const wrong[] = {"1900-02-29",  "2024-13-01",  "24:01", "",
                                      "2024-01-01T", "2024-01-01x", "12:60", "1e9"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(!date_read(wrong[i], &unused), "%s", wrong[i]);
  /* Each day is the one after the day before; and its text is that day, from the year 1 on. */
  ep_calendar before = ep_calendar_of(-800001.0 * 86400);
  for (int64_t day = -800000; day < 800000; day++) {
    char text[64];
    double seconds;
    ep_calendar date = ep_calendar_of((double)day * 86400);
    bool month_ends = before.day == before.month_days, year_ends = month_ends && before.month == 12;
    if (date.day != (month_ends ? 1 : before.day + 1) || /* each ck_assert is a system call */
        date.month != (year_ends ? 1 : before.month + month_ends) ||
        date.year != before.year + year_ends)
      ck_abort_msg("%d-%d-%d comes after %d-%d-%d", (int)date.year, date.month, date.day,
                   (int)before.year, before.month, before.day);
    before = date;
    if (day % 373 != 0 || date.year < 1) continue;
    snprintf(text, sizeof text, "%04d-%02d-%02d", (int)date.year, date.month, date.day);
    ck_assert(date_read(text, &seconds));
    ck_assert_double_eq(seconds, (double)day * 86400);
  }
  ep_calendar_of(1e300); /* beyond all years: the last of them */
}
END_TEST

START_TEST(a_date_becomes_a_year_and_cycles) {
  double first, last;
  ep_encoding encoding;
  ck_assert(date_read("1968-01-01", &first) && date_read("1972-07-16", &last));
  const double cells[] = {first, last};
  column_fit(date_column("a", first, last, 0), NULL, cells, 2, &encoding);
  /* 1968-01-01 was a Monday; 1972-07-16 a Sunday, in the middle of the year, and of the month */
  ENCODES(&encoding, first, -1, 0, 1, 0, 1, 0, 1, 0, 1);
  double day = 2 * M_PI * 15 / 31, weekday = 2 * M_PI * 6 / 7;
  ENCODES(&encoding, last, 1, 0, -1, sin(day), cos(day), sin(weekday), cos(weekday), 0, 1);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(parts_of_dates_that_stay_the_same_are_left_out) {
  ep_encoding encoding;
  const double times[] = {0, 43200}, days[] = {0, 86400, missing};
  column_fit(date_column("a", 0, 86399, 0), NULL, times, 2, &encoding); /* times of day */
  ENCODES(&encoding, 21600, 1, 0);
  ep_encoding_deinit(&encoding);
  column_fit(date_column("a", 0, 86400, 1), NULL, days, 3, &encoding); /* of one month */
  ck_assert_int_eq(encoding.column[0].date_parts, EP_DATE_DAY | EP_DATE_WEEKDAY | EP_DATE_HOUR);
  ck_assert_int_eq(encoding.features, 7);
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(columns_are_left_out) {
  ep_column constant = number_column("constant", 3, 3, 0), known = number_column("b", 3, 3, 1);
  constant.distinct = known.distinct = 1;
  ep_column columns[] = {text_column("id"),
                         constant,
                         known,
                         number_column("y", 0, 1, 0),
                         number_column("", 0, 1, 0),
                         number_column("gone", 0, 0, 10)};
  ep_part table = table_make(columns, COUNT(columns), 10);
  ep_encoding encoding;
  encoding_plan(NULL, &table, 3, &encoding);
  ck_assert_int_eq(encoding.columns, 5);
  ck_assert_int_eq(encoding.features, 3); /* b and its indicator, and the one without a name */
  ck_assert_int_eq(encoding.column[0].encode, EP_ENCODE_NONE);
  ck_assert_int_eq(encoding.column[1].encode, EP_ENCODE_NONE);
  ck_assert_int_eq(encoding.column[4].encode, EP_ENCODE_NONE);
  ck_assert_str_eq(encoding.column[3].name, "4");
  ck_assert_str_eq(encoding.target, "y");
  ep_encoding_deinit(&encoding);
  table_free(&table);
}
END_TEST

START_TEST(globs_match) {
  ck_assert(ep_glob_matches("*", "") && ep_glob_matches("a*c", "abcbc"));
  ck_assert(ep_glob_matches("?x*", "axe") && ep_glob_matches("*_at", "made_at"));
  ck_assert(!ep_glob_matches("a*b", "abc") && !ep_glob_matches("?", "") &&
            !ep_glob_matches("", "a"));
  char many[130] = "", name[129] = "";
  for (int i = 0; i < 64; i++) strcat(many, "a*"), strcat(name, "aa");
  ck_assert(!ep_glob_matches(strcat(many, "b"), name)); /* no backtracking beyond a star */
}
END_TEST

/* What a spec says of the table: a, b are numbers, c a category, d a date, t text, y the target. */
static ep_status plan_with(const ep_data_spec *data, ep_encoding *out, ep_error *error) {
  ep_column columns[] = {number_column("a", 0, 100, 0),
                         number_column("ab", 1, 4, 2),
                         category_column("c", "x z", 0),
                         date_column("d", 0, 1e9, 0),
                         text_column("t"),
                         number_column("y", 0, 1, 0)};
  ep_part table = table_make(columns, COUNT(columns), 10);
  *error = (ep_error){0};
  ep_status status = ep_columns_retype(data, NULL, &table, 5, error);
  if (status == EP_OK) status = ep_encoding_plan(data, &table, 5, out, error);
  table_free(&table);
  return status;
}

/* The features of a table whose columns are called so, the last one the target. */
static void names_chosen(const char *const *names, int64_t count, const ep_data_spec *data,
                         const char *chosen) {
  ep_column columns[8];
  char found[64] = "";
  ep_encoding encoding;
  ep_error error = {0};
  for (int64_t i = 0; i < count; i++) columns[i] = number_column(names[i], 0, 100, 0);
  ep_part table = table_make(columns, count, 10);
  ck_assert_msg(ep_encoding_plan(data, &table, count - 1, &encoding, &error) == EP_OK, "%s",
                error.message);
  for (int64_t i = 0; i < encoding.columns; i++)
    if (encoding.column[i].encode != EP_ENCODE_NONE)
      strcat(strcat(found, encoding.column[i].name), " ");
  ck_assert_str_eq(found, chosen);
  ep_encoding_deinit(&encoding);
  table_free(&table);
}

START_TEST(a_name_that_exists_is_no_glob) {
  static const char *const names[] = {"open?", "opens", "openX", "*", "y"};
  char open[1][EP_LIMIT_NAME_BYTES + 1] = {"open?"}, all[1][EP_LIMIT_NAME_BYTES + 1] = {"*"},
                                     others[1][EP_LIMIT_NAME_BYTES + 1] = {"op*"};
  ep_column_rule rules[] = {{.name = "open?", .type = EP_COLUMN_AS_IGNORE, .indicator = -1},
                            {.name = "open*", .indicator = 1}};
  names_chosen(names, 5, &(ep_data_spec){.exclude = {open, 1}}, "opens openX * ");
  names_chosen(names, 5, &(ep_data_spec){.exclude = {all, 1}}, "open? opens openX ");
  names_chosen(names, 5, &(ep_data_spec){.exclude = {others, 1}}, "* ");
  names_chosen(names, 5, &(ep_data_spec){.features = {open, 1}}, "open? ");
  names_chosen(names, 5, &(ep_data_spec){.columns = rules, .columns_count = 2}, "opens openX * ");
  names_chosen(names + 1, 4, &(ep_data_spec){.exclude = {open, 1}}, "* "); /* a glob there */
}
END_TEST

START_TEST(columns_are_named) {
  ep_column columns[] = {number_column("", 0, 1, 0), number_column("0", 0, 1, 0),
                         number_column("a", 0, 1, 0), number_column("", 0, 1, 0),
                         number_column("a", 0, 1, 0)};
  ep_part table = table_make(columns, COUNT(columns), 10);
  ep_error error = {0};
  int64_t found;
  ck_assert_int_eq(ep_column_named(&table, "0", "/p", "rename", &found, &error), EP_OK);
  ck_assert_int_eq(found, 1); /* not the first one, which has no name */
  ck_assert_int_eq(ep_column_named(&table, "3", "/p", "rename", &found, &error), EP_OK);
  ck_assert_int_eq(found, 3);
  ck_assert_int_eq(ep_column_named(&table, "4", "/p", "rename", &found, &error), EP_NOT_FOUND);
  ck_assert_int_eq(ep_column_named(&table, "a", "/p", "rename", &found, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/p");
  ck_assert_str_eq(error.message, "columns 2 and 4 are both named \"a\": rename");
  table_free(&table);
}
END_TEST

START_TEST(features_exclude_and_rules_choose_columns) {
  char features[2][EP_LIMIT_NAME_BYTES + 1] = {"a*", "c"},
                                         exclude[1][EP_LIMIT_NAME_BYTES + 1] = {"a"};
  ep_column_rule rules[] = {{.name = "*", .type = EP_COLUMN_AS_IGNORE, .indicator = -1},
                            {.name = "ab", .indicator = 0}};
  ep_data_spec data = {.features = {features, 2}, .exclude = {exclude, 1}};
  ep_encoding encoding;
  ep_error error;
  ck_assert_int_eq(plan_with(&data, &encoding, &error), EP_OK);
  ck_assert_int_eq(encoding.features, 2 + 3); /* ab with its indicator, c */
  ep_encoding_deinit(&encoding);
  data = (ep_data_spec){.columns = rules, .columns_count = 2};
  ck_assert_int_eq(plan_with(&data, &encoding, &error), EP_OK);
  ck_assert_int_eq(encoding.features, 1); /* the exact name goes first */
  ep_encoding_deinit(&encoding);
}
END_TEST

START_TEST(faults_of_a_spec_have_their_place) {
  static const struct {
    ep_column_rule rule;
    const char *pointer, *message;
  } rows[] = {
      {{.name = "q/r"}, "/data/columns/q~1r", "no column named \"q/r\""},
      {{.name = "y"}, "/data/columns/y", "is the target"},
      {{.name = "t", .type = EP_COLUMN_AS_CATEGORY}, "/data/columns/t/type", "the column is text"},
      {{.name = "c", .type = EP_COLUMN_AS_NUMBER}, "/data/columns/c/type", "words is a number"},
      {{.name = "c", .type = EP_COLUMN_AS_DATE}, "/data/columns/c/type", "words is a date"},
      {{.name = "d", .type = EP_COLUMN_AS_CATEGORY},
       "/data/columns/d/type",
       "cannot be a category"},
      {{.name = "a", .type = EP_COLUMN_AS_CATEGORY, .encode = EP_CATEGORY_ONE_HOT},
       "/data/columns/a/encode",
       "of the column's 101 numbers"},
      {{.name = "c", .missing = EP_FILL_MEAN}, "/data/columns/c/missing", "most_frequent"},
      {{.name = "c", .has_value = true}, "/data/columns/c/missing", "most_frequent"},
      {{.name = "d*", .encode = EP_CATEGORY_ONE_HOT},
       "/data/columns/d*/encode",
       "requires a category"},
      {{.name = "*", .type = EP_COLUMN_AS_IGNORE}, "/data/dataset", "no columns to learn from"},
  };
  ep_encoding encoding;
  ep_error error;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_column_rule rule = rows[i].rule;
    ep_data_spec data = {.columns = &rule, .columns_count = 1};
    ck_assert_int_eq(plan_with(&data, &encoding, &error), EP_INVALID);
    ck_assert_str_eq(error.pointer, rows[i].pointer);
    ck_assert_msg(strstr(error.message, rows[i].message), "%s", error.message);
  }
  char names[2][EP_LIMIT_NAME_BYTES + 1] = {"a", "e*"};
  ep_data_spec data = {.features = {names, 2}};
  ck_assert_int_eq(plan_with(&data, &encoding, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/features/1");
  data = (ep_data_spec){.exclude = {names, 2}};
  ck_assert_int_eq(plan_with(&data, &encoding, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/exclude/1");
}
END_TEST

START_TEST(plain_tables_need_no_encoding) {
  ep_data_spec plain = {0}, chosen = {.columns_count = 1};
  ep_part table = table_of(number_column("a", 0, 1, 0), 4);
  ck_assert(!ep_encoding_needed(&plain, &table));
  ck_assert(ep_encoding_needed(&chosen, &table));
  table.column[1].missing = 1;
  ck_assert(ep_encoding_needed(&plain, &table));
  table.column[1].missing = 0;
  table.column[0].type = EP_COLUMN_TEXT;
  ck_assert(ep_encoding_needed(&plain, &table));
  table_free(&table);
}
END_TEST

EP_SUITE("encoding") {
  TCase *all = ep_suite_case(suite, "encoding");
  tcase_add_test(all, medians_are_exact);
  tcase_add_test(all, a_number_is_scaled_by_the_training_rows);
  tcase_add_test(all, missing_numbers_become_the_median_and_an_indicator);
  tcase_add_test(all, fillings_and_scales);
  tcase_add_test(all, logarithms_of_both_signs);
  tcase_add_test(all, constants_and_too_large_values);
  tcase_add_test(all, words_become_one_hot);
  tcase_add_test(all, many_words_keep_the_commonest);
  tcase_add_test(all, many_words_are_embedded);
  tcase_add_test(all, embedded_columns_come_last);
  tcase_add_test(all, words_are_hashed_as_scikit_learn_does);
  tcase_add_test(all, whole_numbers_can_be_a_category);
  tcase_add_test(all, rare_words_count_as_others);
  tcase_add_test(all, the_calendar);
  tcase_add_test(all, a_date_becomes_a_year_and_cycles);
  tcase_add_test(all, parts_of_dates_that_stay_the_same_are_left_out);
  tcase_add_test(all, columns_are_left_out);
  tcase_add_test(all, globs_match);
  tcase_add_test(all, a_name_that_exists_is_no_glob);
  tcase_add_test(all, columns_are_named);
  tcase_add_test(all, features_exclude_and_rules_choose_columns);
  tcase_add_test(all, faults_of_a_spec_have_their_place);
  tcase_add_test(all, plain_tables_need_no_encoding);
}
