/* Whole sweeps on the CPU: each trial is the job alone, each has one result, and a sweep that was
 * stopped goes on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec.h"
#include "engine/sweep/sweep.h"
#include "engine/training/train.h"
#include "engine/trials/sweep_search.h"
#include "engine/trials/trial_file.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { RESULTS = 4096 };

static ep_backend *backend;

typedef struct {
  ep_sweep_spec *spec;
  ep_sweep_run run;
  atomic_bool cancel, pause;
  int64_t pause_at; /* results; 0 = never */
  int64_t done;     /* that were there at the start */
  ep_trial_record records[RESULTS];
  int64_t count;
} fixture;

static void setup(void) {
  scratch_setup();
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void teardown(void) {
  ep_backend_cpu()->close(backend);
  scratch_teardown();
}

static void sweep_started(void *context, int64_t parameters, int64_t done) {
  fixture *f = context;
  ck_assert_int_gt(parameters, 0);
  f->done = done;
}

static ep_status sweep_results(void *context, const ep_trial_record *records, int64_t count,
                               ep_error *error) {
  fixture *f = context;
  ck_assert_int_le(f->count + count, RESULTS);
  memcpy(f->records + f->count, records, (size_t)count * sizeof *records);
  f->count += count;
  (void)error;
  if (f->pause_at > 0 && f->count >= f->pause_at) atomic_store(&f->pause, true);
  return EP_OK;
}

static void fixture_open(fixture *f, const char *text) {
  ep_problem problem = {0};
  memset(f, 0, sizeof *f);
  ck_assert_msg(ep_sweep_spec_parse(text, strlen(text), &f->spec, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  f->run = (ep_sweep_run){.sweep = f->spec,
                          .shared = {.backend_ops = ep_backend_cpu(),
                                     .backend = backend,
                                     .device = "cpu",
                                     .spec_text = "{}",
                                     .cancel = &f->cancel,
                                     .pause = &f->pause,
                                     .sink = {.context = f}},
                          .folder = scratch_root,
                          .started = sweep_started,
                          .results = sweep_results};
}

static ep_status fixture_train(fixture *f, ep_job_result *result) {
  ep_error error = {0};
  ck_assert_msg(ep_sweep_train(&f->run, result, &error) == EP_OK, "%s", error.message);
  return result->status;
}

/* Results are in the order of their numbers, each once. */
static void order_check(const fixture *f, int64_t first) {
  for (int64_t i = 0; i < f->count; i++) ck_assert_int_eq(f->records[i].number, first + i);
}

#define DATA "\"data\":{\"generator\":\"disc\",\"rows\":60"
#define REST                                                                                       \
  "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":5},{\"type\":\"tanh\"},{\"type\":" \
  "\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_logits\",\"batch_size\":16,\"epochs\":20"
#define SWEEP(data, extra)                                                                  \
  "{\"job\":{" DATA data "}," REST "},\"space\":{\"/optimizer/lr\":{\"log_uniform\":[0.01," \
  "1]},\"/model/layers/0/out_features\":{\"int_uniform\":[2,9]},\"/seed\":{\"values\":[3,"  \
  "4,5]}}" extra "}"

/* The job of a record by itself, as its user would send it. */
static void alone_check(const fixture *f, const ep_trial_record *record) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_error error = {0};
  ck_assert_int_eq(ep_sweep_trial_make(f->spec, record->point, record->part, &spec, &problem),
                   EP_OK);
  ep_training training = f->run.shared;
  training.spec = spec;
  training.sink = (ep_train_sink){0};
  training.epochs_most = record->epochs;
  ep_job_result result;
  ck_assert_int_eq(ep_train(&training, &result, &error), EP_OK);
  ck_assert_int_eq(result.status, record->status);
  ck_assert_int_eq(result.epochs_done, record->epochs_done);
  ck_assert(record->metric == result.validation.loss); /* the same bits */
  ck_assert(record->metrics[EP_SPLIT_TRAIN][0] == result.train.loss);
  ck_assert(record->metrics[EP_SPLIT_TEST][0] == result.test.loss);
  ep_job_result_deinit(&result);
  ep_job_spec_destroy(spec);
}

START_TEST(each_trial_is_the_job_alone) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, SWEEP(",\"validation\":0.25", ",\"max_trials\":60"));
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_int_eq(result.epochs_done, 60);
  ck_assert_int_eq(f->count, 60);
  order_check(f, 1);
  for (int i = 0; i < 60; i++) {
    ck_assert_int_eq(f->records[i].trial, i);
    ck_assert(isfinite(f->records[i].metric));
    alone_check(f, &f->records[i]);
  }
  ck_assert(f->records[0].metric != f->records[1].metric);
  ep_job_result_deinit(&result);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

START_TEST(a_fault_of_the_job_stands_below_it) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, "{\"job\":{" DATA
                  "},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":3}]},\"loss\":"
                  "\"bce_with_logits\",\"epochs\":2},\"space\":{\"/seed\":{\"values\":[3,4]}}}");
  ck_assert_int_eq(fixture_train(f, &result), EP_INVALID);
  ck_assert_str_eq(result.pointer, "/job/model/layers/0/out_features");
  ep_job_result_deinit(&result);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

