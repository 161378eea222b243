#include <stdio.h>
#include <string.h>

#include "server/jobs/files/files.h"
#include "server/jobs/lifecycle/retention.h"
#include "server/jobs/live/live.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"
#include "server/process/log.h"
#include "server/store/models.h"

/* EP_CONFLICT, with its name, when a model holds the job. *given: models of others alone need it,
 * of which *of is one. */
static ep_status models_check(ep_jobs *jobs, const char *job, const ep_viewer *by, ep_model *of,
                              bool *given, ep_error *error) {
  const char *owner = by && by->owner ? by->owner : "";
  ep_status status = ep_store_model_by_job(jobs->store, job, owner, of, error);
  *given = status == EP_OK && by && by->limited && strcmp(of->owner, owner) != 0;
  if (status == EP_NOT_FOUND) return EP_OK;
  if (status != EP_OK || *given) return status;
  return ep_fail(error, EP_CONFLICT,
                 "model \"%s\" is published from job %s: delete the model first", of->name, job);
}

/* The job stays for others' models, and is not its owner's any more. */
static ep_status job_give(ep_jobs *jobs, const char *id, const ep_model *of, ep_error *error) {
  ep_status status = ep_store_job_give(jobs->store, id, of->owner, ep_live_tick(jobs), error);
  if (status != EP_OK) return status;
  ep_log(EP_LOG_INFO, "job %s: deleted by its owner, and transferred to the owner of model \"%s\"",
         id, of->name);
  ep_live_announce(jobs, id);
  return EP_OK;
}

/* How a row goes. */
typedef ep_status row_delete(ep_store *store, const char *id, ep_error *error);

ep_status ep_job_marked_settle(ep_jobs *jobs, const char *id, const char *name, ep_error *error) {
  if (!ep_pins_add(&jobs->contents.pins, id)) return ep_fail_memory(error);
  ep_status status = ep_store_job_exists(jobs->store, id)
                         ? ep_job_folder_unmark(jobs->data_dir, id, error)
                         : ep_data_dir_discard(jobs->data_dir, "jobs", name, error);
  ep_pins_remove(&jobs->contents.pins, id);
  if (status != EP_OK) atomic_store(&jobs->marked_left, true);
  return status;
}

static void marked_look(void *context, const char *name) {
  ep_jobs *jobs = context;
  char id[EP_ID_BYTES];
  ep_error error = {0};
  if (ep_job_folder_look(jobs->data_dir, name, id) == EP_JOB_FOLDER_MARKED)
    ep_job_marked_settle(jobs, id, name, &error);
}

ep_status ep_job_marked_retry(ep_jobs *jobs, ep_error *error) {
  char path[EP_PATH_BYTES];
  if (!atomic_exchange(&jobs->marked_left, false)) return EP_OK;
  ep_status status = ep_path_join(path, error, jobs->data_dir, "jobs", NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, marked_look, jobs, error);
  if (status != EP_OK) atomic_store(&jobs->marked_left, true);
  return status;
}

/* Removes the row, then the folder. What the disk refuses of the latter is tried again. */
static ep_status job_remove(ep_jobs *jobs, const char *id, row_delete *remove, ep_error *error) {
  char name[EP_ID_BYTES + sizeof EP_DELETED_SUFFIX];
  snprintf(name, sizeof name, "%s" EP_DELETED_SUFFIX, id);
  ep_status status = ep_job_folder_mark(jobs->data_dir, id, error);
  if (status == EP_OK) {
    status = remove(jobs->store, id, error);
    if (status == EP_OK)
      status = ep_data_dir_discard(jobs->data_dir, "jobs", name, error);
    else
      ep_job_folder_unmark(jobs->data_dir, id, NULL);
  }
  if (status != EP_OK) atomic_store(&jobs->marked_left, true);
  return status;
}

static ep_status job_delete(ep_jobs *jobs, const char *id, const ep_viewer *by, row_delete *remove,
                            ep_error *error) {
  ep_model of;
  bool given = false;
  if (!ep_id_valid(id) || (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    return ep_owned_missing(EP_OWNED_JOB, id, error);
  if (ep_live_is(jobs, id))
    return ep_fail(error, EP_CONFLICT, "%s %s has not ended: cancel it first", ep_id_noun(id), id);
  if (!ep_pins_claim(&jobs->contents.pins, id))
    return ep_fail(error, EP_CONFLICT,
                   "a queued or running job starts from the weights of job %s: cancel it, or wait",
                   id);
  /* No model can come to name it: the job is claimed. Another deletion may have been faster. */
  ep_status status =
      ep_store_job_exists(jobs->store, id) ? EP_OK : ep_owned_missing(EP_OWNED_JOB, id, error);
  if (status == EP_OK) status = models_check(jobs, id, by, &of, &given, error);
  if (status == EP_OK)
    status = given ? job_give(jobs, id, &of, error) : job_remove(jobs, id, remove, error);
  ep_pins_unclaim(&jobs->contents.pins, id);
  return status;
}

void ep_jobs_deleted_explain(ep_jobs *jobs, const char *id, ep_error *error) {
  /* In this order: the folder is marked, the row goes, the marked folder goes. */
  if (ep_job_folder_is_marked(jobs->data_dir, id) ||
      (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    ep_owned_missing(EP_OWNED_JOB, id, error);
}

ep_status ep_jobs_delete(ep_jobs *jobs, const char *id, const ep_viewer *by, ep_error *error) {
  return job_delete(jobs, id, by, ep_store_job_delete, error);
}

ep_status ep_job_expire(ep_jobs *jobs, const char *id, ep_error *error) {
  return job_delete(jobs, id, NULL, ep_store_job_expire, error);
}
