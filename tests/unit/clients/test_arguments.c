/* Command lines, and the changes of --set. */
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/change.h"
#include "clients/epochctl/commands.h"
#include "tests/suite.h"

static const ep_option OPTIONS[] = {{"output", 'o', "FILE", EP_WORD_FILE, "a file"},
                                    {"by", 0, "epochs|seconds", EP_WORD_CHOICE, "an axis"},
                                    {"quiet", 'q', NULL, EP_WORD_TEXT, "a switch"},
                                    {NULL, 0, NULL, EP_WORD_TEXT, NULL}};

static ep_arguments arguments;

static ep_status read_line(int argc, const char *const argv[], ep_error *error) {
  int next;
  memset(&arguments, 0, sizeof arguments);
  return ep_arguments_read(&arguments, argc, (char *const *)argv, 0, OPTIONS, NULL, false, &next,
                           error);
}

START_TEST(options_stand_anywhere) {
  const char *argv[] = {"a", "-o", "x", "--quiet", "b", "--by=seconds", "-oy", "-", "--", "-q"};
  ck_assert_int_eq(read_line(10, argv, NULL), EP_OK);
  ck_assert_int_eq(arguments.words_count, 4);
  ck_assert_str_eq(arguments.words[1], "b");
  ck_assert_str_eq(arguments.words[2], "-");
  ck_assert_str_eq(arguments.words[3], "-q");
  ck_assert_str_eq(ep_arguments_value(&arguments, "output"), "y");
  ck_assert(ep_arguments_has(&arguments, "quiet"));
  ck_assert_ptr_null(ep_arguments_value(&arguments, "nothing"));
}
END_TEST

START_TEST(wrong_options_are_refused) {
  static const char *const LINES[][2] = {{"--none", ""}, {"-z", ""},        {"--output", NULL},
                                         {"-o", NULL},   {"--quiet=1", ""}, {"-qo", ""},
                                         {"--", NULL},   {"--=", ""}};
  for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
    ep_error error = {0};
    ep_status status = read_line(LINES[i][1] ? 2 : 1, LINES[i], &error);
    ck_assert_int_eq(status, i == 6 ? EP_OK : EP_INVALID); /* "--" alone is fine */
  }
}
END_TEST

START_TEST(numbers_and_choices_are_checked) {
  int64_t value;
  const char *choice;
  const char *good[] = {"--output", "12", "--by", "epochs"};
  ck_assert_int_eq(read_line(4, good, NULL), EP_OK);
  ck_assert_int_eq(ep_arguments_integer(&arguments, "output", 1, 12, 5, &value, NULL), EP_OK);
  ck_assert_int_eq(value, 12);
  ck_assert_int_eq(ep_arguments_integer(&arguments, "output", 1, 11, 5, &value, NULL), EP_INVALID);
  ck_assert_int_eq(ep_arguments_integer(&arguments, "absent", 1, 9, 5, &value, NULL), EP_OK);
  ck_assert_int_eq(value, 5);
  ck_assert_int_eq(ep_arguments_choice(&arguments, "by", &choice, NULL), EP_OK);
  ck_assert_str_eq(choice, "epochs");
  static const char *const WRONG[] = {"epoch", "epochs|", "", "seconds ", "epochs|seconds"};
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    const char *argv[] = {"--by", WRONG[i], "-o", "1x"};
    ck_assert_int_eq(read_line(4, argv, NULL), EP_OK);
    ck_assert_int_eq(ep_arguments_choice(&arguments, "by", &choice, NULL), EP_INVALID);
    ck_assert_int_eq(ep_arguments_integer(&arguments, "output", 0, 9, 0, &value, NULL), EP_INVALID);
  }
}
END_TEST

START_TEST(too_many_words_and_options_are_refused) {
  const char *argv[EP_LIMIT_CLIENT_WORDS + 1];
  for (int i = 0; i <= EP_LIMIT_CLIENT_WORDS; i++) argv[i] = "word";
  ck_assert_int_eq(read_line(EP_LIMIT_CLIENT_WORDS, argv, NULL), EP_OK);
  ck_assert_int_eq(read_line(EP_LIMIT_CLIENT_WORDS + 1, argv, NULL), EP_INVALID);
  for (int i = 0; i <= EP_OPTIONS_MAX; i++) argv[i] = "-q";
  ck_assert_int_eq(read_line(EP_OPTIONS_MAX, argv, NULL), EP_OK);
  ck_assert_int_eq(read_line(EP_OPTIONS_MAX + 1, argv, NULL), EP_INVALID);
}
END_TEST

