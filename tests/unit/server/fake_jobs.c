#include "tests/unit/server/fake_jobs.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/formats/ingest.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/metrics.h"
#include "server/jobs/models.h"
#include "server/jobs/sweeps.h"
#include "server/jobs/webhooks.h"
#include "server/process/data_dir.h"
#include "tests/wait.h"

struct ep_jobs {
  char folder[256];
  ep_event_log *log;
  atomic_int logs, cancels, waiting;
  atomic_bool held, classifies;
  pthread_mutex_t mutex; /* guards what follows */
  uint64_t version;
  bool ended;
  ep_event_log_wake *wake;
  void *context;
};

ep_jobs *fake_jobs_create(const char *folder) {
  ep_jobs *jobs = calloc(1, sizeof *jobs);
  char path[512];
  assert(jobs);
  snprintf(jobs->folder, sizeof jobs->folder, "%s", folder);
  snprintf(path, sizeof path, "%s/events.ndjson", folder);
  pthread_mutex_init(&jobs->mutex, NULL);
  ep_status status = ep_event_log_open(path, &jobs->log, NULL);
  assert(status == EP_OK);
  ep_event queued = {.job = FAKE_JOB, .type = EP_EVENT_QUEUED, .time_us = 1};
  status = ep_event_log_append(jobs->log, &queued, 1, NULL);
  assert(status == EP_OK);
  return jobs;
}

void fake_jobs_destroy(ep_jobs *jobs) {
  ep_event_log_close(jobs->log);
  ep_data_dir_remove(jobs->folder, NULL);
  pthread_mutex_destroy(&jobs->mutex);
  free(jobs);
}

static void change(ep_jobs *jobs, bool ends) {
  pthread_mutex_lock(&jobs->mutex);
  jobs->version++;
  jobs->ended = jobs->ended || ends;
  ep_event_log_wake *wake = jobs->wake;
  jobs->wake = NULL;
  if (wake) wake(jobs->context);
  pthread_mutex_unlock(&jobs->mutex);
}

void fake_jobs_epochs(ep_jobs *jobs, int64_t epoch, int64_t step, int count) {
  ep_event *events = calloc((size_t)count, sizeof *events);
  assert(events);
  for (int i = 0; i < count; i++)
    events[i] = (ep_event){.job = FAKE_JOB,
                           .type = EP_EVENT_EPOCH,
                           .time_us = 1,
                           .epochs = 1000000,
                           .progress = {.epoch = epoch + i * step, .loss = 1.0 / (1 + i)}};
  ep_status status = ep_event_log_append(jobs->log, events, count, NULL);
  assert(status == EP_OK);
  free(events);
  change(jobs, false);
}

void fake_jobs_end(ep_jobs *jobs) {
  ep_event end = {.job = FAKE_JOB, .type = EP_EVENT_END, .time_us = 1, .state = EP_STATE_SUCCEEDED};
  if (ep_event_log_append(jobs->log, &end, 1, NULL) != EP_OK) abort();
  change(jobs, true);
}

int fake_jobs_logs(ep_jobs *jobs) {
  return atomic_load(&jobs->logs);
}

void fake_jobs_hold(ep_jobs *jobs, bool held) {
  atomic_store(&jobs->held, held);
}

int fake_jobs_waiting(ep_jobs *jobs) {
  return atomic_load(&jobs->waiting);
}

static void released_await(ep_jobs *jobs) {
  atomic_fetch_add(&jobs->waiting, 1);
  wait_until(!atomic_load(&jobs->held));
  atomic_fetch_sub(&jobs->waiting, 1);
}

void fake_jobs_classify(ep_jobs *jobs) {
  atomic_store(&jobs->classifies, true);
}

bool fake_jobs_watched(ep_jobs *jobs) {
  pthread_mutex_lock(&jobs->mutex);
  bool watched = jobs->wake != NULL;
  pthread_mutex_unlock(&jobs->mutex);
  return watched;
}

int fake_jobs_cancels(ep_jobs *jobs) {
  return atomic_load(&jobs->cancels);
}

static ep_status find(const char *id, ep_error *error) {
  return strcmp(id, FAKE_JOB) == 0 ? EP_OK : ep_fail(error, EP_NOT_FOUND, "job %s not found", id);
}

void ep_jobs_close(ep_jobs *jobs) {
  fake_jobs_destroy(jobs);
}

