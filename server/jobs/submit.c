/* submit.c: see jobs.h: from a spec's text to a queued job, on disk. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"
#include "server/jobs/state.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"

_Static_assert(crypto_hash_sha256_BYTES == EP_STORE_HASH_BYTES, "the store keeps SHA-256");

/* A spec that was read and checked against its data. */
typedef struct {
  ep_job_spec *spec;           /* owned */
  ep_plan *plan;               /* owned */
  char *text;                  /* all defaults filled in; owned */
  char *tags;                  /* as an array's text; owned */
  bool placed;                 /* a place in the queue is held for it, until the job is there */
  bool pinned;                 /* spec->data.sha256 is pinned */
  char init_pin[EP_PIN_BYTES]; /* so is what model.init names; "" = nothing */
} checked_spec;

static void checked_deinit(ep_jobs *jobs, checked_spec *checked) {
  if (checked->placed) {
    pthread_mutex_lock(&jobs->mutex);
    jobs->submitting--;
    pthread_mutex_unlock(&jobs->mutex);
  }
  if (checked->pinned) {
    const ep_data_spec *data = &checked->spec->data;
    ep_pins_remove(&jobs->pins, data->sha256);
    /* what a path was read into has no name: nobody else may need it */
    if (data->source == EP_DATA_PATH) ep_jobs_content_collect(jobs, data->sha256);
  }
  ep_init_unpin(jobs, checked->init_pin);
  free(checked->text);
  free(checked->tags);
  ep_plan_destroy(checked->plan);
  ep_job_spec_destroy(checked->spec);
  *checked = (checked_spec){0};
}

/* "auto" always; "cuda" when there is any; lost ones are none. */
static ep_status device_check(ep_jobs *jobs, const char *requested_device, ep_problem *problem) {
  char there[256] = "";
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return ep_problem_fail_memory(problem);
  ep_supervisor_get_devices(jobs->supervisor, devices);
  bool found = strcmp(requested_device, "auto") == 0;
  for (int i = 0; i < devices->count; i++) {
    const char *id = devices->device[i].info.id;
    if (devices->device[i].state == EP_DEVICE_LOST) continue;
    if (strcmp(requested_device, id) == 0 ||
        (strcmp(requested_device, "cuda") == 0 && ep_device_is_cuda(id)))
      found = true;
    size_t used = strlen(there);
    snprintf(there + used, sizeof there - used, "%s%s", used > 0 ? ", " : "", id);
  }
  free(devices);
  if (found) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/device",
                        "there is no device \"%s\" here: there is %s, and auto", requested_device,
                        there[0] != 0 ? there : "none now");
}

/* Finds what the dataset's name means now and pins it, so that it stays. */
static ep_status dataset_resolve(ep_jobs *jobs, checked_spec *checked, ep_problem *problem) {
  ep_data_spec *data = &checked->spec->data;
  ep_status status =
      ep_jobs_content_pin(jobs, data->dataset, "/data/dataset", data->sha256, problem);
  checked->pinned = status == EP_OK;
  return status;
}

