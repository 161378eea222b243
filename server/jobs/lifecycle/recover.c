#include "server/jobs/lifecycle/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/files/events.h"
#include "server/jobs/files/files.h"
#include "server/jobs/lifecycle/first_weights.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

/* More jobs than can have been ending when the daemon died. An end line that a crash of the machine
 * took later is appended by whoever opens the log. */
enum { FINISHED_CHECKED = 64 };

/* What the job's first weights come from; "" = nothing. Of a spec that cannot be read, the worker
 * reports the fault. */
static void init_pin_find(const ep_job_row *row, char pin[EP_PIN_BYTES]) {
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  pin[0] = 0;
  if (problem && ep_job_spec_parse(row->spec, strlen(row->spec), &spec, problem) == EP_OK)
    ep_first_weights_pin_name(spec, pin);
  ep_job_spec_destroy(spec);
  free(problem);
}

/* Pins what the job needs, as before the restart; false: memory is short. */
static bool pins_add(ep_jobs *jobs, const ep_job_row *row, ep_live_job *job) {
  init_pin_find(row, job->init_pin);
  return (job->init_pin[0] == 0 || ep_pins_add(&jobs->contents.pins, job->init_pin)) &&
         (row->dataset[0] == 0 || ep_pins_add(&jobs->contents.pins, row->dataset));
}

/* The first `started` line of a log that has one. */
static ep_status start_read(ep_event_log *log, ep_event *event, ep_event_place *place,
                            ep_error *error) {
  ep_status status = EP_OK;
  size_t bytes = 0, length;
  bool ended = false;
  char *lines = malloc(EP_LIMIT_EVENT_BYTES);
  if (!lines) return ep_fail_memory(error);
  event->type = EP_EVENT_QUEUED;
  for (int64_t offset = 0; status == EP_OK && event->type != EP_EVENT_STARTED;
       offset += (int64_t)bytes) {
    status = ep_event_log_read(log, offset, lines, EP_LIMIT_EVENT_BYTES, &bytes, &ended, error);
    if (status == EP_OK && bytes == 0)
      status = ep_fail(error, EP_IO, "an event log has lost its `started` line");
    for (size_t at = 0; status == EP_OK && at < bytes && event->type != EP_EVENT_STARTED;
         at += length + 1) {
      length = (size_t)((char *)memchr(lines + at, '\n', bytes - at) - (lines + at));
      status = ep_event_parse(lines + at, length, event, error);
      if (status == EP_OK && event->type == EP_EVENT_STARTED)
        status = ep_event_parse_place(lines + at, length, place, error);
    }
  }
  free(lines);
  return status;
}

/* Fills in the row of a job that has started from its line, if that is of a later attempt than the
 * row: when the daemon stopped it may have stored an attempt before that one, which had not begun.
 */
static ep_status start_take(ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event event;
  ep_event_place place;
  ep_status status = start_read(log, &event, &place, error);
  if (status != EP_OK || event.attempt <= row->attempt) return status;
  row->state = EP_STATE_RUNNING;
  row->attempt = event.attempt;
  row->started_us = event.time_us; /* whole milliseconds */
  if (row->started_us < row->created_us) row->started_us = row->created_us;
  memcpy(row->device, place.device, sizeof row->device);
  memcpy(row->executor, place.executor, sizeof row->executor);
  return EP_OK;
}

/* Makes row and line of a first start agree. The line is synced before it is shown; a row that is
 * missing is filled in from it. Where there is the row alone, the start was not shown, and the line
 * is written from the row. */
