#include "server/jobs/lifecycle/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/slurm.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/columns.h"
#include "engine/data/prepare/positive_class.h"
#include "engine/data/prepare/shape.h"
#include "engine/data/sources/target.h"
#include "engine/trials/sweep_search.h"
#include "server/datasets/path_data.h"
#include "server/jobs/lifecycle/automatic.h"
#include "server/jobs/lifecycle/first_weights.h"
#include "server/jobs/placement/allocation.h"
#include "server/jobs/placement/fit.h"
#include "server/jobs/placement/gang.h"
#include "server/jobs/placement/room.h"
#include "server/process/data_dir.h"

void ep_checked_spec_deinit(ep_jobs *jobs, ep_checked_spec *checked) {
  if (checked->pinned) {
    const ep_data_spec *data = &checked->spec->data;
    ep_pins_remove(&jobs->contents.pins, data->sha256);
    /* what a path was read into has no name */
    if (data->source == EP_DATA_PATH) ep_contents_collect(&jobs->contents, data->sha256);
  }
  ep_first_weights_unpin(jobs, checked->init_pin);
  free(checked->text);
  free(checked->tags);
  if (checked->facts) ep_model_facts_deinit(checked->facts);
  free(checked->facts);
  free(checked->automatic);
  free(checked->remarks);
  ep_plan_destroy(checked->plan);
  ep_job_spec_destroy(checked->spec);
  ep_sweep_spec_destroy(checked->sweep);
  *checked = (ep_checked_spec){0};
}

/* "slurm" is of workers that Slurm starts. */
static ep_status slurm_check(const ep_job_spec *spec, ep_problem *problem) {
  if (!ep_slurm_given(spec) || ep_slurm_device_accepts(spec->device) ||
      strcmp(spec->device, "auto") == 0)
    return EP_OK;
  return ep_problem_add(
      problem, EP_INVALID, "/slurm",
      "requires \"device\": \"slurm:PARTITION\" or \"auto\", not \"%s\": remove it", spec->device);
}

/* Whether a device that is there is meant; `auto` always is. */
static ep_status device_check(ep_jobs *jobs, const char *requested_device, const char *pointer,
                              ep_problem *problem) {
  char there[256] = "";
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return ep_problem_fail_memory(problem);
  ep_supervisor_get_devices(jobs->supervisor, devices);
  bool found = strcmp(requested_device, "auto") == 0;
  for (int i = 0; i < devices->count; i++) {
    const char *id = devices->device[i].info.id;
    if (devices->device[i].state == EP_DEVICE_LOST) continue;
    found = found || ep_fit_requested(requested_device, id);
    size_t used = strlen(there);
    snprintf(there + used, sizeof there - used, "%s%s", used > 0 ? ", " : "", id);
  }
  free(devices);
  if (found) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, pointer,
                        "unknown device \"%s\": the devices are %s and auto", requested_device,
                        there[0] != 0 ? there : "none now");
}

static ep_status dataset_resolve(ep_jobs *jobs, ep_checked_spec *checked, ep_problem *problem) {
  ep_data_spec *data = &checked->spec->data;
  ep_status status = ep_contents_pin(&jobs->contents, &checked->by, data->dataset, "/data/dataset",
                                     data->sha256, problem);
  checked->pinned = status == EP_OK;
  return status;
}

/* The content that the spec names, though its dataset may mean another one by now. */
static ep_status dataset_keep(ep_jobs *jobs, ep_checked_spec *checked, ep_problem *problem) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  const char *sha256 = checked->spec->data.sha256;
  checked->pinned = ep_pins_add(&jobs->contents.pins, sha256);
  if (!checked->pinned) return ep_problem_fail_memory(problem);
  ep_status status = ep_path_join(path, &error, jobs->data_dir, "datasets", sha256, NULL);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (ep_data_dir_exists(path)) return EP_OK;
  return ep_problem_set(problem, EP_CONFLICT, "the data it was trained on no longer exists");
}

