#include "engine/data/prepare/job.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare/shape.h"
#include "engine/data/sources/table_walk.h"
#include "engine/files/path.h"

/* path: [EP_PATH_BYTES], written where *folder becomes it. */
static ep_status folder_find(const ep_job_source *source, const ep_data_spec *data, char *path,
                             const char **folder, ep_error *error) {
  *folder = source->dataset_folder;
  if (!source->data_dir) return EP_OK;
  if (!data->sha256[0])
    return data->source == EP_DATA_PATH
               ? ep_fail(error, EP_NOT_FOUND, "the rows of a path are not stored")
               : EP_OK;
  *folder = path;
  return ep_path_join(path, error, source->data_dir, "datasets", data->sha256, NULL);
}

static ep_status meta_find(const ep_job_source *source, ep_job *job, ep_error *error) {
  char path[EP_PATH_BYTES];
  const char *folder;
  const ep_data_spec *data = &job->spec->data;
  if (source->shape) return EP_OK;
  ep_status status = folder_find(source, data, path, &folder, error);
  return status == EP_OK ? ep_data_describe(data, folder, true, &job->described, &job->meta, error)
                         : status;
}

/* given: NULL, or the shape. */
static ep_status plan_make(const ep_data_shape *given, bool shape_only, ep_job *job,
                           ep_problem *problem) {
  const ep_dataset_meta *meta = job->described ? &job->meta : NULL;
  ep_status status = EP_OK;
  if (given)
    job->shape = *given;
  else
    status = ep_data_shape_find(&job->spec->data, meta, &job->shape, problem);
  if (status != EP_OK || shape_only) return status;
  return ep_plan_create(job->spec, &job->shape, &job->plan, problem);
}

ep_status ep_job_plan(ep_job *job, ep_problem *problem) {
  return plan_make(NULL, false, job, problem);
}

ep_status ep_job_open(const ep_job_source *source, ep_job *out, ep_error *error) {
  *out = (ep_job){.spec = source->spec};
  ep_status status = EP_OK;
  if (source->text)
    status = ep_job_spec_load(source->text, strlen(source->text), &out->loaded, error);
  if (out->loaded) out->spec = out->loaded;
  if (status == EP_OK) status = meta_find(source, out, error);
  if (status != EP_OK) return status;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  status = plan_make(source->shape, source->shape_only, out, problem);
  if (status != EP_OK) ep_problem_to_error(problem, error);
  free(problem);
  return status;
}

void ep_job_close(ep_job *job) {
  ep_plan_destroy(job->plan);
  ep_dataset_meta_deinit(&job->meta);
  ep_job_spec_destroy(job->loaded);
  *job = (ep_job){0};
}

ep_plan *ep_job_take_plan(ep_job *job) {
  ep_plan *plan = job->plan;
  job->plan = NULL;
  ep_job_close(job);
  return plan;
}
