#include "server/jobs/lifecycle/pause.h"

#include "server/jobs/files/events.h"
#include "server/jobs/lifecycle/end.h"
#include "server/jobs/live/live.h"
#include "server/process/id.h"
#include "server/process/log.h"

/* Queues a job that waits. False: memory is short. */
static bool job_enqueue(ep_jobs *jobs, ep_live_job *job) {
  pthread_mutex_lock(&jobs->mutex);
  bool queued = ep_live_enqueue(jobs, job, job->row.attempt > 0);
  pthread_mutex_unlock(&jobs->mutex);
  if (queued) ep_supervisor_kick(jobs->supervisor);
  return queued;
}

void ep_job_pause_enter(ep_jobs *jobs, ep_live_job *job) {
  ep_error error = {0};
  pthread_mutex_lock(&jobs->mutex);
  bool gone = job->cancelled;
  ep_job_row row = job->row;
  pthread_mutex_unlock(&jobs->mutex);
  if (gone) {
    ep_job_end(jobs, job, EP_STATE_CANCELLED, ep_job_cancellation(job));
    return;
  }
  row.state = EP_STATE_PAUSED;
  row.version = ep_live_tick(jobs);
  /* The intent is on disk already: what fails here, the next start makes good. */
  if (ep_store_job_update(jobs->store, &row, &error) != EP_OK ||
      ep_job_place_append(&jobs->logs, &row, EP_EVENT_PAUSED, job->epoch, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "job %s: %s", row.id, error.message);
  ep_open_logs_release(&jobs->logs, job->log);
  pthread_mutex_lock(&jobs->mutex);
  job->log = NULL;
  if (job->row.state == EP_STATE_RUNNING) jobs->running--;
  job->row.state = EP_STATE_PAUSED;
  job->eta_seconds = __builtin_nan("");
  job->epoch_paused = job->epoch;
  bool cancelled = job->cancelled, pause = job->pause;
  ep_live_touch(jobs, job);
  pthread_mutex_unlock(&jobs->mutex);
  if (cancelled)
    ep_job_end(jobs, job, EP_STATE_CANCELLED, ep_job_cancellation(job));
  else if (!pause && !job_enqueue(jobs, job))
    ep_log(EP_LOG_ERROR, "job %s stays paused: no memory to queue it", row.id);
  ep_live_announce(jobs, row.id);
  ep_live_announce_queue(jobs);
}

/* The live job, if it may be paused and resumed. EP_CONFLICT: it has ended, or is to end. Locked.
 */
static ep_status job_find(ep_jobs *jobs, const char *id, ep_live_job **out, ep_error *error) {
  *out = ep_live_find_stored(jobs, id);
  if (!*out || (*out)->dropped || (*out)->row_ended)
    return ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id);
  if ((*out)->ending || (*out)->cancelled)
    return ep_fail(error, EP_CONFLICT, "job %s is ending", id);
  return EP_OK;
}

/* The same, not locked; what has ended is told from what never was. */
static ep_status job_look(ep_jobs *jobs, const char *id, bool *pause, ep_error *error) {
  ep_live_job *job;
  if (!ep_id_valid(id)) return ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id);
  pthread_mutex_lock(&jobs->mutex);
  ep_status status = job_find(jobs, id, &job, error);
  if (status == EP_OK) *pause = job->pause;
  pthread_mutex_unlock(&jobs->mutex);
  if (status == EP_NOT_FOUND && ep_store_job_exists(jobs->store, id))
    return ep_fail(error, EP_CONFLICT, "job %s has ended", id);
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

/* Queues a paused job of the calling thread again. */
static ep_status job_resume(ep_jobs *jobs, ep_live_job *job, ep_error *error) {
  ep_job_row row = job->row;
  row.version = ep_live_tick(jobs);
  ep_status status = ep_store_job_update(jobs->store, &row, error);
  if (status == EP_OK)
    status = ep_job_place_append(&jobs->logs, &row, EP_EVENT_RESUMED, job->epoch, error);
  pthread_mutex_lock(&jobs->mutex);
  bool cancelled = job->cancelled, pause = job->pause;
  job->resumed = true;
  pthread_mutex_unlock(&jobs->mutex);
  if (cancelled || pause || status != EP_OK)
    ep_job_pause_enter(jobs, job);
  else if (!job_enqueue(jobs, job))
    status = ep_fail_memory(error);
  return status;
}

ep_status ep_jobs_resume(ep_jobs *jobs, const char *id, ep_error *error) {
  bool pause = false;
  ep_live_job *job = NULL;
  ep_status status = job_look(jobs, id, &pause, error);
  if (status != EP_OK || !pause) return status;
  status = ep_store_job_intend(jobs->store, id, EP_INTENT_NONE, error);
  if (status != EP_OK) return status;
  pthread_mutex_lock(&jobs->mutex);
  bool taken = false;
  if (job_find(jobs, id, &job, NULL) == EP_OK) {
    taken = job->row.state == EP_STATE_PAUSED;
    job->pause = false;
    if (taken) job->row.state = EP_STATE_QUEUED; /* else its worker, or its thread, sees the flag */
    ep_live_touch(jobs, job);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (taken) status = job_resume(jobs, job, error);
  ep_live_announce(jobs, id);
  ep_live_announce_queue(jobs);
  return status;
}
