/* Which device a job gets, and what runs beside what. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/placement/room.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

START_TEST(auto_takes_the_kind_that_the_plan_thinks_faster) {
  ep_jobs *jobs = jobs_open("cpu,cuda:0");
  char id[EP_ID_BYTES];
  devices_wait(jobs, "\"state\":\"idle\"", 2);
  job_submit(jobs, "instant", 10, id); /* a job of microseconds: no launch is worth it */
  job_wait(jobs, id, "succeeded");
  char *text = job_text(jobs, id);
  ck_assert_msg(strstr(text, "\"executor\":\"fake/cpu\"") != NULL, "%s", text);
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

/* A program whose kernel must be compiled first is left to the CPU; asked for again and again, it
 * is worth it. */
START_TEST(a_start_is_paid_once) {
  static const char spec[] =
      "{\"name\":\"instant\",\"data\":{\"generator\":\"disc\",\"rows\":8000},\"model\":{"
      "\"layers\":"
      "["
      "{\"type\":\"linear\",\"out_features\":4},{\"type\":\"relu\"},"
      "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"batch_size\":\"full\","
      "\"epochs\":%d,\"report_every\":%d}";
  FILE *busy = fopen(scratch_path("busy"), "w"); /* usual costs: nothing is measured meanwhile */
  ck_assert(busy && fclose(busy) == 0);
  ep_jobs *jobs = jobs_open("cpu,cuda:0");
  char text[512], id[EP_ID_BYTES];
  /* A fifth of a second on a core, by the usual costs; compiling takes twice that. */
  const int epochs = 12000;
  int first_on_cuda = -1;
  snprintf(text, sizeof text, spec, epochs, epochs);
  devices_wait(jobs, "\"state\":\"idle\"", 2);
  for (int i = 0; i < 5 && first_on_cuda < 0; i++) {
    bool repeated;
    ep_problem problem = {0};
    ck_assert_int_eq(ep_jobs_submit(jobs, &(ep_submission){.json = text, .bytes = strlen(text)}, id,
                                    &repeated, &problem),
                     EP_OK);
    job_wait(jobs, id, "succeeded");
    char *answer = job_text(jobs, id);
    if (strstr(answer, "\"executor\":\"fake/cuda:0\"")) first_on_cuda = i;
    free(answer);
  }
  ck_assert_int_ge(first_on_cuda, 1);
  ep_jobs_close(jobs);
}
END_TEST

/* Jobs that run on the first device. */
static int jobs_count(ep_jobs *jobs) {
  char *text = devices_text(jobs), *list = strstr(text, "\"jobs\":[");
  ck_assert_ptr_nonnull(list);
  *strchr(list, ']') = 0;
  int count = count_of(list, "\"job_");
  free(text);
  return count;
}

/* The death of one worker takes one job along. */
START_TEST(jobs_run_side_by_side) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char ids[4][EP_ID_BYTES];
  options.cpu_jobs = 3;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  for (int i = 0; i < 4; i++) job_submit(jobs, "slow", 400, ids[i]);
  wait_until(jobs_count(jobs) == 3);
  ck_assert(job_has(jobs, ids[3], "queued"));
  wait_until(job_number(jobs, ids[0], "\"epoch\":") >= 1); /* else it was no attempt */
  kill((pid_t)device_number(jobs, "\"pid\":"), SIGKILL);   /* of the first worker */
  for (int i = 0; i < 4; i++) {
    job_wait(jobs, ids[i], "succeeded");
    ck_assert_int_eq(job_number(jobs, ids[i], "\"attempt\":"), i == 0 ? 2 : 1);
  }
  wait_until(jobs_count(jobs) == 0);
  ep_jobs_close(jobs);
}
END_TEST

/* A product for all threads: nothing runs beside it, and nothing passes it. */
START_TEST(a_job_of_many_cores_runs_alone) {
  static const char wide[] =
      "{\"name\":\"slow\",\"data\":{\"generator\":\"disc\",\"rows\":4000},\"model\":{\"layers\":"
      "[{\"type\":\"linear\",\"out_features\":256},{\"type\":\"linear\",\"out_features\":1}]},"
      "\"loss\":\"mse\",\"clip\":{\"norm\":1},\"batch_size\":\"full\",\"epochs\":100000}";
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char before[EP_ID_BYTES], large[EP_ID_BYTES], after[EP_ID_BYTES];
  bool repeated;
  ep_problem problem = {0};
  options.cpu_jobs = 3;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "slow", 100000, before);
  job_wait(jobs, before, "running");
  ck_assert_int_eq(ep_jobs_submit(jobs, &(ep_submission){.json = wide, .bytes = strlen(wide)},
                                  large, &repeated, &problem),
                   EP_OK);
  job_submit(jobs, "instant", 10, after);
  worker_wait(jobs, 1, EP_DEVICE_IDLE);
  supervisor_round(jobs);
  ck_assert_int_eq(jobs_count(jobs), 1);
  ck_assert(job_has(jobs, large, "queued") && job_has(jobs, after, "queued"));
  if (_i == 1) { /* what it held up begins beside the first */
    assert_ok(ep_jobs_cancel(jobs, large, error));
    job_wait(jobs, after, "succeeded");
    job_wait(jobs, before, "running");
    ep_jobs_close(jobs);
    return;
  }
  assert_ok(ep_jobs_cancel(jobs, before, error));
  job_wait(jobs, large, "running");
  worker_wait(jobs, 1, EP_DEVICE_IDLE);
  supervisor_round(jobs);
  ck_assert(job_has(jobs, after, "queued"));
  assert_ok(ep_jobs_cancel(jobs, large, error));
  job_wait(jobs, after, "succeeded");
  ep_jobs_close(jobs);
}
END_TEST

