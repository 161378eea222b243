/* Tests of server/jobs/lifecycle/labels.c and server/jobs/views/list.c with fake workers: labels
 * that change while a job waits, starts, runs, ends and is deleted; lists by tags and their
 * versions. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "server/process/clock.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"

static ep_status label(ep_jobs *jobs, const char *id, const char *json) {
  ep_problem problem = {0};
  return ep_jobs_label(jobs, id, json, strlen(json), false, &problem);
}

static void assert_has(ep_jobs *jobs, const char *id, const char *word) {
  char *text = job_text(jobs, id);
  ck_assert_msg(strstr(text, word) != NULL, "no %s in %s", word, text);
  free(text);
}

static uint64_t version_of(ep_jobs *jobs, const char *id) {
  char *text = NULL;
  uint64_t version = 0;
  assert_ok(ep_jobs_get(jobs, id, &text, &version, error));
  free(text);
  return version;
}

START_TEST(labels_change_at_any_time_and_stay) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], low[EP_ID_BYTES], high[EP_ID_BYTES];
  job_submit(jobs, "slow", 100000, running);
  job_wait(jobs, running, "running");
  job_submit_with(jobs, "instant", 3000, "auto", 0, low);
  job_submit_with(jobs, "instant", 3, "auto", 5, high);
  ck_assert_int_eq(job_number(jobs, low, "\"queue_position\":"), 2);
  uint64_t before = version_of(jobs, low);
  ck_assert_int_eq(label(jobs, low, "{\"priority\":6}"), EP_OK);
  ck_assert_uint_ne(version_of(jobs, low), before);
  ck_assert_int_eq(job_number(jobs, low, "\"queue_position\":"), 1);
  ck_assert_int_eq(job_number(jobs, high, "\"queue_position\":"), 2);
  ck_assert_int_eq(label(jobs, low, "{\"name\":\"first\",\"tags\":[\"t\"]}"), EP_OK);
  assert_has(jobs, low,
             "\"name\":\"first\",\"tags\":[\"t\"],\"owner\":\"\",\"priority\":6,\"pinned\":false,"
             "\"visibility\":\"public\",\"status\"");
  assert_has(jobs, low,
             "\"spec\":{\"name\":\"first\",\"tags\":[\"t\"],\"notes\":null,\"priority\":6,");
  char *queue = NULL;
  assert_ok(ep_jobs_queue(jobs, &(ep_viewer){0}, &queue, error));
  ck_assert_ptr_nonnull(strstr(queue, "\"position\":1,"));
  ck_assert_ptr_nonnull(strstr(queue, "\"priority\":6,\"owner\":\"\",\"name\":\"first\""));
  free(queue);
  ck_assert_int_eq(label(jobs, running, "{\"tags\":[\"r\"],\"priority\":7}"), EP_OK);
  assert_has(jobs, running,
             "\"tags\":[\"r\"],\"owner\":\"\",\"priority\":7,\"pinned\":false,\"visibility\":"
             "\"public\",\"status\":\"running\"");
  ep_jobs_close(jobs);

  jobs = jobs_open("cpu");
  assert_has(jobs, running, "\"priority\":7");
  assert_ok(ep_jobs_cancel(jobs, running, error));
  job_wait(jobs, running, "cancelled");
  job_wait(jobs, low, "succeeded");
  job_wait(jobs, high, "succeeded");
  ck_assert_int_lt(job_time(jobs, low), job_time(jobs, high)); /* the order that PATCH made */
  before = version_of(jobs, low);
  ck_assert_int_eq(label(jobs, low, "{\"priority\":1}"), EP_CONFLICT);
  ck_assert_uint_eq(version_of(jobs, low), before);
  ck_assert_int_eq(label(jobs, low, "{\"name\":null,\"tags\":[]}"), EP_OK);
  assert_has(jobs, low,
             "\"name\":\"\",\"tags\":[],\"owner\":\"\",\"priority\":6,\"pinned\":false,"
             "\"visibility\":\"public\",\"status\":"
             "\"succeeded\"");
  ck_assert_uint_ne(version_of(jobs, low), before);
  assert_ok(ep_jobs_delete(jobs, low, NULL, error));
  ck_assert_int_eq(label(jobs, low, "{\"name\":\"x\"}"), EP_NOT_FOUND);
  ck_assert_int_eq(label(jobs, "no-id", "{}"), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

typedef struct {
  ep_jobs *jobs;
  char id[EP_ID_BYTES];
  atomic_bool *over;
  int number;
  int changed, refused, gone, others;
} patcher;

/* Gives the job a name and a priority that belong together, over and over. */
static void *patch_run(void *context) {
  patcher *p = context;
  for (int i = 0; !atomic_load(p->over); i++) {
    char json[128];
    int value = p->number * 10 + i % 10;
    snprintf(json, sizeof json, "{\"name\":\"n%d\",\"tags\":[\"t%d\"],\"priority\":%d}", value,
             value, value);
    switch (label(p->jobs, p->id, json)) {
    case EP_OK: p->changed++; break;
    case EP_CONFLICT: p->refused++; break;
    case EP_NOT_FOUND: p->gone++; break;
    default: p->others++;
    }
    if (p->gone > 0) break;
  }
  return NULL;
}

/* The number after the key; the text must have it. */
static int number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  ck_assert_msg(at != NULL, "no %s in %s", key, text);
  return atoi(at + strlen(key));
}

