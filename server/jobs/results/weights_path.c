/* Which file a prediction is made with. */
#include "server/jobs/checkpoints.h"

#include "engine/files/verified.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/state.h"

static ep_status weights_verify(ep_jobs *jobs, const char *id, const char *path, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES];
  ep_job_row row;
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  status = ep_job_row_weights_sha256(&row, sha256, error);
  ep_job_row_deinit(&row);
  return status == EP_OK ? ep_verified_sha256_at(path, sha256, error) : status;
}

ep_status ep_jobs_weights_path(ep_jobs *jobs, const char *id, int64_t checkpoint, char *path,
                               ep_error *error) {
  ep_checkpoint found;
  if (checkpoint != 0) return ep_jobs_checkpoint_find(jobs, id, checkpoint, &found, path, error);
  return ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, EP_PATH_BYTES, error);
}

ep_status ep_jobs_weights_explain(ep_jobs *jobs, const char *id, int64_t checkpoint,
                                  const char *path, ep_error *error) {
  const ep_status status = error->status;
  ep_error why = {0};
  if (checkpoint != 0 || (status != EP_INVALID && status != EP_DATA && status != EP_TOO_LARGE))
    return status;
  if (weights_verify(jobs, id, path, &why) == EP_DAMAGED) *error = why;
  return error->status;
}
