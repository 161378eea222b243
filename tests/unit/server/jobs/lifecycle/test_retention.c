/* Tests of server/jobs/lifecycle/retention.c with fake workers: what retention deletes, and what it
 * leaves. Its thread runs at the start and every two seconds. */
#include <string.h>

#include "server/jobs/lifecycle/retention.h"
#include "server/jobs/models.h"
#include "server/metrics/metrics.h"
#include "server/store/models.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

static bool exists(ep_jobs *jobs, const char *id) {
  return ep_store_job_exists(jobs->store, id);
}

static void label(ep_jobs *jobs, const char *id, const char *json) {
  ep_problem problem = {0};
  ck_assert_int_eq(ep_jobs_label(jobs, id, json, strlen(json), false, &problem), EP_OK);
}

static void submit(ep_jobs *jobs, const char *name, const char *fields, char id[EP_ID_BYTES]) {
  char spec[512];
  bool repeated;
  ep_problem problem = {0};
  snprintf(spec, sizeof spec,
           "{\"name\":\"%s\",\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":"
           "\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":3%s}",
           name, fields);
  ep_status status = ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)}, id,
                                    &repeated, &problem);
  ck_assert_msg(status == EP_OK, "%s %s", problem.detail, problem.errors[0].pointer);
}

static void finish(ep_jobs *jobs, const char *name, const char *fields, char id[EP_ID_BYTES]) {
  submit(jobs, name, fields, id);
  job_wait(jobs, id, "succeeded");
}

/* Names a model of the job, as results/models.c does. */
static void publish(ep_jobs *jobs, const char *id) {
  ep_model model = {0};
  bool created;
  snprintf(model.name, sizeof model.name, "published");
  snprintf(model.job, sizeof model.job, "%s", id);
  assert_ok(ep_store_model_put(jobs->store, &model, false, &created, error));
}

START_TEST(a_job_goes_when_its_ttl_is_over) {
  ep_jobs *jobs = jobs_open("cpu");
  char gone[EP_ID_BYTES], later[EP_ID_BYTES], without[EP_ID_BYTES], pinned[EP_ID_BYTES];
  uint64_t before = atomic_load(&EP_METRICS.counters[EP_COUNTER_JOBS_EXPIRED]);
  finish(jobs, "instant", ",\"ttl_seconds\":1,\"pinned\":true", pinned);
  finish(jobs, "instant", ",\"ttl_seconds\":1000", later);
  finish(jobs, "instant", "", without);
  finish(jobs, "instant", ",\"ttl_seconds\":1", gone);
  wait_until(!exists(jobs, gone));
  wait_until(jobs_folders() == 3);
  ck_assert(exists(jobs, pinned) && exists(jobs, later) && exists(jobs, without));
  wait_until(atomic_load(&EP_METRICS.counters[EP_COUNTER_JOBS_EXPIRED]) == before + 1);
  label(jobs, pinned, "{\"pinned\":false}");
  wait_until(!exists(jobs, pinned));
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_pinned_job_says_so) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], *text;
  finish(jobs, "instant", "", id);
  label(jobs, id, "{\"pinned\":true}");
  text = job_text(jobs, id);
  ck_assert_ptr_nonnull(
      strstr(text, "\"priority\":0,\"pinned\":true,\"visibility\":\"public\",\"status\""));
  ck_assert_ptr_nonnull(
      strstr(text, "\"spec\":{\"name\":\"instant\",\"tags\":[],\"notes\":null,\"priority\":0,"
                   "\"pinned\":true,"));
  free(text);
  ep_job_page page = {.state = -1, .limit = 10, .summary = true};
  assert_ok(ep_jobs_list(jobs, &page, &text, error));
  ck_assert_ptr_nonnull(strstr(text, "\"pinned\":true"));
  free(text);
  ck_assert_int_eq(ep_job_expire(jobs, id, NULL), EP_CONFLICT);
  assert_ok(ep_jobs_delete(jobs, id, NULL, error)); /* a client may */
  ep_jobs_close(jobs);
}
END_TEST

/* The day has passed for jobs whose rows are made older. */
START_TEST(old_jobs_go_but_those_that_are_needed) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char young[EP_ID_BYTES], model[EP_ID_BYTES], init[EP_ID_BYTES], pinned[EP_ID_BYTES];
  char old[EP_ID_BYTES];
  char *const aged[] = {model, init, pinned, old};
  options.keep_seconds = 86400;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  finish(jobs, "instant", "", model);
  finish(jobs, "instant", "", init);
  finish(jobs, "instant", ",\"pinned\":true", pinned);
  finish(jobs, "instant", "", old);
  finish(jobs, "instant", "", young);
  publish(jobs, model);
  ck_assert(ep_pins_add(&jobs->contents.pins, init)); /* as a job that starts from its weights */
  for (size_t i = 0; i < sizeof aged / sizeof *aged; i++) {
    ep_job_row row;
    assert_ok(ep_store_job_get(jobs->store, aged[i], &row, error));
    row.finished_us -= INT64_C(2) * 86400 * 1000000 - (int64_t)i;
    assert_ok(ep_store_job_update(jobs->store, &row, error));
    ep_job_row_deinit(&row);
  }
  wait_until(!exists(jobs, old)); /* the last of those that are old enough */
  ck_assert(exists(jobs, young) && exists(jobs, model) && exists(jobs, pinned));
  ck_assert(exists(jobs, init));
  ep_pins_remove(&jobs->contents.pins, init);
  wait_until(!exists(jobs, init));
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(the_oldest_go_while_there_is_too_much) {
  enum { JOBS = 6 };
  ep_jobs *jobs = jobs_open("cpu");
  char id[JOBS][EP_ID_BYTES];
  for (int i = 0; i < JOBS; i++) finish(jobs, "instant", i == 0 ? ",\"pinned\":true" : "", id[i]);
  ep_jobs_close(jobs);
  ep_jobs_options options = jobs_options("cpu");
  options.keep_bytes = 1; /* measures them */
  assert_ok(ep_jobs_open(&options, &jobs, error));
  wait_until(!exists(jobs, id[JOBS - 1]));
  ck_assert(exists(jobs, id[0]));
  for (int i = 1; i < JOBS; i++) ck_assert(!exists(jobs, id[i]));
  for (int i = 1; i < JOBS; i++) finish(jobs, "instant", ",\"pinned\":true", id[i]);
  ep_jobs_close(jobs);

  int64_t bytes = 0;
  jobs = jobs_open("cpu");
  for (int i = 0; i < JOBS; i++) {
    assert_ok(ep_store_measure(jobs->store, id[i], 1000, error));
    label(jobs, id[i], "{\"pinned\":false}");
  }
  assert_ok(ep_store_retained_bytes(jobs->store, &bytes, error));
  ck_assert_int_eq(bytes, JOBS * 1000);
  ep_jobs_close(jobs);
  options.keep_bytes = 3500;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  wait_until(!exists(jobs, id[2]));
  for (int i = 0; i < JOBS; i++) ck_assert_int_eq(exists(jobs, id[i]), i >= 3);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("retention") {
  TCase *tests = ep_suite_case(suite, "retention");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, a_job_goes_when_its_ttl_is_over);
  tcase_add_test(tests, a_pinned_job_says_so);
  tcase_add_test(tests, old_jobs_go_but_those_that_are_needed);
  tcase_add_test(tests, the_oldest_go_while_there_is_too_much);
}
