#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/verify.h"
#include "engine/data/prepare/job.h"
#include "engine/plan/cost.h"
#include "engine/sweep/runner.h"
#include "engine/training/trainer.h"

/* Whether a field of the space decides what the rows are. */
static bool rows_vary(const ep_sweep_spec *sweep) {
  static const char *const fields[] = {"/data", "/loss"};
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++)
      for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (strncmp(sweep->axes[i].pointers[p], fields[f], strlen(fields[f])) == 0) return true;
  /* the first layer may take other rows, however much of the model it varies with */
  return ep_sweep_field_varies(sweep, "/model/layers/0/type");
}

/* The job at the first point, of one part. */
static ep_status first_make(const ep_sweep_spec *sweep, int part, ep_job_spec **out,
                            ep_error *error) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_sweep_first_point(sweep, point);
  ep_status status = ep_sweep_trial_make(sweep, point, part, out, problem);
  if (status != EP_OK) ep_fail(error, status, "%s", problem->detail);
  free(problem);
  return status;
}

/* The rows of each fold, read once for all trials. */
static ep_status rows_prepare(ep_sweep_runner *runner, ep_error *error) {
  const ep_sweep_spec *sweep = runner->run->sweep;
  const ep_training *shared = &runner->run->shared;
  ep_status status = EP_OK;
  if (shared->dataset_folder)
    status = ep_dataset_verify(shared->dataset_folder, shared->sink.alive, shared->sink.context,
                               shared->cancel, error);
  if (status != EP_OK || rows_vary(sweep) ||
      ep_layers_embed(sweep->base->layers, sweep->base->layers_count))
    return status;
  int folds = sweep->parts.folds > 0 ? sweep->parts.folds : 1;
  runner->prepared = calloc((size_t)folds, sizeof *runner->prepared);
  runner->shapes = calloc((size_t)folds, sizeof *runner->shapes);
  if (!runner->prepared || !runner->shapes) return ep_fail_memory(error);
  for (int fold = 0; status == EP_OK && fold < folds; fold++) {
    ep_job job;
    ep_job_spec *spec = NULL;
    status = first_make(sweep, fold, &spec, error);
    if (status != EP_OK) return status;
    const ep_job_source source = {
        .spec = spec, .dataset_folder = shared->dataset_folder, .shape_only = true};
    status = ep_job_open(&source, &job, error);
    runner->shapes[fold] = job.shape;
    ep_job_close(&job);
    if (status == EP_OK)
      status = ep_prepare(&spec->data, spec->loss, shared->dataset_folder,
                          &runner->prepared[runner->prepared_count], error);
    if (status == EP_OK) runner->prepared_count++;
    ep_job_spec_destroy(spec);
  }
  return status;
}

/* Trainings side by side: each has a core; one that can use more, on several ranks, say, has all.
 */
static int threads_of(const ep_sweep_run *run, const ep_plan *plan, ep_error *error) {
  ep_backend_info info;
  if (run->sweep->exclusive || ep_sweep_field_varies(run->sweep, "/parallel")) return 1;
  ep_device_info device = {.id = "cpu"};
  if (strcmp(run->shared.device, "cpu") != 0 ||
      run->shared.backend_ops->info(run->shared.backend, &info, error) != EP_OK)
    return 1;
  device.threads = info.threads;
  memcpy(device.instruction_set, info.instruction_set, sizeof device.instruction_set);
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(device.id, &count);
  for (int i = 0; i < count; i++)
    if (ep_cost_executor_takes(executors[i], plan, &device)) {
      if (ep_cost_cores(executors[i], plan, &device) > 1) return 1;
      break;
    }
  int64_t most =
      run->sweep->max_parallel > 0 ? run->sweep->max_parallel : EP_LIMIT_PARALLEL_THREADS;
  if (most > EP_LIMIT_PARALLEL_THREADS) most = EP_LIMIT_PARALLEL_THREADS;
  return info.threads < most ? info.threads : (int)most;
}

/* Times of trials that are trained together are no trial's own. */
static bool populations_fit(const ep_sweep_run *run, const ep_plan *plan) {
  const ep_sweep_spec *sweep = run->sweep;
  return sweep->metric_of != EP_OF_TIMING && !sweep->exclusive &&
         ep_sweep_population_takes(sweep->base) &&
         run->shared.backend_ops->population_size(run->shared.backend, &plan->program) > 0;
}

