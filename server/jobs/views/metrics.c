#include "server/jobs/metrics.h"

#include <stdlib.h>

#include "server/jobs/live/live.h"
#include "server/metrics/process.h"
#include "server/metrics/text.h"
#include "server/process/clock.h"

static void jobs_format(ep_jobs *jobs, ep_writer *out, const ep_store_counts *counts) {
  static const char JOBS[] = "epochd_jobs";
  ep_metrics_family(out, JOBS, "gauge", "Jobs by state.");
  for (int state = 0; state < EP_STATE_COUNT; state++) {
    if (state == EP_STATE_PAUSING) continue; /* a running job */
    ep_metrics_sample(out, JOBS, (const char *[]){"state", ep_state_name(state), NULL},
                      (double)counts->jobs[state]);
  }
  ep_metrics_single(out, "epochd_queue_limit", "gauge", "Jobs that may be queued at a time.",
                    (double)jobs->max_queued);
  ep_metrics_single(out, "epochd_datasets", "gauge", "Datasets that have a name.",
                    (double)counts->datasets);
  ep_metrics_single(out, "epochd_webhooks_pending", "gauge", "Messages to webhooks that wait.",
                    (double)counts->deliveries);
}

/* The value of a device's metric; false where it has none. */
typedef bool device_metric(const ep_device_list *devices, int device, double *out);

static bool memory_read(const ep_device_list *devices, int device, double *out) {
  *out = (double)devices->device[device].info.memory_bytes;
  return *out > 0;
}

static bool busy_read(const ep_device_list *devices, int number, double *out) {
  const ep_device_status *device = &devices->device[number];
  int64_t busy_us = device->busy_us;
  if (device->busy_since_us != 0) busy_us += ep_clock_steady_us() - device->busy_since_us;
  *out = (double)busy_us / 1e6;
  return true;
}

static bool restarts_read(const ep_device_list *devices, int device, double *out) {
  *out = (double)devices->device[device].restarts;
  return true;
}

/* Of all of a device's workers. */
static bool workers_read(const ep_device_list *devices, int device, ep_process_metrics *sum) {
  bool any = false;
  *sum = (ep_process_metrics){0};
  for (int i = 0; i < devices->workers_count; i++) {
    const ep_worker_status *worker = &devices->worker[i];
    ep_process_metrics one;
    if (worker->device != device || worker->pid <= 0 || !ep_process_read(worker->pid, &one))
      continue;
    sum->resident_bytes += one.resident_bytes;
    sum->cpu_seconds += one.cpu_seconds;
    any = true;
  }
  return any;
}

static bool helpers_read(const ep_device_list *devices, int device, double *out) {
  *out = 0;
  for (int i = 0; i < devices->workers_count; i++)
    *out += devices->worker[i].device == device && devices->worker[i].helps[0] != 0;
  return true;
}

static bool worker_memory_read(const ep_device_list *devices, int device, double *out) {
  ep_process_metrics sum;
  bool any = workers_read(devices, device, &sum);
  *out = (double)sum.resident_bytes;
  return any;
}

static bool worker_cpu_read(const ep_device_list *devices, int device, double *out) {
  ep_process_metrics sum;
  bool any = workers_read(devices, device, &sum);
  *out = sum.cpu_seconds;
  return any;
}

static const struct {
  const char *name, *type, *help;
  device_metric *read;
} device_families[] = {
    {"epochd_device_memory_bytes", "gauge", "Memory of a device.", memory_read},
    {"epochd_device_busy_seconds_total", "counter", "Time that a device had a job.", busy_read},
    {"epochd_sweep_helpers", "gauge", "Workers of a device that train points of others' sweeps.",
     helpers_read},
    {"epochd_worker_restarts_total", "counter", "Deaths of a device's workers.", restarts_read},
    {"epochd_worker_resident_memory_bytes", "gauge", "Memory of a device's workers, on the host.",
     worker_memory_read},
    {"epochd_worker_cpu_seconds_total", "counter",
     "CPU time of a device's workers; a new one begins at 0.", worker_cpu_read},
};

