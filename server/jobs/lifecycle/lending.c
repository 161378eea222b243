#include "server/jobs/lifecycle/lending.h"

#include <math.h>
#include <string.h>

#include "server/jobs/lifecycle/assign.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/process/log.h"

#define WORTH_SECONDS 10.0 /* of work, for a worker that is to be started */

/* The job while that attempt runs and is to go on; NULL: it does not. The mutex is held. */
static ep_live_job *running_find(ep_jobs *jobs, const char *id, int attempt) {
  ep_live_job *job = ep_live_find_stored(jobs, id);
  const bool runs = job && !job->ending && job->row.state == EP_STATE_RUNNING &&
                    job->row.attempt == attempt && !job->cancelled && !job->pause && !job->dropped;
  return runs ? job : NULL;
}

int ep_lending_wants(ep_jobs *jobs, const char *id, int attempt, int helpers) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = running_find(jobs, id, attempt);
  int most = job && !job->exclusive && job->gang.most == 0 ? helpers : 0;
  if (most > 0 && job->workers > 0 && most > job->workers - 1) most = job->workers - 1;
  if (job) job->helpers_wanted = most;
  pthread_mutex_unlock(&jobs->mutex);
  return most;
}

char *ep_lending_help(ep_jobs *jobs, const char *id, int attempt, const char *device,
                      const ep_slurm_request *has) {
  ep_error error = {0};
  ep_job_row stored;
  ep_supervisor_get_devices(jobs->supervisor, &jobs->devices);
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = running_find(jobs, id, attempt);
  const bool may = job && ep_assign_may_help(jobs, job, device, has);
  pthread_mutex_unlock(&jobs->mutex);
  if (!may) return NULL;
  if (ep_store_job_get(jobs->store, id, &stored, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "job %s gets no helper: %s", id, error.message);
    return NULL;
  }
  char *spec = stored.spec; /* ownership moves */
  stored.spec = NULL;
  ep_job_row_deinit(&stored);
  return spec;
}

void ep_lending_note(ep_jobs *jobs, const char *id, int attempt, int helpers) {
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = running_find(jobs, id, attempt);
  const bool changed = job && job->helpers != helpers;
  if (changed) {
    ep_usage_end(jobs, job); /* so far with the helpers that it had */
    job->helpers = helpers;
    ep_usage_begin(jobs, job);
    ep_live_touch(jobs, job);
  }
  pthread_mutex_unlock(&jobs->mutex);
  if (changed) ep_live_announce(jobs, id);
}

int ep_lending_workers(const ep_live_job *job) {
  const bool runs = job->row.state == EP_STATE_RUNNING;
  int64_t most = runs ? job->helpers_wanted + 1 : EP_LIMIT_SWEEP_WORKERS;
  if (!runs && !job->shareable) return 1;
  if (job->workers > 0 && job->workers < most) most = job->workers;
  const double all = ep_live_left_seconds(job) * (isnan(job->eta_seconds) ? 1 : job->helpers + 1);
  const double useful = ceil(all / WORTH_SECONDS);
  if (useful < (double)most) most = (int64_t)useful;
  return most > 1 ? (int)most : 1;
}