/* Stratified folds need rows enough of each class. */
static ep_status classes_check(ep_jobs *jobs, const ep_data_spec *data, const ep_data_shape *shape,
                               ep_problem *problem) {
  char folder[EP_PATH_BYTES];
  ep_error error = {0};
  ep_status status = EP_OK;
  bool stored = data->sha256[0] != 0;
  if (stored) status = ep_path_join(folder, &error, jobs->data_dir, "datasets", data->sha256, NULL);
  if (status == EP_OK) status = ep_data_classes_check(data, stored ? folder : NULL, shape, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}

/* What describes the spec's data; of a path, its content is pinned. */
static ep_status meta_find(ep_jobs *jobs, ep_checked_spec *checked, ep_job *out,
                           ep_problem *problem) {
  const ep_data_spec *data = &checked->spec->data;
  char folder[EP_PATH_BYTES];
  ep_error error = {0};
  *out = (ep_job){.spec = checked->spec};
  out->described = data->source == EP_DATA_DATASET || data->source == EP_DATA_PATH;
  if (!out->described) return EP_OK;
  ep_status status;
  if (data->source == EP_DATA_PATH) {
    status = ep_path_data_resolve(&jobs->contents, &checked->spec->data, &out->meta, problem);
    checked->pinned = data->sha256[0] != 0;
    if (status != EP_OK) return status;
  } else {
    status = ep_path_join(folder, &error, jobs->data_dir, "datasets", data->sha256, NULL);
    if (status == EP_OK) status = ep_dataset_meta_read(folder, &out->meta, &error);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
  }
  status = ep_data_retype(data, &out->meta, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}

/* Opens checked->spec as far as what describes its data, pinned as they are at the moment.
 * ep_job_close, also on failure. */
static ep_status data_find(ep_jobs *jobs, ep_checked_spec *checked, ep_job *out,
                           ep_problem *problem) {
  ep_status status = EP_OK;
  *out = (ep_job){0};
  if (checked->spec->data.source == EP_DATA_DATASET)
    status = dataset_resolve(jobs, checked, problem);
  return status == EP_OK ? meta_find(jobs, checked, out, problem) : status;
}

/* The faults of a sweep's job stand below /job. */
static void pointers_move(ep_problem *problem) {
  for (int i = 0; i < problem->errors_count; i++) {
    char inner[EP_POINTER_BYTES];
    memcpy(inner, problem->errors[i].pointer, sizeof inner);
    snprintf(problem->errors[i].pointer, sizeof inner, "/job%.*s", (int)sizeof inner - 5, inner);
  }
}

/* Chooses, with the content that the job's data has at the moment; `data` holds it. */
static ep_status model_choose(ep_jobs *jobs, const ep_automatic_job *job, ep_checked_spec *data,
                              ep_model_facts *facts, char **chosen, ep_problem *problem) {
  ep_job found;
  ep_status status = data_find(jobs, data, &found, problem);
  if (status == EP_OK)
    status = ep_model_facts_find(job, found.described ? &found.meta : NULL, facts, problem);
  ep_job_close(&found);
  if (status != EP_OK) return status;
  *chosen = ep_first_model_choose(facts);
  return *chosen ? EP_OK : ep_problem_fail_memory(problem);
}

/* What is left open is chosen by the data that there are, and checked->by sees, and filled into the
 * request; checked->facts: by what, NULL where nothing is open. sweep: the job stands at /job, and
 * so do faults. */
static ep_status open_fill(ep_jobs *jobs, struct json_t *request, bool sweep,
                           ep_checked_spec *checked, ep_problem *problem) {
  ep_automatic_job job;
  bool asked;
  char *chosen = NULL;
  ep_status status = ep_automatic_read(request, sweep ? "job" : NULL, &asked, &job, problem);
  if (status != EP_OK || !asked) return status;
  ep_checked_spec data = {.by = checked->by, .spec = job.spec};
  checked->facts = calloc(1, sizeof *checked->facts);
  status = checked->facts ? model_choose(jobs, &job, &data, checked->facts, &chosen, problem)
                          : ep_problem_fail_memory(problem);
  if (status != EP_OK && sweep) pointers_move(problem);
  if (status == EP_OK) status = ep_automatic_fill(&job, chosen, problem);
  free(chosen);
  job.spec = NULL; /* deinit frees it with its pins */
  ep_checked_spec_deinit(jobs, &data);
  ep_automatic_deinit(&job);
  return status;
}

static ep_status plan_make(ep_jobs *jobs, ep_checked_spec *checked, ep_problem *problem) {
  ep_data_spec *data = &checked->spec->data;
  ep_job job;
  ep_status status = meta_find(jobs, checked, &job, problem);
  const ep_dataset_meta *meta = job.described ? &job.meta : NULL;
  ep_error error = {0};
  if (status == EP_OK && ep_slices_resolve(checked->spec, meta, &error) != EP_OK)
    status = ep_problem_from_error(problem, &error);
  if (status == EP_OK) status = ep_job_plan(&job, problem);
  if (status == EP_OK)
    status = ep_positive_class_resolve(data, checked->spec->loss, meta, &job.shape, problem);
  if (status == EP_OK) status = classes_check(jobs, data, &job.shape, problem);
  checked->plan = job.plan;
  if (status == EP_OK) status = ep_automatic_explain(jobs, meta, checked, problem);
  ep_job_take_plan(&job);
  return status;
}

bool ep_check_gpus_suffice(ep_jobs *jobs, const ep_job_spec *spec) {
  const ep_gang gang = ep_gang_make(&spec->parallel);
  if (gang.most == 0) return true;
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return true; /* who allocates next says so */
  ep_supervisor_get_devices(jobs->supervisor, devices);
  bool suffice = gang.least <= ep_fit_gpus(spec->device, devices);
  free(devices);
  return suffice;
}

/* Several ranks need a device that has an executor for them. */
static ep_status ranks_check(ep_jobs *jobs, const ep_checked_spec *checked, ep_problem *problem) {
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count = 0, ranks = ep_program_ranks(&checked->plan->program);
  ep_error error = {0};
  if (ranks == 1) return EP_OK;
  if (ep_device_is_cuda(checked->spec->device) && !ep_check_gpus_suffice(jobs, checked->spec))
    return ep_problem_add(problem, EP_INVALID, "/parallel/data",
                          "%d replicas, and \"%s\" has fewer GPUs: each replica needs its own, "
                          "unless \"elastic\" is true",
                          checked->spec->parallel.data, checked->spec->device);
  ep_status status = ep_estimate_devices(&jobs->calibrations, checked->plan, checked->spec,
                                         estimates, &count, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  if (count > 0) return EP_OK;
  return ep_problem_add(
      problem, EP_INVALID, "/parallel",
      "%d ranks: of the devices available, only \"cpu\" trains this job on several ranks", ranks);
}

bool ep_check_memory_suffices(ep_jobs *jobs, const ep_plan *plan) {
  return ep_plan_least_bytes(plan) <= ep_room_total(jobs->job_bytes_max);
}

static bool gpu_is_there(ep_jobs *jobs) {
  ep_device_list *devices = malloc(sizeof *devices);
  bool there = false;
  if (!devices) return true; /* who allocates next says so */
  ep_supervisor_get_devices(jobs->supervisor, devices);
  for (int i = 0; i < devices->count; i++)
    there |=
        ep_device_is_cuda(devices->device[i].info.id) && devices->device[i].state != EP_DEVICE_LOST;
  free(devices);
  return there;
}

/* A job that can run on the CPU alone, and never has memory enough there, is refused at once. */
static ep_status memory_check(ep_jobs *jobs, const ep_checked_spec *checked, ep_problem *problem) {
  const char *device = checked->spec->device;
  bool automatic = strcmp(device, "auto") == 0;
  if (ep_check_memory_suffices(jobs, checked->plan)) return EP_OK;
  if (ep_device_is_remote(device)) return EP_OK; /* its node has memory of its own */
  if (ep_device_is_cuda(device) || (automatic && gpu_is_there(jobs))) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/model",
                        "training takes at least %lld MiB of memory, and a job on the CPU has %lld "
                        "MiB: use fewer parameters or rows, or raise --memory-bytes-max",
                        (long long)(ep_plan_least_bytes(checked->plan) >> 20),
                        (long long)(ep_room_total(jobs->job_bytes_max) >> 20));
}

/* before: the content that the request names, as the spec of an earlier job does. Other content is
 * a fault, or a warning where the client wants that. */
static ep_status replaced_check(ep_checked_spec *checked, bool same_data, const char *before,
                                ep_problem *problem) {
  const ep_data_spec *data = &checked->spec->data;
  bool path = data->source == EP_DATA_PATH;
  if (!before[0] || !data->sha256[0] || strcmp(before, data->sha256) == 0) return EP_OK;
  if (same_data)
    return ep_problem_set(problem, EP_CONFLICT,
                          "the file \"%.400s\" has changed since the sweep: submit the trial's job "
                          "without data.sha256 to train on its present rows",
                          data->path);
  if (!checked->warn_replaced)
    return ep_problem_add(problem, EP_INVALID, "/data/sha256",
                          "the %s \"%s\" %s: leave this out to train on its present rows",
                          path ? "file" : "dataset", path ? data->path : data->dataset,
                          path ? "has changed" : "was replaced and has other rows");
  if (asprintf(&checked->remarks,
               "the %s \"%s\" %s after the job that these settings are of: its rows are different",
               path ? "file" : "dataset", path ? data->path : data->dataset,
               path ? "has changed" : "was replaced") >= 0)
    return EP_OK;
  checked->remarks = NULL;
  return ep_problem_fail_memory(problem);
}

/* Looks at checked->spec, with the devices and the data that there are. */
static ep_status training_check(ep_jobs *jobs, bool same_data, ep_checked_spec *checked,
                                ep_problem *problem) {
  ep_job_spec *spec = checked->spec;
  ep_status status = device_check(jobs, spec->device, "/device", problem);
  if (status == EP_OK) status = slurm_check(spec, problem);
  bool kept = same_data && spec->data.source == EP_DATA_DATASET && spec->data.sha256[0] != 0;
  char before[EP_SHA256_HEX_BYTES];
  memcpy(before, spec->data.sha256, sizeof before);
  if (!kept) spec->data.sha256[0] = 0;
  if (spec->data.source == EP_DATA_DATASET) {
    ep_status resolved =
        kept ? dataset_keep(jobs, checked, problem) : dataset_resolve(jobs, checked, problem);
    if (status == EP_OK) status = resolved;
    if (status == EP_OK) status = replaced_check(checked, same_data, before, problem);
  }
  if (status == EP_OK) status = plan_make(jobs, checked, problem);
  if (status == EP_OK && spec->data.source == EP_DATA_PATH)
    status = replaced_check(checked, same_data, before, problem);
  if (status == EP_OK) status = memory_check(jobs, checked, problem);
  if (status == EP_OK) status = ranks_check(jobs, checked, problem);
  if (status == EP_OK)
    status = ep_executor_check(&jobs->calibrations, checked->plan, spec->executor, problem);
  if (status == EP_OK)
    status = ep_allocation_check(&jobs->allocator, &jobs->calibrations, spec, checked->plan,
                                 &checked->allocation, problem);
  return status;
}

ep_status ep_priority_check(int priority, bool limited, ep_problem *problem) {
  if (priority <= 0 || !limited) return EP_OK;
  return ep_problem_add(problem, EP_FORBIDDEN, "/priority",
                        "a priority above 0 requires a token with the scope \"admin\": order your "
                        "own jobs by priorities from -100 to 0");
}

static ep_job_spec *labels_of(const ep_checked_spec *checked) {
  return checked->sweep ? &checked->sweep->labels : checked->spec;
}

/* What the daemon and the caller's token say of the labels. */
static ep_status labels_settle(ep_jobs *jobs, ep_checked_spec *checked, ep_problem *problem) {
  ep_job_spec *labels = labels_of(checked);
  if (!labels->visibility_given) labels->private = jobs->private_default;
  return ep_priority_check(labels->priority, checked->by.limited, problem);
}

static ep_status tags_format(ep_checked_spec *checked, ep_problem *problem) {
  const ep_job_spec *labels = labels_of(checked);
  checked->tags = ep_tags_format((const char *const *)labels->tags, labels->tags_count);
  return checked->text && checked->tags ? EP_OK : ep_problem_fail_memory(problem);
}

/* Faults below `prefix` stand one level higher in what the client sent. */
static void pointers_lift(ep_problem *problem, const char *prefix) {
  const size_t length = strlen(prefix);
  for (int i = 0; i < problem->errors_count; i++) {
    char *pointer = problem->errors[i].pointer;
    if (strncmp(pointer, prefix, length) == 0 && pointer[length] == '/')
      memmove(pointer, pointer + length, strlen(pointer + length) + 1);
  }
}

/* The worker trains the folds and repeats of a job as a sweep: it must read what is stored. */
static ep_status stored_parts_check(const ep_checked_spec *checked, ep_problem *problem) {
  ep_sweep_spec *sweep = NULL;
  if (ep_parts_count(&checked->spec->parts) == 1) return EP_OK;
  ep_status status = ep_sweep_of_job(checked->text, strlen(checked->text), &sweep, problem);
  ep_sweep_spec_destroy(sweep);
  pointers_lift(problem, "/job");
  return status;
}

/* Whether the rows can be divided as the job's folds say: faults of the first fold's data, which
 * stand at /data there, stand at the job itself. */
static ep_status parts_check(ep_jobs *jobs, ep_checked_spec *checked, ep_problem *problem) {
  ep_data_spec *data = &checked->spec->data, before = *data;
  const ep_parts_spec *parts = &checked->spec->parts;
  ep_plan *plan = checked->plan;
  if (parts->folds == 0) return EP_OK;
  data->folds = parts->folds;
  if (parts->stratify) data->stratify = true;
  if (data->source == EP_DATA_PATH) data->source = EP_DATA_DATASET; /* it is read and pinned */
  checked->plan = NULL;
  ep_status status = plan_make(jobs, checked, problem);
  ep_plan_destroy(checked->plan);
  checked->plan = plan;
  *data = before;
  pointers_lift(problem, "/data");
  return status;
}

/* A message that nobody can check is not sent. */
static ep_status webhooks_check(const ep_jobs *jobs, const ep_job_spec *spec, ep_problem *problem) {
  if (spec->webhooks_count == 0 || jobs->webhooks) return EP_OK;
  return ep_problem_add(
      problem, EP_INVALID, "/webhooks",
      "webhooks are disabled: the administrator enables them with --webhook-secret-file");
}

/* Reads a job, what it leaves open filled in. */
static ep_status job_read(ep_jobs *jobs, struct json_t *request, bool stored,
                          ep_checked_spec *checked, ep_problem *problem) {
  ep_status status = open_fill(jobs, request, false, checked, problem);
  if (status == EP_OK) status = ep_first_weights_name(jobs, &checked->by, request, problem);
  if (status == EP_OK) status = ep_job_request_read(request, stored, &checked->spec, problem);
  if (status == EP_OK && checked->find_lr)
    snprintf(checked->spec->find, sizeof checked->spec->find, "lr");
  if (status == EP_OK && checked->find_lr && ep_parts_count(&checked->spec->parts) > 1)
    status = ep_problem_add(problem, EP_INVALID, "/find",
                            "is a single short training: remove folds and repeats");
  return status;
}

ep_status ep_spec_check(ep_jobs *jobs, struct json_t *request, bool same_data,
                        ep_checked_spec *checked, ep_problem *problem) {
  ep_status status = job_read(jobs, request, same_data, checked, problem);
  if (status != EP_OK) return status;
  ep_job_spec *spec = checked->spec;
  checked->epochs = spec->epochs;
  status = webhooks_check(jobs, spec, problem);
  if (status == EP_OK) status = labels_settle(jobs, checked, problem);
  if (status == EP_OK) status = training_check(jobs, same_data, checked, problem);
  if (status == EP_OK) status = parts_check(jobs, checked, problem);
  if (status == EP_OK)
    status = ep_first_weights_resolve(jobs, &checked->by, spec, checked->plan, checked->init_pin,
                                      checked->init_checkpoint, problem);
  if (status != EP_OK) return status;
  ep_labels_name(spec, &spec->data);
  checked->text = ep_job_spec_format(spec);
  status = tags_format(checked, problem);
  return status == EP_OK ? stored_parts_check(checked, problem) : status;
}

/* Whether each device that varies is there. */
static ep_status devices_check(ep_jobs *jobs, const ep_sweep_spec *sweep, ep_problem *problem) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_status status = EP_OK;
  if (sweep->device_axis < 0) return EP_OK;
  ep_sweep_first_point(sweep, point);
  for (int64_t i = 0; status == EP_OK && i < sweep->axes[sweep->device_axis].count; i++) {
    point[sweep->device_axis] = (double)i;
    status = device_check(jobs, ep_sweep_device(sweep, point), "/space/~1device", problem);
  }
  return status;
}

static ep_status first_training_check(ep_jobs *jobs, ep_checked_spec *checked,
                                      ep_problem *problem) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_sweep_first_point(checked->sweep, point);
  ep_status status = ep_sweep_trial_make(checked->sweep, point, 0, &checked->spec, problem);
  if (status == EP_OK) status = training_check(jobs, false, checked, problem);
  pointers_move(problem);
  return status;
}

