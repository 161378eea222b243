#include "server/jobs/lifecycle/pause.h"

#include "server/jobs/files/events.h"
#include "server/jobs/lifecycle/crashes.h"
#include "server/jobs/lifecycle/end.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/process/id.h"
#include "server/process/log.h"

/* The job is the calling thread's from here on, for job_resume: returns true. One that is not
 * paused yet goes on by itself. Locked. */
static bool resume_take(ep_jobs *jobs, ep_live_job *job) {
  bool taken = job->row.state == EP_STATE_PAUSED && !job->settling;
  job->pause = job->resume_owed = false; /* its worker's end, or its thread, sees the former */
  if (taken) job->row.state = EP_STATE_QUEUED;
  ep_live_touch(jobs, job);
  return taken;
}

/* A client has told the job to go on: queues it again. Where that cannot be stored it stays paused,
 * and is `resume_owed`. */
static ep_status job_resume(ep_jobs *jobs, ep_live_job *job, ep_error *error) {
  pthread_mutex_lock(&jobs->mutex);
  job->row.state = EP_STATE_QUEUED;
  job->resumed = true;
  bool crashed = job->crashes > 0;
  job->crashes = 0;
  job->deaths = job->deaths_unbegun = 0; /* those before are not in a row with later ones */
  ep_job_row row = job->row;
  row.version = ep_live_tick(jobs);
  pthread_mutex_unlock(&jobs->mutex);
  if (crashed) ep_crashes_forget(jobs, row.id);
  ep_status status = ep_store_job_update(jobs->store, &row, error);
  if (status == EP_OK)
    status = ep_job_place_append(&jobs->logs, &row, EP_EVENT_RESUMED, job->epoch, error);
  pthread_mutex_lock(&jobs->mutex);
  bool told = job->cancelled || job->pause; /* once more, in the meantime */
  if (status == EP_OK && !told && !ep_live_enqueue(jobs, job, job->row.attempt > 0))
    status = ep_fail_memory(error);
  if (!told && status != EP_OK) {
    job->row.state = EP_STATE_PAUSED;
    job->pause = job->resume_owed = jobs->resumes_owed = true;
    ep_live_touch(jobs, job);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (told)
    ep_job_pause_enter(jobs, job);
  else
    ep_supervisor_kick(jobs->supervisor); /* to train it, or to try again */
  return status;
}

/* The first of a bucket that is owed a resume, as resume_take leaves it; or NULL. */
static ep_live_job *owed_take(ep_jobs *jobs, int bucket, char id[EP_ID_BYTES]) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = jobs->buckets[bucket];
  while (job && (!job->resume_owed || job->ending || !resume_take(jobs, job))) job = job->next;
  if (job) memcpy(id, job->row.id, EP_ID_BYTES);
  pthread_mutex_unlock(&jobs->mutex);
  return job;
}

bool ep_job_resume_retry(ep_jobs *jobs) {
  char id[EP_ID_BYTES];
  ep_live_job *job;
  pthread_mutex_lock(&jobs->mutex);
  bool owed = jobs->resumes_owed, left = false;
  jobs->resumes_owed = false;
  pthread_mutex_unlock(&jobs->mutex);
  for (int i = 0; owed && i < EP_JOBS_BUCKETS; i++) {
    ep_status status = EP_OK;
    while (status == EP_OK && (job = owed_take(jobs, i, id))) {
      ep_error error = {0};
      status = job_resume(jobs, job, &error);
      if (status != EP_OK) ep_log(EP_LOG_ERROR, "job %s: %s; trying again", id, error.message);
      ep_live_announce(jobs, id);
    }
    left = left || status != EP_OK;
  }
  if (owed) ep_live_announce_queue(jobs);
  return left;
}

/* The job is shown as paused, and is this thread's until its row and its event are written. False:
 * it is to be cancelled. */
static bool pause_begin(ep_jobs *jobs, ep_live_job *job, ep_job_row *row) {
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled;
  if (!cancelled) {
    ep_usage_end(jobs, job);
    if (job->row.state == EP_STATE_RUNNING) jobs->running--;
    job->row.state = EP_STATE_PAUSED;
    job->settling = true;
    job->eta_seconds = __builtin_nan("");
    job->epoch_paused = job->epoch;
    ep_live_touch(jobs, job);
  }
  *row = job->row;
  pthread_mutex_unlock(&jobs->mutex);
  return !cancelled;
}