ep_status ep_jobs_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                           bool warn_replaced, char **text, ep_problem *problem) {
  (void)jobs, (void)by, (void)request, (void)problem, (void)warn_replaced;
  *text = strdup("{\"object\":\"validation\"}");
  return EP_OK;
}

ep_status ep_jobs_submit(ep_jobs *jobs, const ep_submission *submission, char id[EP_ID_BYTES],
                         bool *repeated, ep_problem *problem) {
  const char *json = submission->json;
  size_t bytes = submission->bytes;
  *repeated = false;
  if (ep_spec_request_names_files(submission->request)) released_await(jobs);
  snprintf(id, 40, "%s", FAKE_JOB);
  if (bytes != strlen(json) || json[0] != '{')
    return ep_problem_set(problem, EP_MALFORMED, "no JSON object");
  return strstr(json, "refuse") ? ep_problem_add(problem, EP_INVALID, "/epochs", "too few") : EP_OK;
}

ep_status ep_jobs_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error) {
  (void)jobs;
  char buffer[512];
  int used =
      snprintf(buffer, sizeof buffer,
               "{\"state\":%d,\"after\":\"%s\",\"limit\":%lld,\"summary\":%d,\"tags\":\"",
               page->state, page->after ? page->after : "", (long long)page->limit, page->summary);
  for (int i = 0; i < page->tags_count; i++)
    used += snprintf(buffer + used, sizeof buffer - (size_t)used, "%s;", page->tags[i]);
  snprintf(buffer + used, sizeof buffer - (size_t)used, "\"}");
  size_t bytes = page->limit == FAKE_LONG_LIMIT ? FAKE_LONG_BYTES : strlen(buffer);
  *text = calloc(1, bytes + 1);
  if (!*text) return ep_fail_memory(error);
  memset(*text, ' ', bytes);
  memcpy(*text, buffer, strlen(buffer));
  return EP_OK;
}

ep_status ep_jobs_list_version(ep_jobs *jobs, const ep_job_page *page, uint64_t *version,
                               ep_error *error) {
  (void)page, (void)error;
  pthread_mutex_lock(&jobs->mutex);
  *version = jobs->version;
  pthread_mutex_unlock(&jobs->mutex);
  return EP_OK;
}

ep_status ep_jobs_label(ep_jobs *jobs, const char *id, const char *json, size_t bytes, bool limited,
                        ep_problem *problem) {
  (void)limited;
  ep_error error = {0};
  if (find(id, &error) != EP_OK) return ep_problem_from_error(problem, &error);
  if (bytes != strlen(json) || json[0] != '{')
    return ep_problem_set(problem, EP_MALFORMED, "no JSON object");
  if (strstr(json, "refuse")) return ep_problem_add(problem, EP_INVALID, "/tags", "too many");
  change(jobs, false);
  return EP_OK;
}

struct ep_job_copy {
  ep_job_view view;
  ep_job_result result;
  uint64_t version;
};

ep_status ep_jobs_copy(ep_jobs *jobs, const char *id, ep_job_copy **out, ep_error *error) {
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  ep_job_copy *copy = calloc(1, sizeof *copy);
  assert(copy);
  pthread_mutex_lock(&jobs->mutex);
  copy->version = jobs->version;
  bool ended = jobs->ended;
  pthread_mutex_unlock(&jobs->mutex);
  snprintf(copy->result.weights_sha256, sizeof copy->result.weights_sha256, "abc123");
  copy->view = (ep_job_view){.id = FAKE_JOB,
                             .name = "",
                             .spec = "{\"epochs\":3}",
                             .state = ended ? EP_STATE_SUCCEEDED : EP_STATE_RUNNING,
                             .result = &copy->result};
  *out = copy;
  return EP_OK;
}

ep_status ep_jobs_get(ep_jobs *jobs, const char *id, char **text, uint64_t *version,
                      ep_error *error) {
  ep_job_copy *copy = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status != EP_OK) return status;
  *version = copy->version;
  *text = ep_job_format(&copy->view);
  ep_job_copy_destroy(copy);
  return EP_OK;
}

uint64_t ep_job_copy_version(const ep_job_copy *copy) {
  return copy->version;
}

const ep_job_view *ep_job_copy_view(const ep_job_copy *copy) {
  return &copy->view;
}

void ep_job_copy_destroy(ep_job_copy *copy) {
  free(copy);
}

