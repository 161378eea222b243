#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/queue.h"
#include "server/jobs/live/live.h"
#include "server/jobs/placement/forecast.h"

enum { ROOM = 64 /* for jobs that come between the count and the copy */ };

/* A job as it was. */
typedef struct {
  ep_job_row row; /* its texts are not to be used */
  char name[EP_LIMIT_NAME_BYTES + 1];
  int priority, gpus_least;
  double left_seconds; /* of a running one */
  bool seen;           /* the viewer may see it */
} job_copy;

/* The queue, copied under the mutex as bytes: the forecast and the text are made without it. */
typedef struct {
  job_copy *jobs; /* [capacity], owned: those that run, then those that wait */
  int64_t running, queued, capacity;
} queue_copy;

/* Locked, as all of these. */
static void job_take(const ep_live_job *job, const ep_viewer *viewer, queue_copy *copy) {
  job_copy *out = &copy->jobs[copy->running + copy->queued];
  out->row = job->row;
  snprintf(out->name, sizeof out->name, "%s", job->name);
  out->priority = job->entry.priority;
  out->gpus_least = job->gang.least;
  out->left_seconds = ep_live_left_seconds(job);
  out->seen = ep_live_is_seen(job, viewer);
}

static void running_take(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy) {
  for (int i = 0; copy->running < jobs->running && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next) {
      if (!ep_live_is_shown(job) || job->row.state != EP_STATE_RUNNING ||
          copy->running == jobs->running)
        continue;
      job_take(job, viewer, copy);
      copy->running++;
    }
}

static void queued_take(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy) {
  for (int64_t i = 0; i < jobs->queue.count; i++) {
    const ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i]->id);
    if (!ep_live_is_shown(job)) continue;
    job_take(job, viewer, copy);
    copy->queued++;
  }
}

/* Copies all, where there is room for it; *needed: of how many. */
static bool queue_take(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy, int64_t *needed) {
  pthread_mutex_lock(&jobs->mutex);
  *needed = jobs->running + jobs->queue.count;
  bool fits = *needed <= copy->capacity;
  if (fits) {
    running_take(jobs, viewer, copy);
    queued_take(jobs, viewer, copy);
  }
  pthread_mutex_unlock(&jobs->mutex);
  return fits;
}

/* Memory is taken without the mutex. */
static ep_status queue_copy_make(ep_jobs *jobs, const ep_viewer *viewer, queue_copy *copy,
                                 ep_error *error) {
  int64_t needed;
  *copy = (queue_copy){0};
  while (!queue_take(jobs, viewer, copy, &needed)) {
    free(copy->jobs);
    copy->capacity = needed + ROOM;
    copy->jobs = malloc((size_t)copy->capacity * sizeof *copy->jobs);
    if (!copy->jobs) return ep_fail_memory(error);
  }
  return EP_OK;
}

/* The row that is shown; without an id it is counted alone. */
static ep_queue_row row_make(const job_copy *job, double start_seconds) {
  if (!job->seen) return (ep_queue_row){0};
  return (ep_queue_row){.id = job->row.id,
                        .name = job->name,
                        .owner = job->row.owner,
                        .priority = job->priority,
                        .start_seconds = start_seconds};
}

/* The text; NULL: memory is short. */
static char *queue_text(const queue_copy *copy, const ep_device_list *devices) {
  int64_t count = copy->running + copy->queued;
  ep_queue_row *rows = calloc((size_t)count + 1, sizeof *rows);
  ep_forecast *forecast = malloc(sizeof *forecast);
  char *text = NULL;
  if (rows && forecast) {
    ep_forecast_init(forecast, devices);
    for (int64_t i = 0; i < count; i++) {
      const job_copy *job = &copy->jobs[i];
      double start = 0;
      if (i < copy->running)
        ep_forecast_run(forecast, &job->row, job->left_seconds);
      else
        start = ep_forecast_queue(forecast, &job->row, job->gpus_least);
      rows[i] = row_make(job, start);
    }
    text = ep_queue_format(rows + copy->running, copy->queued, rows, copy->running);
  }
  free(forecast);
  free(rows);
  return text;
}

ep_status ep_jobs_queue(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  queue_copy copy;
  *text = NULL;
  ep_device_list *devices = malloc(sizeof *devices); /* some 100 KB */
  if (!devices) return ep_fail_memory(error);
  ep_supervisor_get_devices(jobs->supervisor, devices);
  ep_status status = queue_copy_make(jobs, viewer, &copy, error);
  if (status == EP_OK) *text = queue_text(&copy, devices);
  free(copy.jobs);
  free(devices);
  return status == EP_OK && !*text ? ep_fail_memory(error) : status;
}
