#include "server/jobs/lifecycle/end.h"

#include <stdio.h>

#include "server/jobs/files/events.h"
#include "server/jobs/lifecycle/first_weights.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/log.h"

int64_t ep_job_finish_us(const ep_job_row *row) {
  return ep_clock_utc_after_us(row->started_us != 0 ? row->started_us : row->created_us);
}

char *ep_job_failure(const ep_job_row *row, int64_t epochs_done, ep_status status,
                     const char *message) {
  ep_job_result result = {.status = status,
                          .epochs_done = epochs_done,
                          .parameters = row->parameters,
                          .bytes = row->bytes};
  snprintf(result.message, sizeof result.message, "%s", message);
  snprintf(result.device, sizeof result.device, "%s", row->device);
  snprintf(result.executor, sizeof result.executor, "%s", row->executor);
  return ep_job_result_format(&result);
}

char *ep_job_cancellation(const ep_live_job *job) {
  return ep_job_failure(&job->row, job->epoch, EP_CANCELLED, "cancelled");
}

/* Writes what is still to be written; EP_OK when the job has ended on disk. */
static ep_status end_write(ep_jobs *jobs, ep_live_job *job, ep_error *error) {
  if (!job->log) {
    ep_status status = ep_open_logs_retain(&jobs->logs, job->row.id, &job->log, error);
    if (status != EP_OK) return status;
  }
  if (!job->row_ended) { /* once its lines are on disk: nobody would write them again */
    ep_status status = ep_event_log_flush(job->log, error);
    if (status == EP_OK) status = ep_store_job_update(jobs->store, &job->row, error);
    if (status != EP_OK) return status;
    /* Before the end line, whose reader may delete what the job needed. */
    if (job->row.dataset[0] != 0) ep_pins_remove(&jobs->contents.pins, job->row.dataset);
    ep_first_weights_unpin(jobs, job->init_pin);
    /* From here on the row is shown, so that a reader of the end line finds its result. */
    pthread_mutex_lock(&jobs->mutex);
    job->row_ended = true;
    jobs->ends++;
    pthread_mutex_unlock(&jobs->mutex);
  }
  return ep_job_end_append(&job->row, job->log, error);
}

/* The end is on disk: the job is no longer live. */
static void end_complete(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_remove(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_metrics_finished(job->row.state);
  ep_webhooks_wake(jobs->webhooks);
  ep_live_announce(jobs, job->row.id);
  ep_open_logs_release(&jobs->logs, job->log);
  if (job->row.dataset[0] != 0) ep_contents_collect(&jobs->contents, job->row.dataset);
  ep_log(EP_LOG_INFO, "job %s: %s", job->row.id, ep_state_name(job->row.state));
  ep_live_destroy(job);
}

/* Tries to end a job; a job whose end the disk refuses goes to jobs->ending. */
static bool end_try(ep_jobs *jobs, ep_live_job *job) {
  ep_error error = {0};
  if (end_write(jobs, job, &error) == EP_OK) {
    end_complete(jobs, job);
    return true;
  }
  ep_log(EP_LOG_ERROR, "the end of job %s cannot be stored, trying again: %s", job->row.id,
         error.message);
  pthread_mutex_lock(&jobs->mutex);
  job->next_ending = jobs->ending;
  jobs->ending = job;
  pthread_mutex_unlock(&jobs->mutex);
  return false;
}

void ep_job_end(ep_jobs *jobs, ep_live_job *job, ep_state state, char *result_text) {
  ep_job_row *row = &job->row;
  pthread_mutex_lock(&jobs->mutex);
  ep_usage_end(jobs, job);
  if (row->state == EP_STATE_RUNNING) jobs->running--;
  job->state_before = row->state;
  job->version_before = ep_live_version(jobs, job);
  row->state = state;
  row->result = result_text;
  row->finished_us = ep_job_finish_us(row);
  row->version = ep_live_tick(jobs);
  job->ending = true;
  pthread_mutex_unlock(&jobs->mutex);
  if (!end_try(jobs, job)) ep_supervisor_kick(jobs->supervisor);
}

bool ep_job_end_retry(ep_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = jobs->ending, *next;
  jobs->ending = NULL;
  pthread_mutex_unlock(&jobs->mutex);
  bool left = false;
  for (; job; job = next) {
    next = job->next_ending;
    if (!end_try(jobs, job)) left = true;
  }
  return left;
}