ep_status ep_sweeps_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                             bool warn_replaced, char **text, ep_problem *problem) {
  return ep_jobs_validate(jobs, by, request, warn_replaced, text, problem);
}

ep_status ep_sweeps_format(ep_jobs *jobs, const ep_job_copy *copy, char **text, ep_error *error) {
  (void)jobs, (void)copy, (void)error;
  *text = strdup("{\"object\":\"sweep\"}");
  return EP_OK;
}

ep_status ep_sweeps_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error) {
  return ep_jobs_list(jobs, page, text, error);
}

/* *text: a copy of `told`, or NULL where there is no such job. */
static ep_status found_tell(const char *id, const char *told, char **text, ep_error *error) {
  ep_status status = find(id, error);
  *text = status == EP_OK ? strdup(told) : NULL;
  return status;
}

ep_status ep_sweeps_trials(ep_jobs *jobs, const char *id, const ep_trials_page *page, char **text,
                           ep_error *error) {
  (void)jobs, (void)page;
  return found_tell(id, "{\"object\":\"list\",\"data\":[]}", text, error);
}

ep_status ep_sweeps_study(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  (void)jobs;
  return found_tell(id, "{\"object\":\"study\"}", text, error);
}

ep_status ep_sweeps_trial(ep_jobs *jobs, const char *id, int64_t trial, char **text,
                          ep_error *error) {
  (void)jobs, (void)trial;
  return found_tell(id, "{\"trial\":0}", text, error);
}

ep_status ep_sweeps_promote(ep_jobs *jobs, const char *id, int64_t trial, int part,
                            const ep_viewer *by, char job[EP_ID_BYTES], bool *repeated,
                            ep_problem *problem) {
  (void)jobs, (void)id, (void)trial, (void)part, (void)by, (void)problem;
  snprintf(job, EP_ID_BYTES, "%s", FAKE_JOB);
  *repeated = false;
  return EP_OK;
}

uint64_t ep_jobs_watch(ep_jobs *jobs, const char *id, uint64_t version, ep_event_log_wake *wake,
                       void *context) {
  (void)id;
  pthread_mutex_lock(&jobs->mutex);
  jobs->wake = wake;
  jobs->context = context;
  bool due = version != jobs->version;
  pthread_mutex_unlock(&jobs->mutex);
  if (due) wake(context);
  return 1;
}

void ep_jobs_unwatch(ep_jobs *jobs, uint64_t token) {
  (void)token;
  pthread_mutex_lock(&jobs->mutex);
  jobs->wake = NULL;
  pthread_mutex_unlock(&jobs->mutex);
}

ep_status ep_jobs_cancel(ep_jobs *jobs, const char *id, ep_error *error) {
  atomic_fetch_add(&jobs->cancels, 1);
  return find(id, error);
}

ep_status ep_jobs_pause(ep_jobs *jobs, const char *id, ep_error *error) {
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  return jobs->ended ? ep_fail(error, EP_CONFLICT, "the job has ended") : EP_OK;
}

ep_status ep_jobs_resume(ep_jobs *jobs, const char *id, ep_error *error) {
  return ep_jobs_pause(jobs, id, error);
}

ep_status ep_jobs_checkpoints(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  (void)jobs;
  ep_status status = find(id, error);
  *text = status == EP_OK ? strdup("{\"object\":\"list\",\"data\":[]}") : NULL;
  return status;
}

ep_status ep_jobs_webhooks(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  return ep_jobs_checkpoints(jobs, id, text, error);
}

ep_status ep_jobs_checkpoint_find(ep_jobs *jobs, const char *id, int64_t step, ep_checkpoint *out,
                                  char *path, ep_error *error) {
  (void)jobs, (void)step, (void)out, (void)path;
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  return ep_fail(error, EP_NOT_FOUND, "job %s has no checkpoint", id);
}

ep_status ep_jobs_delete(ep_jobs *jobs, const char *id, const ep_viewer *by, ep_error *error) {
  (void)by;
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  return jobs->ended ? EP_OK : ep_fail(error, EP_CONFLICT, "the job has not ended");
}

ep_status ep_jobs_retain_log(ep_jobs *jobs, const char *id, ep_event_log **out, ep_error *error) {
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  if (atomic_load(&jobs->held)) return ep_fail(error, EP_IO, "no descriptor is left");
  atomic_fetch_add(&jobs->logs, 1);
  *out = jobs->log;
  return EP_OK;
}

