#include "tests/simulator/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/event.h"
#include "server/events/event_log.h"
#include "server/jobs/live/state.h"
#include "tests/simulator/disk.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/workers.h"

#define HASH_BEGIN UINT64_C(14695981039346656037)

model *MODEL;

void model_begin(void) {
  MODEL = outside_calloc(1, sizeof *MODEL);
  for (int i = 0; i < MODEL_KEYS; i++) MODEL->key_job[i] = -1;
}

const char *model_owner_name(int owner) {
  static const char *const names[MODEL_OWNERS] = {"", "ann", "ben", "eve"};
  return names[owner];
}

int model_find(const char *id) {
  for (int i = 0; i < MODEL_JOBS; i++)
    if (MODEL->job[i].state != JOB_FREE && strcmp(MODEL->job[i].id, id) == 0) return i;
  return -1;
}

int model_owner(const char *id) {
  int index = model_find(id);
  return index < 0 ? -1 : MODEL->job[index].owner;
}

int model_count(model_state state) {
  int count = 0;
  for (int i = 0; i < MODEL_JOBS; i++) count += MODEL->job[i].state == state;
  return count;
}

/* A free place, or that of the job that was deleted first. */
static int place_find(void) {
  int found = -1;
  for (int i = 0; i < MODEL_JOBS; i++) {
    const model_job *job = &MODEL->job[i];
    if (job->state == JOB_FREE) return i;
    if (job->state == JOB_DELETED && job->users == 0 &&
        (found < 0 || job->deleted_at < MODEL->job[found].deleted_at))
      found = i;
  }
  must_hold(found >= 0, "more than %d jobs", MODEL_JOBS);
  return found;
}

int model_add(const char *id, int owner, int key) {
  must_hold(model_find(id) < 0, "job %s is accepted twice", id);
  int index = place_find();
  MODEL->job[index] = (model_job){
      .state = JOB_STORED, .owner = owner, .key = key, .end = EP_STATE_QUEUED, .hash = HASH_BEGIN};
  snprintf(MODEL->job[index].id, sizeof MODEL->job[index].id, "%s", id);
  if (key >= 0) MODEL->key_job[key] = index;
  return index;
}

void model_deleted(int index) {
  model_job *job = &MODEL->job[index];
  job->state = JOB_DELETED;
  job->deletes = false;
  job->deleted_at = SIM->events;
  if (job->key >= 0) MODEL->key_job[job->key] = -1;
}

void model_training_begin(const char *id, int attempt) {
  int index = model_find(id);
  if (index < 0) return; /* it is being stored */
  model_job *job = &MODEL->job[index];
  must_hold(job->state != JOB_DELETED, "job %s is deleted, and is started", id);
  must_hold(!job->ended, "job %s has its `end`, and is started", id);
  /* A command may have been on its way. */
  must_hold(job->paused_us == 0 || SIM->now_us - job->paused_us < 1000000,
            "job %s is paused, and is started", id);
  must_hold(attempt >= job->attempt, "job %s: attempt %d comes after %d", id, attempt,
            job->attempt);
  job->attempt = attempt;
}

void model_training_end(const char *id) {
  int index = model_find(id);
  if (index >= 0) SIM->counts.ends++;
}

void model_checkpoint(const char *id, int64_t epoch) {
  int index = model_find(id);
  if (index >= 0) MODEL->job[index].checkpoint = epoch;
}

int64_t model_checkpoint_find(const char *id) {
  int index = model_find(id);
  return index < 0 ? 0 : MODEL->job[index].checkpoint;
}

void model_power_failed(void) {
  for (int i = 0; i < MODEL_JOBS; i++) MODEL->job[i].attempt = 0;
}

bool model_trouble(uint64_t failures) {
  return DISK->failures != failures || DISK->faults.full || DISK->faults.error_times != 0;
}

bool model_is_leaving(const model_job *job) {
  return job->deletes || job->expires || job->state == JOB_DELETED;
}

