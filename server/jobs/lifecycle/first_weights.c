#include "server/jobs/lifecycle/first_weights.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/json/json.h"
#include "engine/data/datasets/verify.h"
#include "engine/files/durable_file.h"
#include "engine/files/verified.h"
#include "engine/weights/weights.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/files/results.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"

void ep_first_weights_pin_name(const ep_job_spec *spec, char pin[EP_PIN_BYTES]) {
  const char *name = spec->init_job[0] != 0 ? spec->init_job : "";
  if (spec->init_weights[0] != 0) name = spec->init_sha256;
  snprintf(pin, EP_PIN_BYTES, "%s", name);
}

void ep_first_weights_unpin(ep_jobs *jobs, const char *pin) {
  if (pin[0] == 0) return;
  ep_pins_remove(&jobs->contents.pins, pin);
  if (!ep_id_valid(pin)) ep_contents_collect(&jobs->contents, pin);
}

ep_status ep_first_weights_name(ep_jobs *jobs, const ep_viewer *by, json_t *request,
                                ep_problem *problem) {
  json_t *init = json_object_get(json_object_get(request, "model"), "init");
  const char *word = json_string_value(json_object_get(init, "job"));
  ep_error error = {0};
  ep_job_found found;
  if (!word) return EP_OK; /* who reads the spec says what is at fault */
  ep_status status = ep_jobs_find(jobs, by, EP_JOB_PREFIX, false, word, &found, &error);
  if (status == EP_NOT_FOUND || status == EP_CONFLICT)
    return ep_problem_add(problem, EP_INVALID, "/model/init/job", "%s", error.message);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (strcmp(found.id, word) == 0 || json_object_set_new(init, "job", json_string(found.id)) == 0)
    return EP_OK;
  return ep_problem_fail_memory(problem);
}

/* The error as the caller's fault, at the field that names the weights. */
static ep_status init_refuse(ep_problem *problem, const ep_job_spec *spec, const ep_error *error) {
  const char *pointer = spec->init_job[0] != 0 ? "/model/init/job" : "/model/init/weights";
  return ep_problem_add(problem, EP_INVALID, pointer, "%s", error->message);
}

/* The SHA-256 of the weights that an ended job left. */
static ep_status job_hash_get(ep_jobs *jobs, const char *id, char sha256[EP_SHA256_HEX_BYTES],
                              ep_error *error) {
  ep_job_row row;
  ep_status status = ep_store_job_get(jobs->store, id, &row, error);
  if (status != EP_OK) return status;
  status = ep_job_row_weights_sha256(&row, sha256, error);
  ep_job_row_deinit(&row);
  return status;
}

