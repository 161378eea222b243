#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "engine/files/free_space.h"
#include "server/jobs/files/events.h"
#include "server/jobs/files/files.h"
#include "server/jobs/lifecycle/check.h"
#include "server/jobs/lifecycle/first_weights.h"
#include "server/jobs/lifecycle/trials.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"
#include "server/process/log.h"

_Static_assert(crypto_hash_sha256_BYTES == EP_STORE_HASH_BYTES, "the store keeps SHA-256");

/* Takes a place in the queue, and of the owner's quota, which the job has from job_enter on. */
static ep_status place_take(ep_jobs *jobs, const char *owner, bool *placed, ep_problem *problem) {
  const uint64_t key = ep_live_key(owner);
  pthread_mutex_lock(&jobs->mutex);
  const ep_share *share = ep_shares_find(&jobs->shares, key);
  int64_t has = share ? share->jobs : 0;
  bool room = jobs->queue.count + jobs->submitting < jobs->max_queued;
  bool granted = jobs->quota_jobs == 0 || has < jobs->quota_jobs;
  *placed = room && granted && ep_shares_add(&jobs->shares, key);
  if (*placed) jobs->submitting++;
  pthread_mutex_unlock(&jobs->mutex);
  if (*placed) return EP_OK;
  if (!room)
    return ep_problem_set(problem, EP_BUSY, "the queue is full: the limit is %lld jobs",
                          (long long)jobs->max_queued);
  if (granted) return ep_problem_fail_memory(problem);
  return ep_problem_set(
      problem, EP_BUSY,
      "%s has %lld jobs that have not ended, of %lld allowed: wait or cancel some",
      owner[0] ? owner : "nobody", (long long)has, (long long)jobs->quota_jobs);
}

/* A job needs room for its row, its log and its weights. */
static ep_status room_check(ep_jobs *jobs, ep_problem *problem) {
  ep_error error = {0};
  if (ep_free_space_check_folder(jobs->data_dir, 0, &error) == EP_OK) return EP_OK;
  return ep_problem_from_error(problem, &error);
}

static void place_give_back(ep_jobs *jobs, const char *owner) {
  pthread_mutex_lock(&jobs->mutex);
  jobs->submitting--;
  ep_shares_remove(&jobs->shares, ep_live_key(owner));
  pthread_mutex_unlock(&jobs->mutex);
}

static ep_status row_fill(ep_jobs *jobs, const ep_checked_spec *checked, const char *owner,
                          ep_job_row *row, ep_expectations *expected, ep_error *error) {
  const ep_job_spec *spec = checked->spec;
  ep_job_spec *labels = checked->sweep ? &checked->sweep->labels : checked->spec;
  double trainings = checked->sweep ? (double)checked->epochs : 1;
  double max_seconds = checked->sweep ? checked->sweep->max_seconds : spec->max_seconds;
  *row = (ep_job_row){.name = labels->name,
                      .state = EP_STATE_QUEUED,
                      .priority = labels->priority,
                      .pinned = labels->pinned,
                      .private = labels->private,
                      .ttl_seconds = labels->ttl_seconds,
                      .max_seconds = max_seconds,
                      .spec = checked->text,
                      .tags = checked->tags,
                      .automatic = checked->automatic,
                      .remarks = checked->remarks,
                      .epochs = checked->epochs,
                      .parameters = checked->plan->parameters,
                      .bytes = checked->plan->bytes,
                      .created_us = ep_clock_utc_us(),
                      .version = ep_live_tick(jobs)};
  ep_id_create(checked->sweep ? EP_SWEEP_PREFIX : EP_JOB_PREFIX, row->id);
  snprintf(row->owner, sizeof row->owner, "%s", owner);
  memcpy(row->dataset, spec->data.sha256, sizeof row->dataset);
  snprintf(row->dataset_name, sizeof row->dataset_name, "%s", spec->data.dataset);
  memcpy(row->requested_device, spec->device, sizeof row->requested_device);
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count;
  ep_status status =
      ep_estimate_devices(&jobs->calibrations, checked->plan, spec, estimates, &count, error);
  const ep_estimate *cpu = ep_estimate_least(estimates, count, "cpu");
  const ep_estimate *cuda = ep_estimate_least(estimates, count, "cuda");
  row->seconds_cpu = cpu ? cpu->seconds * trainings : INFINITY;
  if (!ep_check_memory_suffices(jobs, checked->plan)) row->seconds_cpu = INFINITY;
  bool ranks_vary = checked->sweep && ep_sweep_field_varies(checked->sweep, "/parallel");
  row->seconds_cuda = cuda && !ranks_vary ? cuda->seconds * trainings : INFINITY;
  if (!ep_check_gpus_suffice(jobs, spec)) row->seconds_cuda = INFINITY;
  row->cores = cpu && !checked->sweep ? cpu->cores : 0; /* a sweep has all cores */
  *expected = (ep_expectations){0};
  if (checked->sweep) return status; /* its time says nothing of one program's */
  *expected = (ep_expectations){.program = ep_plan_signature(checked->plan),
                                .cpu = ep_estimate_expect(cpu, spec->epochs),
                                .cuda = ep_estimate_expect(cuda, spec->epochs)};
  return status;
}

