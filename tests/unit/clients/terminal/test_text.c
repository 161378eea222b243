/* Text: escaped, measured; numbers as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "tests/suite.h"

START_TEST(what_harms_a_terminal_is_escaped) {
  static const struct {
    const char *text, *wanted;
  } CASES[] = {{"plain", "plain"},
               {"\x1b[2J", "\\x1b[2J"},
               {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
               {"\x7f", "\\x7f"},
               {"caf\u00e9 \u4e2d", "caf\u00e9 \u4e2d"},
               {"\xc2\x9b"
                "31m",
                "\\x9b31m"},                             /* a control of C1, as UTF-8 */
               {"\x9b", "\\x9b"},                        /* and as a bare byte */
               {"a\u202eb\u2066c", "a\\u202eb\\u2066c"}, /* turns the direction */
               {"\xc0\xaf", "\\xc0\\xaf"},               /* overlong */
               {"\xed\xa0\x80", "\\xed\\xa0\\x80"},      /* half a surrogate */
               {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
               {"\xe4\xb8", "\\xe4\\xb8"}, /* cut */
               {"a\\b", "a\\b"},
               {"", ""}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char text[128];
    ep_text_copy(text, sizeof text, CASES[i].text);
    ck_assert_str_eq(text, CASES[i].wanted);
  }
}
END_TEST

START_TEST(a_copy_is_cut_between_characters) {
  char text[5];
  ep_text_copy(text, sizeof text, "ab\u4e2dc"); /* 2 + 3 bytes do not fit 4 */
  ck_assert_str_eq(text, "ab");
  ep_text_copy(text, sizeof text, "abcd");
  ck_assert_str_eq(text, "abcd");
  ep_text_copy(text, sizeof text, "abcde");
  ck_assert_str_eq(text, "abcd");
}
END_TEST

START_TEST(widths_are_columns) {
  ck_assert_int_eq(ep_text_width(""), 0);
  ck_assert_int_eq(ep_text_width("abc"), 3);
  ck_assert_int_eq(ep_text_width("\u4e2d\u6587"), 4);
  ck_assert_int_eq(ep_text_width("e\u0301"), 1);
  ck_assert_int_eq(ep_text_width("\u2501\u2026"), 2);
  ck_assert_uint_eq(ep_text_fit("a\u4e2db", 2), 1);
  ck_assert_uint_eq(ep_text_fit("a\u4e2db", 3), 4);
  ck_assert_uint_eq(ep_text_fit("abc", 0), 0);
}
END_TEST

START_TEST(numbers_are_readable) {
  char text[EP_HUMAN_BYTES];
  static const struct {
    double seconds;
    const char *wanted;
  } SECONDS[] = {{0, "0 s"},          {1.5e-8, "15.0 ns"},  {1.05e-6, "1.05 us"},
                 {0.042, "42.0 ms"},  {0.4174, "417 ms"},   {3.21, "3.2 s"},
                 {59.2, "59 s"},      {125, "2 min 05 s"},  {12000, "3 h 20 min"},
                 {187200, "2 d 4 h"}, {NAN, "-"},           {-1, "-"},
                 {INFINITY, "-"},     {9.996e-6, "10.0 us"}};
  for (size_t i = 0; i < sizeof SECONDS / sizeof SECONDS[0]; i++)
    ck_assert_str_eq(ep_human_seconds(SECONDS[i].seconds, text), SECONDS[i].wanted);
  ck_assert_str_eq(ep_human_count(0, text), "0");
  ck_assert_str_eq(ep_human_count(999, text), "999");
  ck_assert_str_eq(ep_human_count(40000, text), "40,000");
  ck_assert_str_eq(ep_human_count(-1234567, text), "-1,234,567");
  ck_assert_str_eq(ep_human_count(INT64_MIN, text), "-9,223,372,036,854,775,808");
  ck_assert_str_eq(ep_human_bytes(0, text), "0 B");
  ck_assert_str_eq(ep_human_bytes(1708, text), "1.71 kB");
  ck_assert_str_eq(ep_human_bytes(47e6, text), "47.0 MB");
  ck_assert_str_eq(ep_human_rate(5.18e6, text), "5.18 M");
  ck_assert_str_eq(ep_human_rate(850, text), "850");
  ck_assert_str_eq(ep_human_percent(0.999, text), "99 %");
  ck_assert_str_eq(ep_human_percent(1, text), "100 %");
  ck_assert_str_eq(ep_human_percent(NAN, text), "-");
  ck_assert_str_eq(ep_human_number(0.311793, text), "0.31179");
  ck_assert_str_eq(ep_human_number(12, text), "12");
  ck_assert_str_eq(ep_human_number(NAN, text), "-");
  ck_assert_str_eq(ep_human_number(-INFINITY, text), "-inf");
  ck_assert_str_eq(ep_human_age("no time", text), "no time");
}
END_TEST

EP_SUITE("clients/text") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, what_harms_a_terminal_is_escaped);
  tcase_add_test(tests, a_copy_is_cut_between_characters);
  tcase_add_test(tests, widths_are_columns);
  tcase_add_test(tests, numbers_are_readable);
}
