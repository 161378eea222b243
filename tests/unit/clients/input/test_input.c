/* Edits of a spec, axes and requests of a sweep, rows to predict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/epochctl/input/axis.h"
#include "clients/epochctl/input/forecast.h"
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

START_TEST(rows_with_names_become_objects) {
  static const struct {
    const char *text, *wanted; /* NULL: no names */
    ep_status status;
  } CASES[] = {
      {"a,b\n1,x\n", "{\"rows\":[{\"a\":\"1\",\"b\":\"x\"}]}", EP_OK},
      {"\xef\xbb\xbf"
       "a;b c\r\n 1 ;\r\n\r\n;2",
       "{\"rows\":[{\"a\":\"1\",\"b c\":null},{\"a\":null,\"b c\":\"2\"}]}", EP_OK},
      {"\"a,\"\"b\"\n\"x\ny\"\n", "{\"rows\":[{\"a,\\\"b\":\"x\\ny\"}]}", EP_OK},
      {"[{\"a\": 1}]", "{\"rows\":[{\"a\": 1}]}", EP_OK},
      {"1,2\n3,4\n", NULL, EP_OK},
      {"[[1, 2]]", NULL, EP_OK},
      {"{\"x\": [[1]]}", NULL, EP_OK},
      {"", NULL, EP_OK},
      {"a,b\n", NULL, EP_INVALID},
      {"a,b\n1\n", NULL, EP_INVALID},
      {"a,b\n1,2,3\n", NULL, EP_INVALID},
      {"a,b\n\"1,2\n", NULL, EP_INVALID},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    char *out = NULL;
    size_t bytes = 0;
    ep_error error = {0};
    const char *text = CASES[i].text;
    ck_assert_msg(ep_named_rows_format(text, strlen(text), NULL, &out, &bytes, &error) ==
                      CASES[i].status,
                  "%s: %s", text, error.message);
    ck_assert_msg(!out == !CASES[i].wanted, "%s", text);
    if (out) ck_assert_str_eq(out, CASES[i].wanted);
    free(out);
  }
}
END_TEST

/* The body of two steps after a text, of a table with columns "t" and "y" unless it is not known.
 * NULL: refused with a message that has `refusal` in it. */
static void forecast_check(const char *text, const char *future, bool known, const char *wanted,
                           const char *refusal) {
  json_t *columns = json_pack("[s, s]", "t", "y");
  ep_forecast_rows forecast = {
      .text = text, .future = future, .steps = 2, .needed = 2, .columns = known ? columns : NULL};
  char *out = NULL;
  size_t bytes = 0;
  ep_error error = {0};
  ep_status status = ep_forecast_rows_format(&forecast, &out, &bytes, &error);
  ck_assert_msg((status == EP_OK) == (wanted != NULL), "%s: %s", text, error.message);
  if (wanted) {
    ck_assert_str_eq(out, wanted);
    ck_assert_uint_eq(bytes, strlen(wanted));
  } else {
    ck_assert_msg(strstr(error.message, refusal), "%s: %s", text, error.message);
  }
  free(out);
  json_decref(columns);
}

#define TWO_ROWS "{\"rows\":[{\"t\":\"1\",\"y\":\"2\"},{\"t\":\"3\",\"y\":\"4\"}],\"steps\":2"

START_TEST(a_forecast_begins_with_the_last_rows) {
  static const char *const RECENT = TWO_ROWS "}";
  forecast_check("y,t\n2,1\n4,3\n", NULL, false,
                 "{\"rows\":[{\"y\":\"2\",\"t\":\"1\"},"
                 "{\"y\":\"4\",\"t\":\"3\"}],\"steps\":2}",
                 NULL);
  forecast_check("t,y\n9,9\n1,2\n3,4\n", NULL, true, RECENT, NULL); /* a row too many */
  forecast_check("9;9\n1;2\n3;4\n", NULL, true, RECENT, NULL);
  forecast_check(
      "2026-01-01,2\n2026-01-02,4\n", NULL, true,
      "{\"rows\":[{\"t\":\"2026-01-01\",\"y\":\"2\"},{\"t\":\"2026-01-02\",\"y\":\"4\"}],"
      "\"steps\":2}",
      NULL);
  forecast_check("[[\"1\", \"2\"], [\"3\", \"4\"]]", NULL, true, RECENT, NULL);
  forecast_check("{\"t\": \"1\", \"y\": \"2\"}\n\n{\"t\": \"3\", \"y\": \"4\"}\n", NULL, false,
                 RECENT, NULL);
  forecast_check("{\"t\": 1}", NULL, false, "{\"rows\":[{\"t\":1}],\"steps\":2}", NULL);
  forecast_check("{\"rows\": [{\"t\": 1}], \"future\": [{}], \"steps\": 2}", NULL, false,
                 "{\"rows\":[{\"t\":1}],\"steps\":2,\"future\":[{}]}", NULL);
  forecast_check("1,2\n3,4\n", "t\n5\n", true, TWO_ROWS ",\"future\":[{\"t\":\"5\"}]}", NULL);
  forecast_check("1,2\n3,4\n", "5,\n", true, TWO_ROWS ",\"future\":[{\"t\":\"5\",\"y\":null}]}",
                 NULL);
}
END_TEST