static ep_status start_restore(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  if (tail.started && row->executor[0] == 0) {
    status = start_take(row, log, error);
  } else if (!tail.started && row->attempt == 1 && row->executor[0] != 0) {
    status = ep_job_started_hold(row, log, error);
    if (status == EP_OK) status = ep_event_log_flush(log, error);
  }
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

/* Makes a live job of a row that did not end, and queues it. */
static ep_status job_revive(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_status status = ep_job_files_create(jobs->data_dir, row, error);
  if (status == EP_OK) status = ep_job_queued_append(&jobs->logs, row, error);
  if (status == EP_OK) status = ep_job_files_remove_results(jobs->data_dir, row->id, error);
  if (status == EP_OK) status = start_restore(jobs, row, error);
  if (status != EP_OK) return status;
  ep_live_job *job = ep_live_create(row);
  if (!job || !pins_add(jobs, row, job)) {
    ep_live_destroy(job);
    return ep_fail_memory(error);
  }
  if (row->state != EP_STATE_QUEUED)
    snprintf(job->cause, sizeof job->cause, "the daemon was restarted");
  pthread_mutex_lock(&jobs->mutex);
  ep_live_add(jobs, job);
  if (!ep_live_enqueue(jobs, job, row->attempt > 0)) status = ep_fail_memory(error);
  pthread_mutex_unlock(&jobs->mutex);
  return status;
}

static ep_status unfinished_revive(ep_jobs *jobs, ep_error *error) {
  char after[EP_ID_BYTES] = "";
  int64_t count = 0;
  ep_status status = EP_OK;
  for (bool more = true; status == EP_OK && more;) {
    ep_job_rows list;
    status = ep_store_jobs_unfinished(jobs->store, after, &list, error);
    for (int64_t i = 0; status == EP_OK && i < list.count; i++, count++) {
      memcpy(after, list.rows[i].id, sizeof after);
      if (!list.rows[i].damaged) status = job_revive(jobs, &list.rows[i], error);
    }
    more = list.cut;
    ep_job_rows_deinit(&list);
  }
  if (status == EP_OK && count > 0)
    ep_log(EP_LOG_INFO, "%lld jobs were not finished and are queued", (long long)count);
  return status;
}

/* Appends the end lines of the jobs that ended last, where a death came between row and line. */
static ep_status finished_complete(ep_jobs *jobs, ep_error *error) {
  ep_job_rows list;
  ep_status status = ep_store_jobs_finished_last(jobs->store, FINISHED_CHECKED, &list, error);
  for (int64_t i = 0; status == EP_OK && i < list.count; i++) {
    ep_event_log *log = NULL;
    ep_error why = {0};
    if (ep_open_logs_retain(&jobs->logs, list.rows[i].id, &log, &why) != EP_OK ||
        ep_job_end_append(&list.rows[i], log, &why) != EP_OK)
      ep_log(EP_LOG_ERROR, "the events of job %s: %s", list.rows[i].id, why.message);
    ep_open_logs_release(&jobs->logs, log);
  }
  ep_job_rows_deinit(&list);
  return status;
}

/* A folder without a row is of a submission that was never acknowledged, or of a deleted job. */
static void job_folder_check(void *context, const char *name) {
  ep_jobs *jobs = context;
  ep_error error = {0};
  if (ep_id_valid(name) && ep_store_job_exists(jobs->store, name)) return;
  if (ep_data_dir_discard(jobs->data_dir, "jobs", name, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "%s", error.message);
}

static void dataset_folder_check(void *context, const char *name) {
  ep_jobs *jobs = context;
  if (strlen(name) == EP_SHA256_HEX_BYTES - 1) ep_contents_collect(&jobs->contents, name);
}

/* New ids are greater than the newest there is, even when the clock was set back. */
static ep_status newest_observe(ep_jobs *jobs, ep_error *error) {
  ep_job_rows newest;
  ep_job_page page = {.state = -1, .limit = 1, .summary = true};
  ep_status status = ep_store_jobs_list(jobs->store, &page, &newest, error);
  if (status == EP_OK && newest.count > 0) ep_id_observe(newest.rows[0].id);
  ep_job_rows_deinit(&newest);
  return status;
}

ep_status ep_jobs_recover(ep_jobs *jobs, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = newest_observe(jobs, error);
  if (status == EP_OK) status = ep_path_join(path, error, jobs->data_dir, "jobs", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, job_folder_check, jobs, error);
  if (status == EP_OK) status = unfinished_revive(jobs, error);
  if (status == EP_OK) status = finished_complete(jobs, error);
  if (status == EP_OK) status = ep_path_join(path, error, jobs->data_dir, "datasets", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, dataset_folder_check, jobs, error);
  return status;
}
