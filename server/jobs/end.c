/* end.c: see jobs_state.h: how a job ends, on disk.
 *
 * Row first, with the result; then the end event, made from the row. Killed between the two, or
 * before the system has written what is not waited for, the next start (or whoever opens the log)
 * finds a row that ended without an end event and appends it from the row: the same line. Killed
 * before the first, the job is still running by its row and is trained again; by principle 5 its
 * records repeat, and those that are in the log are not appended twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/log.h"

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

ep_status ep_job_end_append(const ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  if (tail.ended) return EP_OK;
  ep_job_result result = {0};
  bool has_result = row->result != NULL;
  ep_status status = EP_OK;
  if (has_result) status = ep_job_result_parse(row->result, &result, error);
  if (status != EP_OK) return status;
  ep_event end = {.job = row->id,
                  .type = EP_EVENT_END,
                  .time_us = row->finished_us,
                  .epochs = row->epochs,
                  .attempt = row->attempt,
                  .device = row->device,
                  .executor = row->executor,
                  .state = row->state,
                  .result = has_result ? &result : NULL,
                  .message = has_result && result.message[0] != 0 ? result.message : NULL};
  if (tail.last_seq == 0) { /* of a job that never began no line was waited for */
    ep_event lines[] = {ep_job_queued_event(row), end};
    status = ep_event_log_append(log, lines, 2, error);
  } else {
    status = ep_event_log_append_copy(log, &end, error);
  }
  ep_job_result_deinit(&result);
  /* Two may find it missing at the same time: the second is told that it is there. */
  return status == EP_CONFLICT ? EP_OK : status;
}

/* Writes what is still to be written; EP_OK when the job has ended on disk. */
static ep_status end_write(ep_jobs *jobs, ep_live_job *job, ep_error *error) {
  if (!job->log) {
    ep_status status = ep_open_logs_retain(&jobs->logs, job->row.id, &job->log, error);
    if (status != EP_OK) return status;
  }
  if (!job->row_ended) { /* not before its lines are on disk: nobody would write them again */
    ep_status status = ep_event_log_flush(job->log, error);
    if (status == EP_OK) status = ep_store_job_update(jobs->store, &job->row, error);
    if (status != EP_OK) return status;
    if (job->row.dataset[0] != 0) ep_pins_remove(&jobs->pins, job->row.dataset);
    /* From here on the row is what is shown: who is shown the end event finds its result. */
    pthread_mutex_lock(&jobs->mutex);
    job->row_ended = true;
    jobs->ends++;
    pthread_mutex_unlock(&jobs->mutex);
  }
  return ep_job_end_append(&job->row, job->log, error);
}

/* The end is on disk: the job is live no more. */
static void end_complete(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_remove(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  ep_metrics_finished(job->row.state);
  ep_live_announce(jobs, job->row.id);
  ep_open_logs_release(&jobs->logs, job->log);
  if (job->row.dataset[0] != 0) ep_jobs_content_collect(jobs, job->row.dataset);
  ep_init_unpin(jobs, job->init_pin);
  ep_log(EP_LOG_INFO, "job %s: %s", job->row.id, ep_state_name(job->row.state));
  ep_live_destroy(job);
}

/* Tries to end a job; keeps it for later when the disk refuses. */
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
  if (row->state == EP_STATE_RUNNING) jobs->running--;
  job->state_before = row->state;
  job->version_before = ep_live_version(jobs, job);
  row->state = state;
  row->result = result_text;
  row->finished_us = ep_clock_utc_us();
  row->version = ep_jobs_tick(jobs);
  job->ending = true;
  pthread_mutex_unlock(&jobs->mutex);
  if (!end_try(jobs, job)) ep_supervisor_kick(jobs->supervisor);
}

bool ep_jobs_end_retry(ep_jobs *jobs) {
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
