/* recover.c: see jobs_state.h: at start, the data folder is made to agree with the store. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/jobs/state.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum {
  FINISHED_CHECKED = 64
}; /* more than can have been ending when the daemon died; of jobs whose
     end the machine had not written yet, whoever opens the log
     appends it */

/* Writes spec.json unless it is there in full (a crash of the machine may have torn it). */
static ep_status spec_write(ep_jobs *jobs, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat state;
  ep_status status =
      ep_data_dir_path(path, error, jobs->data_dir, "jobs", row->id, EP_SPEC_FILE, NULL);
  if (status != EP_OK) return status;
  size_t bytes = strlen(row->spec);
  if (stat(path, &state) == 0 && (size_t)state.st_size == bytes) return EP_OK;
  return ep_data_dir_write_file(path, row->spec, bytes, error);
}

ep_status ep_job_results_remove(ep_jobs *jobs, const char *id, ep_error *error) {
  static const char *const names[] = {EP_WEIGHTS_FILE, EP_PREDICTIONS_JSON_FILE,
                                      EP_PREDICTIONS_CSV_FILE};
  char path[EP_PATH_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ep_status status = ep_data_dir_path(path, error, jobs->data_dir, "jobs", id, names[i], NULL);
    if (status != EP_OK) return status;
    if (unlink(path) != 0 && errno != ENOENT)
      return ep_fail(error, EP_IO, "%s cannot be removed: %s", path, strerror(errno));
  }
  return EP_OK;
}

ep_event ep_job_queued_event(const ep_job_row *row) {
  return (ep_event){.seq = 1,
                    .job = row->id,
                    .type = EP_EVENT_QUEUED,
                    .time_us = row->created_us,
                    .epochs = row->epochs};
}

/* Begins the log of a new job. Not synced: the row, without which nobody sees the job, is enough to
 * write the same line again. This saves a submission the most expensive sync, a new file's. */
static ep_status queued_write(ep_jobs *jobs, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES], line[1024];
  ep_event event = ep_job_queued_event(row);
  size_t bytes = ep_event_format(&event, line, sizeof line);
  if (bytes == 0) return ep_fail(error, EP_INTERNAL, "the first event of a job is too long");
  ep_status status =
      ep_data_dir_path(path, error, jobs->data_dir, "jobs", row->id, EP_EVENTS_FILE, NULL);
  if (status == EP_OK) status = ep_data_dir_write_file(path, line, bytes, error);
  if (status == EP_OK) ep_metrics_add(EP_COUNTER_EVENT_LINES, 1);
  return status;
}

/* Appends it to a log that is empty, after a crash of the machine. */
static ep_status queued_append(ep_jobs *jobs, const ep_job_row *row, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  ep_event event = ep_job_queued_event(row);
  if (tail.last_seq == 0) status = ep_event_log_append(log, &event, 1, error);
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

ep_status ep_job_folder_write(ep_jobs *jobs, const ep_job_row *row, bool fresh, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_data_dir_path(path, error, jobs->data_dir, "jobs", row->id, NULL);
  if (status != EP_OK) return status;
  status = ep_data_dir_create(path, error);
  if (status == EP_OK) status = spec_write(jobs, row, error);
  if (status != EP_OK) return status;
  return fresh ? queued_write(jobs, row, error) : queued_append(jobs, row, error);
}

/* What the job starts from; "" = nothing. A spec that cannot be read is the worker's to tell of. */
static void init_pin_find(const ep_job_row *row, char pin[EP_PIN_BYTES]) {
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  pin[0] = 0;
  if (problem && ep_job_spec_parse(row->spec, strlen(row->spec), &spec, problem) == EP_OK)
    ep_init_pin_name(spec, pin);
  ep_job_spec_destroy(spec);
  free(problem);
}

/* Pins what the job needs, as it was before; false when memory is short. */
static bool needs_pin(ep_jobs *jobs, const ep_job_row *row, ep_live_job *job) {
  init_pin_find(row, job->init_pin);
  return (job->init_pin[0] == 0 || ep_pins_add(&jobs->pins, job->init_pin)) &&
         (row->dataset[0] == 0 || ep_pins_add(&jobs->pins, row->dataset));
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
 * row knows of: a stop of the daemon may have stored one before it, which never came so far. */
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

/* Row and line of a first start, made to agree. The line comes to the disk before anybody is shown
 * it; the row need not, and is then filled in from the line. Where there is the row alone, nothing
 * of the start was shown, and the line is written from the row. */
static ep_status start_restore(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  if (tail.started && row->executor[0] == 0) {
    status = start_take(row, log, error);
  } else if (!tail.started && row->attempt == 1 && row->executor[0] != 0) {
    status = ep_job_start_hold(row, log, error);
    if (status == EP_OK) status = ep_event_log_flush(log, error);
  }
  ep_open_logs_release(&jobs->logs, log);
  return status;
}

/* Makes a live job of a row that did not end, and queues it. */
static ep_status job_revive(ep_jobs *jobs, ep_job_row *row, ep_error *error) {
  ep_status status = ep_job_folder_write(jobs, row, false, error);
  if (status == EP_OK) status = ep_job_results_remove(jobs, row->id, error);
  if (status == EP_OK) status = start_restore(jobs, row, error);
  if (status != EP_OK) return status;
  ep_live_job *job = ep_live_create(row);
  if (!job || !needs_pin(jobs, row, job)) {
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
      status = job_revive(jobs, &list.rows[i], error);
    }
    more = list.cut;
    ep_job_rows_deinit(&list);
  }
  if (status == EP_OK && count > 0)
    ep_log(EP_LOG_INFO, "%lld jobs were not finished and are queued", (long long)count);
  return status;
}

/* Gives the jobs that ended last their end events, where a death came between row and event. */
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

/* A folder without a row is of a submission that was never acknowledged, or of a job deleted. */
static void job_folder_check(void *context, const char *name) {
  ep_jobs *jobs = context;
  ep_error error = {0};
  if (ep_id_valid(name) && ep_store_job_exists(jobs->store, name)) return;
  if (ep_data_dir_discard(jobs->data_dir, "jobs", name, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "%s", error.message);
}

static void dataset_folder_check(void *context, const char *name) {
  if (strlen(name) == EP_PIN_BYTES - 1) ep_jobs_content_collect(context, name);
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
  if (status == EP_OK) status = ep_data_dir_path(path, error, jobs->data_dir, "jobs", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, job_folder_check, jobs, error);
  if (status == EP_OK) status = unfinished_revive(jobs, error);
  if (status == EP_OK) status = finished_complete(jobs, error);
  if (status == EP_OK) status = ep_data_dir_path(path, error, jobs->data_dir, "datasets", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, dataset_folder_check, jobs, error);
  return status;
}