/* What is shown was written by one PATCH, not by two halves. */
static void one_patch_check(ep_jobs *jobs, const char *id) {
  char *text = job_text(jobs, id);
  if (strstr(text, "\"name\":\"n")) {
    int value = number_after(text, "\"name\":\"n");
    ck_assert_int_eq(number_after(text, "\"tags\":[\"t"), value);
    ck_assert_int_eq(number_after(text, "\"priority\":"), value);
    const char *spec = strstr(text, "\"spec\":");
    ck_assert_int_eq(number_after(spec, "\"name\":\"n"), value);
    ck_assert_int_eq(number_after(spec, "\"priority\":"), value);
  }
  free(text);
}

/* Three threads change a job's labels while it is queued, starts, runs, ends and is deleted. */
START_TEST(labels_change_while_all_else_does) {
  enum { THREADS = 3, ROUNDS = 12 };
  ep_jobs *jobs = jobs_open("cpu");
  int changed = 0, refused = 0, gone = 0;
  for (int round = 0; round < ROUNDS; round++) {
    patcher all[THREADS] = {0};
    pthread_t threads[THREADS];
    atomic_bool over = false;
    char id[EP_ID_BYTES];
    job_submit(jobs, round % 3 == 0 ? "slow" : "instant", round % 3 == 0 ? 100000 : 50, id);
    if (round % 3 == 0) job_wait(jobs, id, "running"); /* slow by its name, which now changes */
    for (int i = 0; i < THREADS; i++) {
      all[i] = (patcher){.jobs = jobs, .over = &over, .number = i + 1};
      memcpy(all[i].id, id, sizeof id);
      pthread_create(&threads[i], NULL, patch_run, &all[i]);
    }
    if (round % 3 == 0) {
      for (int i = 0; i < 20; i++) one_patch_check(jobs, id);
      assert_ok(ep_jobs_cancel(jobs, id, error));
    }
    job_wait(jobs, id, round % 3 == 0 ? "cancelled" : "succeeded");
    one_patch_check(jobs, id);
    if (round % 3 == 2) {
      assert_ok(ep_jobs_delete(jobs, id, NULL, error));
    } else {
      atomic_store(&over, true);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
      ck_assert_int_eq(all[i].others, 0);
      changed += all[i].changed;
      refused += all[i].refused;
      gone += all[i].gone;
    }
    if (round % 3 != 2) one_patch_check(jobs, id);
  }
  printf("%d changes, %d came after the end, %d after the deletion\n", changed, refused, gone);
  ck_assert_int_gt(changed, ROUNDS);
  ck_assert_int_eq(gone, THREADS * ROUNDS / 3);
  ep_jobs_close(jobs);
}
END_TEST

/* Queued jobs get random priorities from several threads; memory and disk must agree in the end. */
START_TEST(memory_and_disk_agree) {
  enum { THREADS = 3 };
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], id[EP_ID_BYTES];
  patcher all[THREADS];
  pthread_t threads[THREADS];
  atomic_bool over = false;
  job_submit(jobs, "slow", 1000000, running);
  job_wait(jobs, running, "running");
  job_submit(jobs, "instant", 3, id);
  for (int i = 0; i < THREADS; i++) {
    all[i] = (patcher){.jobs = jobs, .over = &over, .number = i + 1};
    memcpy(all[i].id, id, sizeof id);
    pthread_create(&threads[i], NULL, patch_run, &all[i]);
  }
  for (int64_t until_us = ep_clock_steady_us() + 300000; ep_clock_steady_us() < until_us;)
    one_patch_check(jobs, id);
  atomic_store(&over, true);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  char *text = job_text(jobs, id), *queue = NULL;
  assert_ok(ep_jobs_queue(jobs, &(ep_viewer){0}, &queue, error));
  const char *row = strstr(queue, "\"position\":1");
  ck_assert_ptr_nonnull(row);
  ck_assert_int_eq(number_after(row, "\"priority\":"), number_after(text, "\"priority\":"));
  ck_assert_int_eq(number_after(row, "\"name\":\"n"), number_after(text, "\"priority\":"));
  free(text);
  free(queue);
  ep_jobs_close(jobs);
}
END_TEST