void ep_jobs_release_log(ep_jobs *jobs, ep_event_log *log) {
  (void)log;
  atomic_fetch_sub(&jobs->logs, 1);
}

int64_t ep_jobs_open_logs(ep_jobs *jobs) {
  (void)jobs;
  return 0;
}

ep_status ep_jobs_file(ep_jobs *jobs, const char *id, const char *file, char *path,
                       size_t path_bytes, ep_error *error) {
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  snprintf(path, path_bytes, "%s/%s", jobs->folder, file);
  return EP_OK;
}

void ep_jobs_note_file(ep_jobs *jobs, const char *id) {
  (void)jobs, (void)id;
}

typedef struct {
  ep_jobs_predicted *predicted;
  ep_jobs_ready *ready;
  void *context;
} later;

/* Answers from another thread, as a worker would. */
static void *answer_later(void *context) {
  later call = *(later *)context;
  free(context);
  const double output[] = {1, 2};
  if (call.predicted) call.predicted(call.context, output, 1, 2, NULL);
  if (call.ready) call.ready(call.context, NULL, NULL);
  return NULL;
}

static void answer(later call) {
  pthread_t thread;
  later *copy = malloc(sizeof *copy);
  assert(copy);
  *copy = call;
  int failed = pthread_create(&thread, NULL, answer_later, copy);
  assert(!failed);
  pthread_detach(thread);
}

ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, int64_t checkpoint,
                          const ep_prediction_rows *input, ep_jobs_predicted *done, void *context,
                          ep_error *error) {
  (void)checkpoint;
  released_await(jobs);
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  if (input->columns != 2) return ep_fail_at(error, EP_INVALID, "/x", "2 columns are needed");
  answer((later){.predicted = done, .context = context});
  return EP_OK;
}

/* The job has no such plot, which a worker takes a while to find out. */
ep_status ep_jobs_plot(ep_jobs *jobs, const char *id, int64_t checkpoint,
                       const ep_plot_request *request, const char *file,
                       const ep_cancellation *stop, ep_error *error) {
  (void)checkpoint, (void)request, (void)file, (void)stop;
  released_await(jobs);
  if (find(id, error) != EP_OK) return EP_NOT_FOUND;
  return ep_fail(error, EP_NO_PLOT, "there is no plot of %s", id);
}

ep_status ep_jobs_export(ep_jobs *jobs, const char *id, bool quantize, const char *file,
                         const ep_cancellation *stop, ep_error *error) {
  (void)jobs, (void)quantize, (void)file, (void)stop;
  return find(id, error) == EP_OK ? ep_fail(error, EP_CONFLICT, "no worker") : EP_NOT_FOUND;
}

void ep_prediction_rows_deinit(ep_prediction_rows *rows) {
  free(rows->x);
}

ep_status ep_jobs_meaning_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               ep_output_meaning *out, ep_error *error) {
  (void)checkpoint;
  *out = (ep_output_meaning){.loss = atomic_load(&jobs->classifies) ? EP_LOSS_BCE_WITH_LOGITS
                                                                    : EP_LOSS_MSE};
  return find(id, error);
}

ep_datasets *ep_jobs_datasets(ep_jobs *jobs) {
  (void)jobs;
  return NULL; /* the functions below do not read it */
}

/* Read here, without a process. */
ep_status ep_jobs_inputs(ep_jobs *jobs, const ep_viewer *viewer, const char *id, int64_t checkpoint,
                         char **text, ep_error *error) {
  (void)viewer, (void)jobs, (void)id, (void)checkpoint;
  *text = NULL;
  return ep_fail(error, EP_NOT_FOUND, "none");
}

ep_status ep_models_changes_find(ep_jobs *jobs, const char *name, const char *job,
                                 ep_model_changes *out, bool *keeps, ep_error *error) {
  (void)jobs, (void)name, (void)job, (void)error;
  *out = (ep_model_changes){0};
  *keeps = true;
  return EP_OK;
}

ep_status ep_jobs_devices(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  return ep_datasets_list(ep_jobs_datasets(jobs), viewer, NULL, 1, text, error);
}

ep_status ep_jobs_queue(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  return ep_datasets_list(ep_jobs_datasets(jobs), viewer, NULL, 1, text, error);
}

void ep_jobs_probe(ep_jobs *jobs, int timeout_ms, ep_jobs_ready *done, void *context) {
  (void)jobs, (void)timeout_ms;
  answer((later){.ready = done, .context = context});
}