static ep_jobs *jobs_open_with(int64_t memory_bytes_max) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  options.cpu_jobs = 3;
  options.memory_bytes_max = memory_bytes_max;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  return jobs;
}

/* A job that takes more than its plan and some room says so and ends, at once; so do those after
 * it, of the same worker. */
START_TEST(memory_has_a_bound) {
#ifndef EP_SANITIZED
  char greedy[EP_ID_BYTES], other[EP_ID_BYTES];
  ep_jobs *jobs = jobs_open_with(1 << 20);
  job_submit(jobs, "greedy", 10, greedy);
  job_wait(jobs, greedy, "failed");
  char *text = job_text(jobs, greedy);
  ck_assert_msg(strstr(text, "out_of_memory") && strstr(text, "\"attempt\":1") &&
                    strstr(text, "MiB by its plan, and its worker may allocate "),
                "%s", text);
  free(text);
  job_submit(jobs, "instant", 10, other);
  job_wait(jobs, other, "succeeded");
  ep_jobs_close(jobs);
#endif
}
END_TEST

START_TEST(bounds_leave_room) {
  const int64_t mib = 1 << 20;
  ck_assert_int_ge(ep_room_bound(100 * mib), (100 + 4096 + 256) * mib);
  ck_assert_int_le(ep_room_bound(100 * mib), (100 + 4096 + 256 * 65536) * mib);
  ck_assert_int_eq(ep_room_bound(mib << 32), mib << 33);
  ck_assert_int_eq(ep_room_bound(INT64_MAX - 1), INT64_MAX);
}
END_TEST

/* By its plan a job takes memory; where there is not enough for two at once, the second waits, and
 * where there is never enough for one, it is refused. */
START_TEST(memory_is_reserved) {
  char first[EP_ID_BYTES], second[EP_ID_BYTES], spec[512];
  ep_problem problem = {0};
  bool repeated;
  ep_jobs *jobs = jobs_open_with(0);
  job_submit(jobs, "instant", 10, first);
  int64_t bytes = job_number(jobs, first, "\"bytes\":");
  ck_assert_int_gt(bytes, 100);
  job_wait(jobs, first, "succeeded");
  ep_jobs_close(jobs);

  jobs = jobs_open_with(2 * bytes - 1);
  job_submit(jobs, "slow", 100000, first);
  job_wait(jobs, first, "running");
  job_submit(jobs, "instant", 10, second);
  worker_wait(jobs, 1, EP_DEVICE_IDLE);
  supervisor_round(jobs);
  ck_assert(job_has(jobs, second, "queued"));
  assert_ok(ep_jobs_cancel(jobs, first, error));
  job_wait(jobs, second, "succeeded");
  ep_jobs_close(jobs);

  jobs = jobs_open_with(2 * bytes);
  job_submit(jobs, "slow", 100000, first);
  job_wait(jobs, first, "running");
  job_submit(jobs, "instant", 10, second);
  job_wait(jobs, second, "succeeded"); /* beside it */
  ck_assert(job_has(jobs, first, "running"));
  ep_jobs_close(jobs);

  jobs = jobs_open_with(1);
  spec_write(spec, sizeof spec, "instant", 10, "cpu", 0);
  ck_assert_int_eq(ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)},
                                  second, &repeated, &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/model");
  ck_assert_ptr_nonnull(strstr(problem.detail, "MiB"));
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("placing") {
  TCase *tests = ep_suite_case(suite, "placing");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, auto_takes_the_kind_that_the_plan_thinks_faster);
  tcase_add_test(tests, a_start_is_paid_once);
  tcase_add_test(tests, jobs_run_side_by_side);
  tcase_add_test(tests, memory_is_reserved);
  tcase_add_test(tests, memory_has_a_bound);
  tcase_add_test(tests, bounds_leave_room);
  tcase_add_loop_test(tests, a_job_of_many_cores_runs_alone, 0, 2);
}
