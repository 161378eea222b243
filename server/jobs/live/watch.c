#include "server/jobs/live/live.h"

/* Whether the job is live; its version. */
static bool live_version_get(ep_jobs *jobs, const char *id, uint64_t *version, bool *queued) {
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find(jobs, id);
  if (job && job->row_ended) job = NULL;
  if (job) {
    *version = ep_live_version(jobs, job);
    *queued = job->row.state == EP_STATE_QUEUED && !job->ending;
  }
  pthread_mutex_unlock(&jobs->mutex);
  return job != NULL;
}

uint64_t ep_jobs_watch(ep_jobs *jobs, const char *id, uint64_t version, ep_event_log_wake *wake,
                       void *context) {
  uint64_t now = 0;
  bool queued = false;
  live_version_get(jobs, id, &now, &queued);
  uint64_t token =
      ep_subscribers_add(&jobs->watches, ep_live_key(id) | (queued ? 1 : 0), true, wake, context);
  /* Looked at again, because only changes from here on mark the watch. A job that is not live has
   * ended, or does not exist: the watch is due at once. */
  bool live = live_version_get(jobs, id, &now, &queued);
  if ((!live || now != version) && ep_subscribers_mark_token(&jobs->watches, token))
    ep_supervisor_kick(jobs->supervisor);
  return token;
}

void ep_jobs_unwatch(ep_jobs *jobs, uint64_t token) {
  ep_subscribers_remove(&jobs->watches, token);
}
