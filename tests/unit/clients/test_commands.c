/* The table of commands, and the changes of --set. */
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/change.h"
#include "clients/epochctl/commands.h"
#include "tests/suite.h"

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

EP_SUITE("epochctl_commands") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, the_table_is_sound);
  tcase_add_test(tests, changes_reach_their_place);
}
