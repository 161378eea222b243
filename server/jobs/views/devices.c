#include <stdlib.h>

#include "api/responses/devices.h"
#include "server/jobs/live/live.h"

/* jobs: of all devices; this one's are written from *used on. */
static ep_device_view device_view(const ep_device_list *list, int device, const char **jobs,
                                  int *used) {
  const ep_device_status *status = &list->device[device];
  ep_device_view view = {.info = status->info,
                         .state = ep_device_state_name(status->state),
                         .jobs = jobs + *used,
                         .cores = status->cores,
                         .restarts = status->restarts};
  bool helps = false;
  for (int i = 0; i < list->workers_count; i++) {
    const ep_worker_status *worker = &list->worker[i];
    if (worker->device != device) continue;
    if (view.pid == 0) view.pid = worker->pid;
    if (worker->job[0] != 0) jobs[(*used)++] = worker->job;
    if (worker->helps[0] != 0) jobs[(*used)++] = worker->helps;
    helps = helps || worker->helps[0] != 0;
  }
  if (helps && status->state == EP_DEVICE_IDLE) view.state = ep_device_state_name(EP_DEVICE_BUSY);
  view.jobs_count = (int)(jobs + *used - view.jobs);
  return view;
}

/* False: the device is none of Slurm's. */
static bool partition_view(ep_jobs *jobs, const char *device, ep_partition_view *view) {
  ep_slurm_partition partition;
  if (!ep_slurm_partitions_get(jobs->allocator.partitions, device, &partition)) return false;
  *view = (ep_partition_view){.up = partition.up,
                              .nodes = partition.nodes,
                              .nodes_idle = partition.nodes_idle,
                              .nodes_unavailable = partition.nodes_unavailable,
                              .cpus = partition.cpus,
                              .cpus_idle = partition.cpus_idle,
                              .gpus = partition.gpus,
                              .gpus_idle = partition.gpus_idle,
                              .node_cpus = partition.node_cpus,
                              .node_gpus = partition.node_gpus,
                              .node_memory_bytes = partition.node_memory_bytes,
                              .max_minutes = partition.max_minutes,
                              .default_minutes = partition.default_minutes};
  return true;
}

/* The mutex is held. */
static bool is_shown(ep_jobs *jobs, const ep_viewer *viewer, const char *id) {
  const ep_live_job *job = ep_live_find(jobs, id);
  return job && ep_live_is_shown(job) && ep_live_is_seen(job, viewer);
}

/* Takes out jobs whose rows are not stored, and those that are hidden from the viewer. */
static void unshown_clear(ep_jobs *jobs, const ep_viewer *viewer, ep_device_list *list) {
  pthread_mutex_lock(&jobs->mutex);
  for (int i = 0; i < list->workers_count; i++) {
    if (!is_shown(jobs, viewer, list->worker[i].job)) list->worker[i].job[0] = 0;
    if (!is_shown(jobs, viewer, list->worker[i].helps)) list->worker[i].helps[0] = 0;
  }
  pthread_mutex_unlock(&jobs->mutex);
}

ep_status ep_jobs_devices(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  *text = NULL;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_device_view *views = calloc(EP_LIMIT_DEVICES, sizeof *views);
  ep_partition_view *partitions = calloc(EP_LIMIT_DEVICES, sizeof *partitions);
  const char *ids[EP_LIMIT_WORKERS];
  int used = 0;
  if (devices && views && partitions) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    unshown_clear(jobs, viewer, devices);
    for (int i = 0; i < devices->count; i++) {
      views[i] = device_view(devices, i, ids, &used);
      if (partition_view(jobs, devices->device[i].info.id, &partitions[i]))
        views[i].partition = &partitions[i];
    }
    *text = ep_devices_format(views, devices->count);
  }
  free(partitions);
  free(views);
  free(devices);
  return *text ? EP_OK : ep_fail_memory(error);
}