static void devices_format(const ep_device_list *devices, ep_writer *out) {
  static const char INFO[] = "epochd_device_info", STATE[] = "epochd_device_state";
  ep_metrics_family(out, INFO, "gauge", "1 for each device, with its description as labels.");
  for (int i = 0; i < devices->count; i++) {
    const ep_device_info *info = &devices->device[i].info;
    ep_metrics_sample(out, INFO,
                      (const char *[]){"device", info->id, "name", info->name, "instruction_set",
                                       info->instruction_set, NULL},
                      1);
  }
  ep_metrics_family(out, STATE, "gauge", "1 for the state that a device is in, 0 for the others.");
  for (int i = 0; i < devices->count; i++)
    for (int state = EP_DEVICE_STARTING; state <= EP_DEVICE_LOST; state++)
      ep_metrics_sample(out, STATE,
                        (const char *[]){"device", devices->device[i].info.id, "state",
                                         ep_device_state_name((ep_device_state)state), NULL},
                        (int)devices->device[i].state == state);
  for (size_t f = 0; f < sizeof device_families / sizeof *device_families; f++) {
    ep_metrics_family(out, device_families[f].name, device_families[f].type,
                      device_families[f].help);
    for (int i = 0; i < devices->count; i++) {
      double value;
      if (device_families[f].read(devices, i, &value))
        ep_metrics_sample(out, device_families[f].name,
                          (const char *[]){"device", devices->device[i].info.id, NULL}, value);
    }
  }
}

static void helped_format(const ep_device_list *devices, ep_writer *out) {
  static const char HELPED[] = "epochd_sweep_helped_total";
  ep_metrics_family(out, HELPED, "counter", "Trainings of sweeps by workers that helped.");
  ep_metrics_sample(out, HELPED, (const char *[]){NULL}, (double)devices->helped);
}

static void state_format(ep_writer *out, const char *name, const char *device, const char *state,
                         double value) {
  ep_metrics_sample(out, name, (const char *[]){"device", device, "state", state, NULL}, value);
}

/* Of the partitions of Slurm among the devices. */
static void partitions_format(ep_jobs *jobs, const ep_device_list *devices, ep_writer *out) {
  static const char NODES[] = "epochd_slurm_nodes", GPUS[] = "epochd_slurm_gpus";
  static const char REFUSED[] = "epochd_slurm_refused_total";
  ep_slurm_partition partition;
  if (!jobs->allocator.partitions) return;
  ep_metrics_family(out, REFUSED, "counter",
                    "Connections to --slurm-listen that were refused: a wrong or used secret, "
                    "another version, no worker.");
  ep_metrics_sample(out, REFUSED, (const char *[]){NULL}, (double)devices->refused);
  ep_metrics_family(out, NODES, "gauge", "Nodes of a partition of Slurm, by state.");
  for (int i = 0; i < devices->count; i++) {
    const char *device = devices->device[i].info.id;
    if (!ep_slurm_partitions_get(jobs->allocator.partitions, device, &partition)) continue;
    state_format(out, NODES, device, "all", partition.nodes);
    state_format(out, NODES, device, "idle", partition.nodes_idle);
    state_format(out, NODES, device, "unavailable", partition.nodes_unavailable);
  }
  ep_metrics_family(out, GPUS, "gauge", "GPUs of a partition of Slurm, by state.");
  for (int i = 0; i < devices->count; i++) {
    const char *device = devices->device[i].info.id;
    if (!ep_slurm_partitions_get(jobs->allocator.partitions, device, &partition)) continue;
    state_format(out, GPUS, device, "all", partition.gpus);
    state_format(out, GPUS, device, "idle", partition.gpus_idle);
  }
}

ep_status ep_jobs_metrics_format(ep_jobs *jobs, ep_writer *out, ep_error *error) {
  ep_store_counts counts;
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return ep_fail_memory(error);
  ep_status status = ep_store_count(jobs->store, &counts, error);
  if (status == EP_OK) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    jobs_format(jobs, out, &counts);
    devices_format(devices, out);
    helped_format(devices, out);
    partitions_format(jobs, devices, out);
  }
  free(devices);
  return status;
}

void ep_jobs_memory_find(ep_jobs *jobs, int64_t *workers_bytes, int64_t *store_bytes) {
  ep_device_list *devices = malloc(sizeof *devices);
  *workers_bytes = 0;
  *store_bytes = ep_store_memory_bytes();
  if (!devices) return;
  ep_supervisor_get_devices(jobs->supervisor, devices);
  for (int i = 0; i < devices->count; i++) {
    ep_process_metrics sum;
    if (workers_read(devices, i, &sum)) *workers_bytes += sum.resident_bytes;
  }
  free(devices);
}

void ep_jobs_memory_release(ep_jobs *jobs) {
  ep_store_memory_release(jobs->store);
}
