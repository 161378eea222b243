/* The keys by which spellings of one word are equal. */
#include <stdbool.h>
#include <string.h>

#include "engine/data/cells/word_key.h"
#include "tests/suite.h"

static bool same(ep_word_compare compare, const char *one, const char *other) {
  char a[EP_WORD_KEY_BYTES], b[EP_WORD_KEY_BYTES];
  size_t a_bytes, b_bytes;
  ck_assert_int_eq(ep_word_key(compare, one, strlen(one), a, &a_bytes), EP_OK);
  ck_assert_int_eq(ep_word_key(compare, other, strlen(other), b, &b_bytes), EP_OK);
  return a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

START_TEST(numbers_of_one_value_are_one_word) {
  static const char *const spellings[][4] = {{"5", "05", "5.0", "+5e0"},
                                             {"0", "-0", "0.00", "0e7"},
                                             {"-1.5", "-01.50", "-15e-1", "-.15E+1"},
                                             {"1000", "1e0000003", "1000.", "0.001e6"},
                                             {"0.05", ".05", "5e-2", "00.0500"},
                                             {"12345678901234567891", "12345678901234567891.0",
                                              "1234567890123456789.1e1", "+12345678901234567891"}};
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    for (int k = 1; k < 4; k++) {
      ck_assert_msg(same(EP_WORD_VALUE, spellings[i][0], spellings[i][k]), "%s", spellings[i][k]);
      ck_assert(!same(EP_WORD_CODE, spellings[i][0], spellings[i][k]));
    }
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    for (size_t k = 0; k < i; k++)
      ck_assert(!same(EP_WORD_VALUE, spellings[i][0], spellings[k][0]));
}
END_TEST

START_TEST(numbers_that_differ_in_any_digit_differ) {
  ck_assert(!same(EP_WORD_VALUE, "9007199254740992", "9007199254740993"));
  ck_assert(!same(EP_WORD_VALUE, "1", "1.00000000000000000001"));
  ck_assert(!same(EP_WORD_VALUE, "1e400", "1e401"));
  ck_assert(!same(EP_WORD_VALUE, "5", "-5"));
  ck_assert(!same(EP_WORD_VALUE, "5", "50"));
  ck_assert(!same(EP_WORD_VALUE, "0.5", "5"));
  ck_assert(same(EP_WORD_VALUE, "1e999999", "10e999998"));
}
END_TEST

/* Of what is almost a number nothing is left out. */
START_TEST(other_texts_compare_as_they_are) {
  static const char *const texts[] = {"",    ".",         "-",   "+",   "e5",  "5e",
                                      "5e+", "5.0.0",     "5x",  "0x5", "1,5", "1 000",
                                      "inf", "1e1000000", "a05", "Oslo"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      ck_assert_int_eq(same(EP_WORD_VALUE, texts[i], texts[k]), i == k);
  ck_assert(!same(EP_WORD_VALUE, "oslo", "Oslo"));
  ck_assert(!same(EP_WORD_VALUE, "true", "True"));
}
END_TEST

START_TEST(white_space_around_and_composition_do_not_count) {
  for (int compare = EP_WORD_VALUE; compare <= EP_WORD_BOOLEAN; compare++) {
    ck_assert(same((ep_word_compare)compare, " 5 ", "5"));
    ck_assert(same((ep_word_compare)compare, "\xC2\xA0Oslo\xE2\x80\x83", "Oslo"));
    ck_assert(same((ep_word_compare)compare, "caf\xC3\xA9", "cafe\xCC\x81"));
    ck_assert(!same((ep_word_compare)compare, "caf\xC3\xA9", "cafe"));
    ck_assert(!same((ep_word_compare)compare, "New York", "NewYork"));
  }
}
END_TEST

START_TEST(booleans_are_equal_by_their_meaning) {
  static const char *const words[2][8] = {{"False", "FALSE", "f", "no", "N", "0", "0.00", "-0"},
                                          {"True", " true ", "T", "yes", "y", "1", "01", "1.0"}};
  for (int i = 0; i < 8; i++) {
    ck_assert_msg(same(EP_WORD_BOOLEAN, "false", words[0][i]), "%s", words[0][i]);
    ck_assert_msg(same(EP_WORD_BOOLEAN, "true", words[1][i]), "%s", words[1][i]);
  }
  ck_assert(!same(EP_WORD_BOOLEAN, "true", "false"));
  ck_assert(!same(EP_WORD_BOOLEAN, "2", "true"));
  ck_assert(!same(EP_WORD_BOOLEAN, "10", "1"));
  ck_assert(!same(EP_WORD_BOOLEAN, "maybe", "true"));
  ck_assert(same(EP_WORD_BOOLEAN, "2", "2.0"));
}
END_TEST

START_TEST(no_word_is_too_long_for_a_key) {
  char text[EP_WORD_KEY_BYTES + 1], key[EP_WORD_KEY_BYTES];
  size_t bytes;
  /* U+1D160 is the character that NFC makes three of, of four bytes each */
  for (size_t i = 0; i + 4 <= EP_LIMIT_WORD_BYTES; i += 4) memcpy(text + i, "\xF0\x9D\x85\xA0", 4);
  ck_assert_int_eq(ep_word_key(EP_WORD_VALUE, text, EP_LIMIT_WORD_BYTES, key, &bytes), EP_OK);
  ck_assert_uint_eq(bytes, EP_WORD_KEY_BYTES);
  memset(text, '7', sizeof text);
  ck_assert_int_eq(ep_word_key(EP_WORD_VALUE, text, EP_WORD_KEY_BYTES, key, &bytes), EP_OK);
  ck_assert_uint_eq(bytes, EP_WORD_KEY_BYTES);
  ck_assert_int_eq(ep_word_key(EP_WORD_CODE, text, sizeof text, key, &bytes), EP_TOO_LARGE);
}
END_TEST

EP_SUITE("word_key") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, numbers_of_one_value_are_one_word);
  tcase_add_test(all, numbers_that_differ_in_any_digit_differ);
  tcase_add_test(all, other_texts_compare_as_they_are);
  tcase_add_test(all, white_space_around_and_composition_do_not_count);
  tcase_add_test(all, booleans_are_equal_by_their_meaning);
  tcase_add_test(all, no_word_is_too_long_for_a_key);
}
