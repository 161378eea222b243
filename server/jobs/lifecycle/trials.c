#include "server/jobs/lifecycle/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/process/clock.h"
#include "server/process/id.h"
#include "server/process/log.h"

#define WORTH_SECONDS 10.0 /* of work, for a worker that is to be started */

enum { VALUES_BYTES = EP_LIMIT_EVENT_BYTES / 2 }; /* of one point in a line */

/* *out: NULL where the stored spec cannot be read: the worker reports the fault. EP_NO_MEMORY. */
static ep_status spec_load(const char *id, const char *spec, ep_sweep_spec **out, ep_error *error) {
  *out = NULL;
  if (!ep_id_is_sweep(id)) return EP_OK;
  return ep_sweep_spec_load(spec, out, NULL) == EP_NO_MEMORY ? ep_fail_memory(error) : EP_OK;
}

void ep_trials_note(ep_live_job *job, const ep_sweep_spec *sweep) {
  job->exclusive = sweep->exclusive;
  job->shareable = !sweep->exclusive && sweep->metric_of != EP_OF_TIMING && sweep->device_axis < 0;
  job->workers = sweep->workers;
}

ep_status ep_trials_begin(ep_live_job *job, const char *spec, ep_error *error) {
  job->sweep_epoch = job->epoch;
  job->sweep_us = ep_clock_steady_us();
  return job->sweep ? EP_OK : spec_load(job->row.id, spec, &job->sweep, error);
}

void ep_trials_leave(ep_live_job *job) {
  ep_sweep_spec_destroy(job->sweep);
  job->sweep = NULL;
}

/* Which device is next is known by the results, so it need not be stored. */
void ep_trials_move(ep_jobs *jobs, ep_live_job *job, const char *device) {
  if (strcmp(job->row.device, device) == 0) return;
  pthread_mutex_lock(&jobs->mutex);
  job->row.device[0] = 0;
  snprintf(job->row.requested_device, sizeof job->row.requested_device, "%s", device);
  pthread_mutex_unlock(&jobs->mutex);
  jobs->lost_seen = -1; /* it may be one that was lost */
}

double ep_trials_eta(const ep_live_job *job, int64_t number) {
  double seconds = (double)(ep_clock_steady_us() - job->sweep_us) / 1e6;
  double done = (double)(number - job->sweep_epoch);
  if (done <= 0) return NAN;
  return floor(seconds / done * (double)(job->row.epochs - number) * 1e3 + 0.5) / 1e3;
}

/* The values of a point as JSON text, the caller's; null where they are too long for a line: the
 * leaderboard has them. NULL: memory is short. */
static char *values_format(const ep_live_job *job, const ep_trial_record *trial) {
  ep_writer writer;
  ep_writer_init(&writer, VALUES_BYTES);
  ep_sweep_values_write(&writer, job->sweep, trial->point);
  char *text = ep_writer_take(&writer);
  return text ? text : strdup("null");
}

/* events: [progress->count]; the values in them are owned. Returns how many; -1: memory is short.
 */
static int trials_select(const ep_live_job *job, const ep_progress *progress, int thinning,
                         ep_event *events) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  int64_t now_us = ep_clock_utc_us();
  int count = 0;
  for (uint32_t i = 0; i < progress->count; i++) {
    const ep_trial_record *trial = &progress->trials[i];
    bool kept = trial->number == job->row.epochs || trial->number % (INT64_C(1) << thinning) == 0;
    if (trial->number <= tail.reports.epoch || trial->number > job->row.epochs || !kept) continue;
    ep_event *event = &events[count++];
    *event = (ep_event){.job = job->row.id,
                        .type = EP_EVENT_TRIAL,
                        .time_us = now_us,
                        .epochs = job->row.epochs,
                        .progress = {.epoch = trial->number},
                        .trial = trial,
                        .values = values_format(job, trial),
                        .eta_seconds = ep_trials_eta(job, trial->number)};
    if (!event->values) return -1;
  }
  return count;
}

ep_status ep_trials_hold(const ep_live_job *job, const ep_progress *progress, int thinning,
                         ep_error *error) {
  if (!job->sweep) return EP_OK; /* its spec is damaged */
  ep_event *events = calloc(progress->count, sizeof *events);
  if (!events) return ep_fail_memory(error);
  int count = trials_select(job, progress, thinning, events);
  ep_status status =
      count < 0 ? ep_fail_memory(error) : ep_event_log_hold(job->log, events, count, error);
  for (uint32_t i = 0; i < progress->count; i++) free((char *)events[i].values);
  free(events);
  return status;
}

/* --- workers that would help ------------------------------------------------------------------ */

ep_live_job *ep_trials_running(ep_jobs *jobs, const char *id, int attempt) {
  ep_live_job *job = ep_live_find_stored(jobs, id);
  const bool runs = job && !job->ending && job->row.state == EP_STATE_RUNNING &&
                    job->row.attempt == attempt && !job->cancelled && !job->pause && !job->dropped;
  return runs ? job : NULL;
}

int ep_trials_wants(ep_jobs *jobs, const char *id, int attempt, int helpers) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_trials_running(jobs, id, attempt);
  int most = job && !job->exclusive && job->gang.most == 0 ? helpers : 0;
  if (most > 0 && job->workers > 0 && most > job->workers - 1) most = job->workers - 1;
  if (job) job->helpers_wanted = most;
  pthread_mutex_unlock(&jobs->mutex);
  return most;
}

void ep_trials_helped(ep_jobs *jobs, const char *id, int attempt, int helpers) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_trials_running(jobs, id, attempt);
  const bool changed = job && job->helpers != helpers;
  if (changed) {
    ep_usage_end(jobs, job); /* so far with the helpers that it had */
    job->helpers = helpers;
    ep_usage_begin(jobs, job);
    ep_live_touch(jobs, job);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (changed) ep_live_announce(jobs, id);
}

int ep_trials_workers(const ep_live_job *job) {
  const bool runs = job->row.state == EP_STATE_RUNNING;
  int64_t most = runs ? job->helpers_wanted + 1 : EP_LIMIT_SWEEP_WORKERS;
  if (!runs && !job->shareable) return 1;
  if (job->workers > 0 && job->workers < most) most = job->workers;
  const double all = ep_live_work_seconds(job) * (isnan(job->eta_seconds) ? 1 : job->helpers + 1);
  const double useful = ceil(all / WORTH_SECONDS);
  if (useful < (double)most) most = (int64_t)useful;
  return most > 1 ? (int)most : 1;
}