/* Pins the job that init names, so that what is found stays. */
static ep_status job_pin(ep_jobs *jobs, const ep_viewer *by, const ep_job_spec *spec,
                         char pin[EP_PIN_BYTES], ep_problem *problem) {
  ep_error error = {0};
  ep_status status = ep_id_valid(spec->init_job)
                         ? ep_jobs_see(jobs, by, EP_OWNED_JOB, spec->init_job, &error)
                         : ep_owned_missing(EP_OWNED_JOB, spec->init_job, &error);
  if (status == EP_NOT_FOUND) return init_refuse(problem, spec, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (!ep_pins_add(&jobs->contents.pins, spec->init_job)) return ep_problem_fail_memory(problem);
  ep_first_weights_pin_name(spec, pin);
  return EP_OK;
}

static ep_status job_find(ep_jobs *jobs, const ep_viewer *by, ep_job_spec *spec,
                          char pin[EP_PIN_BYTES], char path[EP_PATH_BYTES], ep_problem *problem) {
  ep_error error = {0};
  ep_status status = job_pin(jobs, by, spec, pin, problem);
  if (status != EP_OK) return status;
  status = ep_jobs_file(jobs, spec->init_job, EP_WEIGHTS_FILE, path, EP_PATH_BYTES, &error);
  if (status == EP_OK) status = job_hash_get(jobs, spec->init_job, spec->init_sha256, &error);
  if (status == EP_NOT_FOUND || status == EP_CONFLICT) return init_refuse(problem, spec, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}

static ep_status upload_find(ep_jobs *jobs, const ep_viewer *by, ep_job_spec *spec,
                             char pin[EP_PIN_BYTES], char path[EP_PATH_BYTES],
                             ep_problem *problem) {
  ep_error error = {0};
  ep_status status = ep_contents_pin(&jobs->contents, by, spec->init_weights, "/model/init/weights",
                                     spec->init_sha256, problem);
  if (status != EP_OK) return status;
  ep_first_weights_pin_name(spec, pin);
  status = ep_path_join(path, &error, jobs->data_dir, "datasets", spec->init_sha256,
                        EP_WEIGHTS_FILE, NULL);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (ep_data_dir_exists(path)) return EP_OK;
  ep_fail(&error, EP_INVALID, "\"%s\" is data, not weights: upload a safetensors file",
          spec->init_weights);
  return init_refuse(problem, spec, &error);
}

static ep_status epochs_refuse(const ep_job_spec *spec, int64_t done, ep_problem *problem) {
  return ep_problem_add(problem, EP_INVALID, "/epochs",
                        "job %s has done %lld epochs: epochs is the total, so it must be more",
                        spec->init_job, (long long)done);
}

/* With "optimizer" the training goes on where the other one ended, unless a checkpoint is named;
 * whole epochs of the same batches have the same bits on the same executor. */
static ep_status continuation_check(ep_jobs *jobs, ep_job_spec *spec, const ep_plan *plan,
                                    const ep_checkpoint *checkpoint, ep_problem *problem) {
  ep_job_copy *copy = NULL;
  ep_error error = {0};
  if (checkpoint->epoch >= spec->epochs) return epochs_refuse(spec, checkpoint->epoch, problem);
  if (spec->init_checkpoint == 0) {
    ep_status status = ep_jobs_copy(jobs, spec->init_job, &copy, &error);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
    const ep_job_result *result = ep_job_copy_view(copy)->result;
    bool last = result && result->epochs_done == checkpoint->epoch;
    ep_job_copy_destroy(copy);
    if (!last)
      return ep_problem_add(problem, EP_INVALID, "/model/init/optimizer",
                            "job %s has not ended, or has no final checkpoint: choose one of its "
                            "checkpoints, or give all epochs at once",
                            spec->init_job);
  }
  size_t kind = strcspn(checkpoint->executor, "/");
  bool device =
      strcmp(spec->device, "auto") == 0 || strncmp(spec->device, checkpoint->executor, kind) == 0;
  if (spec->executor[0] == 0 && device &&
      checkpoint->steps_per_epoch == ep_program_steps_per_epoch(&plan->program))
    memcpy(spec->executor, checkpoint->executor, sizeof spec->executor);
  return EP_OK;
}

/* A job that trained for seconds left no checkpoint: the worker repeats it, with the same bits.
 * path: of the weights that it left, written. */
static ep_status repetition_check(ep_jobs *jobs, ep_job_spec *spec, char path[EP_PATH_BYTES],
                                  ep_problem *problem) {
  ep_job_copy *copy = NULL;
  ep_error error = {0};
  ep_status status =
      ep_jobs_file(jobs, spec->init_job, EP_WEIGHTS_FILE, path, EP_PATH_BYTES, &error);
  if (status == EP_NOT_FOUND || status == EP_CONFLICT) return init_refuse(problem, spec, &error);
  if (status == EP_OK) status = ep_jobs_copy(jobs, spec->init_job, &copy, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  const ep_job_view *view = ep_job_copy_view(copy);
  bool succeeded = view->state == EP_STATE_SUCCEEDED;
  int64_t epochs = view->epoch;
  if (view->result)
    snprintf(spec->init_sha256, sizeof spec->init_sha256, "%s", view->result->weights_sha256);
  ep_job_copy_destroy(copy);
  if (!succeeded)
    return ep_problem_add(problem, EP_INVALID, "/model/init/job",
                          "job %s did not succeed and has no checkpoint to continue from",
                          spec->init_job);
  return epochs < spec->epochs ? EP_OK : epochs_refuse(spec, epochs, problem);
}

static ep_status checkpoint_find(ep_jobs *jobs, const ep_viewer *by, ep_job_spec *spec,
                                 const ep_plan *plan, char pin[EP_PIN_BYTES],
                                 char path[EP_PATH_BYTES], ep_problem *problem) {
  ep_error error = {0};
  ep_checkpoint found;
  int64_t step = spec->init_checkpoint > 0 ? spec->init_checkpoint : EP_CHECKPOINT_LATEST;
  ep_status status = job_pin(jobs, by, spec, pin, problem);
  if (status != EP_OK) return status;
  status = ep_jobs_checkpoint_find(jobs, spec->init_job, step, &found, path, &error);
  if (status == EP_NOT_FOUND && spec->init_optimizer && spec->init_checkpoint == 0)
    return repetition_check(jobs, spec, path, problem);
  if (status == EP_NOT_FOUND) return init_refuse(problem, spec, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (spec->init_optimizer) {
    status = continuation_check(jobs, spec, plan, &found, problem);
    if (status != EP_OK) return status;
    status = ep_checkpoint_fits(path, plan, &error);
    if (status == EP_INVALID) return init_refuse(problem, spec, &error);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
  }
  spec->init_checkpoint = found.step;
  memcpy(spec->init_sha256, found.weights_sha256, sizeof spec->init_sha256);
  return EP_OK;
}

ep_status ep_first_weights_link(const char *data_dir, const char *job, const char *checkpoint,
                                ep_error *error) {
  char path[EP_PATH_BYTES], folder[EP_PATH_BYTES];
  if (checkpoint[0] == 0) return EP_OK;
  ep_status status = ep_path_join(folder, error, data_dir, "jobs", job, NULL);
  if (status == EP_OK) status = ep_path_join(path, error, folder, EP_INIT_FILE, NULL);
  if (status == EP_OK && link(checkpoint, path) != 0)
    status = errno == ENOENT ? ep_fail_at(error, EP_CONFLICT, "/model/init",
                                          "that checkpoint was replaced by a newer one: try again")
                             : ep_fail(error, ep_status_from_errno(errno),
                                       "a checkpoint cannot be linked: %s", strerror(errno));
  if (status == EP_OK) status = ep_durable_folder_sync(folder, error);
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, "jobs", NULL);
  return status == EP_OK ? ep_durable_folder_sync(path, error) : status;
}

/* Whether the weights are those that were written: the worker looks at that before it trains; here
 * it tells whose fault it is that they do not fit. */
static ep_status weights_verify(ep_jobs *jobs, const ep_job_spec *spec, const char *path,
                                ep_error *error) {
  char folder[EP_PATH_BYTES];
  if (spec->init_checkpoint != 0) return ep_checkpoint_check(path, error);
  if (spec->init_job[0] != 0) return ep_verified_sha256_at(path, spec->init_sha256, error);
  ep_status status =
      ep_path_join(folder, error, jobs->data_dir, "datasets", spec->init_sha256, NULL);
  return status == EP_OK ? ep_dataset_verify(folder, NULL, NULL, NULL, error) : status;
}

ep_status ep_first_weights_resolve(ep_jobs *jobs, const ep_viewer *by, ep_job_spec *spec,
                                   const ep_plan *plan, char pin[EP_PIN_BYTES],
                                   char checkpoint[EP_PATH_BYTES], ep_problem *problem) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  ep_status status = EP_OK;
  spec->init_sha256[0] = 0;
  pin[0] = checkpoint[0] = 0;
  if (spec->init_checkpoint != 0 || spec->init_optimizer)
    status = checkpoint_find(jobs, by, spec, plan, pin, path, problem);
  else if (spec->init_job[0] != 0)
    status = job_find(jobs, by, spec, pin, path, problem);
  else if (spec->init_weights[0] != 0)
    status = upload_find(jobs, by, spec, pin, path, problem);
  else
    return EP_OK;
  if (status != EP_OK) return status;
  if (spec->init_checkpoint != 0) memcpy(checkpoint, path, EP_PATH_BYTES);
  status = ep_weights_check(path, plan, &error);
  bool refused = status == EP_INVALID || status == EP_DATA || status == EP_TOO_LARGE;
  ep_error why = {0};
  if (refused && weights_verify(jobs, spec, path, &why) == EP_DAMAGED)
    return ep_problem_from_error(problem, &why);
  if (refused) return init_refuse(problem, spec, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}