/* A line of a log, which follows those that were read. */
static void line_check(model_job *job, const char *line, size_t bytes) {
  ep_event event = {0};
  ep_error error = {0};
  must_hold(!job->ended, "job %s: a line follows its `end`: %.*s", job->id, (int)bytes, line);
  must_hold(ep_event_parse(line, bytes, &event, &error) == EP_OK, "job %s: line %lld: %s", job->id,
            (long long)job->lines + 1, error.message);
  must_hold(event.seq == job->lines + 1, "job %s: seq %lld follows %lld", job->id,
            (long long)event.seq, (long long)job->lines);
  must_hold(memmem(line, bytes, job->id, strlen(job->id)), "job %s has a line of another: %.*s",
            job->id, (int)bytes, line);
  must_hold(!memmem(line, bytes, WORKERS_LATE_MESSAGE, strlen(WORKERS_LATE_MESSAGE)) &&
                !memmem(line, bytes, "\"loss\":31337", 12),
            "job %s: a late report was stored: %.*s", job->id, (int)bytes, line);
  must_hold((job->lines == 0) == (event.type == EP_EVENT_QUEUED), "job %s: line %lld: %.*s",
            job->id, (long long)job->lines + 1, (int)bytes, line);
  if (event.type == EP_EVENT_EPOCH) {
    must_hold(event.progress.epoch == job->epoch + 1 ||
                  (job->damaged && event.progress.epoch > job->epoch),
              "job %s: epoch %lld follows %lld", job->id, (long long)event.progress.epoch,
              (long long)job->epoch);
    job->epoch = event.progress.epoch;
  }
  if (event.type == EP_EVENT_STARTED) {
    must_hold(!job->started, "job %s has two `started`", job->id);
    job->started = true;
  }
  job->ended = event.type == EP_EVENT_END;
  job->lines++;
}

