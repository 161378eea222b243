#include "server/jobs/placement/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plan/cost.h"

/* The epochs of a shorter training are no measure: its first ones find nothing in any cache. */
#define LEAST_SECONDS 5e-3

ep_status ep_estimate_devices(ep_calibrations *calibrations, const ep_plan *plan,
                              const ep_job_spec *spec, ep_estimate estimates[EP_LIMIT_DEVICES],
                              int *count, ep_error *error) {
  const uint64_t program = ep_plan_signature(plan);
  *count = 0;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_calibration *calibration = malloc(sizeof *calibration);
  if (devices && calibration) {
    ep_supervisor_get_devices(calibrations->supervisor, devices);
    for (int i = 0; i < devices->count; i++) {
      /* A partition's nodes are measured by nobody. */
      if (devices->device[i].state == EP_DEVICE_LOST ||
          ep_device_is_remote(devices->device[i].info.id))
        continue;
      ep_program_past past;
      bool known = ep_calibrations_get(calibrations, i, program, calibration, &past);
      ep_estimate estimate =
          ep_plan_estimate(plan, spec, &devices->device[i].info, known ? calibration : NULL, &past);
      if (isfinite(estimate.seconds)) estimates[(*count)++] = estimate;
    }
  }
  bool done = devices && calibration;
  free(calibration);
  free(devices);
  return done ? EP_OK : ep_fail_memory(error);
}

/* The executors of the kind of `executor` that can train the plan on the device: "cpu/fused,
 * cpu/reference". */
static void executors_name(const ep_plan *plan, const char *executor, const ep_device_info *device,
                           char *names, size_t bytes) {
  int count;
  const ep_executor_profile *const *all = ep_cost_executors(executor, &count);
  names[0] = 0;
  for (int i = 0; i < count; i++) {
    size_t used = strlen(names);
    if (ep_cost_executor_can(all[i], plan, device))
      snprintf(names + used, bytes - used, "%s%s", used > 0 ? ", " : "", all[i]->name);
  }
}

ep_status ep_executor_check(const ep_calibrations *calibrations, const ep_plan *plan,
                            const char *name, ep_problem *problem) {
  const ep_executor_profile *executor = ep_cost_executor_find(name);
  char others[EP_MESSAGE_BYTES / 2] = "";
  bool can = !executor, here = false;
  if (can) return EP_OK;
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return ep_problem_fail_memory(problem);
  ep_supervisor_get_devices(calibrations->supervisor, devices);
  for (int i = 0; i < devices->count && !can; i++) {
    const ep_device_info *device = &devices->device[i].info;
    if (strncmp(device->id, name, strcspn(name, "/")) != 0) continue;
    can = ep_cost_executor_can(executor, plan, device);
    if (!here) executors_name(plan, name, device, others, sizeof others);
    here = true;
  }
  free(devices);
  if (can || !here) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/executor",
                        "%s cannot train this network: %s can, or leave executor out", name,
                        others[0] ? others : "another kind of device");
}

const ep_estimate *ep_estimate_least(const ep_estimate *estimates, int count, const char *kind) {
  const ep_estimate *least = NULL;
  for (int i = 0; i < count; i++)
    if (strncmp(estimates[i].device, kind, strlen(kind)) == 0 &&
        (!least || estimates[i].seconds < least->seconds))
      least = &estimates[i];
  return least;
}

ep_expectation ep_estimate_expect(const ep_estimate *estimate, int64_t epochs) {
  ep_expectation expected = {0};
  if (!estimate || !estimate->calibrated) return expected;
  memcpy(expected.device, estimate->device, sizeof expected.device);
  memcpy(expected.executor, estimate->executor, sizeof expected.executor);
  expected.epoch_seconds = estimate->model_seconds / (double)epochs;
  return expected;
}

/* -1 = it is not there. */
static int device_index(const ep_calibrations *calibrations, const char *device) {
  int index = -1;
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return -1;
  ep_supervisor_get_devices(calibrations->supervisor, devices);
  const ep_device_status *found = ep_device_list_find(devices, device);
  if (found) index = (int)(found - devices->device);
  free(devices);
  return index;
}

void ep_estimate_note_start(ep_calibrations *calibrations, const ep_expectations *expected,
                            const char *device) {
  int index = device_index(calibrations, device);
  if (index >= 0) ep_calibrations_note_start(calibrations, index, expected->program);
}

/* 0 = nothing was expected of this executor there. The calibration of one GPU says nothing of
 * another.
 */
static double expected_seconds(const ep_expectations *expected, const char *device,
                               const char *executor) {
  const ep_expectation *one = ep_device_is_cuda(device) ? &expected->cuda : &expected->cpu;
  bool same = strcmp(one->device, device) == 0 && strcmp(one->executor, executor) == 0;
  return same ? one->epoch_seconds : 0;
}

void ep_estimate_note_end(ep_calibrations *calibrations, const ep_expectations *expected,
                          const char *device, const ep_job_result *result) {
  int index = device_index(calibrations, device);
  bool counts = result->status == EP_OK && result->epochs_done > 0 &&
                result->validation.rows == 0 && result->train_seconds >= LEAST_SECONDS;
  if (index >= 0 && counts)
    ep_calibrations_note_end(calibrations, index, expected->program, result->executor,
                             result->train_seconds / (double)result->epochs_done,
                             expected_seconds(expected, device, result->executor));
}