START_TEST(folds_and_repeats_are_parts) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, "{\"job\":{" DATA "}," REST "},\"space\":{\"/optimizer/lr\":{\"values\":[0.1,0.5"
                  "]}},\"search\":\"grid\",\"folds\":3,\"repeats\":2}");
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_int_eq(f->count, 12);
  order_check(f, 1);
  for (int i = 0; i < 12; i++) {
    ck_assert_int_eq(f->records[i].trial, i / 6);
    ck_assert_int_eq(f->records[i].part, i % 6);
    alone_check(f, &f->records[i]);
  }
  ck_assert(f->records[0].metric != f->records[1].metric);
  ep_job_result_deinit(&result);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

/* search: its name. Undisturbed, and in pieces: paused after a few results, some of which the log
 * has not. */
static void times_clear(ep_trial_record *record) {
  record->seconds = record->test_seconds = 0;
  record->epoch_microseconds = record->samples_per_second = 0;
}

START_TEST(a_stopped_sweep_goes_on_as_if_nothing_were) {
  static const char *const searches[] = {
      ",\"max_trials\":40", ",\"max_trials\":40,\"search\":\"sobol\"",
      ",\"max_trials\":40,\"search\":\"tpe\"",
      ",\"max_trials\":27,\"search\":\"asha\",\"max_parallel\":4,\"asha\":{\"min_epochs\":2}"};
  char text[1024];
  snprintf(text, sizeof text, "%s", SWEEP(",\"validation\":0.25", ""));
  snprintf(text + strlen(text) - 1, sizeof text - strlen(text), "%s}", searches[_i]);
  fixture *whole = malloc(sizeof *whole), *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(whole, text);
  ck_assert_int_eq(fixture_train(whole, &result), EP_OK);
  ck_assert_int_ge(whole->count, 27);
  ck_assert_int_eq(unlink(scratch_file(EP_TRIALS_FILE)), 0);
  fixture_open(f, text);
  ep_trial_record *all = calloc((size_t)whole->count + RESULTS, sizeof *all);
  int64_t told = 0;
  for (int attempt = 0; attempt < 100; attempt++) {
    f->count = 0;
    f->pause_at = 5;
    f->run.logged = told > 2 ? told - 2 : 0; /* the log lacks two that the file has */
    atomic_store(&f->pause, false);
    ep_status status = fixture_train(f, &result);
    if (attempt > 0) ck_assert_int_eq(f->done, f->run.logged);
    if (f->count > 0) order_check(f, f->run.logged + 1);
    memcpy(all + f->run.logged, f->records, (size_t)f->count * sizeof *all);
    told = f->run.logged + f->count;
    if (status == EP_OK) break;
    ck_assert_int_eq(status, EP_PAUSED);
    if (attempt == 2) { /* the file is torn */
      off_t two = 2 * (off_t)(sizeof(ep_trial_record) + 24);
      ck_assert_int_eq(truncate(scratch_file(EP_TRIALS_FILE), two + 36), 0);
      told = 2;
    }
  }
  ck_assert_int_eq(told, whole->count);
  for (int64_t i = 0; i < told; i++) {
    times_clear(&all[i]); /* all else is the same, to the bit */
    times_clear(&whole->records[i]);
    ck_assert_msg(memcmp(&all[i], &whole->records[i], sizeof *all) == 0, "number %d", (int)i + 1);
  }
  free(all);
  ep_sweep_spec_destroy(f->spec);
  ep_sweep_spec_destroy(whole->spec);
  free(whole);
  free(f);
}
END_TEST

