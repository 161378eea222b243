/* paths.h: where the files of a job lie below the data folder. */
#ifndef EP_ENGINE_WORKER_PATHS_H
#define EP_ENGINE_WORKER_PATHS_H

#include "api/spec/job_spec.h"
#include "engine/files/path.h"

/* The folder and the file that a training takes; "" for what its spec does not name. */
typedef struct {
  char job[EP_PATH_BYTES], dataset[EP_PATH_BYTES], init_weights[EP_PATH_BYTES];
} ep_training_paths;
ep_status ep_training_paths_find(const char *data_dir, const char *job, const ep_job_spec *spec,
                                 ep_training_paths *out, ep_error *error);

#endif