START_TEST(what_no_forecast_begins_with_is_refused) {
  forecast_check("1,2\n3,4\n", NULL, false, NULL, "a line of names");
  forecast_check("[[1, 2]]", NULL, false, NULL, "a line of names");
  forecast_check("[[1, 2], [1]]", NULL, true, NULL, "row 1 has 1 cells, the table has 2 columns");
  forecast_check("1\n3\n", NULL, true, NULL, "the 2 columns of the table: line 1 has 1 cells");
  forecast_check("{\"x\": [[1, 2]]}", NULL, true, NULL, "rows by names");
  forecast_check("{\"t\": 1}\n{\"t\": \n", NULL, true, NULL, "line 2 is no JSON object");
  forecast_check(" \n", NULL, true, NULL, "there is no row");
  forecast_check("t,y\n1,2\n", "t\n", true, NULL, "--future: there is no row");
}
END_TEST

START_TEST(what_stands_beside_the_rows_is_not_lost) {
#define BESIDE(more) "{\"rows\": [{\"t\": 1}], " more "}"
  forecast_check(BESIDE("\"steps\": 9"), NULL, true, NULL, "not the 2 of --steps");
  forecast_check(BESIDE("\"steps\": \"2\""), NULL, true, NULL, "not the 2 of --steps");
  forecast_check(BESIDE("\"threshold\": 0.3"), NULL, true, NULL, "\"threshold\" is unknown");
  forecast_check(BESIDE("\"futur\": [{}]"), NULL, true, NULL, "\"futur\" is unknown");
  forecast_check(BESIDE("\"future\": [{}]"), "t\n5\n", true, NULL, "the rows of FILE too");
  forecast_check("1,2\n", BESIDE("\"future\": [{}]"), true, NULL, "the rows of this file too");
  forecast_check("1,2\n", BESIDE("\"steps\": 3"), true, NULL, "--future: \"steps\"");
#undef BESIDE
}
END_TEST

/* Texts of two columns whose first line is one of names, or a row; and with the columns' names. */
START_TEST(a_row_may_have_the_name_of_a_column) {
  static const struct {
    const char *names[2], *text;
    bool named;
  } CASES[] = {
      {{"0", "1"}, "1,2\n3,4\n", false},          {{"0", "1"}, "1,0\n3,4\n", false},
      {{"0", "1"}, "1|0\n3|4\n", false},          {{"0", "1"}, "Rome,1\nOslo,6\n", false},
      {{"temp", "1"}, "temp,1\nOslo,6\n", true},  {{"temp", "1"}, "1,temp\n6,Oslo\n", true},
      {{"temp", "y"}, "temp,5\nRome,6\n", false}, {{"temp", "y"}, "y; 5 \na;6\n", false},
      {{"temp", "y"}, "Rome,\nOslo,6\n", false},  {{"temp", "y"}, "temp,y\nRome,6\n", true},
      {{"temp", "y"}, "y,tmep\n6,Rome\n", true},  {{"temp", "y"}, ",y\nRome,6\n", true},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    json_t *columns = json_pack("[s, s]", CASES[i].names[0], CASES[i].names[1]), *body;
    ep_forecast_rows forecast = {.text = CASES[i].text, .steps = 2, .needed = 2};
    char *out = NULL;
    size_t bytes = 0;
    forecast.columns = columns;
    ck_assert_msg(ep_forecast_rows_format(&forecast, &out, &bytes, NULL) == EP_OK, "%s",
                  CASES[i].text);
    body = json_loads(out, 0, NULL);
    ck_assert_msg(json_array_size(json_object_get(body, "rows")) == (CASES[i].named ? 1 : 2),
                  "%s: %s", CASES[i].text, out);
    json_decref(body);
    json_decref(columns);
    free(out);
  }
}
END_TEST

/* The fault of a value on several lines is told with its line, not as one of NDJSON. */
START_TEST(a_body_on_several_lines_keeps_its_fault) {
  forecast_check("{\n  \"rows\": [\n    {\"t\": 1,}\n  ]\n}\n", NULL, true, NULL, "line 3");
  forecast_check("{\"t\": 1}\n{\"t\": }\n", NULL, true, NULL, "line 2 is no JSON object");
}
END_TEST

EP_SUITE("clients/input") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, edits_reach_their_place);
  tcase_add_test(tests, axes_are_read);
  tcase_add_test(tests, a_sweep_is_made_of_a_job);
  tcase_add_test(tests, rows_become_what_the_server_takes);
  tcase_add_test(tests, rows_with_names_become_objects);
  tcase_add_test(tests, a_forecast_begins_with_the_last_rows);
  tcase_add_test(tests, what_no_forecast_begins_with_is_refused);
  tcase_add_test(tests, what_stands_beside_the_rows_is_not_lost);
  tcase_add_test(tests, a_row_may_have_the_name_of_a_column);
  tcase_add_test(tests, a_body_on_several_lines_keeps_its_fault);
}