/* Places of columns are found once, for the rows that all trials have. */
static ep_status slices_check(const ep_checked_spec *checked, ep_problem *problem) {
  char pointer[EP_POINTER_BYTES];
  for (int i = 0; i < checked->spec->layers_count; i++) {
    if (checked->spec->layers[i].columns.count == 0) continue;
    snprintf(pointer, sizeof pointer, "/model/layers/%d", i);
    if (!ep_sweep_field_varies(checked->sweep, "/data") &&
        !ep_sweep_field_varies(checked->sweep, pointer))
      continue;
    snprintf(pointer, sizeof pointer, "/job/model/layers/%d/columns", i);
    return ep_problem_add(problem, EP_INVALID, pointer,
                          "the space changes the data or this layer, and so where the columns lie: "
                          "give start and length");
  }
  return EP_OK;
}

ep_status ep_sweep_check(ep_jobs *jobs, struct json_t *request, ep_checked_spec *checked,
                         ep_problem *problem) {
  ep_status status = open_fill(jobs, request, true, checked, problem);
  if (status == EP_OK) {
    status = ep_first_weights_name(jobs, &checked->by, json_object_get(request, "job"), problem);
    pointers_move(problem);
  }
  if (status == EP_OK) status = ep_sweep_space_fill(request, problem);
  if (status == EP_OK) status = ep_sweep_request_read(request, &checked->sweep, problem);
  if (status == EP_OK) status = webhooks_check(jobs, &checked->sweep->labels, problem);
  if (status == EP_OK) status = labels_settle(jobs, checked, problem);
  if (status == EP_OK) status = ep_sweep_count(checked->sweep, &checked->epochs, problem);
  if (status == EP_OK) status = devices_check(jobs, checked->sweep, problem);
  if (status == EP_OK) status = first_training_check(jobs, checked, problem);
  if (status != EP_OK) return status;
  const ep_data_shape *shape = &checked->plan->shape;
  status = ep_sweep_metric_check(checked->sweep, shape->validation_rows > 0,
                                 shape->test_rows > 0 && !shape->test_unlabelled, problem);
  if (status != EP_OK) return status;
  status = slices_check(checked, problem);
  if (status != EP_OK) return status;
  if (!ep_sweep_pin_data(checked->sweep, checked->spec)) return ep_problem_fail_memory(problem);
  ep_labels_name(&checked->sweep->labels, &checked->spec->data);
  checked->text = ep_sweep_spec_format(checked->sweep);
  return tags_format(checked, problem);
}
