/* Which file a prediction is made with. */
#include "server/jobs/checkpoints.h"

ep_status ep_jobs_weights_path(ep_jobs *jobs, const char *id, int64_t checkpoint, char *path,
                               ep_error *error) {
  ep_checkpoint found;
  return checkpoint == 0 ? ep_jobs_file(jobs, id, EP_WEIGHTS_FILE, path, EP_PATH_BYTES, error)
                         : ep_jobs_checkpoint_find(jobs, id, checkpoint, &found, path, error);
}
