/* The log of each job: every line is right, and it ends as its row does. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "server/check/checkup.h"
#include "server/events/log_scan.h"

static void scan_judge(ep_checkup *checkup, const ep_job_row *row, const ep_log_scan *scan) {
  bool ended = ep_state_has_ended(row->state);
  if (scan->damaged)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " is damaged after line %lld",
                     (long long)scan->lines);
  else if (ended && !scan->ended)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " lacks its end; the next reader adds it");
  else if (!ended && scan->ended)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " has an end, and the row is %s",
                     ep_state_name((int)row->state));
}

static void log_check(ep_checkup *checkup, const ep_job_row *row) {
  char path[EP_PATH_BYTES];
  ep_log_scan scan;
  ep_error error = {0};
  ep_status status = ep_checkup_path(checkup, row->id, EP_EVENTS_FILE, path, &error);
  int file = status == EP_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (status == EP_OK && file < 0)
    status = ep_fail(&error, EP_IO, EP_EVENTS_FILE " cannot be opened: %s", strerror(errno));
  if (status == EP_OK) status = ep_log_scan_file(file, NULL, NULL, &scan, &error);
  if (status == EP_OK)
    scan_judge(checkup, row, &scan);
  else
    ep_checkup_fault(checkup, row->id, "%s", error.message);
  if (file >= 0) close(file);
}

ep_status ep_check_logs(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, log_check, error);
}
