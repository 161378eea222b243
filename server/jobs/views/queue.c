#include <stdlib.h>
#include <string.h>

#include "api/responses/queue.h"
#include "server/jobs/live/live.h"

/* A copy, to be formatted without the mutex. The rows' texts are owned. */
typedef struct {
  ep_queue_row *queued, *running;
  int64_t queued_count, running_count;
} queue_copy;

static bool row_copy(const ep_live_job *job, ep_queue_row *row) {
  *row = (ep_queue_row){strdup(job->row.id), strdup(job->name), job->entry.priority};
  return row->id && row->name;
}

/* The mutex is held. */
static bool queue_read(ep_jobs *jobs, queue_copy *copy) {
  copy->queued = calloc((size_t)jobs->queue.count + 1, sizeof *copy->queued);
  copy->running = calloc((size_t)jobs->running + 1, sizeof *copy->running);
  if (!copy->queued || !copy->running) return false;
  bool copied = true;
  for (int64_t i = 0; copied && i < jobs->queue.count; i++) {
    const ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i].id);
    if (ep_live_is_shown(job)) copied = row_copy(job, &copy->queued[copy->queued_count++]);
  }
  for (int i = 0; copied && jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; copied && job; job = job->next)
      if (ep_live_is_shown(job) && job->row.state == EP_STATE_RUNNING &&
          copy->running_count < jobs->running)
        copied = row_copy(job, &copy->running[copy->running_count++]);
  return copied;
}

static void queue_rows_free(ep_queue_row *rows, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    free((char *)rows[i].id);
    free((char *)rows[i].name);
  }
  free(rows);
}

ep_status ep_jobs_queue(ep_jobs *jobs, char **text, ep_error *error) {
  queue_copy copy = {0};
  pthread_mutex_lock(&jobs->mutex);
  bool copied = queue_read(jobs, &copy);
  pthread_mutex_unlock(&jobs->mutex);
  *text = copied ? ep_queue_format(copy.queued, copy.queued_count, copy.running, copy.running_count)
                 : NULL;
  queue_rows_free(copy.queued, copy.queued_count);
  queue_rows_free(copy.running, copy.running_count);
  return *text ? EP_OK : ep_fail_memory(error);
}
