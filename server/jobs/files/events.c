#include "server/jobs/files/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/wire/result.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"

/* Its time is the row's, so that the line is the same whenever it is written. */
static ep_event queued_event(const ep_job_row *row) {
  return (ep_event){.seq = 1,
                    .job = row->id,
                    .type = EP_EVENT_QUEUED,
                    .time_us = row->created_us,
                    .epochs = row->epochs};
}

ep_status ep_job_queued_write(const char *data_dir, const ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES], line[EP_QUEUED_BYTES];
  ep_event event = queued_event(row);
  size_t bytes = ep_event_format(&event, line, sizeof line);
  if (bytes == 0) return ep_fail(error, EP_INTERNAL, "the first event of a job is too long");
  ep_status status = ep_path_join(path, error, data_dir, "jobs", row->id, EP_EVENTS_FILE, NULL);
  if (status == EP_OK) status = ep_data_dir_write_file(path, line, bytes, error);
  if (status == EP_OK) ep_metrics_add(EP_COUNTER_EVENT_LINES, 1);
  return status;
}

ep_status ep_job_queued_append(ep_open_logs *logs, const ep_job_row *row, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(logs, row->id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  ep_event event = queued_event(row);
  if (tail.last_seq == 0) status = ep_event_log_append(log, &event, 1, error);
  ep_open_logs_release(logs, log);
  return status;
}

ep_status ep_job_started_hold(const ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event event = {.job = row->id,
                    .type = EP_EVENT_STARTED,
                    .time_us = row->started_us,
                    .epochs = row->epochs,
                    .attempt = row->attempt,
                    .device = row->device,
                    .executor = row->executor};
  return ep_event_log_hold(log, &event, 1, error);
}

ep_status ep_job_restarted_hold(const ep_job_row *row, const char *cause, int64_t epoch,
                                ep_event_log *log, ep_error *error) {
  char message[2 * EP_MESSAGE_BYTES + 64];
  snprintf(message, sizeof message, "%s; %s from epoch %lld", cause,
           epoch > 0 ? "going on" : "starting again", (long long)epoch);
  ep_event event = {.job = row->id,
                    .type = EP_EVENT_RESTARTED,
                    .time_us = ep_clock_utc_us(),
                    .attempt = row->attempt,
                    .progress = {.epoch = epoch},
                    .message = message};
  return ep_event_log_hold(log, &event, 1, error);
}

ep_status ep_job_checkpoint_hold(const ep_job_row *row, const ep_reply *checkpoint,
                                 ep_event_log *log, ep_error *error) {
  ep_event event = {.job = row->id,
                    .type = EP_EVENT_CHECKPOINT,
                    .time_us = ep_clock_utc_us(),
                    .epochs = row->epochs,
                    .progress = {.epoch = checkpoint->epoch},
                    .step = checkpoint->step,
                    .bytes = checkpoint->bytes};
  return ep_event_log_hold(log, &event, 1, error);
}

ep_status ep_job_place_append(ep_open_logs *logs, const ep_job_row *row, ep_event_type type,
                              int64_t epoch, ep_error *error) {
  ep_event event = {.job = row->id,
                    .type = type,
                    .time_us = ep_clock_utc_us(),
                    .epochs = row->epochs,
                    .progress = {.epoch = epoch}};
  ep_event_log *log = NULL;
  ep_status status = ep_open_logs_retain(logs, row->id, &log, error);
  if (status == EP_OK) status = ep_event_log_append(log, &event, 1, error);
  ep_open_logs_release(logs, log);
  return status;
}

ep_event ep_job_warning_event(const char *id, const char *message) {
  return (ep_event){
      .job = id, .type = EP_EVENT_WARNING, .time_us = ep_clock_utc_us(), .message = message};
}

ep_status ep_job_warning_hold(const ep_job_row *row, const char *message, ep_event_log *log,
                              ep_error *error) {
  ep_event event = ep_job_warning_event(row->id, message);
  return ep_event_log_hold(log, &event, 1, error);
}

ep_status ep_job_warning_append(ep_open_logs *logs, const char *id, const char *message,
                                ep_error *error) {
  ep_event event = ep_job_warning_event(id, message);
  ep_event_log *log = NULL;
  ep_status status = ep_open_logs_retain(logs, id, &log, error);
  if (status == EP_OK) status = ep_event_log_append(log, &event, 1, error);
  ep_open_logs_release(logs, log);
  return status;
}

/* Whether the log lacks epochs that it had: the last one of a job is reported. */
static bool epochs_missing(const ep_job_row *row, const ep_event_log_tail *tail,
                           int64_t epochs_done) {
  return row->state == EP_STATE_SUCCEEDED && epochs_done == row->epochs &&
         epochs_done > tail->reports.epoch;
}

/* What the log of an ended job has lost, as a message; false: nothing that is known. Its time and
 * its text are of the row and the log, so that the line is the same whenever it is written. */
static bool loss_find(const ep_job_row *row, const ep_event_log_tail *tail, int64_t epochs_done,
                      char message[EP_MESSAGE_BYTES]) {
  if (!tail->damaged && !epochs_missing(row, tail, epochs_done)) return false;
  if (epochs_done > tail->reports.epoch)
    snprintf(message, EP_MESSAGE_BYTES,
             "the event log was damaged: the lines of epochs %lld to %lld are lost",
             (long long)tail->reports.epoch + 1, (long long)epochs_done);
  else
    snprintf(message, EP_MESSAGE_BYTES,
             "the event log was damaged behind epoch %lld, the job's last", (long long)epochs_done);
  return true;
}

static ep_event end_event(const ep_job_row *row, const ep_job_result *result) {
  return (ep_event){.job = row->id,
                    .type = EP_EVENT_END,
                    .time_us = row->finished_us,
                    .epochs = row->epochs,
                    .attempt = row->attempt,
                    .device = row->device,
                    .executor = row->executor,
                    .state = row->state,
                    .result = result,
                    .message = result && result->message[0] != 0 ? result->message : NULL};
}

/* Whether what was cut of a damaged log may be the end line alone, which is not synced: a power
 * failure tears it, and it is written again as it was. */
static bool end_torn(const ep_event *end, const ep_event_log_tail *tail) {
  ep_event event = *end;
  event.seq = tail->last_seq + 1;
  char *line = tail->last_seq > 0 ? malloc(EP_LIMIT_EVENT_BYTES) : NULL;
  size_t bytes = line ? ep_event_format(&event, line, EP_LIMIT_EVENT_BYTES) : 0;
  free(line);
  return tail->cut_bytes <= (int64_t)bytes;
}

/* Appends `end`, behind what the log lacks before it. */
static ep_status end_write(const ep_job_row *row, const ep_job_result *result, ep_event_log *log,
                           const ep_event_log_tail *tail, ep_error *error) {
  ep_event lines[3], end = end_event(row, result);
  char loss[EP_MESSAGE_BYTES];
  int count = 0;
  int64_t epochs_done = result ? result->epochs_done : 0;
  bool torn = tail->damaged && !epochs_missing(row, tail, epochs_done) && end_torn(&end, tail);
  if (tail->last_seq == 0) lines[count++] = queued_event(row);
  if (!torn && loss_find(row, tail, epochs_done, loss))
    lines[count++] = (ep_event){
        .job = row->id, .type = EP_EVENT_WARNING, .time_us = row->finished_us, .message = loss};
  lines[count++] = end;
  return count > 1 ? ep_event_log_append(log, lines, count, error)
                   : ep_event_log_append_copy(log, lines, error);
}

ep_status ep_job_end_append(const ep_job_row *row, ep_event_log *log, ep_error *error) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  if (tail.ended || row->damaged) return EP_OK; /* a damaged row knows no end */
  ep_job_result result = {0};
  bool has_result = row->result != NULL;
  ep_status status = EP_OK;
  if (has_result) status = ep_job_result_parse(row->result, &result, error);
  if (status != EP_OK) return status;
  status = end_write(row, has_result ? &result : NULL, log, &tail, error);
  ep_job_result_deinit(&result);
  /* Two threads may find it missing at the same time: the second one gets EP_CONFLICT. */
  return status == EP_CONFLICT ? EP_OK : status;
}
