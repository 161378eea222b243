#include <stdio.h>

#include "server/jobs/files/files.h"
#include "server/jobs/lifecycle/retention.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"
#include "server/store/models.h"

/* EP_CONFLICT, with its name, when a model names the job. */
static ep_status models_check(ep_jobs *jobs, const char *job, ep_error *error) {
  ep_model model;
  ep_status status = ep_store_model_by_job(jobs->store, job, &model, error);
  if (status == EP_NOT_FOUND) return EP_OK;
  if (status != EP_OK) return status;
  if (model.private) /* it may be hidden from who deletes */
    return ep_fail(error, EP_CONFLICT,
                   "a private model is published from job %s: its owner deletes it first", job);
  return ep_fail(error, EP_CONFLICT, "model \"%s\" is published from job %s: delete it first",
                 model.name, job);
}

/* How a row goes. */
typedef ep_status row_delete(ep_store *store, const char *id, ep_error *error);

/* Removes the row, then the folder. */
static ep_status job_remove(ep_jobs *jobs, const char *id, row_delete *remove, ep_error *error) {
  char name[EP_ID_BYTES + sizeof EP_DELETED_SUFFIX];
  ep_status status = ep_job_folder_mark(jobs->data_dir, id, error);
  if (status != EP_OK) return status;
  status = remove(jobs->store, id, error);
  if (status != EP_OK) {
    ep_job_folder_unmark(jobs->data_dir, id, NULL); /* else the next start does it */
    return status;
  }
  snprintf(name, sizeof name, "%s" EP_DELETED_SUFFIX, id);
  return ep_data_dir_discard(jobs->data_dir, "jobs", name, error);
}

static ep_status job_delete(ep_jobs *jobs, const char *id, row_delete *remove, ep_error *error) {
  if (!ep_id_valid(id) || (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    return ep_fail(error, EP_NOT_FOUND, "there is no job %.60s", id);
  if (ep_live_is(jobs, id))
    return ep_fail(error, EP_CONFLICT, "job %s has not ended: cancel it first", id);
  if (!ep_pins_claim(&jobs->contents.pins, id))
    return ep_fail(error, EP_CONFLICT,
                   "a queued or running job starts from the weights of job %s: cancel it, or wait",
                   id);
  ep_status status =
      models_check(jobs, id, error); /* none can come to name it: the job is claimed */
  if (status == EP_OK) status = job_remove(jobs, id, remove, error);
  ep_pins_unclaim(&jobs->contents.pins, id);
  return status;
}

ep_status ep_jobs_delete(ep_jobs *jobs, const char *id, ep_error *error) {
  return job_delete(jobs, id, ep_store_job_delete, error);
}

ep_status ep_job_expire(ep_jobs *jobs, const char *id, ep_error *error) {
  return job_delete(jobs, id, ep_store_job_expire, error);
}
