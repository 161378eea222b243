/* sweep.c: threads that take one training after another from the search. */
#include "engine/sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec.h"
#include "engine/sweep/runner.h"
#include "engine/training/train.h"
#include "engine/training/trainer.h"

enum { POPULATION_MOST = 32768 }; /* trials that are taken together: a fraction of a second */

ep_status ep_sweep_stop_check(const ep_sweep_run *run, ep_error *error) {
  const ep_training *shared = &run->shared;
  if (atomic_load_explicit(shared->cancel, memory_order_relaxed))
    return ep_fail(error, EP_CANCELLED, "cancelled");
  if (shared->pause && atomic_load_explicit(shared->pause, memory_order_relaxed))
    return ep_fail(error, EP_PAUSED, "paused");
  return EP_OK;
}

void ep_sweep_stop(ep_sweep_runner *runner, ep_status status, const ep_error *error) {
  if (!runner->stops) {
    runner->status = status;
    if (error) runner->error = *error;
  }
  runner->stops = true;
  pthread_cond_broadcast(&runner->told);
}

void ep_sweep_stops_look(ep_sweep_runner *runner) {
  ep_error error = {0};
  double most = runner->search ? runner->run->sweep->max_seconds : 0; /* of a helper: not its own */
  ep_status status = ep_sweep_stop_check(runner->run, &error);
  if (status != EP_OK) {
    ep_sweep_stop(runner, status, &error);
  } else if (most > 0 && ep_seconds_now() - runner->start_seconds >= most) {
    runner->timed_out = true;
    ep_sweep_stop(runner, EP_OK, NULL);
  }
}

bool ep_sweep_stops(ep_sweep_runner *runner) {
  pthread_mutex_lock(&runner->mutex);
  ep_sweep_stops_look(runner);
  bool stops = runner->stops;
  pthread_mutex_unlock(&runner->mutex);
  return stops;
}

void ep_sweep_alive(void *context) {
  ep_sweep_runner *runner = context;
  const ep_train_sink *sink = &runner->run->shared.sink;
  ep_error error = {0};
  if (pthread_mutex_trylock(&runner->out) != 0) return;
  if (sink->alive) sink->alive(sink->context);
  pthread_mutex_unlock(&runner->out);
  ep_status status = ep_sweep_results_send(runner, false, &error);
  if (status == EP_OK || runner->search) return; /* told again with the next result */
  pthread_mutex_lock(&runner->mutex);
  ep_sweep_stop(runner, status, &error); /* a helper has them no more */
  pthread_mutex_unlock(&runner->mutex);
}

int64_t ep_sweep_epochs_most(const ep_sweep_spec *sweep, const ep_trial_record *record) {
  return sweep->search == EP_SEARCH_ASHA ? record->epochs : 0;
}

/* Epochs whose figures change nothing are not measured: true, and the last one alone is reported.
 */
static bool reports_omit(ep_job_spec *spec) {
  bool omit = spec->early_stopping_patience == 0 && !spec->keep_best &&
              spec->schedule.type != EP_SCHEDULE_PLATEAU;
  if (omit) spec->report_every = spec->epochs;
  return omit;
}

void ep_sweep_record_fill(const ep_sweep_spec *sweep, const ep_job_result *result,
                          ep_trial_record *record) {
  record->status = result->status;
  const ep_split_metrics *splits[] = {&result->train, &result->validation, &result->test};
  record->epochs_done = result->epochs_done;
  record->parameters = result->parameters;
  record->seconds = result->train_seconds;
  if (result->status != EP_OK) return;
  record->test_seconds = result->test_seconds;
  record->epoch_microseconds = result->epoch_microseconds;
  record->samples_per_second = result->samples_per_second;
  record->metric = ep_sweep_metric_of(sweep, result);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int metric = 0; splits[split]->rows > 0 && metric < EP_METRIC_COUNT; metric++)
      record->metrics[split][metric] = ep_metric_value(splits[split], metric);
}