/* Makes the job live and queues it before its row is stored: an idle worker begins it in the
 * meantime. */
static ep_status job_enter(ep_jobs *jobs, ep_live_job *job, bool *placed, ep_problem *problem) {
  job->storing = true;
  pthread_mutex_lock(&jobs->mutex);
  bool queued = ep_live_enqueue(jobs, job, false);
  if (queued) {
    ep_live_add(jobs, job);
    jobs->submitting--;
    *placed = false;
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (!queued) return ep_problem_fail_memory(problem);
  ep_supervisor_kick(jobs->supervisor);
  return EP_OK;
}

/* The row is on disk: the job is shown from here on. */
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
  ep_live_announce_queue(jobs);
}

/* The row could not be stored, and nobody was shown the job: it goes, at once or, where a worker
 * has begun it, once that has ended (ep_assign_drop). */
static void job_withdraw(ep_jobs *jobs, ep_live_job *job) {
  char id[EP_ID_BYTES];
  pthread_mutex_lock(&jobs->mutex);
  memcpy(id, job->row.id, sizeof id);
  bool queued = ep_queue_remove(&jobs->queue, &job->entry);
  if (queued) {
    ep_live_remove(jobs, job);
    ep_live_touch_queue(jobs);
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
  ep_live_announce_queue(jobs);
}

static void text_hash(const char *text, size_t bytes, uint8_t out[EP_STORE_HASH_BYTES]) {
  crypto_hash_sha256(out, (const unsigned char *)text, bytes);
}

/* Stores a checked spec and queues it. EP_CONFLICT when the key was used in the meantime. */
static ep_status job_store(ep_jobs *jobs, ep_checked_spec *checked, const char *owner, bool *placed,
                           const uint8_t *key_hash, const uint8_t *body_hash, char id[EP_ID_BYTES],
                           ep_problem *problem) {
  ep_job_row row;
  ep_expectations expected;
  ep_error error = {0};
  if (row_fill(jobs, checked, owner, &row, &expected, &error) != EP_OK)
    return ep_problem_from_error(problem, &error);
  ep_live_job *job = ep_live_create(&row);
  if (!job || !(job->row.spec = strdup(row.spec)) || !ep_live_spec_note(job, checked->spec)) {
    ep_live_destroy(job);
    return ep_problem_fail_memory(problem);
  }
  job->expected = expected;
  job->allocation = checked->allocation;
  if (checked->sweep) ep_trials_note(job, checked->sweep);
  snprintf(job->init_pin, sizeof job->init_pin, "%s", checked->init_pin);
  ep_status status = ep_job_folder_create(jobs->data_dir, row.id, &error);
  if (status == EP_OK) status = ep_job_queued_write(jobs->data_dir, &row, &error);
  if (status == EP_OK)
    status = ep_first_weights_link(jobs->data_dir, row.id, checked->init_checkpoint, &error);
  if (status != EP_OK) ep_problem_from_error(problem, &error);
  if (status == EP_OK) status = job_enter(jobs, job, placed, problem);
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
  if (ep_job_spec_write(jobs->data_dir, &row, &error) != EP_OK) /* the next start does it */
    ep_log(EP_LOG_WARNING, "job %s: %s", row.id, error.message);
  checked->pinned = false; /* the pins are the live job's now */
  checked->init_pin[0] = 0;
  snprintf(id, EP_ID_BYTES, "%s", row.id);
  if (!checked->sweep && strcmp(row.requested_device, "auto") == 0)
    ep_calibrations_note_submit(&jobs->calibrations, expected.program);
  ep_metrics_add(EP_COUNTER_JOBS_SUBMITTED, 1);
  job_stored(jobs, job); /* which may end at once */
  return EP_OK;
}

/* Of the key of one owner: another's is another key. owner NULL: it is everybody's. */
static void key_hash_make(const char *owner, const char *key, uint8_t out[EP_STORE_HASH_BYTES]) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  if (owner && owner[0] != 0)
    crypto_hash_sha256_update(&state, (const unsigned char *)owner, strlen(owner) + 1);
  crypto_hash_sha256_update(&state, (const unsigned char *)key, strlen(key));
  crypto_hash_sha256_final(&state, out);
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

/* The job of an earlier submission of the same. Keys of epochd itself are everybody's, unless that
 * job is hidden from this owner, who then has one of their own. key_hash, body_hash: written. */
static ep_status repetition_look(ep_jobs *jobs, const ep_submission *submission,
                                 uint8_t key_hash[EP_STORE_HASH_BYTES],
                                 uint8_t body_hash[EP_STORE_HASH_BYTES], char id[EP_ID_BYTES],
                                 ep_problem *problem) {
  const char *key = submission->idempotency_key;
  const ep_viewer by = {submission->owner, submission->limited};
  bool own = key[0] == EP_OWN_KEY;
  /* epochd's own keys say all: what they are of may have another name by now */
  text_hash(own ? key : submission->json, own ? strlen(key) : submission->bytes, body_hash);
  /* the same body asks for something else */
  body_hash[0] ^= submission->find_lr | submission->warn_replaced << 1;
  key_hash_make(own ? NULL : by.owner, key, key_hash);
  ep_status status = repetition_find(jobs, key_hash, body_hash, id, problem);
  if (!own || status != EP_OK || ep_jobs_see(jobs, &by, EP_OWNED_JOB, id, NULL) != EP_NOT_FOUND)
    return status;
  key_hash_make(by.owner, key, key_hash);
  return repetition_find(jobs, key_hash, body_hash, id, problem);
}

static ep_status submission_check(ep_jobs *jobs, const ep_submission *submission,
                                  ep_checked_spec *checked, ep_problem *problem) {
  json_t *request = submission->request, *parsed = NULL;
  if (!request &&
      ep_spec_request_parse(submission->json, submission->bytes, &parsed, problem) != EP_OK)
    return problem->status;
  if (!request) request = parsed;
  ep_status status = submission->sweep
                         ? ep_sweep_check(jobs, request, checked, problem)
                         : ep_spec_check(jobs, request, submission->same_data, checked, problem);
  json_decref(parsed);
  return status;
}

ep_status ep_jobs_submit(ep_jobs *jobs, const ep_submission *submission, char id[EP_ID_BYTES],
                         bool *repeated, ep_problem *problem) {
  uint8_t key_hash[EP_STORE_HASH_BYTES], body_hash[EP_STORE_HASH_BYTES];
  bool keyed = submission->idempotency_key != NULL;
  const char *owner = submission->owner ? submission->owner : "";
  *repeated = false;
  if (keyed) {
    ep_status status = repetition_look(jobs, submission, key_hash, body_hash, id, problem);
    *repeated = status == EP_OK;
    if (status != EP_NOT_FOUND) return status;
  }
  ep_checked_spec checked = {.by = {owner, submission->limited},
                             .find_lr = submission->find_lr,
                             .warn_replaced = submission->warn_replaced};
  bool placed = false;
  ep_status status = room_check(jobs, problem);
  if (status == EP_OK) status = ep_usage_check(jobs, owner, problem);
  if (status == EP_OK) status = submission_check(jobs, submission, &checked, problem);
  if (status == EP_OK) status = place_take(jobs, owner, &placed, problem);
  if (status == EP_OK)
    status = job_store(jobs, &checked, owner, &placed, keyed ? key_hash : NULL,
                       keyed ? body_hash : NULL, id, problem);
  if (placed) place_give_back(jobs, owner);
  ep_checked_spec_deinit(jobs, &checked);
  if (status == EP_CONFLICT && keyed) { /* the same key, at the same time */
    status = repetition_find(jobs, key_hash, body_hash, id, problem);
    *repeated = status == EP_OK;
    if (status == EP_NOT_FOUND)
      status = ep_problem_set(problem, EP_CONFLICT, "the job of that Idempotency-Key was deleted");
  }
  return status;
}
