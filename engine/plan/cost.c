#include "engine/plan/cost.h"

#include <stdio.h>
#include <string.h>

#include "kernels/cpu/plans/plans.h"
#include "kernels/cuda/plans/plans.h"

const ep_executor_profile *const *ep_cost_executors(const char *device, int *count) {
  *count = 0;
  if (strncmp(device, "cpu", 3) == 0) return ep_cpu_profiles(count);
  return strncmp(device, "cuda", 4) == 0 ? ep_cuda_profiles(count) : NULL;
}

const ep_executor_profile *ep_cost_executor_find(const char *executor) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(executor, &count);
  for (int i = 0; i < count; i++)
    if (strcmp(executors[i]->name, executor) == 0) return executors[i];
  return NULL;
}

int ep_cost_executor_index(const ep_executor_profile *executor) {
  int count, index = 0;
  const ep_executor_profile *const *executors = ep_cost_executors(executor->name, &count);
  while (executors[index] != executor) index++;
  return index;
}

static ep_device_traits traits_of(const ep_device_info *device) {
  if (strncmp(device->id, "cpu", 3) == 0)
    return (ep_device_traits){.cpu = ep_cpu_traits_of(device->instruction_set, device->threads)};
  return (ep_device_traits){.gpu = ep_gpu_traits_of(device->instruction_set, device->threads)};
}

bool ep_cost_executor_can(const ep_executor_profile *executor, const ep_plan *plan,
                          const ep_device_info *device) {
  const ep_device_traits traits = traits_of(device);
  return ep_executor_can(executor, &plan->program, &traits);
}

bool ep_cost_executor_takes(const ep_executor_profile *executor, const ep_plan *plan,
                            const ep_device_info *device) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(executor->name, &count);
  const ep_device_traits traits = traits_of(device);
  return ep_executor_takes(executors, count, ep_cost_executor_index(executor), &plan->program,
                           &traits);
}

void ep_cost_units(const ep_executor_profile *executor, const ep_plan *plan,
                   const ep_device_info *device, int64_t rows, double units[EP_COST_TERMS]) {
  const ep_device_traits traits = traits_of(device);
  for (int i = 0; i < EP_COST_TERMS; i++) units[i] = 0;
  executor->work(&plan->program, &traits, rows, units);
}

int ep_cost_cores(const ep_executor_profile *executor, const ep_plan *plan,
                  const ep_device_info *device) {
  const ep_device_traits traits = traits_of(device);
  return executor->cores ? executor->cores(&plan->program, &traits) : 1;
}

ep_executor_cost ep_cost_usual(const ep_executor_profile *executor) {
  ep_executor_cost cost = {.start_seconds = executor->start_seconds,
                           .again_seconds = executor->again_seconds};
  snprintf(cost.executor, sizeof cost.executor, "%s", executor->name);
  for (int i = 0; i < EP_COST_TERMS; i++) cost.seconds[i] = executor->terms[i].seconds;
  return cost;
}

double ep_cost_step_seconds(const ep_executor_profile *executor, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, int64_t rows) {
  double units[EP_COST_TERMS], seconds = 0;
  ep_cost_units(executor, plan, device, rows, units);
  for (int i = 0; i < EP_COST_TERMS; i++) seconds += units[i] * cost->seconds[i];
  return seconds;
}
