/* Which of two classes is the positive one. */
#include <string.h>

#include "engine/data/columns/positive.h"
#include "tests/suite.h"

static char *pair[3];

/* A loan: of literals, which are not written to. */
static ep_words words_of(const char *first, const char *second, const char *third) {
  const char *const words[] = {first, second, third};
  memcpy(pair, words, sizeof pair);
  return (ep_words){.word = pair, .count = third ? 3 : 2};
}

static const struct {
  const char *first, *second; /* the frequent one first */
  int positive;
} defaults[] = {
    {"yes", "no", 0},   {"no", "yes", 1},   {"True", "False", 0},   {"1", "0", 0},
    {"0", "1", 1},      {"+", "-", 0},      {"Positive", "NEG", 0}, {"y", "n", 0},
    {"ham", "spam", 1}, {"spam", "ham", 1}, {"yes", "unknown", 0},  {"unknown", "yes", 1},
    {"late", "no", 0},  {"no", "late", 1},  {"t", "m", 1},          {"m", "t", 1},
    {"f", "m", 1},      {"m", "f", 1},      {"1", "2", 1},          {"yes", "true", 1},
    {"on", "off", 0},
};

START_TEST(the_default_is_by_meaning) {
  ep_words words = words_of(defaults[_i].first, defaults[_i].second, NULL);
  ck_assert_msg(ep_positive_default(&words) == defaults[_i].positive, "%s, %s", defaults[_i].first,
                defaults[_i].second);
}
END_TEST

START_TEST(a_word_names_its_class) {
  ep_words words = words_of("no", "yes", NULL);
  ck_assert_int_eq(ep_positive_find(&words, "yes"), 1);
  ck_assert_int_eq(ep_positive_find(&words, "Yes"), 1);
  ck_assert_int_eq(ep_positive_find(&words, "true"), 1);
  ck_assert_int_eq(ep_positive_find(&words, "1"), 1);
  ck_assert_int_eq(ep_positive_find(&words, "0"), 0);
  ck_assert_int_eq(ep_positive_find(&words, "maybe"), -1);
  ck_assert_int_eq(ep_positive_find(&ep_binary_numbers, "1.0"), 1);
  words = words_of("Ham", "spam", NULL);
  ck_assert_int_eq(ep_positive_find(&words, " ham "), 0);
  ck_assert_int_eq(ep_positive_find(&words, "yes"), -1);
}
END_TEST

/* What two classes have in common names neither. */
START_TEST(the_exact_word_comes_first) {
  ep_words words = words_of("yes", "Yes", NULL);
  ck_assert_int_eq(ep_positive_find(&words, "yes"), 0);
  ck_assert_int_eq(ep_positive_find(&words, "Yes"), 1);
  ck_assert_int_eq(ep_positive_find(&words, "YES"), -1);
}
END_TEST

START_TEST(only_two_classes_are_swapped) {
  ep_data_spec data = {.positive = "no"};
  ep_words words = words_of("no", "yes", NULL);
  ck_assert(ep_classes_are_swapped(&data, &words));
  ep_classes_swap(&words);
  ck_assert_str_eq(words.word[0], "yes");
  ck_assert(!ep_classes_are_swapped(&data, &words));
  words = words_of("no", "yes", "maybe");
  ck_assert(!ep_classes_are_swapped(&data, &words));
  words = words_of("yes", "no", NULL);
  data.positive[0] = 0; /* as of a spec from before */
  ck_assert(!ep_classes_are_swapped(&data, &words));
}
END_TEST

EP_SUITE("positive") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_loop_test(all, the_default_is_by_meaning, 0, sizeof defaults / sizeof *defaults);
  tcase_add_test(all, a_word_names_its_class);
  tcase_add_test(all, the_exact_word_comes_first);
  tcase_add_test(all, only_two_classes_are_swapped);
}
