#include <stdlib.h>
#include <string.h>

#include "server/http/streams/watcher.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"

static ep_jobs *jobs;

static void setup(void) {
  char folder[] = "/tmp/epochd-watcher-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  jobs = fake_jobs_create(folder);
}

static void teardown(void) {
  ck_assert_int_eq(fake_jobs_logs(jobs), 0);
  fake_jobs_destroy(jobs);
}

static ep_watcher *watch(ep_watcher_options options) {
  ep_event_log *log;
  ck_assert_int_eq(ep_jobs_retain_log(jobs, FAKE_JOB, &log, NULL), EP_OK);
  ep_watcher *watcher = ep_watcher_create(jobs, log, &options);
  ck_assert_ptr_nonnull(watcher);
  return watcher;
}

/* Reads with buffers of `capacity` until it would wait or end; returns all, ending in 0. */
static char *drain(ep_watcher *watcher, size_t capacity, ep_watcher_result *last) {
  static char text[4 << 20];
  size_t used = 0, bytes;
  char *buffer = malloc(capacity); /* exactly so large, for the sanitizer */
  while ((*last = ep_watcher_read(watcher, buffer, capacity, &bytes)) == EP_WATCHER_BYTES) {
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_le(bytes, capacity);
    ck_assert_uint_lt(used + bytes, sizeof text);
    memcpy(text + used, buffer, bytes);
    used += bytes;
  }
  free(buffer);
  text[used] = 0;
  return text;
}

static int count(const char *text, const char *word) {
  int found = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) found++;
  return found;
}

START_TEST(buffers_of_any_size_give_the_same_bytes) {
  fake_jobs_epochs(jobs, 1, 1, 300);
  fake_jobs_end(jobs);
  static const size_t capacities[] = {128, 129, 257, 1000, 4096, 65536, 1 << 20};
  for (int sse = 0; sse < 2; sse++) {
    char *expected = NULL;
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
      ep_watcher_result last;
      ep_watcher *watcher =
          watch((ep_watcher_options){.every = 1, .follow = true, .sse = sse != 0});
      char *text = drain(watcher, capacities[i], &last);
      ck_assert_int_eq(last, EP_WATCHER_ENDS);
      ck_assert_int_eq(count(text, "\"type\":\"epoch\""), 300);
      if (!expected) expected = strdup(text);
      ck_assert_str_eq(text, expected);
      ep_watcher_destroy(watcher);
    }
    ck_assert_int_eq(count(expected, "\ndata: "), sse ? 302 : 0);
    ck_assert_int_eq(count(expected, "\n\n"), sse ? 302 : 0);
    free(expected);
  }
}
END_TEST

START_TEST(a_watcher_waits_and_goes_on) {
  ep_watcher_result last;
  ep_watcher *watcher = watch((ep_watcher_options){.every = 1, .follow = true});
  ck_assert_int_eq(count(drain(watcher, 4096, &last), "\n"), 1);
  ck_assert_int_eq(last, EP_WATCHER_WAITS);
  fake_jobs_epochs(jobs, 1, 1, 3);
  ck_assert_int_eq(count(drain(watcher, 4096, &last), "\n"), 3);
  ck_assert_int_eq(last, EP_WATCHER_WAITS);
  fake_jobs_end(jobs);
  ck_assert_int_eq(count(drain(watcher, 4096, &last), "\n"), 1);
  ck_assert_int_eq(last, EP_WATCHER_ENDS);
  ep_watcher_destroy(watcher);
}
END_TEST

START_TEST(what_there_is_and_no_more) {
  ep_watcher_result last;
  fake_jobs_epochs(jobs, 1, 1, 3);
  ep_watcher *watcher = watch((ep_watcher_options){.every = 1, .follow = false, .after = 2});
  char *text = drain(watcher, 4096, &last);
  ck_assert_int_eq(last, EP_WATCHER_ENDS);
  ck_assert_int_eq(count(text, "\n"), 2);
  ck_assert_int_eq(strncmp(text, "{\"seq\":3,", 9), 0);
  ep_watcher_destroy(watcher);
}
END_TEST

static void wake(void *context) {
  ++*(int *)context;
}

START_TEST(wakes_come_and_end_with_the_watcher) {
  int wakes = 0;
  ep_watcher *watcher = watch((ep_watcher_options){.every = 1, .follow = true});
  ep_watcher_subscribe(watcher, wake, &wakes);
  fake_jobs_epochs(jobs, 1, 1, 1);
  ck_assert_int_eq(wakes, 1);
  ep_watcher_destroy(watcher);
  fake_jobs_epochs(jobs, 2, 1, 1);
  ck_assert_int_eq(wakes, 1);
}
END_TEST

/* Epochs 10, 20, … 1000 at most once in 100: ten lines, the first at or after each hundred. */
START_TEST(thinning_does_not_depend_on_where_a_stream_was_cut) {
  fake_jobs_epochs(jobs, 10, 10, 100);
  fake_jobs_end(jobs);
  ep_watcher_result last;
  ep_watcher *whole = watch((ep_watcher_options){.every = 100, .follow = true});
  char *expected = strdup(drain(whole, 512, &last));
  ep_watcher_destroy(whole);
  ck_assert_int_eq(count(expected, "\"type\":\"epoch\""), 10);
  ck_assert_int_eq(count(expected, "\"epoch\":100,"), 1);
  ck_assert_int_eq(count(expected, "\"type\":\"end\""), 1);
  for (char *line = expected; *line; line = strchr(line, '\n') + 1) {
    int64_t seq = strtoll(line + strlen("{\"seq\":"), NULL, 10);
    ep_watcher *rest = watch((ep_watcher_options){.every = 100, .follow = true, .after = seq});
    ck_assert_str_eq(drain(rest, 512, &last), strchr(line, '\n') + 1);
    ep_watcher_destroy(rest);
  }
  free(expected);
}
END_TEST

/* So much is dropped that others must get their turn: a space, or a comment of one line, then it
 * goes on. Simple readers take an empty line for an event. */
START_TEST(long_silence_is_broken) {
  static const char *const beats[] = {" {\"seq\":", "\n: heartbeat\n"};
  for (int i = 0; i < 60; i++) fake_jobs_epochs(jobs, 1 + i * 1000, 1, 1000);
  fake_jobs_end(jobs);
  for (int sse = 0; sse < 2; sse++) {
    ep_watcher_result last;
    ep_watcher *watcher =
        watch((ep_watcher_options){.every = 1000000, .follow = true, .sse = sse != 0});
    char *text = drain(watcher, 4096, &last);
    ck_assert_int_eq(last, EP_WATCHER_ENDS);
    ck_assert_int_eq(count(text, "\"type\":\"epoch\""), 0);
    ck_assert_int_eq(count(text, "\"type\":\"end\""), 1);
    ck_assert_msg(strstr(text, beats[sse]) != NULL, "%s", text);
    ck_assert_int_eq(count(text, "\n\n"), sse ? count(text, "data: ") : 0);
    ck_assert_int_eq(count(text, "heartbeat\n\n"), 0);
    ep_watcher_destroy(watcher);
  }
}
END_TEST

EP_SUITE("watcher") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 60);
  tcase_add_test(all, buffers_of_any_size_give_the_same_bytes);
  tcase_add_test(all, a_watcher_waits_and_goes_on);
  tcase_add_test(all, what_there_is_and_no_more);
  tcase_add_test(all, wakes_come_and_end_with_the_watcher);
  tcase_add_test(all, thinning_does_not_depend_on_where_a_stream_was_cut);
  tcase_add_test(all, long_silence_is_broken);
}