START_TEST(a_trial_that_diverges_or_cannot_be_is_worse_than_any) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(
      f, "{\"job\":{\"data\":{\"inline\":{\"x\":[[1],[2],[3],[4]],\"y\":[1,2,3,4]}},"
         "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},\"loss\":"
         "\"mse\",\"epochs\":200},\"space\":{\"/optimizer/lr\":{\"values\":[0.01,10]},"
         "\"/model/layers/0/out_features\":{\"values\":[1,2]}},\"search\":\"grid\",\"metric\":"
         "\"train.mse\"}");
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_int_eq(f->count, 4);
  ck_assert_int_eq(f->records[0].status, EP_OK);
  ck_assert(f->records[0].metric < 0.5);
  ck_assert_int_eq(f->records[1].status, EP_INVALID); /* two outputs, one target */
  ck_assert_int_eq(f->records[2].status, EP_DIVERGED);
  for (int i = 1; i < 4; i++) ck_assert(isnan(f->records[i].metric));
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

START_TEST(it_ends_when_its_seconds_are_over) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, SWEEP(",\"validation\":0.25", ",\"max_trials\":1000000,\"max_seconds\":0.05"));
  f->run.logged = 0;
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_str_eq(result.stopped, "max_seconds");
  ck_assert_int_eq(result.epochs_done, f->count);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

START_TEST(the_count_of_trainings_is_checked) {
  fixture *f = malloc(sizeof *f);
  ep_problem problem = {0};
  int64_t count = 0;
  fixture_open(f, SWEEP(",\"validation\":0.25", ",\"max_trials\":7,\"repeats\":1"));
  ck_assert_int_eq(ep_sweep_count(f->spec, &count, &problem), EP_OK);
  ck_assert_int_eq(count, 7);
  f->spec->search = EP_SEARCH_GRID;
  ck_assert_int_eq(ep_sweep_count(f->spec, &count, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/space");
  ep_sweep_spec_destroy(f->spec);
  fixture_open(f, "{\"job\":{" DATA "}," REST "},\"space\":{\"/seed\":{\"int_uniform\":[1,9]}},"
                  "\"search\":\"grid\",\"max_trials\":8,\"metric\":\"train.loss\"}");
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_sweep_count(f->spec, &count, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/max_trials");
  f->spec->max_trials = 9;
  ck_assert_int_eq(ep_sweep_count(f->spec, &count, &problem), EP_OK);
  ck_assert_int_eq(count, 9);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}
END_TEST

EP_SUITE("engine/sweep") {
  TCase *tests = ep_suite_case(suite, "sweep");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, each_trial_is_the_job_alone);
  tcase_add_test(tests, a_fault_of_the_job_stands_below_it);
  tcase_add_test(tests, folds_and_repeats_are_parts);
  tcase_add_loop_test(tests, a_stopped_sweep_goes_on_as_if_nothing_were, 0, 4);
  tcase_add_test(tests, a_trial_that_diverges_or_cannot_be_is_worse_than_any);
  tcase_add_test(tests, it_ends_when_its_seconds_are_over);
  tcase_add_test(tests, the_count_of_trainings_is_checked);
}
