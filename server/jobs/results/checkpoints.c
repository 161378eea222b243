#include "server/jobs/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "api/responses/checkpoints.h"
#include "engine/checkpoints/list.h"
#include "server/jobs/live/live.h"
#include "server/process/id.h"
#include "server/process/log.h"

/* The steps of a job's checkpoints, the newest first; *steps is the caller's. */
static ep_status steps_list(ep_jobs *jobs, const char *id, char folder[EP_PATH_BYTES],
                            int64_t **steps, int64_t *count, ep_error *error) {
  *steps = NULL;
  *count = 0;
  if (!ep_id_valid(id) || (!ep_live_is(jobs, id) && !ep_store_job_exists(jobs->store, id)))
    return ep_fail(error, EP_NOT_FOUND, "job %.60s not found", id);
  ep_status status = ep_path_join(folder, error, jobs->data_dir, "jobs", id, NULL);
  return status == EP_OK ? ep_checkpoints_list(folder, steps, count, error) : status;
}

static void view_fill(const ep_checkpoint *checkpoint, ep_checkpoint_view *view) {
  *view = (ep_checkpoint_view){.step = checkpoint->step,
                               .epoch = checkpoint->epoch,
                               .epochs = checkpoint->epochs,
                               .train_seconds = checkpoint->train_seconds,
                               .loss = checkpoint->loss,
                               .created_us = checkpoint->created_us,
                               .bytes = checkpoint->bytes,
                               .weights_bytes = checkpoint->weights_bytes};
  memcpy(view->executor, checkpoint->executor, sizeof view->executor);
  memcpy(view->weights_sha256, checkpoint->weights_sha256, sizeof view->weights_sha256);
}

ep_status ep_jobs_checkpoints(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  char folder[EP_PATH_BYTES], path[EP_PATH_BYTES];
  int64_t *steps, count, used = 0;
  *text = NULL;
  ep_status status = steps_list(jobs, id, folder, &steps, &count, error);
  if (status != EP_OK) return status;
  ep_checkpoint_view *rows = calloc((size_t)count + 1, sizeof *rows);
  if (!rows) status = ep_fail_memory(error);
  for (int64_t i = 0; status == EP_OK && i < count; i++) {
    ep_checkpoint checkpoint;
    ep_error why = {0};
    if (ep_checkpoint_path(folder, steps[i], path, &why) == EP_OK &&
        ep_checkpoint_read(path, &checkpoint, &why) == EP_OK)
      view_fill(&checkpoint, &rows[used++]);
    else if (why.status == EP_NO_MEMORY || why.status == EP_IO)
      status = ep_fail(error, why.status, "%s", why.message);
    else if (why.status != EP_NOT_FOUND) /* else it was replaced by a newer one */
      ep_log(EP_LOG_WARNING, "job %s: checkpoint %lld: %s", id, (long long)steps[i], why.message);
  }
  if (status == EP_OK && !(*text = ep_checkpoints_format(id, rows, used)))
    status = ep_fail_memory(error);
  free(rows);
  free(steps);
  return status;
}

ep_status ep_jobs_checkpoint_find(ep_jobs *jobs, const char *id, int64_t step, ep_checkpoint *out,
                                  char *path, ep_error *error) {
  char folder[EP_PATH_BYTES];
  int64_t *steps, count;
  ep_status status = steps_list(jobs, id, folder, &steps, &count, error);
  if (status != EP_OK) return status;
  status = count == 0 ? ep_fail(error, EP_NOT_FOUND, "job %s has no checkpoint", id)
                      : ep_fail(error, EP_NOT_FOUND, "job %s has no checkpoint of step %lld", id,
                                (long long)step);
  for (int64_t i = 0; i < count && status == EP_NOT_FOUND; i++) {
    if (step != EP_CHECKPOINT_LATEST && steps[i] != step) continue;
    status = ep_checkpoint_path(folder, steps[i], path, error);
    if (status == EP_OK) status = ep_checkpoint_read(path, out, error);
  }
  free(steps);
  return status;
}
