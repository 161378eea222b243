/* view.c: see jobs.h: jobs, devices and the queue as answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"

void ep_live_read(ep_jobs *jobs, const char *id, ep_live_view *view) {
  *view = (ep_live_view){.position = -1};
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  if (job && !job->row_ended) {
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
  if (!row->result || ep_job_result_parse(row->result, result, NULL) != EP_OK) return;
  view->result = result;
  view->epoch = result->epochs_done;
  if (!view->executor) view->executor = text_or_null(result->executor);
  if (row->state != EP_STATE_FAILED) return;
  view->error_status = result->status;
  view->error_message = result->message[0] != 0 ? result->message : ep_status_text(result->status);
  view->error_pointer = text_or_null(result->pointer);
}

/* What memory knows, over what the row says. */
static void live_lay(const ep_live_view *live, ep_job_view *view) {
  view->state = live->state;
  view->device = text_or_null(live->device);
  view->executor = text_or_null(live->executor);
  view->epoch = live->epoch;
  view->eta_seconds = live->eta_seconds;
  view->started_us = live->started_us;
  view->finished_us = 0;
  view->attempt = live->attempt;
}

void ep_job_show(const ep_job_row *row, const ep_live_view *live, ep_job_shown *out) {
  *out = (ep_job_shown){0};
  if (live->stranded)
    ep_job_stranded_text(row->requested_device, out->warning, sizeof out->warning);
  out->view = (ep_job_view){.id = row->id,
                            .warning = live->stranded ? out->warning : NULL,
                            .name = row->name,
                            .tags = row->tags,
                            .priority = row->priority,
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
  ep_job_view *view = &out->view;
  if (live->live)
    live_lay(live, view);
  else
    result_read(row, view, &out->result);
  int64_t left_queue_us = view->started_us != 0 ? view->started_us : view->finished_us;
  if (left_queue_us != 0) view->queued_seconds = (double)(left_queue_us - row->created_us) / 1e6;
}

char *ep_job_row_format(const ep_job_row *row, const ep_live_view *live, bool summary) {
  ep_job_shown shown;
  ep_job_show(row, live, &shown);
  char *text = summary ? ep_job_summary_format(&shown.view) : ep_job_format(&shown.view);
  ep_job_result_deinit(&shown.result);
  return text;
}

struct ep_job_copy {
  ep_job_row row;
  ep_job_shown shown; /* points into the row */
  uint64_t version;
};

ep_status ep_jobs_copy(ep_jobs *jobs, const char *id, ep_job_copy **out, ep_error *error) {
  ep_live_view live;
  *out = NULL;
  ep_job_copy *copy = calloc(1, sizeof *copy);
  if (!copy) return ep_fail_memory(error);
  /* Memory first: a job that ends in between is then shown as it was, not as a mixture. */
  ep_live_read(jobs, id, &live);
  ep_status status = ep_store_job_get(jobs->store, id, &copy->row, error);
  if (status != EP_OK) {
    free(copy);
    return status;
  }
  ep_job_show(&copy->row, &live, &copy->shown);
  if (live.live) { /* lent by what goes out of scope */
    snprintf(copy->row.device, sizeof copy->row.device, "%s", live.device);
    snprintf(copy->row.executor, sizeof copy->row.executor, "%s", live.executor);
    copy->shown.view.device = text_or_null(copy->row.device);
    copy->shown.view.executor = text_or_null(copy->row.executor);
  }
  copy->version = live.live ? live.version : copy->row.version;
  *out = copy;
  return EP_OK;
}

ep_status ep_jobs_get(ep_jobs *jobs, const char *id, char **text, uint64_t *version,
                      ep_error *error) {
  ep_job_copy *copy = NULL;
  *text = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status != EP_OK) return status;
  *version = copy->version;
  *text = ep_job_format(&copy->shown.view);
  ep_job_copy_destroy(copy);
  return *text ? EP_OK : ep_fail_memory(error);
}

uint64_t ep_job_copy_version(const ep_job_copy *copy) {
  return copy->version;
}

const ep_job_view *ep_job_copy_view(const ep_job_copy *copy) {
  return &copy->shown.view;
}

void ep_job_copy_destroy(ep_job_copy *copy) {
  if (!copy) return;
  ep_job_result_deinit(&copy->shown.result);
  ep_job_row_deinit(&copy->row);
  free(copy);
}

/* jobs: room for the jobs of all devices, from *used on. */
static ep_device_view device_view(const ep_device_list *list, int device, const char **jobs,
                                  int *used) {
  const ep_device_status *status = &list->device[device];
  ep_device_view view = {.info = status->info,
                         .state = ep_device_state_name(status->state),
                         .jobs = jobs + *used,
                         .cores = status->cores,
                         .restarts = status->restarts};
  for (int i = 0; i < list->workers_count; i++) {
    const ep_worker_status *worker = &list->worker[i];
    if (worker->device != device) continue;
    if (view.pid == 0) view.pid = worker->pid;
    if (worker->job[0] != 0) jobs[(*used)++] = worker->job;
  }
  view.jobs_count = (int)(jobs + *used - view.jobs);
  return view;
}

static bool is_shown(const ep_live_job *job) {
  return !job->storing && !job->dropped;
}

/* Takes out what nobody may see: jobs whose rows are on their way to the disk, or never came. */
static void unshown_clear(ep_jobs *jobs, ep_device_list *list) {
  pthread_mutex_lock(&jobs->mutex);
  for (int i = 0; i < list->workers_count; i++) {
    const ep_live_job *job = ep_live_find(jobs, list->worker[i].job);
    if (!job || !is_shown(job)) list->worker[i].job[0] = 0;
  }
  pthread_mutex_unlock(&jobs->mutex);
}

ep_status ep_jobs_devices(ep_jobs *jobs, char **text, ep_error *error) {
  *text = NULL;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_device_view *views = calloc(EP_LIMIT_DEVICES, sizeof *views);
  const char *ids[EP_LIMIT_WORKERS];
  int used = 0;
  if (devices && views) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    unshown_clear(jobs, devices);
    for (int i = 0; i < devices->count; i++) views[i] = device_view(devices, i, ids, &used);
    *text = ep_devices_format(views, devices->count);
  }
  free(views);
  free(devices);
  return *text ? EP_OK : ep_fail_memory(error);
}

/* The queue copied out of the mutex's reach: rows point into `jobs`. */
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
    if (is_shown(job)) copied = row_copy(job, &copy->queued[copy->queued_count++]);
  }
  for (int i = 0; copied && jobs->running > 0 && i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; copied && job; job = job->next)
      if (is_shown(job) && job->row.state == EP_STATE_RUNNING &&
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