static ep_status plan_make(ep_jobs *jobs, checked_spec *checked, ep_problem *problem) {
  const ep_data_spec *data = &checked->spec->data;
  char folder[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  ep_data_shape shape;
  ep_error error = {0};
  bool stored = data->source == EP_DATA_DATASET || data->source == EP_DATA_PATH;
  ep_status status = EP_OK;
  if (data->source == EP_DATA_PATH) {
    status = ep_jobs_path_resolve(jobs, &checked->spec->data, &meta, problem);
    checked->pinned = data->sha256[0] != 0;
    if (status != EP_OK) return status;
  } else if (stored) {
    status = ep_data_dir_path(folder, &error, jobs->data_dir, "datasets", data->sha256, NULL);
    if (status == EP_OK) status = ep_dataset_meta_read(folder, &meta, &error);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
  }
  status = ep_data_shape_find(data, stored ? &meta : NULL, &shape, problem);
  if (stored) ep_dataset_meta_deinit(&meta);
  if (status == EP_OK) status = ep_plan_create(checked->spec, &shape, &checked->plan, problem);
  return status;
}

/* Everything that can be wrong with a spec is found here, before anything is stored. */
static ep_status spec_check(ep_jobs *jobs, const char *json, size_t bytes, checked_spec *checked,
                            ep_problem *problem) {
  ep_status status = ep_job_spec_parse(json, bytes, &checked->spec, problem);
  if (status != EP_OK) return status;
  ep_job_spec *spec = checked->spec;
  spec->data.sha256[0] = 0;
  status = device_check(jobs, spec->device, problem);
  if (spec->data.source == EP_DATA_DATASET) {
    ep_status resolved = dataset_resolve(jobs, checked, problem);
    if (status == EP_OK) status = resolved;
  }
  if (status == EP_OK) status = plan_make(jobs, checked, problem);
  if (status == EP_OK)
    status = ep_jobs_init_resolve(jobs, spec, checked->plan, checked->init_pin, problem);
  if (status != EP_OK) return status;
  checked->text = ep_job_spec_format(spec);
  checked->tags = ep_tags_format((const char *const *)spec->tags, spec->tags_count);
  if (!checked->text || !checked->tags) return ep_problem_fail_memory(problem);
  return EP_OK;
}

ep_status ep_jobs_validate(ep_jobs *jobs, const char *json, size_t bytes, char **text,
                           ep_problem *problem) {
  *text = NULL;
  checked_spec checked = {0};
  ep_error error = {0};
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count = 0;
  ep_layer_view *layers = NULL;
  ep_status status = spec_check(jobs, json, bytes, &checked, problem);
  if (status == EP_OK) {
    layers = calloc((size_t)checked.spec->layers_count + 1, sizeof *layers);
    if (!layers) status = ep_problem_fail_memory(problem);
  }
  if (status == EP_OK &&
      ep_jobs_estimate(jobs, checked.plan, checked.spec, estimates, &count, &error) != EP_OK)
    status = ep_problem_from_error(problem, &error);
  if (status == EP_OK) {
    ep_plan_layers(checked.plan, layers);
    ep_validation_view view = {.spec = checked.text,
                               .layers = layers,
                               .layers_count = checked.spec->layers_count,
                               .parameters = checked.plan->parameters,
                               .bytes = checked.plan->bytes,
                               .operations = checked.plan->operations,
                               .train_rows = checked.plan->shape.train_rows,
                               .validation_rows = checked.plan->shape.validation_rows,
                               .test_rows = checked.plan->shape.test_rows,
                               .estimates = estimates,
                               .estimates_count = count};
    *text = ep_validation_format(&view);
    if (!*text) status = ep_problem_fail_memory(problem);
  }
  free(layers);
  checked_deinit(jobs, &checked);
  return status;
}

static ep_status place_take(ep_jobs *jobs, checked_spec *checked, ep_problem *problem) {
  pthread_mutex_lock(&jobs->mutex);
  checked->placed = jobs->queue.count + jobs->submitting < jobs->max_queued;
  if (checked->placed) jobs->submitting++;
  pthread_mutex_unlock(&jobs->mutex);
  if (checked->placed) return EP_OK;
  return ep_problem_set(problem, EP_BUSY, "%lld jobs are queued already, which is the limit",
                        (long long)jobs->max_queued);
}

/* said: of the CPU and of CUDA; written. */
static ep_status row_fill(ep_jobs *jobs, const checked_spec *checked, ep_job_row *row,
                          ep_expectation said[2], ep_error *error) {
  const ep_job_spec *spec = checked->spec;
  *row = (ep_job_row){.name = checked->spec->name,
                      .state = EP_STATE_QUEUED,
                      .priority = spec->priority,
                      .spec = checked->text,
                      .tags = checked->tags,
                      .epochs = spec->epochs,
                      .parameters = checked->plan->parameters,
                      .bytes = checked->plan->bytes,
                      .created_us = ep_clock_utc_us(),
                      .version = ep_jobs_tick(jobs)};
  ep_id_create(row->id);
  memcpy(row->dataset, spec->data.sha256, sizeof row->dataset);
  memcpy(row->requested_device, spec->device, sizeof row->requested_device);
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count;
  ep_status status = ep_jobs_estimate(jobs, checked->plan, spec, estimates, &count, error);
  const ep_estimate *cpu = ep_estimates_least(estimates, count, "cpu");
  const ep_estimate *cuda = ep_estimates_least(estimates, count, "cuda");
  row->seconds_cpu = cpu ? cpu->seconds : INFINITY;
  row->seconds_cuda = cuda ? cuda->seconds : INFINITY;
  row->cores = cpu ? cpu->cores : 0;
  said[0] = ep_estimate_said(cpu, spec->epochs);
  said[1] = ep_estimate_said(cuda, spec->epochs);
  return status;
}

/* Makes the job live and queues it, before its row is stored: a worker that has nothing else to do
 * begins with it while the disk is waited for. */
static ep_status job_enter(ep_jobs *jobs, checked_spec *checked, ep_live_job *job,
                           ep_problem *problem) {
  job->storing = true;
  pthread_mutex_lock(&jobs->mutex);
  bool queued = ep_live_enqueue(jobs, job, false);
  if (queued) {
    ep_live_add(jobs, job);
    jobs->submitting--;
    checked->placed = false;
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (!queued) return ep_problem_fail_memory(problem);
  ep_supervisor_kick(jobs->supervisor);
  return EP_OK;
}

/* The row is on disk, and with it all that is true of the job. */
static void job_stored(ep_jobs *jobs, ep_live_job *job) {
  char *spec = NULL;
  pthread_mutex_lock(&jobs->mutex);
  if (job->row.state == EP_STATE_QUEUED) { /* else it is the supervisor's */
    spec = job->row.spec;
    job->row.spec = NULL;
  }
  job->storing = false;
  pthread_cond_broadcast(&jobs->stored);
  pthread_mutex_unlock(&jobs->mutex);
  free(spec);
  ep_queue_announce(jobs);
}

/* The row could not be stored: nobody was told of the job, and it goes; where a worker has begun
 * with it, when that has ended. */
static void job_withdraw(ep_jobs *jobs, ep_live_job *job) {
  char id[EP_ID_BYTES];
  pthread_mutex_lock(&jobs->mutex);
  memcpy(id, job->row.id, sizeof id);
  bool queued = ep_queue_remove(&jobs->queue, &job->entry);
  if (queued) {
    ep_live_remove(jobs, job);
    ep_queue_touch(jobs);
  }
  job->dropped = !queued;
  job->storing = false;
  pthread_cond_broadcast(&jobs->stored);
  pthread_mutex_unlock(&jobs->mutex);
  ep_supervisor_kick(jobs->supervisor); /* it runs, or may have held up those behind it */
  if (!queued) return;
  ep_open_logs_release(&jobs->logs, job->log); /* of a start that was refused */
  ep_data_dir_discard(jobs->data_dir, "jobs", id, NULL);
  ep_live_destroy(job);
  ep_queue_announce(jobs);
}

static void hash(const char *text, size_t bytes, uint8_t out[EP_STORE_HASH_BYTES]) {
  crypto_hash_sha256(out, (const unsigned char *)text, bytes);
}

/* Stores a checked spec and queues it. EP_CONFLICT when the key was used in the meantime. */
static ep_status job_store(ep_jobs *jobs, checked_spec *checked, const uint8_t *key_hash,
                           const uint8_t *body_hash, char id[EP_ID_BYTES], ep_problem *problem) {
  ep_job_row row;
  ep_expectation said[2];
  ep_error error = {0};
  if (row_fill(jobs, checked, &row, said, &error) != EP_OK)
    return ep_problem_from_error(problem, &error);
  ep_live_job *job = ep_live_create(&row);
  if (!job || !(job->row.spec = strdup(row.spec))) {
    ep_live_destroy(job);
    return ep_problem_fail_memory(problem);
  }
  job->program = ep_plan_signature(checked->plan);
  job->said_cpu = said[0];
  job->said_cuda = said[1];
  snprintf(job->init_pin, sizeof job->init_pin, "%s", checked->init_pin);
  ep_status status = ep_job_folder_write(jobs, &row, true, &error);
  if (status != EP_OK) ep_problem_from_error(problem, &error);
  if (status == EP_OK) status = job_enter(jobs, checked, job, problem);
  if (status != EP_OK) {
    ep_data_dir_discard(jobs->data_dir, "jobs", row.id, NULL);
    ep_live_destroy(job);
    return status;
  }
  status = ep_store_job_insert(jobs->store, &row, key_hash, body_hash, &error);
  if (status != EP_OK) {
    job_withdraw(jobs, job);
    return status == EP_CONFLICT ? status : ep_problem_from_error(problem, &error);
  }
  checked->pinned = false; /* the pins are the live job's now */
  checked->init_pin[0] = 0;
  snprintf(id, EP_ID_BYTES, "%s", row.id);
  if (strcmp(row.requested_device, "auto") == 0)
    ep_calibrations_note_submit(&jobs->calibrations, ep_plan_signature(checked->plan));
  ep_metrics_add(EP_COUNTER_JOBS_SUBMITTED, 1);
  job_stored(jobs, job); /* which may end at once */
  return EP_OK;
}

/* The job of an earlier submission with this key: EP_NOT_FOUND when there is none. */
static ep_status repetition_find(ep_jobs *jobs, const uint8_t *key_hash, const uint8_t *body_hash,
                                 char id[EP_ID_BYTES], ep_problem *problem) {
  uint8_t before[EP_STORE_HASH_BYTES];
  ep_error error = {0};
  ep_status status = ep_store_job_by_key(jobs->store, key_hash, id, before, &error);
  if (status == EP_NOT_FOUND) return status;
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (memcmp(before, body_hash, sizeof before) == 0) return EP_OK;
  return ep_problem_set(problem, EP_INVALID,
                        "this Idempotency-Key was used with another body, for job %s", id);
}

ep_status ep_jobs_submit(ep_jobs *jobs, const char *json, size_t bytes, const char *idempotency_key,
                         char id[EP_ID_BYTES], bool *repeated, ep_problem *problem) {
  uint8_t key_hash[EP_STORE_HASH_BYTES], body_hash[EP_STORE_HASH_BYTES];
  bool keyed = idempotency_key != NULL;
  *repeated = false;
  if (keyed) {
    hash(idempotency_key, strlen(idempotency_key), key_hash);
    hash(json, bytes, body_hash);
    ep_status status = repetition_find(jobs, key_hash, body_hash, id, problem);
    *repeated = status == EP_OK;
    if (status != EP_NOT_FOUND) return status;
  }
  checked_spec checked = {0};
  ep_status status = spec_check(jobs, json, bytes, &checked, problem);
  if (status == EP_OK) status = place_take(jobs, &checked, problem);
  if (status == EP_OK)
    status =
        job_store(jobs, &checked, keyed ? key_hash : NULL, keyed ? body_hash : NULL, id, problem);
  checked_deinit(jobs, &checked);
  if (status == EP_CONFLICT && keyed) { /* the same key, at the same time */
    status = repetition_find(jobs, key_hash, body_hash, id, problem);
    *repeated = status == EP_OK;
    if (status == EP_NOT_FOUND)
      status = ep_problem_set(problem, EP_CONFLICT, "the job of that Idempotency-Key has gone");
  }
  return status;
}