/* Plans the job at the first point. */
static ep_status plan_look(ep_sweep_runner *runner, ep_error *error) {
  const ep_sweep_run *run = runner->run;
  ep_job job = {0};
  ep_job_spec *spec = NULL;
  ep_status status = first_make(run->sweep, 0, &spec, error);
  const ep_job_source source = {.spec = spec, .dataset_folder = run->shared.dataset_folder};
  if (status == EP_OK) status = ep_job_open(&source, &job, error);
  if (status == EP_OK) {
    const ep_plan *plan = job.plan;
    runner->threads = threads_of(run, plan, error);
    runner->populations = populations_fit(run, plan);
    runner->slots = runner->threads;
    if (runner->populations)
      runner->slots = run->shared.backend_ops->population_size(run->shared.backend, &plan->program);
    runner->parameters = plan->parameters;
  }
  ep_job_close(&job);
  ep_job_spec_destroy(spec);
  return status;
}

/* What is at fault in the job stands below "/job" in the sweep. */
static ep_status fault_place(ep_status status, ep_error *error) {
  char pointer[EP_POINTER_BYTES];
  if (status == EP_OK || !error->pointer[0]) return status;
  snprintf(pointer, sizeof pointer, "/job%.*s", EP_POINTER_BYTES - 5, error->pointer);
  memcpy(error->pointer, pointer, sizeof pointer);
  return status;
}

/* Names again what the results are of, so that the search knows what it knew. */
static ep_status results_replay(ep_sweep_runner *runner, const ep_trial_record *records,
                                int64_t count, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t i = 0; status == EP_OK && i < count; i++) {
    int part = (int)(i % runner->parts);
    if (part == 0 && ep_search_next(runner->search, &runner->current) != EP_SEARCH_TRAIN)
      return ep_fail(error, EP_DAMAGED, "the results of the sweep do not match its spec");
    if (records[i].trial != runner->current.trial || records[i].part != part)
      return ep_fail(error, EP_DAMAGED, "the results of the sweep do not match its spec");
    runner->next_part = part + 1;
    runner->named = i + 1;
    status = ep_sweep_result_put(runner, &records[i], error);
  }
  return status;
}

ep_status ep_sweep_runner_init(ep_sweep_runner *runner, const ep_sweep_run *run, ep_error *error) {
  ep_search_options options;
  ep_trial_record *records = NULL;
  pthread_condattr_t clock;
  *runner = (ep_sweep_runner){.run = run,
                              .parts = ep_sweep_parts(run->sweep),
                              .start_seconds = ep_seconds_now(),
                              .file = {.file = -1}};
  runner->next_part = runner->parts;
  pthread_mutex_init(&runner->mutex, NULL);
  pthread_mutex_init(&runner->out, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&runner->told, &clock);
  pthread_condattr_destroy(&clock);
  ep_status status = EP_OK;
  if (run->folder) {
    ep_sweep_search_options(run->sweep, runner->axes, &options);
    status = ep_search_create(&options, &runner->search, error);
  }
  if (status == EP_OK) status = fault_place(plan_look(runner, error), error);
  for (int tries = 1; status == EP_OK && run->folder && runner->file.file < 0; tries++) {
    status = ep_trial_file_open(run->folder, &runner->file, &records, error);
    if (status == EP_UNAVAILABLE)
      status = ep_sweep_disk_wait(run, error);
    else if (status == EP_IO && tries < EP_SWEEP_DISK_TRIES)
      status = EP_OK;
  }
  if (status == EP_OK) status = results_replay(runner, records, runner->file.count, error);
  runner->sent = run->logged < runner->file.count ? run->logged : runner->file.count;
  free(records);
  if (status == EP_OK) status = fault_place(rows_prepare(runner, error), error);
  runner->populations = runner->populations && runner->prepared;
  if (!runner->populations) runner->slots = runner->threads;
  return status;
}

void ep_sweep_runner_deinit(ep_sweep_runner *runner) {
  for (int i = 0; i < runner->prepared_count; i++) ep_prepared_deinit(&runner->prepared[i]);
  free(runner->prepared);
  free(runner->shapes);
  ep_trial_file_close(&runner->file);
  ep_search_destroy(runner->search);
  free(runner->records);
  free(runner->done);
  free(runner->holder);
  free(runner->points);
  pthread_cond_destroy(&runner->told);
  pthread_mutex_destroy(&runner->out);
  pthread_mutex_destroy(&runner->mutex);
}
