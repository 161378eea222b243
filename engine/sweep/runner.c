#include "engine/sweep/runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/training/trainer.h"

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

ep_status ep_sweep_room_make(ep_sweep_runner *runner, int64_t number, ep_error *error) {
  if (number <= runner->capacity) return EP_OK;
  int64_t capacity = runner->capacity > 0 ? runner->capacity : 1024;
  while (capacity < number) capacity *= 2;
  ep_trial_record *records = realloc(runner->records, (size_t)capacity * sizeof *records);
  if (records) runner->records = records;
  bool *done = realloc(runner->done, (size_t)capacity * sizeof *done);
  if (done) runner->done = done;
  uint8_t *holder = realloc(runner->holder, (size_t)capacity * sizeof *holder);
  if (holder) runner->holder = holder;
  if (!records || !done || !holder) return ep_fail_memory(error);
  const size_t grown = (size_t)(capacity - runner->capacity);
  memset(done + runner->capacity, 0, grown * sizeof *done);
  memset(holder + runner->capacity, 0, grown * sizeof *holder);
  runner->capacity = capacity;
  return EP_OK;
}

void ep_sweep_record_begin(const ep_trial_point *point, ep_trial_record *out) {
  *out = (ep_trial_record){.number = point->number,
                           .trial = point->trial,
                           .epochs = point->epochs,
                           .part = (int32_t)point->part};
  memcpy(out->point, point->point, sizeof out->point);
  out->metric = out->test_seconds = NAN;
  out->epoch_microseconds = out->samples_per_second = NAN;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int metric = 0; metric < EP_METRIC_COUNT; metric++) out->metrics[split][metric] = NAN;
}

struct timespec ep_sweep_deadline(int milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += milliseconds * 1000000L;
  if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
  return until;
}

int64_t ep_sweep_helpers_have(const ep_sweep_runner *runner) {
  int64_t has = 0;
  for (int i = 0; i < EP_LIMIT_SWEEP_WORKERS; i++) has += runner->helpers[i].has;
  return has;
}

static ep_share_worker worker_of(const ep_sweep_helper *helper, double now) {
  ep_share_worker worker = {.slots = helper->slots, .together = helper->together};
  const double since = now - helper->given;
  const double seconds = helper->seconds + (helper->together || helper->has == 0 ? 0 : since);
  worker.has = helper->has;
  worker.pace = seconds > 0 ? (double)helper->done / seconds : 0;
  worker.since = helper->has > 0 ? since : 0;
  return worker;
}

int ep_sweep_workers_list(const ep_sweep_runner *runner, ep_share_worker *workers, int *places) {
  const double now = ep_seconds_now();
  int count = 0;
  workers[count] = worker_of(&runner->own, now);
  workers[count].slots = runner->slots;
  workers[count].together = runner->populations;
  places[count++] = -1;
  for (int i = 0; i < EP_LIMIT_SWEEP_WORKERS; i++) {
    if (runner->helpers[i].lease == 0) continue;
    workers[count] = worker_of(&runner->helpers[i], now);
    places[count++] = i;
  }
  return count;
}
