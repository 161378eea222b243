#include "tests/simulator/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/disk.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/model.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/tasks.h"

enum { CLIENTS_MOST = 16, JOBS_MOST = 60, SPEC_BYTES = 512, EPOCHS_MOST = 40 };

typedef enum {
  CLIENT_SUBMIT,
  CLIENT_LOOK,
  CLIENT_CANCEL,
  CLIENT_PAUSE,
  CLIENT_RESUME,
  CLIENT_DELETE,
  CLIENT_LABEL,
  CLIENT_KINDS
} client_kind;

typedef struct {
  bool used;
  client_kind kind;
  ep_jobs *jobs;
  int job;        /* index in the model; -1 = none */
  int key, owner; /* of a submission */
  int64_t epochs;
  int priority;
  int ttl_seconds;   /* 0 = none */
  uint64_t failures; /* of the disk, when it began */
  bool alone;        /* nobody resumed the job then, */
  uint64_t resumes;  /* after so many that did */
} client;

typedef struct {
  client client[CLIENTS_MOST];
} client_list;

static client_list *CLIENTS;

void clients_begin(void) {
  CLIENTS = outside_calloc(1, sizeof *CLIENTS);
}

int clients_active(void) {
  int count = 0;
  for (int i = 0; i < CLIENTS_MOST; i++) count += CLIENTS->client[i].used;
  return count;
}

/* What a client does not know is noted as such. */
static void submission_forget(const client *one) {
  MODEL->unsure++;
  if (one->key >= 0) MODEL->key_unsure[one->key] = true;
}

void clients_forget(void) {
  for (int i = 0; i < CLIENTS_MOST; i++) {
    client *one = &CLIENTS->client[i];
    if (one->used && one->kind == CLIENT_SUBMIT) submission_forget(one);
    one->used = false;
  }
  for (int i = 0; i < MODEL_JOBS; i++) {
    MODEL->job[i].users = MODEL->job[i].deleting = MODEL->job[i].resuming = 0;
    MODEL->job[i].looking = false;
  }
}

/* A repetition may be answered before the submission that it repeats. */
static void job_accepted(client *one, const char *id, bool repeated) {
  int known = model_find(id), keyed = one->key >= 0 ? MODEL->key_job[one->key] : -1;
  must_hold(!repeated || one->key >= 0, "a submission without a key is a repetition of %s", id);
  if (keyed >= 0 && keyed != known) {
    const model_job *other = &MODEL->job[keyed];
    must_hold(!repeated && model_is_leaving(other), "key %d: job %s, and then %s", one->key,
              other->id, id);
  }
  if (known < 0) {
    must_hold(!repeated || MODEL->unsure > 0 || clients_active() > 1,
              "job %s is the first of key %d, and new", id, one->key);
    if (repeated && MODEL->unsure > 0) MODEL->unsure--;
    model_add(id, one->owner, one->key);
  } else {
    must_hold(one->key >= 0 && MODEL->job[known].owner == one->owner, "job %s is accepted twice",
              id);
    MODEL->job[known].key = one->key;
    MODEL->key_job[one->key] = known;
  }
  if (!repeated) SIM->counts.submissions++;
  if (one->key >= 0) MODEL->key_unsure[one->key] = false;
}

