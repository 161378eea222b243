/* A sweep and its helpers in one process, without epochd between them: whoever trains a point, the
 * results are those of one worker, each once and in order; also where a helper is lost. */
#include "engine/sweep/sharing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/names.h"
#include "engine/sweep/help.h"
#include "engine/sweep/sweep.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { RESULTS = 4096, HELPERS = 3 };

static ep_backend *backend;

struct fixture;

typedef struct {
  struct fixture *fixture;
  uint64_t lease;
  ep_sweep_help *help;
  pthread_t thread;
  atomic_bool cancel;
  atomic_llong trained; /* results that it has sent */
  atomic_int slots;     /* 0 = it is not ready */
  bool together;
} helper;

/* What goes wrong; 0 = never. */
typedef struct {
  int64_t lose_at; /* results of the first helper, after which it is lost */
  int64_t fail_at; /* frames of points, of which the last one cannot be made */
  int64_t mute_at; /* results of the first helper, of which it cannot tell the last one */
  bool rogue;      /* results of helpers are told twice, and others of no point, and of points that
                      another helper has */
} trouble;

typedef struct fixture {
  ep_sweep_spec *spec;
  ep_sweep_run run;
  ep_sweep_sharing *sharing;
  atomic_bool cancel, pause;
  helper helpers[HELPERS];
  int helpers_count; /* that it gets */
  trouble has;
  int64_t frames;          /* of points */
  pthread_mutex_t mutex;   /* guards owner */
  uint64_t owner[RESULTS]; /* of the point with the number n at n - 1: a lease */
  bool waits;              /* until a helper has points */
  atomic_bool handed;      /* one has */
  atomic_llong forged;     /* results of points of others */
  atomic_int wanted;       /* that the sweep asked for; -1 = it has not */
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

static void helpers_say(fixture *f, int first) {
  uint64_t leases[HELPERS];
  int count = 0;
  for (int i = first; i < f->helpers_count; i++) leases[count++] = f->helpers[i].lease;
  ep_sweep_sharing_set(f->sharing, leases, count);
}

static void results_tell(helper *h, const ep_trial_record *records, int64_t count) {
  ep_points points = {.lease = h->lease,
                      .count = (uint32_t)count,
                      .slots = atomic_load(&h->slots),
                      .together = h->together,
                      .results = records};
  ep_sweep_sharing_results(h->fixture->sharing, &points);
}

static ep_status help_ready(void *context, int64_t slots, bool together, ep_error *error) {
  helper *h = context;
  (void)error;
  h->together = together;
  atomic_store(&h->slots, (int)slots);
  results_tell(h, NULL, 0);
  return EP_OK;
}

/* Results of all points that others have. */
static void others_tell(helper *h, ep_trial_record forged) {
  uint64_t owner[RESULTS];
  fixture *f = h->fixture;
  pthread_mutex_lock(&f->mutex);
  memcpy(owner, f->owner, sizeof owner);
  pthread_mutex_unlock(&f->mutex);
  for (int i = 0; i < RESULTS; i++) {
    if (owner[i] == 0 || owner[i] == h->lease) continue;
    forged.number = i + 1;
    results_tell(h, &forged, 1);
    atomic_fetch_add(&f->forged, 1);
  }
}

static ep_status help_results(void *context, const ep_trial_record *records, int64_t count,
                              ep_error *error) {
  helper *h = context;
  fixture *f = h->fixture;
  if (f->has.rogue) {
    ep_trial_record other = records[0];
    other.metric = -1;
    for (int64_t number = -1; number < 200; number += 67) {
      other.number = number;
      if (number != records[0].number)
        results_tell(&(helper){.fixture = f, .lease = 99}, &other, 1);
    }
    other.number = INT64_MAX;
    results_tell(h, &other, 1);
    others_tell(h, other);
  }
  const int64_t trained = atomic_fetch_add(&h->trained, count) + count;
  if (h == &f->helpers[0] && f->has.mute_at > 0 && trained >= f->has.mute_at)
    return ep_fail(error, EP_NO_MEMORY, "no memory for results");
  results_tell(h, records, count);
  if (f->has.rogue) results_tell(h, records, count);
  if (h == &f->helpers[0] && f->has.lose_at > 0 && trained >= f->has.lose_at) helpers_say(f, 1);
  return EP_OK;
}

static void *helper_thread(void *context) {
  helper *h = context;
  ep_error error = {0};
  ep_sweep_run run = {.sweep = h->fixture->spec, .shared = h->fixture->run.shared};
  run.shared.cancel = &h->cancel;
  run.shared.pause = NULL;
  run.shared.sink = (ep_train_sink){.context = h};
  run.results = help_results;
  ep_status status = ep_sweep_help_run(h->help, &run, help_ready, &error);
  if (status == EP_NO_MEMORY && h->fixture->has.mute_at > 0) {
    helpers_say(h->fixture, 1); /* as epochd does, which it tells so */
    return NULL;
  }
  ck_assert_msg(status == EP_OK, "%s", error.message);
  return NULL;
}

static void sweep_wants(void *context, int helpers) {
  fixture *f = context;
  atomic_store(&f->wanted, helpers);
  for (int i = 0; i < f->helpers_count; i++) {
    helper *h = &f->helpers[i];
    h->fixture = f;
    h->lease = (uint64_t)(10 + i);
    h->help = ep_sweep_help_create();
  }
  helpers_say(f, 0); /* as epochd does, before anything comes from them */
  for (int i = 0; i < f->helpers_count; i++) {
    helper *h = &f->helpers[i];
    ck_assert_int_eq(pthread_create(&h->thread, NULL, helper_thread, h), 0);
  }
}

static ep_status sweep_points(void *context, uint64_t lease, const ep_trial_point *points,
                              int64_t count, ep_error *error) {
  fixture *f = context;
  ck_assert_int_gt(count, 0);
  atomic_store(&f->handed, true);
  if (++f->frames == f->has.fail_at) return ep_fail(error, EP_NO_MEMORY, "no memory for points");
  pthread_mutex_lock(&f->mutex);
  for (int64_t i = 0; i < count; i++) f->owner[points[i].number - 1] = lease;
  pthread_mutex_unlock(&f->mutex);
  ck_assert_int_eq(ep_sweep_help_add(f->helpers[lease - 10].help, points, count, NULL), EP_OK);
  return EP_OK;
}

/* The sweep's own worker does not get ahead: helpers have points before its first training ends. */
static void sweep_alive(void *context) {
  fixture *f = context;
  while (f->waits && atomic_load(&f->wanted) > 0 && !atomic_load(&f->handed)) usleep(1000);
}

static ep_status sweep_results(void *context, const ep_trial_record *records, int64_t count,
                               ep_error *error) {
  fixture *f = context;
  (void)error;
  ck_assert_int_le(f->count + count, RESULTS);
  memcpy(f->records + f->count, records, (size_t)count * sizeof *records);
  f->count += count;
  return EP_OK;
}

static void fixture_open(fixture *f, const char *text, int helpers) {
  ep_problem problem = {0};
  memset(f, 0, sizeof *f);
  f->helpers_count = helpers;
  f->sharing = ep_sweep_sharing_create();
  pthread_mutex_init(&f->mutex, NULL);
  atomic_store(&f->wanted, -1);
  ck_assert_msg(ep_sweep_spec_parse(text, strlen(text), &f->spec, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  f->run = (ep_sweep_run){.sweep = f->spec,
                          .shared = {.backend_ops = ep_backend_cpu(),
                                     .backend = backend,
                                     .device = "cpu",
                                     .spec_text = "{}",
                                     .cancel = &f->cancel,
                                     .pause = &f->pause,
                                     .sink = {.context = f, .alive = sweep_alive}},
                          .folder = scratch_root,
                          .results = sweep_results,
                          .sharing = helpers > 0 ? f->sharing : NULL,
                          .wants = sweep_wants,
                          .points = sweep_points};
}

/* Trains it and ends its helpers; each result once, in order. */
static ep_status fixture_train(fixture *f, ep_job_result *result) {
  ep_error error = {0};
  ck_assert_msg(ep_sweep_train(&f->run, result, &error) == EP_OK, "%s", error.message);
  for (int i = 0; i < f->helpers_count && f->helpers[i].help; i++) {
    helper *h = &f->helpers[i];
    atomic_store(&h->cancel, true);
    ep_sweep_help_wake(h->help);
    ck_assert_int_eq(pthread_join(h->thread, NULL), 0);
    ep_sweep_help_destroy(h->help);
  }
  for (int64_t i = 0; i < f->count; i++) ck_assert_int_eq(f->records[i].number, i + 1);
  return result->status;
}

static void fixture_close(fixture *f) {
  unlink(scratch_file(EP_TRIALS_FILE));
  ep_sweep_sharing_destroy(f->sharing);
  ep_sweep_spec_destroy(f->spec);
  free(f);
}

static void times_clear(ep_trial_record *record) {
  record->seconds = record->test_seconds = 0;
  record->epoch_microseconds = record->samples_per_second = 0;
}

#define SWEEP(extra)                                                                               \
  "{\"job\":{\"data\":{\"generator\":\"disc\",\"rows\":60,\"validation\":0.25},\"model\":{"        \
  "\"layers\":[{\"type\":\"linear\",\"out_features\":5},{\"type\":\"tanh\"},{\"type\":"            \
  "\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_logits\",\"batch_size\":16,\"epochs\":60}" \
  ",\"space\":{\"/optimizer/lr\":{\"log_uniform\":[0.01,1]}}" extra "}"

static const char *const searches[] = {
    SWEEP(",\"max_trials\":200"), SWEEP(",\"max_trials\":60,\"search\":\"tpe\""),
    SWEEP(",\"max_trials\":60,\"search\":\"asha\",\"asha\":{\"min_epochs\":4}"),
    SWEEP(",\"max_trials\":40,\"repeats\":3,\"search\":\"sobol\"")};

/* As on one worker, to the bit. Returns what helpers have trained. */
static int64_t same_check(const char *text, int helpers, trouble has) {
  fixture *alone = malloc(sizeof *alone), *f = malloc(sizeof *f);
  ep_job_result result;
  int64_t helped = 0;
  fixture_open(alone, text, 0);
  ck_assert_int_eq(fixture_train(alone, &result), EP_OK);
  unlink(scratch_file(EP_TRIALS_FILE));
  fixture_open(f, text, helpers);
  f->has = has;
  f->waits = text == searches[0]; /* others may know no further point before a training ends */
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_int_gt(atomic_load(&f->wanted), 0);
  ck_assert_int_eq(f->count, alone->count);
  for (int64_t i = 0; i < f->count; i++) {
    times_clear(&f->records[i]);
    times_clear(&alone->records[i]);
    ck_assert_msg(memcmp(&f->records[i], &alone->records[i], sizeof *f->records) == 0, "number %d",
                  (int)i + 1);
  }
  if (has.rogue) ck_assert_int_gt(atomic_load(&f->forged), 0);
  for (int i = 0; i < helpers; i++) helped += atomic_load(&f->helpers[i].trained);
  fixture_close(alone);
  fixture_close(f);
  return helped;
}

START_TEST(the_results_are_those_of_one_worker) {
  for (int helpers = 1; helpers <= HELPERS; helpers++) {
    const int64_t helped = same_check(searches[_i], helpers, (trouble){0});
    if (_i == 0) ck_assert_int_gt(helped, 0);
  }
}
END_TEST

START_TEST(the_points_of_a_lost_helper_are_trained_elsewhere) {
  for (int lose_at = 1; lose_at < 20; lose_at += 6)
    same_check(searches[_i], 2, (trouble){.lose_at = lose_at});
  same_check(searches[_i], 1, (trouble){.lose_at = 1}); /* the sweep is alone then */
}
END_TEST

/* Whoever has no memory for a frame, none of its points or results is lost with it. */
START_TEST(what_cannot_be_sent_is_trained_elsewhere) {
  same_check(searches[0], 2, (trouble){.fail_at = 3});
  same_check(searches[0], 2, (trouble){.mute_at = 3});
  same_check(searches[0], 1, (trouble){.fail_at = 1}); /* the sweep is alone then */
  same_check(searches[0], 1, (trouble){.mute_at = 1});
}
END_TEST

START_TEST(what_nobody_asked_for_is_ignored) {
  ck_assert_int_gt(same_check(searches[0], 2, (trouble){.rogue = true}), 0);
}
END_TEST

START_TEST(some_sweeps_are_not_shared) {
  static const char *const others[] = {SWEEP(",\"max_trials\":5,\"exclusive\":true"),
                                       SWEEP(",\"max_trials\":5,\"metric\":\"seconds\""),
                                       SWEEP(",\"max_trials\":5,\"max_parallel\":1"),
                                       SWEEP(",\"max_trials\":1")};
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, others[_i], 1);
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_int_eq(atomic_load(&f->wanted), -1);
  fixture_close(f);
}
END_TEST

START_TEST(it_ends_when_its_seconds_are_over) {
  fixture *f = malloc(sizeof *f);
  ep_job_result result;
  fixture_open(f, SWEEP(",\"max_trials\":1000000,\"max_seconds\":0.1"), 2);
  ck_assert_int_eq(fixture_train(f, &result), EP_OK);
  ck_assert_str_eq(result.stopped, "max_seconds");
  ck_assert_int_gt(f->count, 0);
  ck_assert_int_eq(result.epochs_done, f->count);
  fixture_close(f);
}
END_TEST

EP_SUITE("engine/sweep/sharing") {
  TCase *tests = ep_suite_case(suite, "sharing");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, the_results_are_those_of_one_worker, 0, 4);
  tcase_add_loop_test(tests, the_points_of_a_lost_helper_are_trained_elsewhere, 0, 4);
  tcase_add_test(tests, what_cannot_be_sent_is_trained_elsewhere);
  tcase_add_test(tests, what_nobody_asked_for_is_ignored);
  tcase_add_loop_test(tests, some_sweeps_are_not_shared, 0, 4);
  tcase_add_test(tests, it_ends_when_its_seconds_are_over);
}
