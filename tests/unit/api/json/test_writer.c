/* JSON as it is written: commas, escapes, shortest numbers, limits. */
#include "api/json/number.h"
#include "api/json/utf8.h"
#include "api/json/writer.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/random.h"
#include "tests/suite.h"

START_TEST(commas_place_themselves) {
  ep_writer writer;
  ep_writer_init(&writer, 1000);
  ep_writer_open(&writer, '{');
  ep_writer_key(&writer, "a");
  ep_writer_open(&writer, '[');
  ep_writer_integer(&writer, -1);
  ep_writer_string(&writer, "[");
  ep_writer_null(&writer);
  ep_writer_open(&writer, '{');
  ep_writer_close(&writer, '}');
  ep_writer_boolean(&writer, true);
  ep_writer_close(&writer, ']');
  ep_writer_key(&writer, "b");
  ep_writer_unsigned(&writer, UINT64_MAX);
  ep_writer_close(&writer, '}');
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, "{\"a\":[-1,\"[\",null,{},true],\"b\":18446744073709551615}");
  free(text);
}
END_TEST

static const struct {
  const char *value, *json;
} strings[] = {
    {"plain", "\"plain\""},
    {"a\"b\\c\nd\te\x01\x7f", "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\""},
    {"gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
    {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""},
    {"cut \xC3", "\"cut \xEF\xBF\xBD\""},                         /* torn */
    {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* overlong */
    {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* surrogate */
    {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    {"\xE0\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    {NULL, "null"},
};

START_TEST(strings_are_escaped) {
  ep_writer writer;
  ep_writer_init(&writer, 1000);
  ep_writer_string(&writer, strings[_i].value);
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, strings[_i].json);
  free(text);
}
END_TEST

static const struct {
  double value;
  const char *json;
} numbers[] = {
    {0, "0"},
    {-0.0, "-0.0"},
    {1, "1"},
    {-17, "-17"},
    {0.1, "0.1"},
    {0.005, "0.005"},
    {1.0 / 3, "0.3333333333333333"},
    {0.1 + 0.2, "0.30000000000000004"},
    {999999999999999, "999999999999999"},
    {1e15, "1e+15"},
    {1e300, "1e+300"},
    {5e-324, "5e-324"},
    {DBL_MAX, "1.7976931348623157e+308"},
    {DBL_MIN, "2.2250738585072014e-308"},
    {INFINITY, "\"Infinity\""},
    {-INFINITY, "\"-Infinity\""},
    {NAN, "\"NaN\""},
};

START_TEST(numbers_are_short) {
  ep_writer writer;
  ep_writer_init(&writer, 1000);
  ep_writer_number(&writer, numbers[_i].value);
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, numbers[_i].json);
  free(text);
}
END_TEST

/* Same bits, and NaN never passes for equal. */
static bool same_double(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 && a == a;
}

START_TEST(numbers_read_back_the_same) {
  ck_assert(!same_double(0.0, -0.0)); /* the canary of the comparison */
  ck_assert(!same_double(NAN, NAN));
  ck_assert(!same_double(1.0, 1.0 + DBL_EPSILON));
  for (uint64_t i = 0; i < 20000; i++) {
    ep_random4 words = ep_random(7, EP_RANDOM_GENERATOR, 0, i);
    uint64_t bits = (uint64_t)words.word[0] << 32 | words.word[1];
    double value;
    memcpy(&value, &bits, sizeof value);
    if (i % 2) value = (double)(float)ep_random_double(words.word[2], words.word[3]);
    if (!isfinite(value)) continue;
    char text[EP_NUMBER_BYTES];
    size_t count = ep_number_format(value, text);
    ck_assert_uint_lt(count, EP_NUMBER_BYTES);
    ck_assert_uint_eq(strlen(text), count);
    ck_assert_msg(same_double(strtod(text, NULL), value), "%s", text);
  }
}
END_TEST

/* What takes the short way has the text that the long way gives. */
START_TEST(decimals_are_as_printf_writes_them) {
  char text[EP_NUMBER_BYTES], expected[64];
  uint64_t state = 1;
  for (int i = 0; i < 200000; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    int decimals = (int)(state >> 60) % 10;
    uint64_t most = i % 4 == 0 ? UINT64_C(100000) : UINT64_C(1000000000000000);
    double value = (double)((state >> 11) % most);
    for (int place = decimals; place > 0; place--) value = value / 10;
    snprintf(expected, sizeof expected, "%.*f", decimals, value);
    value = strtod(expected, NULL);
    snprintf(expected, sizeof expected, "%.15g", value);
    if (value == 0 || strtod(expected, NULL) != value || value >= 1e15) continue;
    size_t count = ep_number_format(value, text);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(count, strlen(expected));
  }
}
END_TEST

/* The fewest of 15 to 17 digits that read back, found the long way. */
static void write_by_trying(double value, char text[EP_NUMBER_BYTES]) {
  for (int digits = 16; digits <= 17; digits++) {
    snprintf(text, EP_NUMBER_BYTES, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char shorter[EP_NUMBER_BYTES];
  snprintf(shorter, sizeof shorter, "%.15g", value);
  if (strtod(shorter, NULL) == value) memcpy(text, shorter, sizeof shorter);
}

START_TEST(fractions_are_as_printf_writes_them) {
  static const double edges[] = {0x1p-13,
                                 0x1p-1,
                                 1e-4,
                                 0.0009999999999999998,
                                 0.001,
                                 0.3,
                                 0.999999999999999889,
                                 999999999999999.875,
                                 0.1,
                                 9.5367431640625e-07,
                                 123456789012345.67,
                                 1.0000000000000002};
  char text[EP_NUMBER_BYTES], expected[EP_NUMBER_BYTES];
  for (uint64_t i = 0; i < 100000; i++) {
    ep_random4 words = ep_random(9, EP_RANDOM_GENERATOR, 0, i);
    double value = ep_random_double(words.word[0], words.word[1]) * pow(10, (int)(i % 20) - 4);
    if (i % 3 == 1) value = (double)(float)value;
    if (i % 3 == 2)
      value = nextafter(ldexp(1, (int)(words.word[2] % 60) - 13), (double)(i & 8) * 1e9);
    if (i < sizeof edges / sizeof edges[0]) value = edges[i];
    if (i % 5 == 0) value = -value;
    if (fabs(value) < 1e15 && value == trunc(value)) continue;
    size_t count = ep_number_format(value, text);
    write_by_trying(value, expected);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(count, strlen(expected));
  }
}
END_TEST

START_TEST(plain_numbers_have_no_exponent) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{1454870.26, "1454870.3"},
               {1e15, "1000000000000000"},
               {0.1f, "0.1"},
               {-0.0, "0"},
               {1e-9, "0.000000001"},
               {9.99999999, "10"},
               {-1234.5, "-1234.5"},
               {100, "100"},
               {123456789.5, "123456790"},
               {3e-300, NULL},
               {1.7e308, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[EP_PLAIN_BYTES];
    size_t bytes = ep_plain_format(cases[i].value, text);
    ck_assert_uint_eq(bytes, strlen(text));
    if (cases[i].text) ck_assert_str_eq(text, cases[i].text);
    ck_assert_ptr_null(strchr(text, 'e'));
    ck_assert_double_le(fabs(strtod(text, NULL) - cases[i].value), 1e-7 * fabs(cases[i].value));
  }
}
END_TEST

START_TEST(rounded_numbers_are_as_printf_writes_them) {
  static const double edges[] = {0,         -0.0,          1,           9.99999995,  9.999999949,
                                 99999999,  99999999.5,    123456785,   1e-4,        0.000099999999,
                                 0.5,       0.00012345678, 1e300,       5e-324,      12345678.5,
                                 0.1234567, 1.00000005,    99999999.49, 1.000000015, 120,
                                 INFINITY,  NAN,           1e15};
  char text[EP_NUMBER_BYTES], expected[EP_NUMBER_BYTES];
  for (uint64_t i = 0; i < 100000; i++) {
    ep_random4 words = ep_random(11, EP_RANDOM_GENERATOR, 0, i);
    double value = ep_random_double(words.word[0], words.word[1]) * pow(10, (int)(i % 18) - 6);
    if (i % 2) value = (double)(float)value;
    if (i % 7 == 0) value = round(value * 1e6) / 1e6;
    if (i % 11 == 0) value = ((double)(words.word[2] % 100000000) + 0.5) / (double)(1 << i % 27);
    if (i < sizeof edges / sizeof edges[0]) value = edges[i];
    if (i % 5 == 0) value = -value;
    size_t count = ep_rounded_format(value, text);
    snprintf(expected, sizeof expected, "%.8g", value);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(count, strlen(expected));
  }
}
END_TEST

START_TEST(integers_are_as_printf_writes_them) {
  static const int64_t integers[] = {0, 1, -1, 9, 10, 1234567890, INT64_MAX, INT64_MIN};
  char text[EP_NUMBER_BYTES], expected[EP_NUMBER_BYTES];
  snprintf(expected, sizeof expected, "%" PRId64, integers[_i]);
  ck_assert_uint_eq(ep_integer_format(integers[_i], text), strlen(expected));
  ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(null_for_what_does_not_apply) {
  ep_writer writer;
  ep_writer_init(&writer, 100);
  ep_writer_open(&writer, '[');
  ep_writer_number_or_null(&writer, NAN);
  ep_writer_number_or_null(&writer, INFINITY);
  ep_writer_number_or_null(&writer, 2.5);
  ep_writer_close(&writer, ']');
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, "[null,\"Infinity\",2.5]");
  free(text);
}
END_TEST

static const struct {
  int64_t time_us;
  const char *json;
} times[] = {
    {0, "\"1970-01-01T00:00:00.000Z\""},
    {INT64_C(1795193527123456), "\"2026-11-20T16:52:07.123Z\""},
    {-1, "\"1969-12-31T23:59:59.999Z\""},
    {INT64_C(1709164800000000), "\"2024-02-29T00:00:00.000Z\""},
};

START_TEST(times_are_iso_8601) {
  ep_writer writer;
  ep_writer_init(&writer, 100);
  ep_writer_time(&writer, times[_i].time_us);
  char *text = ep_writer_take(&writer);
  ck_assert_str_eq(text, times[_i].json);
  free(text);
}
END_TEST

/* Every day of 500 years, against the C library. */
START_TEST(dates_are_the_calendars) {
  for (int64_t day = -100 * INT64_C(365); day < 400 * INT64_C(365); day++) {
    char text[40], expected[40];
    time_t seconds = (time_t)(day * 86400 + day % 86400);
    struct tm parts;
    ck_assert_ptr_nonnull(gmtime_r(&seconds, &parts));
    strftime(expected, sizeof expected, "\"%Y-%m-%dT%H:%M:%S.007Z\"", &parts);
    ep_writer writer;
    ep_writer_init_fixed(&writer, text, sizeof text);
    ep_writer_time(&writer, (int64_t)seconds * 1000000 + 7999);
    ck_assert_uint_eq(writer.count, strlen(expected));
    ck_assert_int_eq(memcmp(text, expected, writer.count), 0);
  }
}
END_TEST

START_TEST(a_block_ends_at_its_limit) {
  for (size_t limit = 0; limit < 20; limit++) {
    ep_writer writer;
    ep_writer_init(&writer, limit);
    ep_writer_string(&writer, "12345678"); /* 10 bytes with quotes, 11 with the 0 */
    char *text = ep_writer_take(&writer);
    ck_assert_msg((text != NULL) == (limit >= 11), "limit %zu", limit);
    free(text);
  }
}
END_TEST

START_TEST(a_buffer_is_never_overrun) {
  for (size_t capacity = 0; capacity < 20; capacity++) {
    char buffer[32];
    memset(buffer, '#', sizeof buffer);
    ep_writer writer;
    ep_writer_init_fixed(&writer, buffer, capacity);
    ep_writer_string(&writer, "12345678");
    ck_assert(writer.failed == (capacity < 10));
    for (size_t i = capacity; i < sizeof buffer; i++) ck_assert_int_eq(buffer[i], '#');
    ep_writer_deinit(&writer);
  }
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

START_TEST(what_shows_is_told_from_what_does_not) {
  static const struct {
    const char *text;
    bool shows;
  } texts[] = {{"", true},
               {"a b", true},
               {"\xc3\xa9t\xc3\xa9 \xe2\x80\x94 \xe4\xb8\xad \xf0\x9f\x98\x80", true},
               {"\xc2\xa0", true}, /* the first behind C1 */
               {"\xc2\xae", true},
               {"a\tb", false},
               {"\x7f", false},
               {"\xc2\x80", false},
               {"\xc2\x9f", false},
               {"a\xc2\xad", false},     /* soft hyphen */
               {"\xd8\x9c", false},      /* Arabic letter mark */
               {"a\xe2\x80\x8b", false}, /* zero width space */
               {"a\xe2\x80\x8d", true},  /* zero width joiner */
               {"a\xe2\x80\x8e", false}, /* left-to-right mark */
               {"\xe2\x80\xa7", true},   /* U+2027 */
               {"\xe2\x80\xa8", false},  /* line separator */
               {"\xe2\x80\xae"
                "b",
                false},                     /* right-to-left override */
               {"\xe2\x80\xaf", true},      /* U+202F */
               {"\xe2\x81\xa6", false},     /* left-to-right isolate */
               {"\xe3\x85\xa4", false},     /* Hangul filler */
               {"\xef\xbb\xbf", false},     /* byte order mark */
               {"\xf3\xa0\x80\xa0", false}, /* tag space */
               {"\xf3\xa0\xbf\xbf", false},
               {"\xf3\xb0\x80\x80", true}, /* private use: its font decides */
               {"\xc0\x80", false},
               {"\xff", false}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    ck_assert_msg(ep_utf8_shows(texts[i].text, strlen(texts[i].text)) == texts[i].shows, "%zu", i);
}
END_TEST

EP_SUITE("api/writer") {
  TCase *tests = ep_suite_case(suite, "writer");
  tcase_add_test(tests, commas_place_themselves);
  tcase_add_loop_test(tests, strings_are_escaped, 0, ROWS(strings));
  tcase_add_loop_test(tests, numbers_are_short, 0, ROWS(numbers));
  tcase_add_test(tests, numbers_read_back_the_same);
  tcase_add_test(tests, decimals_are_as_printf_writes_them);
  tcase_add_test(tests, fractions_are_as_printf_writes_them);
  tcase_add_test(tests, plain_numbers_have_no_exponent);
  tcase_add_test(tests, rounded_numbers_are_as_printf_writes_them);
  tcase_add_loop_test(tests, integers_are_as_printf_writes_them, 0, 8);
  tcase_add_test(tests, null_for_what_does_not_apply);
  tcase_add_loop_test(tests, times_are_iso_8601, 0, ROWS(times));
  tcase_add_test(tests, dates_are_the_calendars);
  tcase_add_test(tests, a_block_ends_at_its_limit);
  tcase_add_test(tests, a_buffer_is_never_overrun);
  tcase_add_test(tests, what_shows_is_told_from_what_does_not);
}
