#include "server/jobs/lifecycle/assign.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/lifecycle/end.h"
#include "server/jobs/lifecycle/trials.h"
#include "server/jobs/live/best.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/jobs/placement/allocation.h"
#include "server/jobs/placement/fit.h"
#include "server/jobs/placement/gang.h"
#include "server/jobs/placement/room.h"
#include "server/jobs/placement/spill.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

#define PATIENCE_FACTOR 2.0 /* of the rough estimate, before a job's pace is known */

enum { SPILLS_LOOKED_AT = 1024 }; /* from the queue's head: more than there can be workers */

/* Whether a job runs that no other may run beside. The mutex is held. */
static bool exclusive_runs(const ep_jobs *jobs) {
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      if (job->exclusive && job->row.state == EP_STATE_RUNNING) return true;
  return false;
}

/* Marks the GPUs of a running job of several ranks. */
static void gang_mark(const ep_gang *gang, const ep_device_list *devices,
                      bool held[EP_LIMIT_DEVICES]) {
  for (int d = 0; d < devices->count; d++)
    for (int g = 0; g < gang->count; g++)
      held[d] |= ep_device_number(devices->device[d].info.id) == gang->gpu[g];
}

/* Marks those of all such jobs. held: of jobs->devices, written. The mutex is held. */
static void held_find(const ep_jobs *jobs, bool held[EP_LIMIT_DEVICES]) {
  memset(held, 0, EP_LIMIT_DEVICES * sizeof *held);
  for (int i = 0; jobs->gangs > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      if (job->row.state == EP_STATE_RUNNING) gang_mark(&job->gang, &jobs->devices, held);
}

static bool is_held(const ep_jobs *jobs, const char *device, const bool held[EP_LIMIT_DEVICES]) {
  for (int d = 0; d < jobs->devices.count; d++)
    if (strcmp(jobs->devices.device[d].info.id, device) == 0) return held[d];
  return false;
}

/* Whether the job goes on on another GPU, whose worker is idle and waits for GPUs such as this one.
 * The mutex is held. */
static bool gang_waits(const ep_jobs *jobs, const ep_live_job *job, const char *device,
                       const bool held[EP_LIMIT_DEVICES]) {
  const ep_job_row *row = &job->row;
  if (job->gang.most == 0 || !ep_device_is_cuda(device) || !ep_device_is_cuda(row->device) ||
      strcmp(row->device, device) == 0 || !ep_fit_requested(row->requested_device, device))
    return false;
  const ep_device_status *first = ep_device_list_find(&jobs->devices, row->device);
  return first && first->state == EP_DEVICE_IDLE && !is_held(jobs, row->device, held) &&
         ep_fit_job(row, job->gang.least, row->device, &jobs->devices);
}

/* Whether the device stays free until the job can begin, which no other one overtakes: it runs
 * alone, or waits for GPUs. The mutex is held. */
static bool waits(const ep_jobs *jobs, const ep_live_job *job, const char *device,
                  const bool held[EP_LIMIT_DEVICES]) {
  const int gpus = job->gang.least;
  bool alone =
      job->exclusive && ep_fit_any(&job->row, gpus, &jobs->devices); /* else nobody waits */
  return (alone && (jobs->running > 0 || !ep_fit_job(&job->row, gpus, device, &jobs->devices))) ||
         gang_waits(jobs, job, device, held);
}

/* Counts the cores that owners' jobs run on. The mutex is held. */
static void cores_count(ep_jobs *jobs) {
  for (int64_t i = 0; i < jobs->shares.count; i++) jobs->shares.shares[i].cores = 0;
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next) {
      ep_share *share = ep_shares_find(&jobs->shares, job->entry.owner);
      if (share && job->row.state == EP_STATE_RUNNING)
        share->cores += ep_fit_cores(&job->row, job->row.device) + job->helpers;
    }
}

/* Whether the owner's other jobs leave no cores of the quota. One job may always run. The mutex is
 * held. */
static bool is_beyond_quota(const ep_jobs *jobs, const ep_live_job *job, const char *device) {
  const ep_share *share = ep_shares_find(&jobs->shares, job->entry.owner);
  if (jobs->quota_cores == 0 || !share || share->cores == 0) return false;
  return share->cores + ep_fit_cores(&job->row, device) > jobs->quota_cores;
}

