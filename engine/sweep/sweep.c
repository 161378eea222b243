/* sweep.c: threads that take one training after another from the search. */
#include "engine/sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/sweep/runner.h"
#include "engine/training/trainer.h"

enum { POPULATION_MOST = 32768 }; /* trials that are taken together: a fraction of a second */

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
