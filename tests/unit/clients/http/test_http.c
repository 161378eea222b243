/* Lines of a stream, paths of requests, values in a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/line_buffer.h"
#include "clients/epochctl/http/path.h"
#include "tests/suite.h"

typedef struct {
  char text[256];
  int count, most;
} lines_taken;

static bool line_take(void *context, const char *line, size_t bytes) {
  lines_taken *lines = context;
  size_t used = strlen(lines->text);
  if (bytes < 64)
    snprintf(lines->text + used, sizeof lines->text - used, "<%.*s>", (int)bytes, line);
  return ++lines->count < lines->most;
}

/* However the bytes are cut, the lines are the same; heartbeats are not part of them. */
START_TEST(lines_come_whole) {
  static const char TEXT[] = "one\n\n  \n  two\n three";
  for (size_t piece = 1; piece < sizeof TEXT; piece++) {
    lines_taken lines = {.most = 100};
    ep_line_buffer line = {0};
    for (size_t at = 0; at < sizeof TEXT - 1; at += piece) {
      size_t left = sizeof TEXT - 1 - at;
      ck_assert(
          ep_line_buffer_add(&line, TEXT + at, left < piece ? left : piece, line_take, &lines));
    }
    ck_assert_str_eq(lines.text, "<one><two>"); /* the torn one is kept back */
    ck_assert_uint_eq(line.bytes, 5);
    ck_assert(ep_line_buffer_add(&line, "\n", 1, line_take, &lines));
    ck_assert_str_eq(lines.text, "<one><two><three>");
    ep_line_buffer_deinit(&line);
  }
}
END_TEST

START_TEST(a_line_has_a_ceiling) {
  char *long_one = malloc(EP_LIMIT_EVENT_BYTES + 2);
  ck_assert_ptr_nonnull(long_one);
  memset(long_one, 'x', EP_LIMIT_EVENT_BYTES + 1);
  long_one[EP_LIMIT_EVENT_BYTES] = '\n';
  lines_taken lines = {.most = 2};
  ep_line_buffer line = {0};
  ck_assert(ep_line_buffer_add(&line, long_one, EP_LIMIT_EVENT_BYTES + 1, line_take,
                               &lines)); /* just fits */
  ck_assert_int_eq(lines.count, 1);
  long_one[EP_LIMIT_EVENT_BYTES] = 'x';
  ck_assert(ep_line_buffer_add(&line, long_one, EP_LIMIT_EVENT_BYTES, line_take, &lines));
  ck_assert(!ep_line_buffer_add(&line, "x", 1, line_take, &lines));
  ep_line_buffer_deinit(&line);
  ck_assert(!ep_line_buffer_add(&line, "a\nb\nc\n", 6, line_take,
                                &lines)); /* line_take refuses the second */
  ck_assert_int_eq(lines.count, 2);
  ep_line_buffer_deinit(&line);
  free(long_one);
}
END_TEST

START_TEST(paths_are_encoded) {
  char path[EP_REQUEST_PATH_BYTES];
  ep_path_make(path, "/v1/datasets/", "a b/../c?d=\xc3\xa9", "/train/x");
  ep_path_query(path, "header", "true");
  ep_path_query(path, "tag", "a&b=c");
  ck_assert_str_eq(path,
                   "/v1/datasets/a%20b%2F..%2Fc%3Fd%3D%C3%A9/train/x?header=true&tag=a%26b%3Dc");
  char *name = malloc(EP_REQUEST_PATH_BYTES + 1);
  ck_assert_ptr_nonnull(name);
  memset(name, '/', EP_REQUEST_PATH_BYTES);
  name[EP_REQUEST_PATH_BYTES] = 0;
  ep_path_make(path, "/v1/jobs/", name, "/events");
  ep_path_query(path, "after", "1");
  ck_assert_str_eq(path, ""); /* too long: no path, rather than another one */
  free(name);
}
END_TEST

START_TEST(values_stand_in_a_line) {
  static const struct {
    const char *json, *wanted;
  } CASES[] = {{"0.30000000000000004", "0.3"},
               {"16", "16"},
               {"\"relu\"", "relu"},
               {"null", "-"},
               {"[1, {\"a\": true}]", "[1,{\"a\":t"}}; /* cut */
  char text[10];
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    json_t *value = json_loads(CASES[i].json, JSON_DECODE_ANY, NULL);
    ep_json_line(value, text, sizeof text);
    ck_assert_str_eq(text, CASES[i].wanted);
    json_decref(value);
  }
  ep_json_line(NULL, text, sizeof text);
  ck_assert_str_eq(text, "-");
}
END_TEST

EP_SUITE("clients/http") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, lines_come_whole);
  tcase_add_test(tests, a_line_has_a_ceiling);
  tcase_add_test(tests, paths_are_encoded);
  tcase_add_test(tests, values_stand_in_a_line);
}
