/* Command lines, and their help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/arguments/help.h"
#include "tests/suite.h"

typedef struct {
  char output[8], places[16], by[8];
  int64_t count;
  bool quiet;
} settings;

#define MEMBER(member) EP_OPTION_MEMBER(settings, member)
static const ep_option OPTIONS[] = {
    {.name = "output", .letter = 'o', .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(output)},
    {.name = "by", .kind = EP_OPTION_CHOICE, .value = "epochs|seconds", MEMBER(by)},
    {.name = "count", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 12, MEMBER(count)},
    {.name = NULL}};
static const ep_option MORE[] = {
    {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, MEMBER(quiet), .doc = "no words"},
    {.name = "place", .kind = EP_OPTION_LIST, .value = "DIR", MEMBER(places), .doc = "a folder"},
    {.name = "unstored", .kind = EP_OPTION_TEXT, .value = "TEXT", .doc = "goes nowhere"},
    {.name = NULL}};

static ep_arguments arguments;
static ep_error error;

/* argv[0] stands for the program's name. */
static ep_status line_read(int argc, const char *const argv[]) {
  memset(&arguments, 0, sizeof arguments);
  error = (ep_error){0};
  return ep_arguments_read(&arguments, argc, (char *const *)argv, 1, OPTIONS, MORE, NULL, &error);
}

START_TEST(options_stand_anywhere) {
  const char *argv[] = {"", "a", "-o", "x", "--quiet", "b", "--by=seconds", "-oy", "-", "--", "-q"};
  ck_assert_int_eq(line_read(11, argv), EP_OK);
  ck_assert_int_eq(arguments.words_count, 4);
  ck_assert_str_eq(arguments.words[0], "a");
  ck_assert_str_eq(arguments.words[1], "b");
  ck_assert_str_eq(arguments.words[2], "-");
  ck_assert_str_eq(arguments.words[3], "-q");
  ck_assert_str_eq(ep_arguments_value(&arguments, "output"), "y");
  ck_assert_int_eq(arguments.given_count, 4);
  ck_assert_str_eq(arguments.given[0].value, "x");
  ck_assert(ep_arguments_has(&arguments, "quiet"));
  ck_assert_ptr_null(ep_arguments_value(&arguments, "nothing"));
  const char *together[] = {"", "-qo", "x"};
  ck_assert_int_eq(line_read(3, together), EP_OK);
  ck_assert(ep_arguments_has(&arguments, "quiet"));
  ck_assert_str_eq(ep_arguments_value(&arguments, "output"), "x");
}
END_TEST

START_TEST(wrong_options_are_refused) {
  static const struct {
    const char *first, *second, *message;
  } LINES[] = {
      {"--none", "", "--none; see --help"},
      {"-z", "", "-z; see"},
      {"-qz", "", "-z; see"},
      {"--output", NULL, "--output needs a value: FILE"},
      {"-o", NULL, "--output needs a value: FILE"},
      {"--quiet=1", "", "--quiet takes no value"},
      {"--outptu", "", "did you mean --output?"},
      {"--out=x", "", "did you mean --output?"}, /* no abbreviations */
      {"--q", "", "did you mean --quiet?"},
      {"--=", "", "unknown option --"},
      {"--count=1", "--count=0", "--count must be a whole number from 1 to 12, not \"0\""}};
  for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
    const char *argv[] = {"", LINES[i].first, LINES[i].second};
    ck_assert_int_eq(line_read(LINES[i].second ? 3 : 2, argv), EP_INVALID);
    ck_assert_msg(strstr(error.message, LINES[i].message) != NULL, "%s: %s", LINES[i].first,
                  error.message);
  }
  const char *alone[] = {"", "--"};
  ck_assert_int_eq(line_read(2, alone), EP_OK);
  ck_assert_int_eq(line_read(1, alone), EP_OK);
}
END_TEST

START_TEST(the_first_word_may_stop) {
  static const struct {
    const char *line[4];
    int next;
  } CASES[] = {{{"--quiet", "word", "--none", "x"}, 2},
               {{"word", "--none", "x", "x"}, 1},
               {{"--", "--none", "x", "x"}, 2},
               {{"-q", "-q", "-o", "word"}, 5},
               {{"-q", "-", "--none", "x"}, 2}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    const char *argv[5] = {""};
    int next = 0;
    memcpy(argv + 1, CASES[i].line, sizeof CASES[i].line);
    memset(&arguments, 0, sizeof arguments);
    ck_assert_int_eq(
        ep_arguments_read(&arguments, 5, (char *const *)argv, 1, OPTIONS, MORE, &next, NULL),
        EP_OK);
    ck_assert_int_eq(next, CASES[i].next);
    ck_assert_int_eq(arguments.words_count, 0);
  }
}
END_TEST

