/* jobs_view.c: see jobs.h: jobs, devices and the queue as answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs_state.h"

/* What memory knows of a live job and its row does not. */
typedef struct {
  bool live, stranded;
  ep_state state;
  uint64_t version;
  int64_t position, epoch, started_us;
  double eta_seconds;
  int attempt;
  char device[16], executor[32];
} live_view;

static void live_read(ep_jobs *jobs, const char *id, live_view *view) {
  *view = (live_view){.position = -1};
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  if (job != NULL && !job->row_ended) {
    view->live = true;
    view->state = job->ending ? job->state_before : job->row.state;
    view->version = ep_live_version(jobs, job);
    if (view->state == EP_STATE_QUEUED && !job->ending)
      view->position = ep_queue_position(&jobs->queue, &job->entry);
    view->stranded = job->stranded && view->state == EP_STATE_QUEUED;
    view->epoch = job->epoch;
    view->eta_seconds = job->eta_seconds;
    view->attempt = job->row.attempt;
    view->started_us = job->row.started_us;
    memcpy(view->device, job->row.device, sizeof view->device);
    memcpy(view->executor, job->row.executor, sizeof view->executor);
  }
  pthread_mutex_unlock(&jobs->mutex);
}

static const char *text_or_null(const char *text) {
  return text[0] != 0 ? text : NULL;
}

static void result_read(const ep_job_row *row, ep_job_view *view, ep_job_result *result) {
  if (row->result == NULL || ep_job_result_parse(row->result, result, NULL) != EP_OK) return;
  view->result = result;
  view->epoch = result->epochs_done;
  if (view->executor == NULL) view->executor = text_or_null(result->executor);
  if (row->state != EP_STATE_FAILED) return;
  view->error_status = result->status;
  view->error_message = result->message[0] != 0 ? result->message : ep_status_text(result->status);
  view->error_pointer = text_or_null(result->pointer);
}

/* The answer for a row, with what memory knows of it. NULL: memory is short. */
static char *row_format(const ep_job_row *row, const live_view *live) {
  ep_job_result result = {0};
  char warning[EP_MESSAGE_BYTES];
  if (live->stranded) ep_job_stranded_text(row->wanted, warning, sizeof warning);
  ep_job_view view = {.id = row->id,
                      .warning = live->stranded ? warning : NULL,
                      .name = row->name,
                      .state = row->state,
                      .spec = row->spec,
                      .device = text_or_null(row->device),
                      .executor = text_or_null(row->executor),
                      .epochs = row->epochs,
                      .queue_position = live->position,
                      .eta_seconds = 0,
                      .queued_seconds = NAN,
                      .parameters = row->parameters,
                      .bytes = row->bytes,
                      .seconds_cpu = row->seconds_cpu,
                      .seconds_cuda = row->seconds_cuda,
                      .created_us = row->created_us,
                      .started_us = row->started_us,
                      .finished_us = row->finished_us,
                      .attempt = row->attempt};
  if (live->live) {
    view.state = live->state;
    view.device = text_or_null(live->device);
    view.executor = text_or_null(live->executor);
    view.epoch = live->epoch;
    view.eta_seconds = live->eta_seconds;
    view.started_us = live->started_us;
    view.finished_us = 0;
    view.attempt = live->attempt;
  } else {
    result_read(row, &view, &result);
  }
  int64_t left_queue_us = view.started_us != 0 ? view.started_us : view.finished_us;
  if (left_queue_us != 0) view.queued_seconds = (double)(left_queue_us - row->created_us) / 1e6;
  char *text = ep_job_format(&view);
  ep_job_result_deinit(&result);
  return text;
}

ep_status ep_jobs_get(ep_jobs *jobs, const char *id, char **text, uint64_t *version,
                      ep_error *error) {
  ep_job_row row;
  live_view live;
  *text = NULL;
  /* Memory first: a job that ends in between is then shown as it was, not as a mixture. */
  live_read(jobs, id, &live);
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  *version = live.live ? live.version : row.version;
  *text = row_format(&row, &live);
  ep_job_row_deinit(&row);
  return *text != NULL ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for a job");
}

