/* Words that mean true or false, and those that name a positive class. */
#include <string.h>

#include "engine/data/cells/boolean.h"
#include "tests/suite.h"

static int boolean(const char *text) {
  return ep_boolean_meaning(text, strlen(text));
}

static int positive(const char *text) {
  return ep_positive_meaning(text, strlen(text));
}

START_TEST(spellings_of_one_meaning_are_equal) {
  static const char *const yes[] = {"true", "True", "TRUE", "t",  "yes",
                                    "Y",    "1",    "1.0",  "1.", " yes\t"};
  static const char *const no[] = {"false", "FALSE", "f", "no", "N", "0", "0.0", "0.", " no "};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    ck_assert_int_eq(boolean(yes[i]), 1);
    ck_assert_int_eq(positive(yes[i]), 1);
  }
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    ck_assert_int_eq(boolean(no[i]), 0);
    ck_assert_int_eq(positive(no[i]), 0);
  }
}
END_TEST

START_TEST(other_words_have_no_meaning) {
  static const char *const other[] = {"",     " ",     "2",   "-1", "10",  "ye",
                                      "yess", "truex", "ham", "++", "none"};
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    ck_assert_int_eq(boolean(other[i]), -1);
    ck_assert_int_eq(positive(other[i]), -1);
  }
}
END_TEST

START_TEST(a_positive_result_is_not_a_boolean) {
  static const char *const pairs[][2] = {
      {"negative", "Positive"}, {"NEG", "pos"}, {"off", "On"}, {"-", "+"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (int meaning = 0; meaning < 2; meaning++) {
      ck_assert_int_eq(boolean(pairs[i][meaning]), -1);
      ck_assert_int_eq(positive(pairs[i][meaning]), meaning);
    }
}
END_TEST

START_TEST(only_the_given_bytes_are_read) {
  ck_assert_int_eq(ep_boolean_meaning("yesterday", 3), 1);
  ck_assert_int_eq(ep_boolean_meaning("no", 1), 0);
  ck_assert_int_eq(ep_boolean_meaning("1.0", 0), -1);
}
END_TEST

EP_SUITE("boolean") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, spellings_of_one_meaning_are_equal);
  tcase_add_test(all, other_words_have_no_meaning);
  tcase_add_test(all, a_positive_result_is_not_a_boolean);
  tcase_add_test(all, only_the_given_bytes_are_read);
}
