#include <math.h>
#include <stdlib.h>

#include "api/responses/sweep.h"
#include "api/spec/slurm.h"
#include "server/jobs/lifecycle/check.h"
#include "server/jobs/placement/allocation.h"
#include "server/jobs/sweeps.h"
#include "server/plots/plots.h"

/* Of a training, which may end by its limit of time. */
static double limited(const ep_estimate *estimate, const ep_job_spec *spec) {
  if (spec->max_seconds == 0) return estimate->seconds;
  return fmin(estimate->seconds, estimate->start_seconds + spec->max_seconds);
}

/* estimate NULL: infinite. */
static double trainings_seconds(const ep_estimate *estimate, const ep_checked_spec *checked) {
  if (!estimate) return INFINITY;
  double seconds = limited(estimate, checked->spec) * (double)checked->epochs;
  double most = checked->sweep->max_seconds;
  return most > 0 ? fmin(seconds, most) : seconds;
}

ep_status ep_jobs_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                           bool warn_replaced, char **text, ep_problem *problem) {
  *text = NULL;
  ep_checked_spec checked = {.by = *by, .warn_replaced = warn_replaced};
  ep_error error = {0};
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count = 0;
  ep_layer_view *layers = NULL;
  char *drawing = NULL;
  ep_parallel_view parallel;
  ep_status status = ep_spec_check(jobs, request, false, &checked, problem);
  if (status == EP_OK) {
    layers = calloc((size_t)checked.spec->layers_count + 1, sizeof *layers);
    if (!layers) status = ep_problem_fail_memory(problem);
  }
  if (status == EP_OK && ep_estimate_devices(&jobs->calibrations, checked.plan, checked.spec,
                                             estimates, &count, &error) != EP_OK)
    status = ep_problem_from_error(problem, &error);
  for (int i = 0; i < count; i++) estimates[i].seconds = limited(&estimates[i], checked.spec);
  if (status == EP_OK) {
    ep_plan_layers(checked.plan, checked.spec, layers);
    const char *name = checked.spec->name[0] ? checked.spec->name : "network";
    if (ep_plot_network_svg(name, layers, checked.spec->layers_count, &drawing, &error) != EP_OK)
      status = ep_problem_from_error(problem, &error);
  }
  if (status == EP_OK) {
    const ep_allocation_view worker = ep_allocation_view_make(&checked.allocation);
    bool ranks = ep_plan_parallel(checked.plan, checked.spec, &parallel);
    ep_validation_view view = {
        .spec = checked.text,
        .automatic = checked.automatic,
        .remarks = checked.remarks,
        .layers = layers,
        .layers_count = checked.spec->layers_count,
        .drawing = drawing,
        .parameters = checked.plan->parameters,
        .bytes = checked.plan->bytes,
        .operations = checked.plan->operations,
        .train_rows = checked.plan->shape.train_rows,
        .validation_rows = checked.plan->shape.validation_rows,
        .test_rows = checked.plan->shape.test_rows,
        .parallel = ranks ? &parallel : NULL,
        .slurm = ep_slurm_device_accepts(checked.spec->device) ? &worker : NULL,
        .kubernetes = ep_kubernetes_device_accepts(checked.spec->device) ? &worker : NULL,
        .estimates = estimates,
        .estimates_count = count};
    *text = ep_validation_format(&view);
    if (!*text) status = ep_problem_fail_memory(problem);
  }
  free(layers);
  free(drawing);
  ep_checked_spec_deinit(jobs, &checked);
  return status;
}

ep_status ep_sweeps_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                             bool warn_replaced, char **text, ep_problem *problem) {
  *text = NULL;
  ep_checked_spec checked = {.by = *by, .warn_replaced = warn_replaced};
  ep_error error = {0};
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count = 0;
  ep_status status = ep_sweep_check(jobs, request, &checked, problem);
  if (status == EP_OK && ep_estimate_devices(&jobs->calibrations, checked.plan, checked.spec,
                                             estimates, &count, &error) != EP_OK)
    status = ep_problem_from_error(problem, &error);
  if (status == EP_OK) {
    const ep_estimate *cpu = ep_estimate_least(estimates, count, "cpu");
    const ep_estimate *cuda = ep_estimate_least(estimates, count, "cuda");
    ep_sweep_validation validation = {.spec = checked.text,
                                      .automatic = checked.automatic,
                                      .remarks = checked.remarks,
                                      .trials =
                                          checked.sweep->search == EP_SEARCH_ASHA
                                              ? checked.sweep->max_trials
                                              : checked.epochs / ep_sweep_parts(checked.sweep),
                                      .trainings = checked.epochs,
                                      .parameters = checked.plan->parameters,
                                      .bytes = checked.plan->bytes,
                                      .train_rows = checked.plan->shape.train_rows,
                                      .validation_rows = checked.plan->shape.validation_rows,
                                      .test_rows = checked.plan->shape.test_rows,
                                      .seconds_cpu = trainings_seconds(cpu, &checked),
                                      .seconds_cuda = trainings_seconds(cuda, &checked)};
    *text = ep_sweep_validation_format(&validation);
    if (!*text) status = ep_problem_fail_memory(problem);
  }
  ep_checked_spec_deinit(jobs, &checked);
  return status;
}
