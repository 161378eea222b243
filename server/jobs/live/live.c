#include "server/jobs/live/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/slurm.h"
#include "api/spec/spec.h"
#include "server/process/clock.h"
#include "server/process/id.h"

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
uint64_t ep_live_key(const char *id) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *id != 0; id++) hash = (hash ^ (uint8_t)*id) * UINT64_C(1099511628211);
  return hash & ~UINT64_C(1);
}

void ep_live_crashes_text(int crashes, char message[EP_MESSAGE_BYTES]) {
  snprintf(
      message, EP_MESSAGE_BYTES,
      "epochd died %d times in a row while this job ran, without a new epoch or checkpoint, so "
      "the job is paused: look for the cause (out of memory, for example) in the logs of epochd "
      "and "
      "the system, then resume it",
      crashes);
}

uint64_t ep_live_tick(ep_jobs *jobs) {
  return atomic_fetch_add(&jobs->clock, 1) + 1;
}

static ep_live_job **bucket_of(ep_jobs *jobs, const char *id) {
  return &jobs->buckets[(ep_live_key(id) >> 20) % EP_JOBS_BUCKETS];
}

ep_live_job *ep_live_find(ep_jobs *jobs, const char *id) {
  ep_live_job *job = *bucket_of(jobs, id);
  while (job && strcmp(job->row.id, id) != 0) job = job->next;
  return job;
}

ep_live_job *ep_live_find_stored(ep_jobs *jobs, const char *id) {
  ep_live_job *job;
  while ((job = ep_live_find(jobs, id)) && job->storing)
    pthread_cond_wait(&jobs->stored, &jobs->mutex);
  return job;
}

bool ep_live_is(ep_jobs *jobs, const char *id) {
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find_stored(jobs, id);
  bool live = job && !job->row_ended && !job->dropped;
  pthread_mutex_unlock(&jobs->mutex);
  return live;
}

bool ep_live_is_shown(const ep_live_job *job) {
  return !job->storing && !job->dropped;
}

bool ep_live_is_seen(const ep_live_job *job, const ep_viewer *viewer) {
  return ep_viewer_sees(viewer, job->row.owner, job->private);
}

void ep_live_add(ep_jobs *jobs, ep_live_job *job) {
  ep_live_job **bucket = bucket_of(jobs, job->row.id);
  job->next = *bucket;
  *bucket = job;
  jobs->exclusives += job->exclusive;
  jobs->gangs += job->gang.most > 0;
}

void ep_live_remove(ep_jobs *jobs, ep_live_job *job) {
  ep_live_job **link = bucket_of(jobs, job->row.id);
  while (*link != job) link = &(*link)->next;
  *link = job->next;
  ep_shares_remove(&jobs->shares, job->entry.owner);
  jobs->exclusives -= job->exclusive;
  jobs->gangs -= job->gang.most > 0;
}

ep_live_job *ep_live_create(const ep_job_row *row) {
  ep_live_job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  job->row = *row;
  job->row.name = job->row.spec = job->row.tags = job->row.automatic = job->row.remarks =
      job->row.result = NULL;
  job->name = strdup(row->name ? row->name : "");
  job->private = row->private;
  job->eta_seconds = __builtin_nan("");
  memcpy(job->entry.id, row->id, sizeof job->entry.id);
  job->entry.priority = row->priority;
  job->entry.since_us = row->created_us;
  job->entry.owner = ep_live_key(row->owner);
  if (!job->name) {
    free(job);
    return NULL;
  }
  return job;
}

bool ep_live_spec_note(ep_live_job *job, const ep_job_spec *spec) {
  if (ep_slurm_given(spec)) {
    job->slurm = malloc(sizeof *job->slurm);
    if (!job->slurm) return false;
    *job->slurm = spec->slurm;
  }
  if (ep_id_is_sweep(job->row.id)) return true;
  job->gang = ep_gang_make(&spec->parallel);
  job->best.wanted = ep_webhooks_have(spec, EP_WEBHOOK_BEST);
  job->best.metric = spec->early_stopping_metric;
  return true;
}

void ep_live_destroy(ep_live_job *job) {
  if (!job) return;
  ep_sweep_spec_destroy(job->sweep);
  ep_job_row_deinit(&job->row);
  free(job->slurm);
  free(job->name);
  free(job);
}

void ep_live_touch_queue(ep_jobs *jobs) {
  jobs->queue_version = ep_live_tick(jobs);
}

void ep_live_touch(ep_jobs *jobs, ep_live_job *job) {
  job->row.version = ep_live_tick(jobs);
}

bool ep_live_enqueue(ep_jobs *jobs, ep_live_job *job, bool again) {
  job->entry.again = again;
  /* Room for those that run, too: they may come back, and need no memory then. */
  if (!ep_queue_reserve(&jobs->queue, jobs->queue.count + 1 + jobs->running)) return false;
  ep_queue_add(&jobs->queue, &job->entry);
  job->row.state = EP_STATE_QUEUED;
  ep_live_touch(jobs, job);
  ep_live_touch_queue(jobs);
  return true;
}

/* A queued job is shown with its position, so a change of the queue is a change of the job. */
uint64_t ep_live_version(const ep_jobs *jobs, const ep_live_job *job) {
  uint64_t version = job->ending ? job->version_before : job->row.version;
  bool queued = !job->ending && job->row.state == EP_STATE_QUEUED;
  if (queued && jobs->queue_version > version) version = jobs->queue_version;
  return job->labelled > version ? job->labelled : version;
}

void ep_live_announce(ep_jobs *jobs, const char *id) {
  if (ep_subscribers_mark(&jobs->watches, ~UINT64_C(1), ep_live_key(id)))
    ep_supervisor_kick(jobs->supervisor);
}

void ep_live_announce_queue(ep_jobs *jobs) {
  if (ep_subscribers_mark(&jobs->watches, 1, 1)) ep_supervisor_kick(jobs->supervisor);
}

double ep_live_work_seconds(const ep_live_job *job) {
  double estimate =
      ep_device_is_cuda(job->row.device) ? job->row.seconds_cuda : job->row.seconds_cpu;
  return isnan(job->eta_seconds) ? estimate : job->eta_seconds;
}

double ep_live_left_seconds(const ep_live_job *job) {
  const double since = (double)(ep_clock_steady_us() - job->eta_us) / 1e6;
  double work = ep_live_work_seconds(job) - since, limit = job->row.max_seconds;
  if (work < 0) work = isnan(job->eta_seconds) ? INFINITY : 0; /* the estimate was wrong */
  if (limit > 0 && job->sweep) /* of a job, an epoch's eta counts in what it has trained */
    limit = fmax(limit - (double)(ep_clock_steady_us() - job->sweep_us) / 1e6, 0);
  return job->row.max_seconds > 0 && work > limit ? limit : work;
}

int ep_live_thinning(const ep_jobs *jobs, const ep_event_log_tail *tail) {
  int64_t times = tail->bytes / jobs->max_log_bytes; /* that it has reached its ceiling */
  return times < EP_LIMIT_THINNING ? (int)times : EP_LIMIT_THINNING;
}