ep_status ep_sweep_trial_train(ep_sweep_runner *runner, ep_trial_record *record, ep_error *error) {
  const ep_sweep_run *run = runner->run;
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  record->status = ep_sweep_trial_make(run->sweep, record->point, record->part, &spec, problem);
  free(problem);
  if (record->status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (record->status != EP_OK) return EP_OK; /* values that do not go together */
  bool last_alone = reports_omit(spec);
  /* the sweep is where it is to be; "cuda" of a trial is this one */
  snprintf(spec->device, sizeof spec->device, "%s", run->shared.device);
  ep_training training = run->shared;
  training.spec = spec;
  training.last_alone = last_alone;
  training.epochs_most = ep_sweep_epochs_most(run->sweep, record);
  training.sink = (ep_train_sink){.context = runner, .alive = ep_sweep_alive};
  if (runner->prepared)
    training.prepared = &runner->prepared[record->part % runner->prepared_count];
  ep_job_result result = {0};
  ep_status status = EP_OK;
  int tries = 0; /* of a disk that stumbles: its data is read again */
  for (int64_t i = 0; status == EP_OK && result.status == EP_OK && i <= run->sweep->warm_up; i++) {
    ep_job_result_deinit(&result);
    status = ep_train(&training, &result, error);
    if (status != EP_OK || result.status != EP_IO || ++tries == EP_SWEEP_DISK_TRIES) continue;
    result.status = EP_OK;
    i--;
  }
  if (status == EP_OK && (result.status == EP_CANCELLED || result.status == EP_PAUSED))
    status = ep_fail(error, result.status, "%s", result.message);
  if (status == EP_OK) ep_sweep_record_fill(run->sweep, &result, record);
  ep_job_result_deinit(&result);
  ep_job_spec_destroy(spec);
  return status;
}

static void *trials_train(void *context) {
  ep_sweep_runner *runner = context;
  ep_trial_record record;
  for (;;) {
    ep_error error = {0};
    pthread_mutex_lock(&runner->mutex);
    bool taken = ep_sweep_training_take(runner, true, &record);
    pthread_mutex_unlock(&runner->mutex);
    if (!taken) return NULL;
    ep_status status = ep_sweep_trial_train(runner, &record, &error);
    pthread_mutex_lock(&runner->mutex);
    if (status == EP_OK) status = ep_sweep_result_put(runner, &record, &error);
    if (status != EP_OK) ep_sweep_stop(runner, status, &error);
    pthread_mutex_unlock(&runner->mutex);
    if (status == EP_OK) status = ep_sweep_results_send(runner, false, &error);
    if (status == EP_OK) continue;
    pthread_mutex_lock(&runner->mutex);
    ep_sweep_stop(runner, status, &error);
    pthread_mutex_unlock(&runner->mutex);
  }
}

/* On a device that trains populations: all that is known at a time, in one go. */
static void populations_train(ep_sweep_runner *runner) {
  ep_error error = {0};
  ep_status status = EP_OK;
  ep_trial_record *records = malloc(POPULATION_MOST * sizeof *records);
  if (!records) status = ep_fail_memory(&error);
  while (status == EP_OK) {
    int64_t count = ep_sweep_trainings_take(runner, records, POPULATION_MOST);
    if (count == 0) break;
    status = ep_sweep_population_train(runner, records, count, &error);
  }
  free(records);
  if (status == EP_OK) return;
  pthread_mutex_lock(&runner->mutex);
  ep_sweep_stop(runner, status, &error);
  pthread_mutex_unlock(&runner->mutex);
}

/* The calling thread is one of them. */
static void threads_run(ep_sweep_runner *runner) {
  pthread_t threads[EP_LIMIT_PARALLEL_THREADS];
  int begun = 0;
  while (begun < runner->threads - 1 &&
         pthread_create(&threads[begun], NULL, trials_train, runner) == 0)
    begun++;
  trials_train(runner);
  for (int i = 0; i < begun; i++) pthread_join(threads[i], NULL);
}

void ep_sweep_run_all(ep_sweep_runner *runner) {
  if (runner->populations)
    populations_train(runner);
  else
    threads_run(runner);
}

static ep_status sweep_run(ep_sweep_runner *runner, const ep_sweep_run *run, ep_job_result *result,
                           ep_error *error) {
  pthread_t sharer;
  ep_status status = ep_sweep_runner_init(runner, run, error);
  if (status != EP_OK) return status;
  if (run->started) run->started(run->shared.sink.context, runner->parameters, runner->sent);
  const bool shares = ep_sweep_sharing_begin(runner, &sharer);
  ep_sweep_run_all(runner);
  ep_sweep_sharing_end(runner, sharer, shares);
  *error = runner->error;
  status = runner->status;
  ep_error late = {0};
  ep_status sent = ep_sweep_results_send(runner, true, &late);
  if (sent == EP_OK) sent = ep_sweep_results_sync(runner, &late);
  if (status == EP_OK && sent != EP_OK) {
    status = sent;
    *error = late;
  }
  result->epochs_done = runner->sent;
  result->parameters = runner->parameters;
  result->train_seconds = ep_nanoseconds_round(ep_seconds_now() - runner->start_seconds);
  if (runner->elsewhere) snprintf(result->device, sizeof result->device, "%s", runner->elsewhere);
  if (runner->timed_out) snprintf(result->stopped, sizeof result->stopped, "max_seconds");
  return status;
}

ep_status ep_sweep_train(const ep_sweep_run *run, ep_job_result *result, ep_error *error) {
  ep_sweep_runner *runner = calloc(1, sizeof *runner);
  ep_error failure = {0};
  *result = (ep_job_result){0};
  ep_split_metrics_clear(&result->train);
  ep_split_metrics_clear(&result->validation);
  ep_split_metrics_clear(&result->test);
  snprintf(result->device, sizeof result->device, "%s", run->shared.device);
  if (!runner) return ep_fail_memory(error);
  ep_status status = result->status = sweep_run(runner, run, result, &failure);
  ep_sweep_runner_deinit(runner);
  free(runner);
  if (status != EP_OK) {
    snprintf(result->message, sizeof result->message, "%s", failure.message);
    snprintf(result->pointer, sizeof result->pointer, "%s", failure.pointer);
  }
  if (ep_status_class(status) != EP_CLASS_DEVICE) return EP_OK;
  if (error) *error = failure;
  return status;
}
