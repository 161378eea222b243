#include "engine/data/prepare/job_plan.h"

#include <stdlib.h>

#include "engine/data/prepare/shape.h"
#include "engine/files/path.h"

ep_status ep_job_plan(const ep_job_spec *spec, const char *dataset_folder, ep_data_shape *shape,
                      ep_plan **plan, ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_data_shape found;
  bool stored = false;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = ep_data_meta_find(&spec->data, dataset_folder, &stored, &meta, error);
  if (status == EP_OK) {
    status = ep_data_shape_find(&spec->data, stored ? &meta : NULL, &found, problem);
    if (status == EP_OK && plan) status = ep_plan_create(spec, &found, plan, problem);
    if (status != EP_OK)
      ep_fail_at(error, status, problem->errors[0].pointer, "%s", problem->detail);
  }
  if (status == EP_OK && shape) *shape = found;
  ep_dataset_meta_deinit(&meta);
  free(problem);
  return status;
}

ep_status ep_job_plan_stored(const ep_job_spec *spec, const char *data_dir, ep_plan **plan,
                             ep_error *error) {
  char folder[EP_PATH_BYTES];
  bool stored = spec->data.sha256[0] != 0;
  if (!stored && spec->data.source == EP_DATA_PATH)
    return ep_fail(error, EP_NOT_FOUND, "the rows of a path are not stored");
  ep_status status = EP_OK;
  if (stored) status = ep_path_join(folder, error, data_dir, "datasets", spec->data.sha256, NULL);
  return status == EP_OK ? ep_job_plan(spec, stored ? folder : NULL, NULL, plan, error) : status;
}
