#include "engine/worker/paths.h"

#include <stddef.h>

#include "api/names.h"

ep_status ep_training_paths_find(const char *data_dir, const char *job, const ep_job_spec *spec,
                                 ep_training_paths *out, ep_error *error) {
  out->dataset[0] = out->init_weights[0] = 0;
  ep_status status = ep_path_join(out->job, error, data_dir, "jobs", job, NULL);
  if (status == EP_OK && spec->data.sha256[0])
    status = ep_path_join(out->dataset, error, data_dir, "datasets", spec->data.sha256, NULL);
  if (status == EP_OK && (spec->init_checkpoint != 0 || spec->init_optimizer))
    status = ep_path_join(out->init_weights, error, out->job, EP_INIT_FILE, NULL);
  else if (status == EP_OK && spec->init_job[0])
    status = ep_path_join(out->init_weights, error, data_dir, "jobs", spec->init_job,
                          EP_WEIGHTS_FILE, NULL);
  else if (status == EP_OK && spec->init_weights[0])
    status = ep_path_join(out->init_weights, error, data_dir, "datasets", spec->init_sha256,
                          EP_WEIGHTS_FILE, NULL);
  return status;
}