/* The request of a job for the partition that it goes to. False: that does not hold it. */
static bool spill_allocate(const ep_jobs *jobs, ep_live_job *job, const char *device) {
  const char *partition = device + strlen(EP_SLURM_PREFIX);
  ep_slurm_request request;
  if (strcmp(job->allocation.partition, partition) == 0) return true;
  if (ep_allocation_make(&jobs->allocator, &job->row, job->slurm, job->gang.most, device, &request,
                         NULL) != EP_OK)
    return false;
  job->allocation = request;
  return true;
}

/* Which jobs go to Slurm although this machine has a device for them, by the waits of both. The
 * mutex is held. */
static void spills_find(ep_jobs *jobs) {
  ep_forecast *forecast = jobs->allocator.partitions ? malloc(sizeof *forecast) : NULL;
  if (!forecast) return; /* they stay here */
  ep_forecast_init(forecast, &jobs->devices);
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      if (job->row.state == EP_STATE_RUNNING)
        ep_forecast_run(forecast, &(ep_forecast_job){&job->row, &job->gang, job->exclusive},
                        ep_live_left_seconds(job));
  for (int64_t i = 0; i < jobs->queue.count && i < SPILLS_LOOKED_AT; i++) {
    ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!job) continue;
    const bool movable = !job->exclusive && job->gang.most == 0;
    const char *device = movable ? ep_spill_find(forecast, &job->row) : NULL;
    if (device && !spill_allocate(jobs, job, device)) device = NULL;
    snprintf(job->spills, sizeof job->spills, "%s", device ? device : "");
    if (!device)
      ep_forecast_queue(forecast, &(ep_forecast_job){&job->row, &job->gang, job->exclusive});
  }
  free(forecast);
}

/* Whether a queued job may start on the device. */
static bool fits(const ep_jobs *jobs, const ep_live_job *job, const char *device) {
  return strcmp(job->spills, device) == 0 ||
         ep_fit_job(&job->row, job->gang.least, device, &jobs->devices);
}

/* The first queued job that the device is for; NULL: there is none, or it stays free. The mutex is
 * held. */
static ep_live_job *candidate_find(ep_jobs *jobs, const char *device, const ep_slurm_request *has,
                                   const bool held[EP_LIMIT_DEVICES]) {
  if (is_held(jobs, device, held) || (jobs->exclusives > 0 && exclusive_runs(jobs))) return NULL;
  for (int64_t i = 0; i < jobs->queue.count; i++) {
    ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!job || is_beyond_quota(jobs, job, device)) continue;
    if (waits(jobs, job, device, held)) return NULL;
    if (has && !ep_slurm_request_holds(has, &job->allocation)) continue;
    if (fits(jobs, job, device)) return job;
  }
  return NULL;
}

/* Whether a job there takes memory of this machine's CPU. */
static bool is_cpu(const char *device) {
  return !ep_device_is_cuda(device) && !ep_device_is_remote(device);
}

