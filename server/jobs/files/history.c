#include "server/jobs/files/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/wire/event.h"
#include "api/wire/event_end.h"
#include "server/events/log_scan.h"
#include "server/process/data_dir.h"

static ep_status start_take(const char *line, size_t bytes, const ep_event *event, ep_job_row *row,
                            ep_error *error) {
  ep_event_place place;
  ep_status status = ep_event_parse_place(line, bytes, &place, error);
  if (status != EP_OK) return status;
  row->started_us = event->time_us;
  memcpy(row->device, place.device, sizeof row->device);
  memcpy(row->executor, place.executor, sizeof row->executor);
  return EP_OK;
}

static ep_status end_take(const char *line, size_t bytes, const ep_event *event, ep_job_row *row,
                          ep_error *error) {
  ep_event_end end;
  ep_status status = ep_event_parse_end(line, bytes, &end, error);
  if (status != EP_OK) return status;
  end.result.parameters = row->parameters;
  end.result.bytes = row->bytes;
  snprintf(end.result.device, sizeof end.result.device, "%s", row->device);
  snprintf(end.result.executor, sizeof end.result.executor, "%s", row->executor);
  row->result = end.has_result ? ep_job_result_format(&end.result) : NULL;
  if (end.has_result && !row->result) status = ep_fail_memory(error);
  ep_job_result_deinit(&end.result);
  row->state = end.state;
  row->finished_us = event->time_us;
  return status;
}

static ep_status line_take(void *context, const char *line, size_t bytes, int64_t offset,
                           ep_error *error) {
  (void)offset;
  ep_job_row *row = context;
  ep_event event;
  ep_status status = ep_event_parse(line, bytes - 1, &event, error);
  if (status != EP_OK) return status;
  if (event.type == EP_EVENT_QUEUED) row->created_us = event.time_us;
  if (event.type == EP_EVENT_STARTED || event.type == EP_EVENT_RESTARTED)
    row->attempt = event.attempt;
  if (event.type == EP_EVENT_STARTED) status = start_take(line, bytes - 1, &event, row, error);
  if (event.type == EP_EVENT_END) status = end_take(line, bytes - 1, &event, row, error);
  return status;
}

ep_status ep_job_history_read(const char *data_dir, ep_job_row *row, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_log_scan scan;
  ep_status status = ep_path_join(path, error, data_dir, "jobs", row->id, EP_EVENTS_FILE, NULL);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s cannot be opened: %s", path,
                   strerror(errno));
  status = ep_log_scan_file(file, line_take, row, &scan, error);
  close(file);
  return status;
}