static void bytes_note(model_job *job, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    job->hash = (job->hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
  job->bytes += (int64_t)bytes;
}

/* What follows of a log, up to so many bytes. False: the disk refuses. */
static bool log_read(ep_jobs *jobs, model_job *job, int64_t most, uint64_t failures) {
  ep_event_log *log = NULL;
  ep_error error = {0};
  ep_status status = ep_jobs_retain_log(jobs, job->id, &log, &error);
  char *text = malloc(EP_LIMIT_EVENT_BYTES);
  bool over = false;
  size_t bytes = 1;
  while (status == EP_OK && bytes > 0) {
    status = ep_event_log_read(log, job->bytes, text, EP_LIMIT_EVENT_BYTES, &bytes, &over, &error);
    if (status != EP_OK) break;
    for (size_t at = 0; at < bytes && job->bytes < most;) {
      const char *newline = memchr(text + at, '\n', bytes - at);
      must_hold(newline, "job %s: a line without its end was shown", job->id);
      size_t length = (size_t)(newline - (text + at));
      line_check(job, text + at, length);
      bytes_note(job, text + at, length + 1);
      at += length + 1;
    }
    if (job->bytes >= most) break;
  }
  free(text);
  ep_jobs_release_log(jobs, log);
  if (status == EP_OK) return true;
  must_hold(model_trouble(failures) || model_is_leaving(job) || job->damaged,
            "the log of job %s cannot be read: %s", job->id, error.message);
  MODEL->look_due = true;
  return false;
}

/* The state of a job; false: it cannot be read now, or has gone. */
static bool state_read(ep_jobs *jobs, int index, uint64_t failures, ep_state *out) {
  model_job *job = &MODEL->job[index];
  char *text = NULL;
  uint64_t version = 0;
  bool deleted = job->state == JOB_DELETED;
  ep_error error = {0};
  ep_status status = ep_jobs_get(jobs, job->id, &text, &version, &error);
  if (status == EP_NOT_FOUND) {
    must_hold(model_is_leaving(job), "job %s was accepted, and is lost", job->id);
    if (job->state == JOB_STORED && job->deleting == 0) model_deleted(index);
    return false;
  }
  if (status != EP_OK) {
    must_hold(model_trouble(failures) || model_is_leaving(job), "job %s cannot be read: %s",
              job->id, error.message);
    MODEL->look_due = true;
    return false;
  }
  must_hold(!deleted, "job %s was deleted, and is there", job->id);
  const char *at = strstr(text, "\"status\":\"");
  must_hold(at, "job %s has no status: %s", job->id, text);
  at += strlen("\"status\":\"");
  int state = 0;
  while (strncmp(at, ep_state_name((ep_state)state), strlen(ep_state_name((ep_state)state))) != 0)
    state++;
  *out = (ep_state)state;
  free(text);
  return true;
}

static void state_note(model_job *job, ep_state state) {
  bool ended = ep_state_has_ended(state);
  must_hold(!ep_state_has_ended(job->end) || state == job->end, "job %s was %s, and is %s", job->id,
            ep_state_name(job->end), ep_state_name(state));
  must_hold(!job->ended || ended || job->damaged, "job %s has its `end`, and is %s", job->id,
            ep_state_name(state));
  if (ended) job->end = state;
}

/* What was read of a log must be there as it was: it is read again from its beginning. */
static bool log_compare(ep_jobs *jobs, model_job *job, uint64_t failures) {
  model_job before = *job;
  job->bytes = job->lines = job->epoch = 0;
  job->hash = HASH_BEGIN;
  job->started = job->ended = false;
  if (job->damaged) return log_read(jobs, job, INT64_MAX, failures);
  bool good = log_read(jobs, job, before.bytes, failures);
  if (good) {
    must_hold(job->bytes == before.bytes,
              "job %s: %lld bytes of its log were shown, and %lld are there", job->id,
              (long long)before.bytes, (long long)job->bytes);
    must_hold(job->hash == before.hash, "job %s: lines of its log were shown, and are others",
              job->id);
    return log_read(jobs, job, INT64_MAX, failures);
  }
  job->bytes = before.bytes;
  job->lines = before.lines;
  job->epoch = before.epoch;
  job->hash = before.hash;
  job->started = before.started;
  job->ended = before.ended;
  return false;
}

void model_look(ep_jobs *jobs, int index, bool anew) {
  model_job *job = &MODEL->job[index];
  uint64_t failures = DISK->failures;
  ep_state state;
  if (job->looking) return;
  job->users++;
  job->looking = true;
  bool good = state_read(jobs, index, failures, &state);
  if (good) {
    state_note(job, state);
    good = anew ? log_compare(jobs, job, failures) : log_read(jobs, job, INT64_MAX, failures);
    must_hold(!good || job->ended || !ep_state_has_ended(state) || model_trouble(failures) ||
                  model_is_leaving(job) || job->damaged,
              "job %s is %s, and its log has no `end`", job->id, ep_state_name(job->end));
  }
  if (good && job->ended && state_read(jobs, index, failures, &state)) state_note(job, state);
  job->looking = false;
  job->users--;
}

static void list_look(ep_jobs *jobs) {
  char *text = NULL, id[EP_ID_BYTES];
  uint64_t failures = DISK->failures;
  ep_error error = {0};
  ep_job_page page = {
      .state = -1, .prefix = EP_JOB_PREFIX, .limit = 2 * MODEL_JOBS, .summary = true};
  if (ep_jobs_list(jobs, &page, &text, &error) != EP_OK) {
    must_hold(model_trouble(failures), "the jobs cannot be listed: %s", error.message);
    MODEL->look_due = true;
    return;
  }
  for (const char *at = text; (at = strstr(at, "\"id\":\""));) {
    at += strlen("\"id\":\"");
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at, "\""), at);
    if (model_find(id) >= 0) continue;
    must_hold(MODEL->unsure > 0, "job %s is there, and nobody submitted it", id);
    MODEL->unsure--;
    const char *owner = strstr(at, "\"owner\":\"");
    int index = 0;
    for (int i = 1; owner && i < MODEL_OWNERS; i++)
      if (strncmp(owner + strlen("\"owner\":\""), model_owner_name(i), 3) == 0) index = i;
    MODEL->job[model_add(id, index, -1)].expires = true; /* or not */
  }
  free(text);
}

void model_look_all(ep_jobs *jobs) {
  MODEL->look_due = false;
  list_look(jobs);
  for (int i = 0; i < MODEL_JOBS; i++)
    if (MODEL->job[i].state == JOB_STORED) {
      model_look(jobs, i, true);
    } else if (MODEL->job[i].state == JOB_DELETED) {
      ep_state state;
      state_read(jobs, i, DISK->failures, &state);
    }
  model_quotas(jobs);
}

void model_quotas(ep_jobs *jobs) {
  int64_t live[MODEL_OWNERS] = {0};
  pthread_mutex_lock(&jobs->mutex);
  for (int i = 0; i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      for (int owner = 0; owner < MODEL_OWNERS; owner++)
        live[owner] += strcmp(job->row.owner, model_owner_name(owner)) == 0;
  pthread_mutex_unlock(&jobs->mutex);
  for (int owner = 0; owner < MODEL_OWNERS; owner++)
    must_hold(live[owner] <= MODEL_QUOTA_JOBS, "owner %d has %lld jobs, and its quota is %d", owner,
              (long long)live[owner], MODEL_QUOTA_JOBS);
}
