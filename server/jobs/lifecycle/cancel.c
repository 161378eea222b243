#include "server/jobs/lifecycle/end.h"
#include "server/jobs/live/live.h"
#include "server/process/id.h"

ep_status ep_jobs_cancel(ep_jobs *jobs, const char *id, ep_error *error) {
  if (!ep_id_valid(id))
    return ep_fail(error, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  if (ep_live_is(jobs, id)) { /* on disk before it is answered: a crash does not forget it */
    ep_status status = ep_store_job_intend(jobs->store, id, EP_INTENT_CANCEL, error);
    if (status != EP_OK) return status;
  }
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find_stored(jobs, id);
  bool live = job && !job->dropped;
  if (!live) job = NULL;
  bool waits = live && !job->ending &&
               ((job->row.state == EP_STATE_PAUSED && !job->settling) ||
                ep_queue_remove(&jobs->queue, &job->entry));
  if (live && !waits) {
    job->cancelled = true;
    job = NULL;
  }
  if (job) { /* without a worker, it is this thread's now */
    job->state_before = job->row.state;
    job->version_before = ep_live_version(jobs, job);
    job->ending = true;
    ep_live_touch_queue(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (job) {
    ep_job_end(jobs, job, EP_STATE_CANCELLED,
               job->row.attempt > 0 ? ep_job_cancellation(job) : NULL);
    ep_live_announce_queue(jobs);
  }
  ep_supervisor_kick(jobs->supervisor); /* it runs, or may have held up those behind it */
  if (live || ep_store_job_exists(jobs->store, id)) return EP_OK;
  return ep_fail(error, EP_NOT_FOUND, "%s %s not found", ep_id_noun(id), id);
}
