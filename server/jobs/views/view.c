#include "server/jobs/views/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/path.h"
#include "engine/trials/trial_file.h"
#include "server/jobs/live/live.h"
#include "server/jobs/placement/fit.h"
#include "server/jobs/views/ranks.h"
#include "server/process/id.h"

void ep_live_view_read(ep_jobs *jobs, const char *id, ep_live_view *view) {
  char requested[EP_DEVICE_ID_BYTES] = "";
  *view = (ep_live_view){.position = -1};
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  if (job && !job->row_ended) {
    view->live = true;
    view->state = job->ending ? job->state_before : job->row.state;
    if (view->state == EP_STATE_RUNNING && job->pause) view->state = EP_STATE_PAUSING;
    view->version = ep_live_version(jobs, job);
    if (view->state == EP_STATE_QUEUED && !job->ending && !job->pause)
      view->position = ep_queue_position(&jobs->queue, &job->entry);
    view->stranded = job->stranded && view->state == EP_STATE_QUEUED;
    view->crashes = view->state == EP_STATE_PAUSED ? job->crashes : 0;
    view->epoch = job->epoch;
    view->eta_seconds = job->eta_seconds;
    view->attempt = job->row.attempt;
    view->workers = view->state == EP_STATE_RUNNING ? job->helpers + 1 : 0;
    view->started_us = job->row.started_us;
    memcpy(view->device, job->row.device, sizeof view->device);
    memcpy(view->executor, job->row.executor, sizeof view->executor);
    if (view->position >= 0) snprintf(requested, sizeof requested, "%s", job->row.requested_device);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (ep_device_is_remote(requested))
    ep_supervisor_get_reason(jobs->supervisor, requested, view->reason);
}

static const char *text_or_null(const char *text) {
  return text[0] != 0 ? text : NULL;
}

/* A result that is damaged is not shown; false where memory is short: then nothing is to be. */
static bool result_read(const ep_job_row *row, ep_job_view *view, ep_job_result *result) {
  if (!row->result) return true;
  ep_status status = ep_job_result_parse(row->result, result, NULL);
  if (status != EP_OK) return status != EP_NO_MEMORY;
  view->result = result;
  view->epoch = result->epochs_done;
  if (!view->executor) view->executor = text_or_null(result->executor);
  if (row->state != EP_STATE_FAILED) return true;
  view->error_status = result->status;
  view->error_message = result->message[0] != 0 ? result->message : ep_status_text(result->status);
  view->error_pointer = text_or_null(result->pointer);
  return true;
}

/* Lays what memory knows over the row. */
static void live_lay(const ep_live_view *live, ep_job_view *view) {
  view->state = live->state;
  view->device = text_or_null(live->device);
  view->executor = text_or_null(live->executor);
  view->epoch = live->epoch;
  view->eta_seconds = live->eta_seconds;
  view->started_us = live->started_us;
  view->finished_us = 0;
  view->attempt = live->attempt;
  view->workers = live->workers;
}

/* A row with what memory knows of it. The view points into the row, into the ep_live_view and into
 * this struct; result is the caller's to deinit. */
typedef struct {
  ep_job_view view;
  ep_job_result result;
  ep_parallel_view parallel;
  char warning[EP_MESSAGE_BYTES], reason[EP_WAIT_REASON_BYTES];
} job_shown;

/* data_dir: NULL for a summary, which has nothing of ranks. False where memory is short. */
static bool job_show(const char *data_dir, const ep_job_row *row, const ep_live_view *live,
                     job_shown *out) {
  bool read = true;
  *out = (job_shown){0};
  memcpy(out->reason, live->reason, sizeof out->reason);
  if (live->stranded) ep_fit_none_text(row->requested_device, out->warning);
  if (live->crashes > 0) ep_live_crashes_text(live->crashes, out->warning);
  out->view =
      (ep_job_view){.id = row->id,
                    .warning = text_or_null(out->warning),
                    .name = row->name,
                    .owner = row->owner,
                    .tags = row->tags,
                    .dataset = text_or_null(row->dataset_name),
                    .priority = row->priority,
                    .pinned = row->pinned,
                    .private = row->private,
                    .state = row->state,
                    .spec = row->spec,
                    .automatic = row->automatic,
                    .remarks = row->remarks,
                    .device = text_or_null(row->device),
                    .executor = text_or_null(row->executor),
                    .epochs = row->epochs,
                    .queue_position = live->position + 1, /* which counts from 0, -1: not queued */
                    .queue_reason = text_or_null(out->reason),
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
    read = result_read(row, view, &out->result);
  if (data_dir && ep_job_ranks_find(data_dir, row, &out->parallel)) view->parallel = &out->parallel;
  int64_t left_queue_us = view->started_us != 0 ? view->started_us : view->finished_us;
  if (left_queue_us != 0) view->queued_seconds = (double)(left_queue_us - row->created_us) / 1e6;
  return read;
}

char *ep_job_row_format(const char *data_dir, const ep_job_row *row, const ep_live_view *live,
                        bool summary) {
  job_shown shown;
  if (!job_show(summary ? NULL : data_dir, row, live, &shown)) return NULL;
  char *text = summary ? ep_job_summary_format(&shown.view) : ep_job_format(&shown.view);
  ep_job_result_deinit(&shown.result);
  return text;
}

struct ep_job_copy {
  ep_job_row row;
  ep_trial_record *parts; /* owned */
  job_shown shown;        /* points into the row */
  uint64_t version;
};

/* The folds and repeats of a job that ended. EP_NO_MEMORY. */
static ep_status parts_read(ep_jobs *jobs, ep_job_copy *copy, ep_error *error) {
  char folder[EP_PATH_BYTES];
  int64_t count = 0;
  ep_job_view *view = &copy->shown.view;
  if (!view->result || ep_id_is_sweep(copy->row.id)) return EP_OK;
  ep_status status = ep_path_join(folder, error, jobs->data_dir, "jobs", copy->row.id, NULL);
  if (status == EP_OK)
    status = ep_trial_file_read(folder, EP_LIMIT_TRIAL_RECORDS, &copy->parts, &count, error);
  view->parts = copy->parts;
  view->parts_count = (int)count;
  return status == EP_NO_MEMORY ? status : EP_OK; /* what cannot be read is not shown */
}

ep_status ep_jobs_copy(ep_jobs *jobs, const char *id, ep_job_copy **out, ep_error *error) {
  ep_live_view live;
  *out = NULL;
  ep_job_copy *copy = calloc(1, sizeof *copy);
  if (!copy) return ep_fail_memory(error);
  /* Memory first: a job that ends in between is then shown as it was, not as a mixture. */
  ep_live_view_read(jobs, id, &live);
  ep_status status = ep_store_job_get(jobs->store, id, &copy->row, error);
  if (status != EP_OK) {
    free(copy);
    return status;
  }
  if (!job_show(jobs->data_dir, &copy->row, &live, &copy->shown)) {
    ep_job_copy_destroy(copy);
    return ep_fail_memory(error);
  }
  if (live.live) { /* `live` goes out of scope */
    snprintf(copy->row.device, sizeof copy->row.device, "%s", live.device);
    snprintf(copy->row.executor, sizeof copy->row.executor, "%s", live.executor);
    copy->shown.view.device = text_or_null(copy->row.device);
    copy->shown.view.executor = text_or_null(copy->row.executor);
  }
  copy->version = live.live ? live.version : copy->row.version;
  status = parts_read(jobs, copy, error);
  if (status != EP_OK) {
    ep_job_copy_destroy(copy);
    return status;
  }
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
  free(copy->parts);
  free(copy);
}
