#include "server/jobs/placement/allocation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/jobs/placement/estimate.h"

/* A namespace of Kubernetes says nothing of its nodes, and its Jobs have the time that their
 * template says: where a worker fits is for the cluster to find. */
static ep_status namespace_request_make(const ep_slurm_need *need, const char *name,
                                        ep_slurm_request *out, ep_error *error) {
  static const ep_slurm_spec NONE;
  const ep_slurm_defaults defaults = {.account = "", .qos = ""};
  ep_slurm_partition target = {.up = true};
  snprintf(target.name, sizeof target.name, "%s", name);
  ep_status status = ep_slurm_request_make(need, &NONE, &defaults, &target, out, error);
  out->minutes = 0;
  return status;
}

static ep_status request_make(const ep_allocator *allocator, const ep_slurm_need *need,
                              const ep_slurm_spec *spec, const char *device, ep_slurm_request *out,
                              ep_error *error) {
  const size_t prefix = strlen(EP_KUBERNETES_PREFIX);
  ep_slurm_partition partition;
  if (strncmp(device, EP_KUBERNETES_PREFIX, prefix) == 0)
    return namespace_request_make(need, device + prefix, out, error);
  if (!ep_slurm_partitions_get(allocator->partitions, device, &partition))
    return ep_fail_at(error, EP_INVALID, "/device", "unknown device \"%s\"", device);
  if (!partition.up)
    return ep_fail_at(error, EP_INVALID, "/device",
                      "partition \"%s\" is down or drained: it accepts no jobs now",
                      partition.name);
  return ep_slurm_request_make(need, spec, &allocator->defaults, &partition, out, error);
}

/* The estimates are of this machine's CPU, where it is a device. */
static ep_status need_find(ep_calibrations *calibrations, const ep_job_spec *spec,
                           const ep_plan *plan, ep_slurm_need *out, ep_error *error) {
  ep_estimate estimates[EP_LIMIT_DEVICES];
  int count = 0;
  ep_status status = ep_estimate_devices(calibrations, plan, spec, estimates, &count, error);
  if (status != EP_OK) return status;
  const ep_estimate *cpu = ep_estimate_least(estimates, count, "cpu");
  *out = (ep_slurm_need){.bytes = plan->bytes,
                         .cores = cpu ? cpu->cores : 1,
                         .ranks = ep_program_ranks(&plan->program),
                         .seconds = cpu ? cpu->seconds : INFINITY};
  return EP_OK;
}

ep_status ep_allocation_check(const ep_allocator *allocator, ep_calibrations *calibrations,
                              const ep_job_spec *spec, const ep_plan *plan, ep_slurm_request *out,
                              ep_problem *problem) {
  ep_error error = {0};
  ep_slurm_need need;
  memset(out, 0, sizeof *out);
  if (!ep_device_is_remote(spec->device)) return EP_OK;
  ep_status status = need_find(calibrations, spec, plan, &need, &error);
  if (status == EP_OK)
    status = request_make(allocator, &need, &spec->slurm, spec->device, out, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}

ep_status ep_allocation_make(const ep_allocator *allocator, const ep_job_row *row,
                             const ep_slurm_spec *slurm, int ranks, const char *device,
                             ep_slurm_request *out, ep_error *error) {
  static const ep_slurm_spec NONE;
  const ep_slurm_need need = {
      .bytes = row->bytes, .cores = row->cores, .ranks = ranks, .seconds = row->seconds_cpu};
  return request_make(allocator, &need, slurm ? slurm : &NONE, device, out, error);
}

ep_allocation_view ep_allocation_view_make(const ep_slurm_request *request) {
  return (ep_allocation_view){.partition = request->partition,
                              .account = request->account,
                              .qos = request->qos,
                              .gres = request->gres,
                              .constraint = request->constraint,
                              .nodes = request->nodes,
                              .gpus = request->gpus,
                              .cores = request->cpus,
                              .memory_bytes = request->memory_bytes,
                              .minutes = request->minutes};
}