/* One model, "fake", of the one job: rows of two numbers, one output. */
ep_status ep_models_get(ep_jobs *jobs, const char *name, ep_model *out, ep_error *error) {
  *out = (ep_model){.row = {2}, .row_dimensions = 1, .outputs = 1, .published_us = 1};
  if (atomic_load(&jobs->classifies)) out->decision = EP_DECISION_POSITIVE;
  snprintf(out->name, sizeof out->name, "%s", name);
  snprintf(out->job, sizeof out->job, "%s", FAKE_JOB);
  return strcmp(name, "fake") == 0 ? EP_OK
                                   : ep_fail(error, EP_NOT_FOUND, "there is no model %s", name);
}

ep_status ep_models_metadata(ep_jobs *jobs, const char *name, char **text, ep_error *error) {
  ep_model model;
  ep_status status = ep_models_get(jobs, name, &model, error);
  *text = status == EP_OK ? ep_model_metadata_format(&model, NULL, 0, 0, false) : NULL;
  return status;
}

ep_status ep_jobs_owner(ep_jobs *jobs, ep_owned kind, const char *name, ep_ownership *out,
                        ep_error *error) {
  (void)jobs, (void)kind, (void)name, (void)error;
  *out = (ep_ownership){0}; /* nobody's, and public */
  return EP_OK;
}

void ep_jobs_deleted_explain(ep_jobs *jobs, const char *id, ep_error *error) {
  (void)jobs, (void)id, (void)error;
}

ep_status ep_jobs_find(ep_jobs *jobs, const ep_viewer *viewer, const char *prefix, bool models,
                       const char *word, ep_job_found *out, ep_error *error) {
  (void)jobs, (void)viewer, (void)models;
  *out = (ep_job_found){0};
  bool named = strcmp(word, FAKE_NAME) == 0;
  if (!named && (strncmp(word, prefix, strlen(prefix)) != 0 || strchr(word, ',')))
    return ep_fail(error, EP_NOT_FOUND, "no job named \"%.100s\"", word);
  snprintf(out->id, sizeof out->id, "%s", named ? FAKE_JOB : word);
  return EP_OK;
}

ep_status ep_jobs_see(ep_jobs *jobs, const ep_viewer *viewer, ep_owned kind, const char *name,
                      ep_error *error) {
  (void)jobs, (void)viewer, (void)kind, (void)name, (void)error;
  return EP_OK;
}

ep_status ep_models_positive_find(ep_jobs *jobs, const char *name, const char *job,
                                  char positive[EP_LIMIT_WORD_BYTES + 1], ep_error *error) {
  (void)jobs, (void)name, (void)job, (void)error;
  positive[0] = 0;
  return EP_OK;
}

ep_status ep_models_put(ep_jobs *jobs, const char *name, const ep_model_request *request,
                        double threshold, const char *positive, const ep_viewer *by, bool *created,
                        ep_error *error) {
  const char *job = request->job;
  (void)jobs, (void)name, (void)threshold, (void)positive, (void)by;
  *created = true;
  return strcmp(job, FAKE_JOB) == 0
             ? EP_OK
             : ep_fail_at(error, EP_NOT_FOUND, "/job", "job %s not found", job);
}

ep_status ep_models_show(ep_jobs *jobs, const char *name, const ep_viewer *by, bool private,
                         ep_error *error) {
  (void)by, (void)private;
  ep_model model;
  return ep_models_get(jobs, name, &model, error);
}

ep_status ep_models_delete(ep_jobs *jobs, const char *name, const char *owner, bool admin,
                           ep_error *error) {
  (void)owner, (void)admin;
  ep_model model;
  return ep_models_get(jobs, name, &model, error);
}

ep_status ep_models_list(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  (void)viewer;
  ep_model model;
  ep_status status = ep_models_get(jobs, "fake", &model, error);
  *text = ep_models_format(&model, 1);
  return status;
}

void ep_jobs_memory_find(ep_jobs *jobs, int64_t *workers_bytes, int64_t *store_bytes) {
  (void)jobs;
  *workers_bytes = 12345;
  *store_bytes = 0;
}

ep_status ep_jobs_metrics_format(ep_jobs *jobs, ep_writer *out, ep_error *error) {
  (void)jobs, (void)out, (void)error;
  return EP_OK;
}