START_TEST(values_are_checked) {
  static const char *const WRONG[] = {
      "--by=epoch", "--by=epochs|", "--by=",      "--by=seconds ", "--by=epochs|seconds",
      "--count=",   "--count=13",   "--count=1x", "--count=1e1",   "--count=99999999999999999999"};
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    const char *argv[] = {"", WRONG[i]};
    ck_assert_msg(line_read(2, argv) == EP_INVALID, "%s was taken", WRONG[i]);
  }
  const char *good[] = {"", "--count", "12", "--by", "epochs"};
  ck_assert_int_eq(line_read(5, good), EP_OK);
  ck_assert_int_eq(ep_arguments_integer(&arguments, "count", 5), 12);
  ck_assert_int_eq(ep_arguments_integer(&arguments, "absent", 5), 5);
}
END_TEST

START_TEST(values_are_stored) {
  const char *argv[] = {"",   "--count=3", "--place",    "/a", "--place=/b:/c",
                        "-q", "-o1234567", "--unstored", "x"};
  settings stored = {.count = 7};
  ck_assert_int_eq(line_read(9, argv), EP_OK);
  ck_assert_int_eq(ep_arguments_store(&arguments, &stored, NULL), EP_OK);
  ck_assert_int_eq(stored.count, 3);
  ck_assert_str_eq(stored.places, "/a:/b:/c");
  ck_assert_str_eq(stored.output, "1234567");
  ck_assert(stored.quiet);
  argv[6] = "-o12345678"; /* one byte too long */
  ck_assert_int_eq(line_read(9, argv), EP_OK);
  stored = (settings){0};
  ck_assert_int_eq(ep_arguments_store(&arguments, &stored, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "--output is too long");
}
END_TEST

START_TEST(too_many_words_and_options_are_refused) {
  const char *argv[EP_LIMIT_ARGUMENTS + 2] = {""};
  for (int i = 1; i <= EP_LIMIT_ARGUMENTS + 1; i++) argv[i] = "word";
  ck_assert_int_eq(line_read(1 + EP_LIMIT_ARGUMENTS, argv), EP_OK);
  ck_assert_int_eq(line_read(2 + EP_LIMIT_ARGUMENTS, argv), EP_INVALID);
  argv[1] = "--"; /* words behind it count, too */
  ck_assert_int_eq(line_read(2 + EP_LIMIT_ARGUMENTS, argv), EP_OK);
  for (int i = 1; i <= EP_LIMIT_ARGUMENTS + 1; i++) argv[i] = "-q";
  ck_assert_int_eq(line_read(1 + EP_LIMIT_ARGUMENTS, argv), EP_OK);
  ck_assert_int_eq(line_read(2 + EP_LIMIT_ARGUMENTS, argv), EP_INVALID);
}
END_TEST

START_TEST(help_is_aligned) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  ck_assert_ptr_nonnull(out);
  ep_help_options(out, MORE);
  ep_help_row(out, "NAME…", "as wide as five characters");
  ep_help_row(out, "a name that is as wide as its column", "a text");
  ep_help_wrap(out, "one two\n\nthree", 2, 0);
  fclose(out);
  ck_assert_str_eq(text, "  -q, --quiet             no words\n"
                         "  --place DIR             a folder\n"
                         "  --unstored TEXT         goes nowhere\n"
                         "  NAME…                   as wide as five characters\n"
                         "  a name that is as wide as its column\n"
                         "                          a text\n"
                         "  one two\n\n  three\n");
  free(text);
}
END_TEST

EP_SUITE("api/arguments") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, options_stand_anywhere);
  tcase_add_test(tests, wrong_options_are_refused);
  tcase_add_test(tests, the_first_word_may_stop);
  tcase_add_test(tests, values_are_checked);
  tcase_add_test(tests, values_are_stored);
  tcase_add_test(tests, too_many_words_and_options_are_refused);
  tcase_add_test(tests, help_is_aligned);
}
