/* What comes in: rows to predict, lines of a stream, paths of requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/http.h"
#include "clients/epochctl/rows.h"
#include "clients/epochctl/stream.h"
#include "tests/suite.h"

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

typedef struct {
  char text[256];
  int count, most;
} heard;

static bool hear(void *context, const char *line, size_t bytes) {
  heard *lines = context;
  size_t used = strlen(lines->text);
  if (bytes < 64)
    snprintf(lines->text + used, sizeof lines->text - used, "<%.*s>", (int)bytes, line);
  return ++lines->count < lines->most;
}

/* However the bytes are cut, the lines are the same; heartbeats are none. */
START_TEST(lines_come_whole) {
  static const char TEXT[] = "one\n\n\ntwo\nthree";
  for (size_t piece = 1; piece < sizeof TEXT; piece++) {
    heard lines = {.most = 100};
    ep_line line = {0};
    for (size_t at = 0; at < sizeof TEXT - 1; at += piece) {
      size_t left = sizeof TEXT - 1 - at;
      ck_assert(ep_line_take(&line, TEXT + at, left < piece ? left : piece, hear, &lines));
    }
    ck_assert_str_eq(lines.text, "<one><two>"); /* the torn one is kept back */
    ck_assert_uint_eq(line.bytes, 5);
    ck_assert(ep_line_take(&line, "\n", 1, hear, &lines));
    ck_assert_str_eq(lines.text, "<one><two><three>");
    ep_line_deinit(&line);
  }
}
END_TEST

START_TEST(a_line_has_a_ceiling) {
  char *long_one = malloc(EP_LIMIT_EVENT_BYTES + 2);
  ck_assert_ptr_nonnull(long_one);
  memset(long_one, 'x', EP_LIMIT_EVENT_BYTES + 1);
  long_one[EP_LIMIT_EVENT_BYTES] = '\n';
  heard lines = {.most = 2};
  ep_line line = {0};
  ck_assert(ep_line_take(&line, long_one, EP_LIMIT_EVENT_BYTES + 1, hear, &lines)); /* just fits */
  ck_assert_int_eq(lines.count, 1);
  long_one[EP_LIMIT_EVENT_BYTES] = 'x';
  ck_assert(ep_line_take(&line, long_one, EP_LIMIT_EVENT_BYTES, hear, &lines));
  ck_assert(!ep_line_take(&line, "x", 1, hear, &lines));
  ep_line_deinit(&line);
  ck_assert(!ep_line_take(&line, "a\nb\nc\n", 6, hear, &lines)); /* hear says no at the second */
  ck_assert_int_eq(lines.count, 2);
  ep_line_deinit(&line);
  free(long_one);
}
END_TEST

START_TEST(paths_are_encoded) {
  char path[EP_PATH_MAX_BYTES];
  ep_path_make(path, "/v1/datasets/", "a b/../c?d=\xc3\xa9", "/train/x");
  ep_path_query(path, "header", "true");
  ep_path_query(path, "tag", "a&b=c");
  ck_assert_str_eq(path,
                   "/v1/datasets/a%20b%2F..%2Fc%3Fd%3D%C3%A9/train/x?header=true&tag=a%26b%3Dc");
  char *name = malloc(EP_PATH_MAX_BYTES + 1);
  ck_assert_ptr_nonnull(name);
  memset(name, '/', EP_PATH_MAX_BYTES);
  name[EP_PATH_MAX_BYTES] = 0;
  ep_path_make(path, "/v1/jobs/", name, "/events");
  ep_path_query(path, "after", "1");
  ck_assert_str_eq(path, ""); /* too long: no path, rather than another one */
  free(name);
}
END_TEST

EP_SUITE("epochctl_input") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, rows_become_what_the_server_takes);
  tcase_add_test(tests, lines_come_whole);
  tcase_add_test(tests, a_line_has_a_ceiling);
  tcase_add_test(tests, paths_are_encoded);
}