/* What the plans of running jobs have reserved of the CPU's memory. The mutex is held. */
static int64_t reserved_bytes(const ep_jobs *jobs) {
  int64_t bytes = 0;
  for (int i = 0; jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      if (job->row.state == EP_STATE_RUNNING && is_cpu(job->row.device) &&
          __builtin_add_overflow(bytes, job->row.bytes, &bytes))
        return INT64_MAX;
  return bytes;
}

/* Whether the device has the cores and the memory for it, and the GPUs beside it are free, which it
 * gets. */
static bool room_take(const ep_jobs *jobs, ep_live_job *job, const char *device, int cores,
                      const bool held[EP_LIMIT_DEVICES]) {
  job->gang.count = 0;
  if (ep_fit_cores(&job->row, device) > cores) return false;
  if (is_cpu(device) &&
      !ep_room_suffices(jobs->memory_bytes_max, reserved_bytes(jobs), job->row.bytes))
    return false;
  return job->gang.most == 0 || !ep_device_is_cuda(device) ||
         ep_gang_choose(&job->gang, job->row.requested_device, device, &jobs->devices, held);
}

/* Takes the first queued job that fits out of the queue, as running. NULL: there is none, or it
 * waits for more cores, memory or GPUs than are free, or until nothing else runs; then no other job
 * overtakes it. */
static ep_live_job *queue_take(ep_jobs *jobs, const char *device, int cores,
                               const ep_slurm_request *has) {
  bool held[EP_LIMIT_DEVICES];
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  pthread_mutex_lock(&jobs->mutex);
  held_find(jobs, held);
  if (ep_device_is_remote(device)) spills_find(jobs);
  if (jobs->quota_cores > 0) cores_count(jobs);
  ep_live_job *job = candidate_find(jobs, device, has, held);
  if (job && !room_take(jobs, job, device, cores, held)) job = NULL;
  if (job) {
    ep_queue_remove(&jobs->queue, &job->entry);
    job->row.state = EP_STATE_RUNNING;
    jobs->running++;
    ep_live_touch(jobs, job);
    ep_live_touch_queue(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  return job;
}

/* Whether a worker of the device, which no queued job takes, may train points of a running sweep:
 * one that the job could have run on. The mutex is held. */
static bool may_help(ep_jobs *jobs, const ep_live_job *job, const char *device,
                     const ep_slurm_request *has) {
  bool held[EP_LIMIT_DEVICES];
  held_find(jobs, held);
  if (is_held(jobs, device, held) || (jobs->exclusives > 0 && exclusive_runs(jobs))) return false;
  if (has && !ep_slurm_request_holds(has, &job->allocation)) return false;
  if (jobs->quota_cores > 0) {
    cores_count(jobs);
    if (is_beyond_quota(jobs, job, device)) return false;
  }
  if (strcmp(job->row.device, device) == 0) return true;
  return ep_device_is_cuda(device) && ep_fit_requested(job->row.requested_device, device);
}

char *ep_assign_help(ep_jobs *jobs, const char *id, int attempt, const char *device,
                     const ep_slurm_request *has) {
  ep_error error = {0};
  ep_job_row stored;
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_trials_running(jobs, id, attempt);
  const bool may = job && may_help(jobs, job, device, has);
  pthread_mutex_unlock(&jobs->mutex);
  if (!may) return NULL;
  if (ep_store_job_get(jobs->store, id, &stored, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "job %s cannot get a helper: %s", id, error.message);
    return NULL;
  }
  char *spec = stored.spec; /* ownership moves */
  stored.spec = NULL;
  ep_job_row_deinit(&stored);
  return spec;
}

void ep_assign_drop(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  ep_usage_end(jobs, job);
  ep_live_remove(jobs, job);
  jobs->running--;
  pthread_mutex_unlock(&jobs->mutex);
  ep_open_logs_release(&jobs->logs, job->log);
  ep_data_dir_discard(jobs->data_dir, "jobs", job->row.id, NULL);
  ep_live_destroy(job);
}

void ep_assign_return(ep_jobs *jobs, ep_live_job *job, bool again) {
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled, dropped = job->dropped;
  ep_usage_end(jobs, job);
  ep_trials_leave(job);
  if (!cancelled && !dropped) {
    jobs->running--;
    bool queued = ep_live_enqueue(jobs, job, again);
    assert(queued); /* the queue kept room for it */
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (dropped) {
    ep_assign_drop(jobs, job);
  } else if (cancelled) {
    ep_job_end(jobs, job, EP_STATE_CANCELLED, ep_job_cancellation(job));
  }
}

/* The row of a start, as it is stored once the worker reports that it has begun. */
static void start_fill(ep_live_job *job, const char *device, ep_job_row *row) {
  *row = job->row;
  if (row->device[0] != 0 && strcmp(row->device, device) != 0) {
    snprintf(job->cause, sizeof job->cause, "device %s was removed", row->device);
    row->executor[0] = 0;
  }
  snprintf(row->device, sizeof row->device, "%s", device);
  row->attempt++;
  if (row->started_us == 0) row->started_us = ep_clock_utc_after_us(row->created_us);
}

/* The job's spec for its worker, from memory or from its row; *spec is the caller's. */
static ep_status spec_take(ep_jobs *jobs, ep_live_job *job, char **spec, ep_error *error) {
  ep_job_row stored;
  *spec = job->row.spec;
  job->row.spec = NULL;
  if (*spec) return EP_OK;
  ep_status status = ep_store_job_get(jobs->store, job->row.id, &stored, error);
  if (status != EP_OK) return status;
  *spec = stored.spec; /* ownership moves */
  stored.spec = NULL;
  ep_job_row_deinit(&stored);
  return EP_OK;
}

/* Fills in the command. The start is stored once the worker reports that it has begun (run.c):
 * until then the start is not shown, and the executor is not known. */
static ep_status start_prepare(ep_jobs *jobs, ep_live_job *job, const char *device,
                               ep_assignment *out, ep_error *error) {
  ep_job_row row;
  ep_status status = EP_OK;
  if (!job->log) status = ep_open_logs_retain(&jobs->logs, job->row.id, &job->log, error);
  if (status == EP_OK) status = spec_take(jobs, job, &out->train.spec, error);
  if (status == EP_OK) status = ep_trials_begin(job, out->train.spec, error);
  if (status != EP_OK) return status;
  ep_best_begin(jobs, job);
  start_fill(job, device, &row);
  out->train.kind = EP_COMMAND_TRAIN;
  snprintf(out->train.job, sizeof out->train.job, "%s", row.id);
  out->train.attempt = row.attempt;
  memcpy(out->train.executor, row.executor, sizeof out->train.executor);
  ep_event_log_tail tail;
  ep_event_log_get_tail(job->log, &tail);
  out->train.epochs_logged = tail.reports.epoch;
  out->train.thinning = ep_live_thinning(jobs, &tail);
  out->train.gpus_count = job->gang.count;
  for (int i = 0; i < job->gang.count; i++) out->train.gpus[i] = job->gang.gpu[i];
  out->cores = ep_fit_cores(&row, device);
  job->memory_bytes = is_cpu(device) ? ep_room_bound(row.bytes) : 0;
  out->memory_bytes = job->memory_bytes;
  double seconds = ep_device_is_cuda(device) ? row.seconds_cuda : row.seconds_cpu;
  out->patience_seconds = isfinite(seconds) ? fmin(seconds * PATIENCE_FACTOR, 1e9) : 0;
  pthread_mutex_lock(&jobs->mutex);
  job->row = row;
  job->begun = false;
  job->helpers = job->helpers_wanted = 0;
  ep_usage_begin(jobs, job);
  job->eta_seconds = NAN;
  job->eta_us = ep_clock_steady_us();
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  return EP_OK;
}

bool ep_assign_next(ep_jobs *jobs, const char *device, int cores, const ep_slurm_request *has,
                    ep_assignment *out) {
  ep_live_job *job = queue_take(jobs, device, cores, has);
  if (!job) return false;
  ep_error error = {0};
  ep_status status = start_prepare(jobs, job, device, out, &error);
  if (status != EP_OK) {
    ep_log(EP_LOG_ERROR, "job %s cannot start, trying again: %s", job->row.id, error.message);
    ep_assign_return(jobs, job, job->entry.again);
    jobs->refused = true;
    return false;
  }
  ep_live_announce(jobs, job->row.id);
  ep_live_announce_queue(jobs);
  return true;
}

int ep_assign_waiting(ep_jobs *jobs, const char *device, ep_slurm_request *needed) {
  int count = 0;
  memset(needed, 0, sizeof *needed);
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  pthread_mutex_lock(&jobs->mutex);
  if (jobs->quota_cores > 0) cores_count(jobs);
  const bool closed = jobs->exclusives > 0 && exclusive_runs(jobs);
  spills_find(jobs);
  for (int64_t i = 0; !closed && i < jobs->queue.count && count < EP_LIMIT_SLURM_WORKERS; i++) {
    const ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!job || is_beyond_quota(jobs, job, device) || !fits(jobs, job, device)) continue;
    if (count == 0) *needed = job->allocation;
    if (count == 0 || ep_slurm_request_holds(needed, &job->allocation))
      count += ep_trials_workers(job);
  }
  for (int i = 0; !closed && jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next) {
      if (job->row.state != EP_STATE_RUNNING || job->helpers_wanted == 0 ||
          strcmp(job->row.device, device) != 0)
        continue;
      if (count == 0) *needed = job->allocation;
      if (ep_slurm_request_holds(needed, &job->allocation)) count += ep_trials_workers(job) - 1;
    }
  pthread_mutex_unlock(&jobs->mutex);
  return count < EP_LIMIT_SLURM_WORKERS ? count : EP_LIMIT_SLURM_WORKERS;
}

void ep_assign_undo(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  if (--job->row.attempt == 0) {
    job->row.device[0] = 0;
    job->row.started_us = 0;
  }
  pthread_mutex_unlock(&jobs->mutex);
}