static uint64_t list_version(ep_jobs *jobs, const ep_job_page *page) {
  uint64_t version = 0;
  assert_ok(ep_jobs_list_version(jobs, page, &version, error));
  return version;
}

START_TEST(a_list_has_a_version) {
  const char *const tags[] = {"blue"};
  ep_job_page all = {.state = -1, .limit = 10}, first = {.state = -1, .limit = 1};
  ep_job_page blue = {.state = -1, .limit = 10, .tags = tags, .tags_count = 1, .summary = true};
  ep_jobs *jobs = jobs_open("cpu");
  char a[EP_ID_BYTES], b[EP_ID_BYTES], *text = NULL;
  uint64_t empty = list_version(jobs, &all);
  ck_assert_uint_eq(list_version(jobs, &all), empty);
  job_submit(jobs, "instant", 3, a);
  job_wait(jobs, a, "succeeded");
  uint64_t one = list_version(jobs, &all), one_first = list_version(jobs, &first);
  uint64_t none_blue = list_version(jobs, &blue);
  ck_assert_uint_ne(one, empty);
  job_submit(jobs, "instant", 3, b);
  job_wait(jobs, b, "succeeded");
  uint64_t two = list_version(jobs, &all), two_first = list_version(jobs, &first);
  ck_assert_uint_ne(two, one);
  ck_assert_uint_ne(two_first, one_first);
  ck_assert_uint_eq(list_version(jobs, &blue), none_blue);
  ck_assert_int_eq(label(jobs, a, "{\"tags\":[\"blue\",\"x\"]}"), EP_OK);
  ck_assert_uint_ne(list_version(jobs, &all), two);
  ck_assert_uint_eq(list_version(jobs, &first), two_first); /* only b is on that page */
  ck_assert_uint_ne(list_version(jobs, &blue), none_blue);
  assert_ok(ep_jobs_list(jobs, &blue, &text, error));
  ck_assert_int_eq(count_of(text, "\"object\":\"job\""), 1);
  ck_assert_ptr_nonnull(strstr(text, a));
  ck_assert_ptr_null(strstr(text, "\"spec\":"));
  free(text);
  two = list_version(jobs, &all);
  assert_ok(ep_jobs_delete(jobs, a, NULL, error));
  ck_assert_uint_ne(list_version(jobs, &all), two);
  ck_assert_uint_eq(list_version(jobs, &blue), none_blue);
  blue.limit = 0;
  ck_assert_int_eq(ep_jobs_list_version(jobs, &blue, &two, NULL), EP_INVALID);
  ep_jobs_close(jobs);
}
END_TEST

/* What runs changes the version; and the version that a reader has seen never goes with another
 * text: where it is the same before and after reading, the text is the same too. */
START_TEST(a_version_goes_with_one_text) {
  ep_job_page page = {.state = -1, .limit = 10};
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], *last = NULL;
  uint64_t last_version = 0;
  int versions = 0, compared = 0;
  for (int i = 0; i < 6; i++) job_submit(jobs, "instant", 200, id);
  for (int i = 0; i < 400; i++) {
    char *text = NULL;
    uint64_t before = list_version(jobs, &page);
    assert_ok(ep_jobs_list(jobs, &page, &text, error));
    bool still = list_version(jobs, &page) == before;
    if (still && last && before == last_version) {
      ck_assert_str_eq(text, last);
      compared++;
    }
    versions += before != last_version;
    free(last);
    last = still ? text : NULL;
    if (!still) free(text);
    last_version = before;
  }
  free(last);
  job_wait(jobs, id, "succeeded");
  printf("%d versions, %d texts compared\n", versions, compared);
  ck_assert_int_gt(versions, 1);
  ck_assert_int_gt(compared, 0);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("jobs_labels") {
  TCase *tests = ep_suite_case(suite, "jobs_labels");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, labels_change_at_any_time_and_stay);
  tcase_add_test(tests, labels_change_while_all_else_does);
  tcase_add_test(tests, memory_and_disk_agree);
  tcase_add_test(tests, a_list_has_a_version);
  tcase_add_test(tests, a_version_goes_with_one_text);
}
