#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/queue.h"
#include "server/jobs/live/live.h"
#include "server/jobs/placement/forecast.h"

/* A copy, to be formatted without the mutex. The rows' texts are owned. */
typedef struct {
  ep_queue_row *queued, *running;
  int64_t queued_count, running_count;
  ep_device_list devices;
  ep_forecast forecast;
} queue_copy;

/* A row without an id is counted alone. */
static bool row_copy(const ep_live_job *job, const ep_viewer *viewer, ep_queue_row *row) {
  *row = (ep_queue_row){0};
  if (!ep_live_is_seen(job, viewer)) return true;
  *row = (ep_queue_row){.id = strdup(job->row.id),
                        .name = strdup(job->name),
                        .owner = strdup(job->row.owner),
                        .priority = job->entry.priority};
  return row->id && row->name && row->owner;
}

/* What is left of a running job: by its pace, else by its estimate. */
static double left_seconds(const ep_live_job *job) {
  double estimate =
      ep_device_is_cuda(job->row.device) ? job->row.seconds_cuda : job->row.seconds_cpu;
  return isnan(job->eta_seconds) ? estimate : job->eta_seconds;
}

/* The mutex is held. */
static bool running_read(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy) {
  bool copied = true;
  for (int i = 0; copied && jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; copied && job; job = job->next) {
      if (!ep_live_is_shown(job) || job->row.state != EP_STATE_RUNNING ||
          copy->running_count == jobs->running)
        continue;
      ep_forecast_run(&copy->forecast, &job->row, left_seconds(job));
      copied = row_copy(job, viewer, &copy->running[copy->running_count++]);
    }
  return copied;
}

/* The mutex is held. */
static bool queue_read(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy) {
  copy->queued = calloc((size_t)jobs->queue.count + 1, sizeof *copy->queued);
  copy->running = calloc((size_t)jobs->running + 1, sizeof *copy->running);
  if (!copy->queued || !copy->running) return false;
  bool copied = running_read(jobs, viewer, copy);
  for (int64_t i = 0; copied && i < jobs->queue.count; i++) {
    const ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!ep_live_is_shown(job)) continue;
    ep_queue_row *row = &copy->queued[copy->queued_count++];
    copied = row_copy(job, viewer, row);
    row->start_seconds = ep_forecast_queue(&copy->forecast, &job->row, job->gang.least);
  }
  return copied;
}

static void queue_rows_free(ep_queue_row *rows, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    free((char *)rows[i].id);
    free((char *)rows[i].name);
    free((char *)rows[i].owner);
  }
  free(rows);
}

ep_status ep_jobs_queue(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  *text = NULL;
  queue_copy *copy = calloc(1, sizeof *copy); /* some 100 KB of devices */
  if (!copy) return ep_fail_memory(error);
  ep_supervisor_get_devices(jobs->supervisor, &copy->devices);
  ep_forecast_init(&copy->forecast, &copy->devices);
  pthread_mutex_lock(&jobs->mutex);
  bool copied = queue_read(jobs, viewer, copy);
  pthread_mutex_unlock(&jobs->mutex);
  if (copied)
    *text = ep_queue_format(copy->queued, copy->queued_count, copy->running, copy->running_count);
  queue_rows_free(copy->queued, copy->queued_count);
  queue_rows_free(copy->running, copy->running_count);
  free(copy);
  return *text ? EP_OK : ep_fail_memory(error);
}
