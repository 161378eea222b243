#include "engine/worker/sweeping.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "engine/worker/paths.h"

/* Of a sweep, or of a job that is trained in parts. */
static ep_status spec_load(bool is_sweep, const char *text, ep_sweep_spec **sweep,
                           ep_error *error) {
  if (is_sweep) return ep_sweep_spec_load(text, sweep, error);
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = ep_sweep_of_job(text, strlen(text), sweep, problem);
  if (status != EP_OK) ep_fail(error, status, "the stored spec: %s", problem->detail);
  free(problem);
  return status;
}

static ep_status all_train(bool is_sweep, const char *data_dir, const char *id, const char *spec,
                           ep_sweep_run *run, ep_job_result *result, ep_error *error) {
  ep_sweep_spec *sweep = NULL;
  ep_training_paths paths;
  ep_status status = spec_load(is_sweep, spec, &sweep, error);
  if (status == EP_OK) status = ep_training_paths_find(data_dir, id, sweep->base, &paths, error);
  if (status == EP_OK) {
    run->sweep = sweep;
    run->folder = paths.job;
    run->shared.dataset_folder = paths.dataset[0] ? paths.dataset : NULL;
    status = ep_sweep_train(run, result, error);
  }
  ep_sweep_spec_destroy(sweep);
  return status;
}

ep_status ep_sweeping_train(const char *data_dir, const char *id, const char *spec,
                            ep_sweep_run *run, ep_job_result *result, ep_error *error) {
  return all_train(true, data_dir, id, spec, run, result, error);
}

ep_status ep_sweeping_train_parts(const char *data_dir, const char *id, const char *spec,
                                  ep_sweep_run *run, ep_job_result *result, ep_error *error) {
  return all_train(false, data_dir, id, spec, run, result, error);
}

ep_status ep_sweeping_help(const char *data_dir, const char *id, const char *spec,
                           ep_sweep_help *help, ep_sweep_run *run,
                           ep_status (*ready)(void *context, int64_t slots, bool together,
                                              ep_error *error),
                           ep_error *error) {
  const bool is_sweep = strncmp(id, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0;
  ep_sweep_spec *sweep = NULL;
  ep_training_paths paths;
  ep_status status = spec_load(is_sweep, spec, &sweep, error);
  if (status == EP_OK) status = ep_training_paths_find(data_dir, id, sweep->base, &paths, error);
  if (status == EP_OK) {
    run->sweep = sweep;
    run->shared.dataset_folder = paths.dataset[0] ? paths.dataset : NULL;
    status = ep_sweep_help_run(help, run, ready, error);
  }
  ep_sweep_spec_destroy(sweep);
  return status;
}
