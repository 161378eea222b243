/* Edits of a spec, axes and requests of a sweep, rows to predict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/epochctl/input/axis.h"
#include "clients/epochctl/input/body_type.h"
#include "clients/epochctl/input/json_edit.h"
#include "clients/epochctl/input/rows.h"
#include "clients/epochctl/input/sweep_file.h"
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

/* NULL: a single value; "": refused. */
START_TEST(axes_are_read) {
  static const struct {
    const char *text, *wanted;
  } CASES[] = {{"8,16,32", "{\"values\":[8,16,32]}"},
               {"relu,tanh", "{\"values\":[\"relu\",\"tanh\"]}"},
               {"true,null,\"a,b\",x", "{\"values\":[true,null,\"a,b\",\"x\"]}"},
               {"{\"a\":[1,2]},[3,4]", "{\"values\":[{\"a\":[1,2]},[3,4]]}"},
               {"\"]\\\",\",1", "{\"values\":[\"]\\\",\",1]}"},
               {"1,", "{\"values\":[1,\"\"]}"},
               {"1..2,3", "{\"values\":[\"1..2\",3]}"},
               {"-1..2.5", "{\"uniform\":[-1,2.5]}"},
               {"0.5..1e3", "{\"uniform\":[0.5,1000.0]}"},
               {"log:1e-4..1e-1", "{\"log_uniform\":[0.0001,0.1]}"},
               {"int:4..64", "{\"int_uniform\":[4,64]}"},
               {"int_log:1..1000", "{\"int_log_uniform\":[1,1000]}"},
               {"8", NULL},
               {"relu", NULL},
               {"", NULL},
               {"[1,2]", NULL},
               {"{\"a\":1,\"b\":2}", NULL},
               {"\"a,b\"", NULL},
               {"../data", NULL},
               {"1..", NULL},
               {"log:", ""},
               {"log:1", ""},
               {"int:1..x", ""},
               {"int_log:1,2", ""}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    json_t *axis = NULL;
    bool refused = CASES[i].wanted && !*CASES[i].wanted;
    ep_status status = ep_axis_read(CASES[i].text, &axis, NULL);
    ck_assert_msg(status == (refused ? EP_INVALID : EP_OK), "%s", CASES[i].text);
    char *text = axis ? json_dumps(axis, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    if (refused || !CASES[i].wanted)
      ck_assert_ptr_null(axis);
    else
      ck_assert_str_eq(text ? text : "", CASES[i].wanted);
    free(text);
    json_decref(axis);
  }
}
END_TEST

static const ep_option SWEEP_OPTIONS[] = {{.name = "set", .kind = EP_OPTION_TEXT, .value = "X"},
                                          {.name = "trials", .kind = EP_OPTION_TEXT, .value = "N"},
                                          {.name = "name", .kind = EP_OPTION_TEXT, .value = "N"},
                                          {.name = "tag", .kind = EP_OPTION_TEXT, .value = "T"},
                                          {.name = "detach", .kind = EP_OPTION_SWITCH},
                                          {.name = NULL}};

/* The request of a file with `content` and of options, a NULL at their end; the caller's (free).
 * NULL: refused. */
static char *sweep_request(const char *content, const char *const *options) {
  char path[] = "/tmp/epochctl-sweep.XXXXXX", *argv[16] = {"sweep", path}, *request = NULL;
  static ep_arguments arguments;
  size_t bytes = 0;
  int argc = 2, descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  ck_assert_int_eq(write(descriptor, content, strlen(content)), (int)strlen(content));
  close(descriptor);
  for (; *options; options++) argv[argc++] = (char *)*options;
  arguments = (ep_arguments){0};
  ck_assert_int_eq(ep_arguments_read(&arguments, argc, argv, 1, SWEEP_OPTIONS, NULL, NULL, NULL),
                   EP_OK);
  ep_status status = ep_sweep_file_read(&arguments, &request, &bytes, NULL);
  unlink(path);
  ck_assert_int_eq(status, request ? EP_OK : EP_INVALID);
  if (request) ck_assert_uint_eq(bytes, strlen(request));
  return request;
}

START_TEST(a_sweep_is_made_of_a_job) {
  static const struct {
    const char *content, *options[8], *wanted;
  } CASES[] = {
      {"{\"epochs\":9}",
       {"--set", "/o/lr=1,2", "--set", "/epochs=3", "--detach", "--trials", "7"},
       "{\"job\":{\"epochs\":3},\"space\":{\"/o/lr\":{\"values\":[1,2]}},\"max_trials\":7}"},
      {"{\"job\":{\"epochs\":9},\"space\":{\"/a\":{\"values\":[1]}},\"tags\":[\"x\"]}",
       {"--set", "/b=1..2", "--name", "n", "--tag", "y"},
       "{\"job\":{\"epochs\":9},\"space\":{\"/a\":{\"values\":[1]},\"/b\":{\"uniform\":[1,2]}},"
       "\"tags\":[\"x\",\"y\"],\"name\":\"n\"}"},
      {"{\"job\":{},\"space\":{\"/a\":{\"values\":[1]},\"/b\":{\"values\":[1]}}}",
       {"--set", "/a=5"}, /* a value ends the axis */
       "{\"job\":{\"a\":5},\"space\":{\"/b\":{\"values\":[1]}}}"},
      {"{\"epochs\":9}", {"--set", "/epochs=3"}, NULL}, /* nothing varies */
      {"{\"epochs\":9}", {"--set", "epochs=1,2"}, NULL},
      {"{\"epochs\":9}", {"--set", "/epochs"}, NULL},
      {"{\"epochs\":9}", {"--set", "/epochs=log:1"}, NULL},
      {"{\"job\":7}", {"--set", "/epochs=1,2"}, NULL},
      {"{\"job\":{},\"space\":[]}", {"--set", "/epochs=1,2"}, NULL},
      {"[1]", {"--set", "/epochs=1,2"}, NULL}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char *request = sweep_request(CASES[i].content, CASES[i].options);
    ck_assert_msg(!request == !CASES[i].wanted, "%s", CASES[i].content);
    if (request) ck_assert_str_eq(request, CASES[i].wanted);
    free(request);
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
               {"\xef\xbb\xbf [{\"a\": 1}]", "{\"rows\":[{\"a\": 1}]}"},
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

/* NULL: no objects. */
START_TEST(objects_become_lines) {
  static const struct {
    const char *text, *wanted;
  } CASES[] = {{"[{\"a\": 1.50,\n \"b\": \"\\n]\"}, {}]", "{\"a\": 1.50,  \"b\": \"\\n]\"}\n{}\n"},
               {"\xef\xbb\xbf {\"steps\": 1, \"rows\": [{\"a\": [1]}]}", "{\"a\": [1]}\n"},
               {"{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n"},
               {"{\"a\":1}", "{\"a\":1}\n"},
               {"{\"x\": [[1]]}", NULL},
               {"[[1, 2]]", NULL},
               {"[]", NULL},
               {"[{\"a\":1}", NULL},
               {"{\"a\":1}]", NULL},
               {"[{\"a\":1}, 2]", NULL}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char *lines = NULL;
    size_t bytes = 0;
    ck_assert(ep_json_lines_format(CASES[i].text, strlen(CASES[i].text), &lines, &bytes, NULL) ==
              EP_OK);
    ck_assert_msg((lines != NULL) == (CASES[i].wanted != NULL), "%zu", i);
    if (lines) ck_assert_str_eq(lines, CASES[i].wanted);
    if (lines) ck_assert_uint_eq(bytes, strlen(lines));
    free(lines);
  }
}
END_TEST

EP_SUITE("clients/input") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, objects_become_lines);
  tcase_add_test(tests, edits_reach_their_place);
  tcase_add_test(tests, axes_are_read);
  tcase_add_test(tests, a_sweep_is_made_of_a_job);
  tcase_add_test(tests, rows_become_what_the_server_takes);
}