static void submit(client *one) {
  char spec[SPEC_BYTES], key[16], id[EP_ID_BYTES];
  bool repeated = false;
  ep_problem *problem = calloc(1, sizeof *problem);
  snprintf(key, sizeof key, "key-%d", one->key);
  snprintf(spec, sizeof spec,
           "{\"name\":\"a job\",\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":"
           "\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":%lld,"
           "\"report_every\":1,\"device\":\"%s\",\"priority\":%d%s%d}",
           (long long)one->epochs, one->epochs % 2 ? "cpu" : "auto", one->priority,
           one->ttl_seconds ? ",\"ttl_seconds\":" : ",\"seed\":", one->ttl_seconds);
  ep_submission submission = {.json = spec,
                              .bytes = strlen(spec),
                              .owner = model_owner_name(one->owner),
                              .idempotency_key = one->key >= 0 ? key : NULL};
  ep_status status = ep_jobs_submit(one->jobs, &submission, id, &repeated, problem);
  if (status == EP_OK) {
    job_accepted(one, id, repeated);
    event_note("client: %s is %s", id, repeated ? "there already" : "accepted");
    if (one->ttl_seconds > 0) MODEL->job[model_find(id)].expires = true;
    if (!repeated) model_look(one->jobs, model_find(id), false);
  } else {
    event_note("client: a submission is refused: %d", (int)status);
    must_hold(status == EP_BUSY || model_trouble(one->failures), "a submission is refused: %s",
              problem->detail);
    if (status != EP_BUSY) submission_forget(one);
  }
  model_quotas(one->jobs);
  free(problem);
}

/* Ends with the job's state as it is, or an error that its race with others explains. */
static void result_check(const client *one, ep_status status, const ep_error *error,
                         const char *what) {
  const model_job *job = &MODEL->job[one->job];
  event_note("client: %s %s: %d", what, job->id, (int)status);
  if (status == EP_OK || status == EP_CONFLICT) return;
  if (status == EP_NOT_FOUND && model_is_leaving(job)) return;
  must_hold(status != EP_NOT_FOUND, "%s: job %s was accepted, and is not found", what, job->id);
  must_hold(model_trouble(one->failures), "%s %s fails: %s", what, job->id, error->message);
}

static void pause_job(const client *one) {
  model_job *job = &MODEL->job[one->job];
  ep_error error = {0};
  ep_status status = ep_jobs_pause(one->jobs, job->id, &error);
  result_check(one, status, &error, "pause");
  bool alone = one->alone && job->resumes == one->resumes; /* another one may resume it */
  if (status == EP_OK && alone) job->paused_us = SIM->now_us;
}

static void delete_job(const client *one) {
  model_job *job = &MODEL->job[one->job];
  ep_error error = {0};
  job->deleting++;
  job->deletes = true;
  ep_status status = ep_jobs_delete(one->jobs, job->id, NULL, &error);
  result_check(one, status, &error, "delete");
  job->deleting--;
  if (job->state == JOB_DELETED) return;
  if (status == EP_OK) model_deleted(one->job);
  /* Nothing was done: the row is looked at first. */
  if (status == EP_CONFLICT && job->deleting == 0) job->deletes = false;
}

static void *client_run(void *argument) {
  client *one = argument;
  ep_error error = {0};
  const char *id = one->job >= 0 ? MODEL->job[one->job].id : NULL;
  switch (one->kind) {
  case CLIENT_SUBMIT: submit(one); break;
  case CLIENT_LOOK:
    event_note("client: look at %s", id);
    model_look(one->jobs, one->job, one_in(8));
    break;
  case CLIENT_CANCEL:
    result_check(one, ep_jobs_cancel(one->jobs, id, &error), &error, "cancel");
    break;
  case CLIENT_PAUSE: pause_job(one); break;
  case CLIENT_RESUME:
    result_check(one, ep_jobs_resume(one->jobs, id, &error), &error, "resume");
    MODEL->job[one->job].resuming--;
    break;
  case CLIENT_DELETE: delete_job(one); break;
  default: {
    char body[32];
    ep_problem *problem = calloc(1, sizeof *problem);
    int bytes = snprintf(body, sizeof body, "{\"priority\":%d}", one->priority);
    ep_status status = ep_jobs_label(one->jobs, id, body, (size_t)bytes, false, problem);
    snprintf(error.message, sizeof error.message, "%s", problem->detail);
    result_check(one, status, &error, "label");
    free(problem);
  }
  }
  if (one->job >= 0) MODEL->job[one->job].users--;
  SIM->counts.operations++;
  one->used = false;
  return NULL;
}

