#include "server/jobs/lifecycle/crashes.h"

#include <stdio.h>

#include "server/process/data_dir.h"
#include "server/process/log.h"

/* Deaths of epochd, and the job's highest epoch at the last one. The file needs no sync: a crash of
 * the machine is not the job's. */
typedef struct {
  int deaths;
  long long epoch;
} crashes;

/* No deaths where there is no such file, or it is torn. */
static void crashes_read(const char *path, crashes *out) {
  *out = (crashes){0};
  FILE *file = fopen(path, "re");
  if (!file) return;
  if (fscanf(file, "%d %lld", &out->deaths, &out->epoch) != 2) *out = (crashes){0};
  fclose(file);
}

static ep_status crashes_write(const char *path, const crashes *counted, ep_error *error) {
  char text[48];
  int bytes = snprintf(text, sizeof text, "%d %lld\n", counted->deaths, counted->epoch);
  return ep_data_dir_write_file(path, text, (size_t)bytes, error);
}

static ep_status epoch_read(ep_jobs *jobs, const char *id, long long *epoch, ep_error *error) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_status status = ep_open_logs_retain(&jobs->logs, id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  *epoch = tail.reports.epoch;
  ep_open_logs_release(&jobs->logs, log);
  return EP_OK;
}

bool ep_crashes_count(ep_jobs *jobs, const char *id, char message[EP_MESSAGE_BYTES]) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  crashes counted;
  long long epoch = 0;
  ep_status status = ep_path_join(path, &error, jobs->data_dir, "jobs", id, "crashes", NULL);
  if (status == EP_OK) status = epoch_read(jobs, id, &epoch, &error);
  if (status == EP_OK) {
    crashes_read(path, &counted);
    if (epoch > counted.epoch) counted.deaths = 0;
    counted.deaths++;
    counted.epoch = epoch;
    status = crashes_write(path, &counted, &error);
  }
  if (status != EP_OK) {
    ep_log(EP_LOG_ERROR, "job %s: the deaths of epochd are not counted: %s", id, error.message);
    return false;
  }
  snprintf(
      message, EP_MESSAGE_BYTES,
      "epochd died %d times in a row while this job ran, without a new epoch: see why in "
      "epochd's log and the system's, such as memory that is short, before you submit it again",
      counted.deaths);
  return jobs->crashes_max > 0 && counted.deaths >= jobs->crashes_max;
}
