/* A job's name, tags and priority, changed while it lives or later. The store comes first, and
 * orders the changes of a job; memory follows, and takes none that is older than its own. A job
 * whose end is being written still has its labels changed: its end does not touch them. */
#include <stdlib.h>

#include "server/jobs/lifecycle/check.h"
#include "server/jobs/live/live.h"
#include "server/process/id.h"

/* Copies the labels to the live job, if there is one; true when the order of the queue changed. */
static bool live_label(ep_jobs *jobs, const char *id, ep_store_labels *labels) {
  bool moved = false;
  pthread_mutex_lock(&jobs->mutex);
  ep_live_job *job = ep_live_find(jobs, id);
  if (job && labels->labels_version > job->labels_version) {
    char *before = job->name;
    job->name = labels->name;
    labels->name = before;
    job->labels_version = labels->labels_version;
    job->private = labels->private;
    bool other = job->entry.priority != labels->priority;
    moved = ep_queue_reorder(&jobs->queue, &job->entry, labels->priority) && other;
    if (moved) ep_live_touch_queue(jobs);
    job->labelled = ep_live_tick(jobs);
  }
  pthread_mutex_unlock(&jobs->mutex);
  return moved;
}

ep_status ep_jobs_label(ep_jobs *jobs, const char *id, const char *json, size_t bytes, bool limited,
                        ep_problem *problem) {
  ep_labels labels;
  ep_store_labels stored;
  ep_error error = {0};
  if (!ep_id_valid(id))
    return ep_problem_set(problem, EP_NOT_FOUND, "%s %.60s not found", ep_id_noun(id), id);
  ep_status status = ep_labels_parse(json, bytes, &labels, problem);
  if (status != EP_OK) return status;
  if (labels.has_priority) status = ep_priority_check(labels.priority, limited, problem);
  if (status != EP_OK) {
    ep_labels_deinit(&labels);
    return status;
  }
  status = ep_store_job_label(jobs->store, id, &labels, ep_live_tick(jobs), &stored, &error);
  ep_labels_deinit(&labels);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  bool moved = live_label(jobs, id, &stored);
  free(stored.name);
  ep_live_announce(jobs, id);
  if (moved) ep_live_announce_queue(jobs);
  return EP_OK;
}
