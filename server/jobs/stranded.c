/* stranded.c: see jobs_state.h: queued jobs whose device is gone say so, instead of waiting in
 * silence: in their answer, and once in their events. They stay queued: the device may come back
 * with the next start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"
#include "server/process/clock.h"
#include "server/process/log.h"

typedef struct {
  char id[EP_ID_BYTES];
  char requested_device[sizeof((ep_job_row *)NULL)->requested_device];
} stranded_job;

void ep_job_stranded_text(const char *requested_device, char *text, size_t bytes) {
  snprintf(text, bytes,
           "there is no device for this job now: it asks for \"%s\"; it waits until there is one, "
           "or until it is cancelled",
           requested_device);
}

static bool any_fits(const ep_live_job *job, const ep_device_list *devices) {
  for (int i = 0; i < devices->count; i++)
    if (devices->device[i].state != EP_DEVICE_LOST &&
        ep_job_fits(job, devices->device[i].info.id, devices))
      return true;
  return false;
}

/* Marks the queued jobs; list: [queue.count] receives those newly stranded. The mutex is held. */
static int64_t queue_mark(ep_jobs *jobs, const ep_device_list *devices, stranded_job *list) {
  int64_t used = 0;
  for (int64_t i = 0; i < jobs->queue.count; i++) {
    ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i].id);
    if (!job) continue;
    bool stranded = !any_fits(job, devices);
    if (stranded != job->stranded) ep_live_touch(jobs, job);
    if (stranded && !job->stranded) {
      memcpy(list[used].id, job->row.id, sizeof list[used].id);
      memcpy(list[used++].requested_device, job->row.requested_device,
             sizeof list[0].requested_device);
    }
    job->stranded = stranded;
  }
  return used;
}

static void warn(ep_jobs *jobs, const stranded_job *job) {
  char text[EP_MESSAGE_BYTES];
  ep_job_stranded_text(job->requested_device, text, sizeof text);
  ep_event event = {
      .job = job->id, .type = EP_EVENT_WARNING, .time_us = ep_clock_utc_us(), .message = text};
  ep_event_log *log = NULL;
  ep_error error = {0};
  ep_log(EP_LOG_WARNING, "job %s: %s", job->id, text);
  ep_status status = ep_open_logs_retain(&jobs->logs, job->id, &log, &error);
  if (status == EP_OK) status = ep_event_log_append(log, &event, 1, &error);
  if (status != EP_OK && status != EP_CONFLICT) /* EP_CONFLICT: it has just been cancelled */
    ep_log(EP_LOG_ERROR, "job %s: %s", job->id, error.message);
  ep_open_logs_release(&jobs->logs, log);
  ep_live_announce(jobs, job->id);
}

static int lost_count(const ep_device_list *devices) {
  int lost = 0;
  for (int i = 0; i < devices->count; i++) lost += devices->device[i].state == EP_DEVICE_LOST;
  return lost;
}

void ep_jobs_stranded_check(ep_jobs *jobs, const ep_device_list *devices) {
  int lost = lost_count(devices);
  if (lost == jobs->lost_seen) return;
  pthread_mutex_lock(&jobs->mutex);
  stranded_job *list = calloc((size_t)jobs->queue.count + 1, sizeof *list);
  int64_t count = list ? queue_mark(jobs, devices, list) : 0;
  pthread_mutex_unlock(&jobs->mutex);
  if (!list) return; /* again in the next round */
  jobs->lost_seen = lost;
  for (int64_t i = 0; i < count; i++) warn(jobs, &list[i]);
  free(list);
}
