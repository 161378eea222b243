/* Edits of a spec, rows to predict. */
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/input/json_edit.h"
#include "clients/epochctl/input/rows.h"
#include "tests/suite.h"

/* Edits of {"a": {"b": 1}, "l": [1, {"c": 2}], "t": "x"}; NULL: refused, and unchanged. */
START_TEST(edits_reach_their_place) {
  static const struct {
    const char *edit, *wanted;
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
    ep_status status = ep_json_edit(root, CASES[i].edit, NULL);
    char *text = json_dumps(root, JSON_COMPACT);
    ck_assert_msg(status == (CASES[i].wanted ? EP_OK : EP_INVALID), "%s", CASES[i].edit);
    ck_assert_str_eq(text, CASES[i].wanted ? CASES[i].wanted : START);
    free(text);
    json_decref(root);
  }
}
END_TEST

START_TEST(rows_become_what_the_server_takes) {
  static const struct {
    const char *text, *wanted;
  } CASES[] = {{"1,2\n3,4\n", "{\"x\":[[1,2],[3,4]]}"},
               {"a,b\r\n1;2.5\r\n\r\n-3e2\t4", "{\"x\":[[1,2.5],[-300,4]]}"},
               {"1 2\n", "{\"x\":[[1,2]]}"},
               {"7", "{\"x\":[[7]]}"},
               {"[[1, 2]]", "{\"x\":[[1, 2]]}"},
               {" {\"x\": [[1]]}", " {\"x\": [[1]]}"},
               {"", NULL},
               {"\n\n", NULL},
               {"a,b\n", NULL},
               {"1,2\n3,x\n", NULL},
               {"1,,2\n3,,4\n", NULL},
               {"1,2\n3,\n", NULL},
               {"1,2\n1e999,2\n", NULL},
               {"1,2\nnan,2\n", NULL},
               {"1,2\n3a,2\n", NULL}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char *out = NULL;
    size_t bytes = 0;
    ep_error error = {0};
    ep_status status = ep_rows_format(CASES[i].text, strlen(CASES[i].text), &out, &bytes, &error);
    ck_assert_msg(status == (CASES[i].wanted ? EP_OK : EP_INVALID), "%s: %s", CASES[i].text,
                  error.message);
    if (CASES[i].wanted) ck_assert_str_eq(out, CASES[i].wanted);
    free(out);
  }
}
END_TEST

EP_SUITE("clients/input") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, edits_reach_their_place);
  tcase_add_test(tests, rows_become_what_the_server_takes);
}
