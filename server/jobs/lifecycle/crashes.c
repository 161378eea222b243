#include "server/jobs/lifecycle/crashes.h"

#include <stdio.h>
#include <unistd.h>

#include "server/jobs/checkpoints.h"
#include "server/jobs/files/events.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

/* Deaths of epochd, and the job's highest epoch and step at the last one. The file needs no sync: a
 * crash of the machine is not the job's. */
typedef struct {
  int deaths;
  long long epoch, step;
} crashes;

/* No deaths where there is no such file, or it is torn. */
static void crashes_read(const char *path, crashes *out) {
  *out = (crashes){0};
  FILE *file = fopen(path, "re");
  if (!file) return;
  /* an earlier release wrote no step */
  if (fscanf(file, "%d %lld %lld", &out->deaths, &out->epoch, &out->step) < 2) *out = (crashes){0};
  fclose(file);
}

static ep_status crashes_write(const char *path, const crashes *counted, ep_error *error) {
  char text[64];
  int bytes =
      snprintf(text, sizeof text, "%d %lld %lld\n", counted->deaths, counted->epoch, counted->step);
  return ep_data_dir_write_file(path, text, (size_t)bytes, error);
}

/* How far the job has come: its log's last epoch, and its newest checkpoint, which is later where
 * an epoch takes long. */
static ep_status progress_read(ep_jobs *jobs, const char *id, crashes *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  ep_checkpoint checkpoint;
  ep_status status = ep_open_logs_retain(&jobs->logs, id, &log, error);
  if (status != EP_OK) return status;
  ep_event_log_get_tail(log, &tail);
  ep_open_logs_release(&jobs->logs, log);
  *out = (crashes){.epoch = tail.reports.epoch};
  if (ep_jobs_checkpoint_find(jobs, id, EP_CHECKPOINT_LATEST, &checkpoint, path, NULL) == EP_OK)
    out->step = checkpoint.step;
  return EP_OK;
}

static ep_status path_make(ep_jobs *jobs, const char *id, char path[EP_PATH_BYTES],
                           ep_error *error) {
  return ep_path_join(path, error, jobs->data_dir, "jobs", id, "crashes", NULL);
}

static bool are_too_many(const ep_jobs *jobs, int deaths) {
  return jobs->crashes_max > 0 && deaths >= jobs->crashes_max;
}

static ep_status job_pause(ep_jobs *jobs, int deaths, ep_job_row *row, ep_error *error) {
  char message[EP_MESSAGE_BYTES];
  ep_live_crashes_text(deaths, message);
  ep_status status = ep_job_warning_append(&jobs->logs, row->id, message, error);
  if (status == EP_OK) status = ep_store_job_intend(jobs->store, row->id, EP_INTENT_PAUSE, error);
  if (status != EP_OK) return status;
  row->intent = EP_INTENT_PAUSE;
  ep_log(EP_LOG_WARNING, "job %s: %s", row->id, message);
  return EP_OK;
}

void ep_crashes_count(ep_jobs *jobs, ep_job_row *row) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  crashes before, now = {0};
  ep_status status = path_make(jobs, row->id, path, &error);
  if (status == EP_OK) status = progress_read(jobs, row->id, &now, &error);
  if (status == EP_OK) {
    crashes_read(path, &before);
    bool further = now.epoch > before.epoch || now.step > before.step;
    now.deaths = further ? 1 : before.deaths + 1;
    status = crashes_write(path, &now, &error);
  }
  if (status == EP_OK && are_too_many(jobs, now.deaths) && row->intent != EP_INTENT_CANCEL)
    status = job_pause(jobs, now.deaths, row, &error);
  if (status != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: the deaths of epochd are not counted: %s", row->id,
           error.message);
}

int ep_crashes_of_paused(ep_jobs *jobs, const char *id) {
  char path[EP_PATH_BYTES];
  crashes counted = {0};
  if (path_make(jobs, id, path, NULL) == EP_OK) crashes_read(path, &counted);
  return are_too_many(jobs, counted.deaths) ? counted.deaths : 0;
}

void ep_crashes_forget(ep_jobs *jobs, const char *id) {
  char path[EP_PATH_BYTES];
  if (path_make(jobs, id, path, NULL) == EP_OK) unlink(path); /* else the next death counts on */
}
