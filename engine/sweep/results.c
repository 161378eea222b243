#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/sweep/runner.h"
#include "engine/training/trainer.h"

#define SEND_SECONDS 0.02 /* results are told so often, or when there are many */
enum { SEND_MANY = 512, LOOK_MS = 50, RETRY_MS = 1000 };

/* The mean of a trial's parts; NaN where one has no metric, or is not there: *whole is false. */
static double trial_metric(const ep_sweep_runner *runner, int64_t first, bool *whole) {
  double sum = 0;
  *whole = true;
  for (int part = 0; part < runner->parts && *whole; part++) {
    int64_t place = first + part;
    *whole = place < runner->capacity && runner->done[place];
    if (*whole) sum += runner->records[place].metric;
  }
  return sum / runner->parts;
}

ep_status ep_sweep_result_put(ep_sweep_runner *runner, const ep_trial_record *record,
                              ep_error *error) {
  /* a helper has them in the order in which they come, until they are told */
  const int64_t number = runner->search ? record->number : runner->in_order + 1;
  ep_status status = ep_sweep_room_make(runner, number, error);
  if (status != EP_OK) return status;
  if (!runner->search) {
    runner->records[runner->in_order++] = *record;
    return EP_OK;
  }
  runner->records[record->number - 1] = *record;
  runner->done[record->number - 1] = true;
  while (runner->in_order < runner->capacity && runner->done[runner->in_order]) runner->in_order++;
  bool whole;
  int64_t training = (record->number - 1) / runner->parts;
  double metric = trial_metric(runner, training * runner->parts, &whole);
  if (!whole) return EP_OK;
  status = ep_search_tell(runner->search, training + 1, metric, error);
  pthread_cond_broadcast(&runner->told);
  return status;
}

ep_status ep_sweep_disk_wait(const ep_sweep_run *run, ep_error *error) {
  const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
  ep_status status = EP_OK;
  if (run->shared.sink.waiting) run->shared.sink.waiting(run->shared.sink.context, error);
  for (int ms = 0; ms < RETRY_MS && status == EP_OK; ms += LOOK_MS) {
    nanosleep(&look, NULL);
    if (run->shared.sink.alive) run->shared.sink.alive(run->shared.sink.context);
    status = ep_sweep_stop_check(run, error);
  }
  return status;
}

/* There is no room, or the disk fails: both may pass. */
static bool disk_refused(ep_status status) {
  return status == EP_UNAVAILABLE || status == EP_IO;
}

/* records: [count]. `out` is held. A helper has no file. */
static ep_status records_write(ep_sweep_runner *runner, const ep_trial_record *records,
                               int64_t count, ep_error *error) {
  while (runner->search) {
    ep_status status = ep_trial_file_append(&runner->file, records, count, error);
    if (!disk_refused(status)) return status;
    status = ep_sweep_disk_wait(runner->run, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

ep_status ep_sweep_results_sync(ep_sweep_runner *runner, ep_error *error) {
  ep_status status = ep_trial_file_sync(&runner->file, error);
  while (disk_refused(status)) {
    status = ep_sweep_disk_wait(runner->run, error);
    if (status != EP_OK) return status;
    runner->file.count = 0; /* what was written before is no promise after a sync that failed */
    status = ep_trial_file_append(&runner->file, runner->records, runner->sent, error);
    if (status == EP_OK) status = ep_trial_file_sync(&runner->file, error);
  }
  return status;
}

/* A copy of those that are in order and not told. The mutex is not held, `out` is. */
static ep_status records_take(ep_sweep_runner *runner, ep_trial_record **records, int64_t *count,
                              ep_error *error) {
  pthread_mutex_lock(&runner->mutex);
  int64_t first = runner->sent;
  *count = runner->in_order > first ? runner->in_order - first : 0;
  *records = *count > 0 ? malloc((size_t)*count * sizeof **records) : NULL;
  if (*records) memcpy(*records, runner->records + first, (size_t)*count * sizeof **records);
  if (*records && !runner->search) runner->in_order = 0;
  pthread_mutex_unlock(&runner->mutex);
  return *count == 0 || *records ? EP_OK : ep_fail_memory(error);
}

ep_status ep_sweep_results_send(ep_sweep_runner *runner, bool all, ep_error *error) {
  if (all)
    pthread_mutex_lock(&runner->out);
  else if (pthread_mutex_trylock(&runner->out) != 0)
    return EP_OK; /* another thread is at it */
  double now = ep_seconds_now();
  ep_status status = EP_OK;
  pthread_mutex_lock(&runner->mutex);
  bool many = runner->in_order - runner->sent >= SEND_MANY;
  pthread_mutex_unlock(&runner->mutex);
  if (all || many || now - runner->sent_seconds >= SEND_SECONDS) {
    ep_trial_record *records;
    int64_t count;
    status = records_take(runner, &records, &count, error);
    int64_t old = runner->file.count - runner->sent; /* a death came between file and log */
    if (old < 0) old = 0;
    if (status == EP_OK && count > old)
      status = records_write(runner, records + old, count - old, error);
    if (status == EP_OK && count > 0)
      status = runner->run->results(runner->run->shared.sink.context, records, count, error);
    pthread_mutex_lock(&runner->mutex);
    if (status == EP_OK && runner->search) runner->sent += count;
    pthread_mutex_unlock(&runner->mutex);
    runner->sent_seconds = now;
    free(records);
  }
  pthread_mutex_unlock(&runner->out);
  return status;
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
