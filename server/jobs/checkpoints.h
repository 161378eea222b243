/* checkpoints.h: what a job has saved of its training, while it runs and afterwards; for the HTTP
 * routes and for jobs that begin where another one stands. Thread-safe. */
#ifndef EP_SERVER_JOBS_CHECKPOINTS_H
#define EP_SERVER_JOBS_CHECKPOINTS_H

#include "engine/checkpoints/checkpoint.h"
#include "engine/files/path.h"
#include "server/jobs/jobs.h"

enum { EP_CHECKPOINT_LATEST = -1 };

/* The text of GET /v1/jobs/{id}/checkpoints, the caller's. One that cannot be read is left out. */
ep_status ep_jobs_checkpoints(ep_jobs *jobs, const char *id, char **text, ep_error *error);

/* The checkpoint after so many steps, or the newest. path: [EP_PATH_BYTES], written. EP_NOT_FOUND:
 * the job has no such one. A job that runs may replace it at any time. */
ep_status ep_jobs_checkpoint_find(ep_jobs *jobs, const char *id, int64_t step, ep_checkpoint *out,
                                  char *path, ep_error *error);

/* The file of the weights that a prediction is made with: of the checkpoint after so many steps, or
 * EP_CHECKPOINT_LATEST; 0: the job's last ones. path: [EP_PATH_BYTES], written. */
ep_status ep_jobs_weights_path(ep_jobs *jobs, const char *id, int64_t checkpoint, char *path,
                               ep_error *error);
/* For an error while the weights at that path were read: EP_DAMAGED in its place where they are not
 * what was written. Reads all of them: what is right is not read twice. */
ep_status ep_jobs_weights_explain(ep_jobs *jobs, const char *id, int64_t checkpoint,
                                  const char *path, ep_error *error);

/* Whether rows of this shape were pictures: planes of bytes or of 16 bits, grey or of three
 * colours. */
bool ep_jobs_are_pictures(const ep_data_shape *shape);

#endif