void ep_job_pause_enter(ep_jobs *jobs, ep_live_job *job) {
  ep_error error = {0};
  ep_job_row row;
  bool cancelled = !pause_begin(jobs, job, &row), pause = true;
  if (!cancelled) {
    /* The intent is on disk already: what fails here, the next start makes good. */
    if (ep_store_job_update(jobs->store, &row, &error) != EP_OK ||
        ep_job_place_append(&jobs->logs, &row, EP_EVENT_PAUSED, job->epoch, &error) != EP_OK)
      ep_log(EP_LOG_ERROR, "job %s: %s", row.id, error.message);
    ep_open_logs_release(&jobs->logs, job->log);
    pthread_mutex_lock(&jobs->mutex);
    job->log = NULL;
    job->settling = false;
    cancelled = job->cancelled;
    pause = job->pause;
    pthread_mutex_unlock(&jobs->mutex);
  }
  if (cancelled)
    ep_job_end(jobs, job, EP_STATE_CANCELLED, ep_job_cancellation(job));
  else if (!pause && job_resume(jobs, job, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: %s; trying again", row.id, error.message);
  ep_live_announce(jobs, row.id);
  ep_live_announce_queue(jobs);
}

/* The live job, if it may be paused and resumed. EP_CONFLICT: it has ended, or is to end. Locked.
 */
static ep_status job_find(ep_jobs *jobs, const char *id, ep_live_job **out, ep_error *error) {
  *out = ep_live_find_stored(jobs, id);
  if (!*out || (*out)->dropped || (*out)->row_ended)
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  if ((*out)->ending || (*out)->cancelled)
    return ep_fail(error, EP_CONFLICT, "%s %s is ending", ep_id_noun(id), id);
  return EP_OK;
}

/* The same, not locked; what has ended is told from what never was. */
static ep_status job_look(ep_jobs *jobs, const char *id, bool *pause, ep_error *error) {
  ep_live_job *job;
  if (!ep_id_valid(id))
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  pthread_mutex_lock(&jobs->mutex);
  ep_status status = job_find(jobs, id, &job, error);
  if (status == EP_OK) *pause = job->pause && !job->resume_owed;
  pthread_mutex_unlock(&jobs->mutex);
  if (status == EP_NOT_FOUND && ep_store_job_exists(jobs->store, id))
    return ep_fail(error, EP_CONFLICT, "%s %s has ended", ep_id_noun(id), id);
  return status;
}

ep_status ep_jobs_pause(ep_jobs *jobs, const char *id, ep_error *error) {
  bool pause = false;
  ep_live_job *job = NULL;
  ep_status status = job_look(jobs, id, &pause, error);
  if (status != EP_OK || pause) return status;
  status = ep_store_job_intend(jobs->store, id, EP_INTENT_PAUSE, error);
  if (status != EP_OK) return status;
  pthread_mutex_lock(&jobs->mutex);
  bool taken = false;
  if (job_find(jobs, id, &job, NULL) == EP_OK) {
    job->pause = true;
    job->resume_owed = false;
    taken = ep_queue_remove(&jobs->queue, &job->entry); /* then it is this thread's */
    ep_live_touch(jobs, job);
    ep_live_touch_queue(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (taken) ep_job_pause_enter(jobs, job);
  ep_live_announce(jobs, id);
  ep_supervisor_kick(jobs->supervisor); /* it runs, or may have held up those behind it */
  return EP_OK;
}

ep_status ep_jobs_resume(ep_jobs *jobs, const char *id, ep_error *error) {
  bool pause = false;
  ep_live_job *job = NULL;
  ep_status status = job_look(jobs, id, &pause, error);
  if (status != EP_OK || !pause) return status;
  status = ep_store_job_intend(jobs->store, id, EP_INTENT_RESUME, error);
  if (status != EP_OK) return status;
  pthread_mutex_lock(&jobs->mutex);
  bool taken = false;
  if (job_find(jobs, id, &job, NULL) == EP_OK) taken = resume_take(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  if (taken) status = job_resume(jobs, job, error);
  ep_live_announce(jobs, id);
  ep_live_announce_queue(jobs);
  return status;
}
