#include "server/jobs/lifecycle/stranded.h"

#include <stdlib.h>
#include <string.h>

#include "server/jobs/files/events.h"
#include "server/jobs/live/live.h"
#include "server/jobs/placement/fit.h"
#include "server/process/log.h"

typedef struct {
  char id[EP_ID_BYTES];
  char requested_device[EP_DEVICE_ID_BYTES];
} stranded_job;

/* Marks the queued jobs; list: [queue.count] receives those newly stranded. The mutex is held. */
static int64_t queue_mark(ep_jobs *jobs, const ep_device_list *devices, stranded_job *list) {
  int64_t used = 0;
  for (int64_t i = 0; i < jobs->queue.count; i++) {
    ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!job) continue;
    bool stranded = !ep_fit_any(&job->row, job->gang.least, devices);
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

/* Once its row is on disk: a log without a row is `queued` alone. */
static void job_warn(ep_jobs *jobs, const stranded_job *job) {
  char text[EP_MESSAGE_BYTES];
  ep_error error = {0};
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *stored = ep_live_find_stored(jobs, job->id);
  bool live = stored && !stored->dropped;
  pthread_mutex_unlock(&jobs->mutex);
  if (!live) return;
  ep_fit_none_text(job->requested_device, text);
  ep_log(EP_LOG_WARNING, "job %s: %s", job->id, text);
  ep_status status = ep_job_warning_append(&jobs->logs, job->id, text, &error);
  if (status != EP_OK && status != EP_CONFLICT) /* EP_CONFLICT: it has just been cancelled */
    ep_log(EP_LOG_ERROR, "job %s: %s", job->id, error.message);
  ep_live_announce(jobs, job->id);
}

static int lost_count(const ep_device_list *devices) {
  int lost = 0;
  for (int i = 0; i < devices->count; i++) lost += devices->device[i].state == EP_DEVICE_LOST;
  return lost;
}

void ep_stranded_check(ep_jobs *jobs, const ep_device_list *devices) {
  int lost = lost_count(devices);
  if (lost == jobs->lost_seen) return;
  pthread_mutex_lock(&jobs->mutex);
  stranded_job *list = calloc((size_t)jobs->queue.count + 1, sizeof *list);
  int64_t count = list ? queue_mark(jobs, devices, list) : 0;
  pthread_mutex_unlock(&jobs->mutex);
  if (!list) return; /* again in the next round */
  jobs->lost_seen = lost;
  for (int64_t i = 0; i < count; i++) job_warn(jobs, &list[i]);
  free(list);
}