/* Each command is found by its own name, its options have different names, and it is explained. */
START_TEST(the_table_is_sound) {
  int count = 0;
  for (const ep_command *command = EP_COMMANDS; command->name; command++, count++) {
    char first[32], *argv[2] = {first, NULL};
    int words = 0;
    const char *space = strchr(command->name, ' ');
    snprintf(first, sizeof first, "%.*s", (int)strcspn(command->name, " "), command->name);
    argv[1] = space ? (char *)space + 1 : (char *)"x";
    ck_assert_ptr_eq(ep_command_find(2, argv, 0, &words), command);
    ck_assert_int_eq(words, space ? 2 : 1);
    ck_assert_ptr_nonnull(command->run);
    ck_assert_int_gt((int)strlen(command->summary), 5);
    for (const ep_option *a = command->options; a->name; a++) {
      for (const ep_option *b = command->options; b < a; b++)
        ck_assert(strcmp(a->name, b->name) != 0 && (!a->letter || a->letter != b->letter));
      for (const ep_option *b = EP_GLOBAL_OPTIONS; b->name; b++)
        ck_assert(strcmp(a->name, b->name) != 0 && (!a->letter || a->letter != b->letter));
    }
  }
  ck_assert_int_gt(count, 20);
}
END_TEST

/* What --set makes of {"a": {"b": 1}, "l": [1, {"c": 2}], "t": "x"}; NULL: refused, and unchanged.
 */
START_TEST(changes_reach_their_place) {
  static const struct {
    const char *change, *wanted;
  } CASES[] = {
      {"/a/b=2", "{\"a\":{\"b\":2},\"l\":[1,{\"c\":2}],\"t\":\"x\"}"},
      {"/a/n/m=[1]", "{\"a\":{\"b\":1,\"n\":{\"m\":[1]}},\"l\":[1,{\"c\":2}],\"t\":\"x\"}"},
      {"/l/1/c=relu", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":\"relu\"}],\"t\":\"x\"}"},
      {"/l/-=true", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2},true],\"t\":\"x\"}"},
      {"/l/2=null", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2},null],\"t\":\"x\"}"},
      {"/t=a=b", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2}],\"t\":\"a=b\"}"},
      {"/t=", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2}],\"t\":\"\"}"},
      {"/x~1y~0z=1", "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2}],\"t\":\"x\",\"x/y~z\":1}"},
      {"/l/3=1", NULL},
      {"/l/01=1", NULL},
      {"/l/x=1", NULL},
      {"/t/x=1", NULL},
      {"/a~2=1", NULL},
      {"/a~=1", NULL},
      {"a=1", NULL},
      {"=1", NULL},
      {"/a", NULL},
      {"", NULL}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    static const char START[] = "{\"a\":{\"b\":1},\"l\":[1,{\"c\":2}],\"t\":\"x\"}";
    json_t *root = json_loads(START, 0, NULL);
    ep_status status = ep_change_apply(root, CASES[i].change, NULL);
    char *text = json_dumps(root, JSON_COMPACT);
    ck_assert_msg(status == (CASES[i].wanted ? EP_OK : EP_INVALID), "%s", CASES[i].change);
    ck_assert_str_eq(text, CASES[i].wanted ? CASES[i].wanted : START);
    free(text);
    json_decref(root);
  }
}
END_TEST

EP_SUITE("epochctl_arguments") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, options_stand_anywhere);
  tcase_add_test(tests, wrong_options_are_refused);
  tcase_add_test(tests, numbers_and_choices_are_checked);
  tcase_add_test(tests, too_many_words_and_options_are_refused);
  tcase_add_test(tests, the_table_is_sound);
  tcase_add_test(tests, changes_reach_their_place);
}