/* A row that was read while its job was live, and is no longer: read again. */
static void row_refresh(ep_jobs *jobs, ep_job_row *row) {
  ep_job_row now;
  if (row->finished_us != 0 || ep_store_job_get(jobs->store, row->id, &now, NULL) != EP_OK) return;
  ep_job_row_deinit(row);
  *row = now;
}

/* The texts of rows[0 … count - 1]; false when memory is short, with fewer of them. */
static bool rows_format(ep_jobs *jobs, ep_job_row *rows, int64_t count, char **items,
                        int64_t *used) {
  for (*used = 0; *used < count; ++*used) {
    live_view live;
    live_read(jobs, rows[*used].id, &live);
    if (!live.live) row_refresh(jobs, &rows[*used]);
    items[*used] = row_format(&rows[*used], &live);
    if (items[*used] == NULL) return false;
  }
  return true;
}

ep_status ep_jobs_list(ep_jobs *jobs, int state, const char *after, int64_t limit, char **text,
                       ep_error *error) {
  ep_job_rows list;
  int64_t used = 0;
  *text = NULL;
  if (limit < 1 || limit > EP_LIMIT_LIST_JOBS)
    return ep_fail(error, EP_INVALID, "limit must be 1 to %d", EP_LIMIT_LIST_JOBS);
  /* One more than asked for says whether there is a next page. */
  ep_status status = ep_store_jobs_list(jobs->store, state, after, limit + 1, &list, error);
  if (status != EP_OK) return status;
  bool more = list.count > limit;
  int64_t count = more ? limit : list.count;
  char **items = calloc((size_t)count + 1, sizeof *items);
  if (items != NULL && rows_format(jobs, list.rows, count, items, &used))
    *text = ep_list_format((const char *const *)items, count, more,
                           more ? list.rows[count - 1].id : NULL);
  for (int64_t i = 0; i < used; i++) free(items[i]);
  free(items);
  ep_job_rows_deinit(&list);
  return *text != NULL ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for a list");
}

ep_status ep_jobs_devices(ep_jobs *jobs, char **text, ep_error *error) {
  *text = NULL;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_device_view *views = calloc(EP_LIMIT_DEVICES, sizeof *views);
  if (devices != NULL && views != NULL) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    for (int i = 0; i < devices->count; i++) {
      const ep_device_status *device = &devices->device[i];
      views[i] = (ep_device_view){.info = device->info,
                                  .state = ep_device_state_name(device->state),
                                  .job = text_or_null(device->job),
                                  .pid = device->pid,
                                  .restarts = device->restarts};
    }
    *text = ep_devices_format(views, devices->count);
  }
  free(views);
  free(devices);
  return *text != NULL ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for the devices");
}

/* The queue copied out of the mutex's reach: rows point into `jobs`. */
typedef struct {
  ep_queue_row *queued, *running;
  int64_t queued_count, running_count;
} queue_copy;

static bool row_copy(const ep_live_job *job, ep_queue_row *row) {
  *row = (ep_queue_row){strdup(job->row.id), strdup(job->row.name), job->row.priority};
  return row->id != NULL && row->name != NULL;
}

/* The mutex is held. */
static bool queue_read(ep_jobs *jobs, queue_copy *copy) {
  copy->queued = calloc((size_t)jobs->queue.count + 1, sizeof *copy->queued);
  copy->running = calloc((size_t)jobs->running + 1, sizeof *copy->running);
  if (copy->queued == NULL || copy->running == NULL) return false;
  bool copied = true;
  for (int64_t i = 0; copied && i < jobs->queue.count; i++) {
    const ep_live_job *job = ep_live_find(jobs, jobs->queue.entries[i].id);
    copied = row_copy(job, &copy->queued[copy->queued_count++]);
  }
  for (int i = 0; copied && jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; copied && job != NULL; job = job->next)
      if (job->row.state == EP_STATE_RUNNING && copy->running_count < jobs->running)
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
  return *text != NULL ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for the queue");
}
