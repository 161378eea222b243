/* The log of each job: every line is right, it ends as its row does, and the checkpoints of a job
 * that waits are there. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json/scanner.h"
#include "engine/checkpoints/list.h"
#include "engine/files/path.h"
#include "server/check/checkup.h"
#include "server/events/log_scan.h"
#include "server/process/data_dir.h"

enum { CHECKPOINTS_ALWAYS = 2 }; /* besides those of checkpoint.keep: while a job trains */

/* The checkpoints since the job's last start, before which others may have been removed. */
typedef struct {
  int64_t count;
  double step[EP_LIMIT_CHECKPOINTS + CHECKPOINTS_ALWAYS]; /* in turn */
} logged_checkpoints;

static ep_status checkpoint_note(void *context, const char *line, size_t bytes, int64_t offset,
                                 ep_error *error) {
  logged_checkpoints *logged = context;
  char type[16];
  double step;
  ep_scanner found = {line, line + bytes}, number = found;
  (void)offset, (void)error;
  if (!ep_scan_member(&found, "type") || !ep_scan_string(&found, type, sizeof type)) return EP_OK;
  if (strcmp(type, "checkpoint") == 0 && ep_scan_member(&number, "step") &&
      ep_scan_number(&number, &step))
    logged->step[logged->count++ % (int64_t)(sizeof logged->step / sizeof step)] = step;
  else if (strcmp(type, "started") == 0 || strcmp(type, "restarted") == 0 ||
           strcmp(type, "resumed") == 0)
    logged->count = 0;
  return EP_OK;
}

/* How many a job keeps that has not ended. */
static int64_t checkpoints_kept(const char *spec) {
  ep_scanner scanner = {spec, spec + strlen(spec)};
  double keep = 0;
  if (ep_scan_member(&scanner, "checkpoint") && ep_scan_member(&scanner, "keep") &&
      ep_scan_number(&scanner, &keep) && keep > EP_LIMIT_CHECKPOINTS)
    keep = EP_LIMIT_CHECKPOINTS;
  return CHECKPOINTS_ALWAYS + (int64_t)keep;
}

/* Of an ended job its result names them; of one that ran when the daemon was killed a start may
 * just have removed what it cannot use. */
static void checkpoints_check(ep_checkup *checkup, const ep_job_row *row,
                              const logged_checkpoints *logged) {
  char folder[EP_PATH_BYTES], path[EP_PATH_BYTES];
  const int64_t slots = (int64_t)(sizeof logged->step / sizeof *logged->step);
  if (row->state != EP_STATE_PAUSED && row->state != EP_STATE_QUEUED) return;
  int64_t left = checkpoints_kept(row->spec);
  if (ep_path_join(folder, NULL, checkup->data_dir, "jobs", row->id, NULL) != EP_OK) return;
  for (int64_t i = logged->count; i > 0 && left > 0; i--, left--)
    if (ep_checkpoint_path(folder, (int64_t)logged->step[(i - 1) % slots], path, NULL) == EP_OK &&
        !ep_data_dir_exists(path))
      ep_checkup_fault(checkup, row->id, "%s is missing", strrchr(path, '/') + 1);
}

/* file_bytes: of which a torn last line is none of a log that ended. */
static void scan_judge(ep_checkup *checkup, const ep_job_row *row, const ep_log_scan *scan,
                       int64_t file_bytes) {
  bool ended = ep_state_has_ended(row->state);
  if (scan->damaged)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " is damaged after line %lld",
                     (long long)scan->lines);
  else if (scan->lines == 0) /* the first is synced before the job is accepted */
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " has lost its first line");
  else if (ended && !scan->ended)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " lacks its end; the next reader adds it");
  else if (ended && scan->bytes < file_bytes)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " has %lld bytes behind its end",
                     (long long)(file_bytes - scan->bytes));
  else if (!ended && scan->ended)
    ep_checkup_fault(checkup, row->id, EP_EVENTS_FILE " has an end, and the row is %s",
                     ep_state_name((int)row->state));
}

static void log_check(ep_checkup *checkup, const ep_job_row *row) {
  char path[EP_PATH_BYTES];
  ep_log_scan scan;
  struct stat about = {0};
  logged_checkpoints logged;
  ep_error error = {0};
  logged.count = 0;
  ep_status status = ep_checkup_path(checkup, row->id, EP_EVENTS_FILE, path, &error);
  int file = status == EP_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (status == EP_OK && file < 0)
    status = ep_fail(&error, EP_IO, EP_EVENTS_FILE " cannot be opened: %s", strerror(errno));
  if (status == EP_OK) status = ep_log_scan_file(file, checkpoint_note, &logged, &scan, &error);
  if (status == EP_OK && fstat(file, &about) != 0)
    status = ep_fail(&error, EP_IO, EP_EVENTS_FILE ": %s", strerror(errno));
  if (status != EP_OK) {
    ep_checkup_fault(checkup, row->id, "%s", error.message);
  } else {
    scan_judge(checkup, row, &scan, about.st_size);
    checkpoints_check(checkup, row, &logged);
  }
  if (file >= 0) close(file);
}

ep_status ep_check_logs(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, log_check, error);
}