/* A job that is stored; -1: there is none. ended: whether it is known to have ended. */
static int job_choose(bool ended) {
  int first = (int)random_below(MODEL_JOBS);
  for (int i = 0; i < MODEL_JOBS; i++) {
    int index = (first + i) % MODEL_JOBS;
    const model_job *job = &MODEL->job[index];
    if (job->state == JOB_STORED && job->ended == ended) return index;
  }
  return -1;
}

static client_kind kind_choose(void) {
  static const int weights[CLIENT_KINDS] = {30, 36, 6, 6, 8, 20, 4};
  int left = (int)random_below(110);
  int kind = 0;
  while (left >= weights[kind]) left -= weights[kind++];
  return (client_kind)kind;
}

void client_start(ep_jobs *jobs) {
  int i = 0;
  while (i < CLIENTS_MOST && CLIENTS->client[i].used) i++;
  if (i == CLIENTS_MOST) return;
  client_kind kind = kind_choose();
  int stored = model_count(JOB_STORED);
  if (kind == CLIENT_SUBMIT && stored >= JOBS_MOST) kind = CLIENT_DELETE;
  bool keyed = one_in(3);
  client one = {.used = true,
                .kind = kind,
                .jobs = jobs,
                .job = -1,
                .key = keyed ? (int)random_below(MODEL_KEYS) : -1,
                .owner = (int)random_below(MODEL_OWNERS),
                .epochs = 1 + (int64_t)random_below(EPOCHS_MOST),
                .priority = (int)random_below(7) - 3,
                .ttl_seconds = one_in(8) ? 1 + (int)random_below(4) : 0,
                .failures = DISK->failures};
  if (one.key >= 0) { /* the same key has the same body */
    one.owner = one.key % MODEL_OWNERS;
    one.epochs = 1 + one.key % EPOCHS_MOST;
    one.priority = one.ttl_seconds = 0;
  }
  if (kind != CLIENT_SUBMIT) {
    one.job = job_choose(kind == CLIENT_DELETE ? !one_in(10) : one_in(4));
    if (one.job < 0) return;
    model_job *job = &MODEL->job[one.job];
    job->users++;
    if (kind == CLIENT_RESUME) {
      job->paused_us = 0;
      job->resuming++;
      job->resumes++;
    }
    one.alone = job->resuming == 0;
    one.resumes = job->resumes;
  }
  CLIENTS->client[i] = one;
  task_start(client_run, &CLIENTS->client[i]);
}

void clients_quiet(ep_jobs *jobs) {
  for (int i = 0; i < MODEL_JOBS; i++) {
    model_job *job = &MODEL->job[i];
    if (job->state != JOB_STORED || job->ended) continue;
    ep_error error = {0};
    if (job->deletes) { /* the client repeats what failed */
      ep_status deleted = ep_jobs_delete(jobs, job->id, NULL, &error);
      must_hold(deleted == EP_OK || deleted == EP_NOT_FOUND || deleted == EP_CONFLICT,
                "job %s cannot be deleted: %s", job->id, error.message);
      if (deleted != EP_CONFLICT) model_deleted(i);
      job->deletes = false;
      continue;
    }
    job->paused_us = 0;
    ep_status status = ep_jobs_resume(jobs, job->id, &error);
    must_hold(status == EP_OK || status == EP_CONFLICT || model_is_leaving(job),
              "job %s cannot be resumed: %s", job->id, error.message);
    model_look(jobs, i, false);
  }
}

void clients_tidy(ep_jobs *jobs, int left) {
  for (int i = 0; i < MODEL_JOBS && model_count(JOB_STORED) > left; i++) {
    model_job *job = &MODEL->job[i];
    if (job->state != JOB_STORED || !job->ended) continue;
    ep_error error = {0};
    ep_status status = ep_jobs_delete(jobs, job->id, NULL, &error);
    must_hold(status == EP_OK || (status == EP_NOT_FOUND && job->expires),
              "job %s cannot be deleted: %s", job->id, error.message);
    model_deleted(i);
  }
}
