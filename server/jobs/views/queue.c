#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/queue.h"
#include "server/jobs/live/live.h"
#include "server/jobs/placement/fit.h"
#include "server/jobs/placement/forecast.h"
#include "server/jobs/placement/room.h"

enum { ROOM = 64 /* for jobs that come between the count and the copy */ };

/* A job as it was. */
typedef struct {
  ep_job_row row; /* its texts are not to be used */
  char name[EP_LIMIT_NAME_BYTES + 1];
  int priority;
  uint64_t owner;
  ep_gang gang;
  bool alone;          /* no other job runs beside it */
  bool elsewhere;      /* it goes to a partition of Slurm, at a time that is not known */
  double left_seconds; /* of a running one */
  int helpers;         /* the same: cores beside its own */
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
  out->owner = job->entry.owner;
  out->gang = job->gang;
  out->alone = job->exclusive;
  out->elsewhere = job->spills[0] != 0;
  out->helpers = job->helpers;
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

/* What a forecast needs. */
typedef struct {
  ep_forecast forecast;
  ep_shares shares; /* cores of those that run, and are before in the queue */
  int64_t quota_cores, bytes_total, bytes; /* of the CPU's memory, those that run have so much */
} outlook;

/* Counts the job's cores with its owner's. False: they are beyond the quota, so that it waits for
 * its owner's other jobs, and others pass it. */
static bool quota_take(outlook *out, const job_copy *job, bool runs) {
  if (out->quota_cores == 0) return true;
  const bool cpu =
      runs ? true : ep_fit_job(&job->row, job->gang.least, "cpu", out->forecast.devices);
  const char *device = runs ? job->row.device : cpu ? "cpu" : "cuda";
  ep_share *share = ep_shares_find(&out->shares, job->owner);
  if (!share && ep_shares_add(&out->shares, job->owner))
    share = ep_shares_find(&out->shares, job->owner);
  if (!share) return true; /* memory is short */
  const int64_t cores = ep_fit_cores(&job->row, device) + (runs ? job->helpers : 0);
  if (!runs && share->cores > 0 && share->cores + cores > out->quota_cores) return false;
  share->cores += cores;
  return true;
}

/* When the job starts; 0 of one that runs. */
static double start_find(outlook *out, const job_copy *job, bool runs) {
  ep_forecast_job wanted = {&job->row, &job->gang, job->alone};
  const bool room = quota_take(out, job, runs);
  if (runs) {
    if (!ep_device_is_cuda(job->row.device) && !ep_device_is_remote(job->row.device) &&
        __builtin_add_overflow(out->bytes, job->row.bytes, &out->bytes))
      out->bytes = INT64_MAX;
    ep_forecast_run(&out->forecast, &wanted, job->left_seconds);
    return 0;
  }
  if (!room || job->elsewhere) return INFINITY;
  /* memory beside those that run is short: it starts when they have ended, at the latest */
  const bool short_of = out->bytes > 0 && job->row.bytes > out->bytes_total - out->bytes;
  ep_job_row row = job->row;
  if (short_of && ep_fit_job(&row, job->gang.least, "cpu", out->forecast.devices)) {
    row.cores = 0;
    wanted.row = &row;
  }
  return ep_forecast_queue(&out->forecast, &wanted);
}

/* The text; NULL: memory is short. */
static char *queue_text(const ep_jobs *jobs, const queue_copy *copy,
                        const ep_device_list *devices) {
  int64_t count = copy->running + copy->queued;
  ep_queue_row *rows = calloc((size_t)count + 1, sizeof *rows);
  outlook *out = calloc(1, sizeof *out);
  char *text = NULL;
  if (rows && out) {
    ep_forecast_init(&out->forecast, devices);
    out->quota_cores = jobs->quota_cores;
    out->bytes_total = ep_room_total(jobs->memory_bytes_max);
    for (int64_t i = 0; i < count; i++)
      rows[i] = row_make(&copy->jobs[i], start_find(out, &copy->jobs[i], i < copy->running));
    text = ep_queue_format(rows + copy->running, copy->queued, rows, copy->running);
    ep_shares_deinit(&out->shares);
  }
  free(out);
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
  if (status == EP_OK) *text = queue_text(jobs, &copy, devices);
  free(copy.jobs);
  free(devices);
  return status == EP_OK && !*text ? ep_fail_memory(error) : status;
}
