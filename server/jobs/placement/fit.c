#include "server/jobs/placement/fit.h"

#include <stdio.h>
#include <string.h>

bool ep_fit_requested(const char *requested_device, const char *device) {
  if (strcmp(requested_device, "auto") == 0 || strcmp(requested_device, device) == 0) return true;
  return strcmp(requested_device, "cuda") == 0 && ep_device_is_cuda(device);
}

static bool kind_alive(const ep_device_list *devices, bool cuda) {
  for (int i = 0; i < devices->count; i++)
    if (ep_device_is_cuda(devices->device[i].info.id) == cuda &&
        !ep_device_is_remote(devices->device[i].info.id) &&
        devices->device[i].state != EP_DEVICE_LOST)
      return true;
  return false;
}

int ep_fit_gpus(const char *requested_device, const ep_device_list *devices) {
  int count = 0;
  for (int i = 0; i < devices->count; i++)
    count += ep_device_is_cuda(devices->device[i].info.id) &&
             devices->device[i].state != EP_DEVICE_LOST &&
             ep_fit_requested(requested_device, devices->device[i].info.id);
  return count;
}

/* `auto` goes to Slurm last: where this machine has no device at all. */
static bool auto_fits_slurm(int gpus_least, const ep_device_list *devices) {
  return gpus_least == 0 && !kind_alive(devices, true) && !kind_alive(devices, false);
}

/* `auto`: of the kinds of device that are there, the one that the estimates say is faster. */
static bool auto_fits(const ep_job_row *row, bool cuda, bool gpus_suffice,
                      const ep_device_list *devices) {
  if (!gpus_suffice || !kind_alive(devices, true)) return !cuda;
  if (!kind_alive(devices, false)) return cuda;
  return cuda == (row->seconds_cuda < row->seconds_cpu);
}

bool ep_fit_job(const ep_job_row *row, int gpus_least, const char *device,
                const ep_device_list *devices) {
  const bool cuda = ep_device_is_cuda(device);
  const bool gpus_suffice = ep_fit_gpus(row->requested_device, devices) >= gpus_least;
  if (cuda && !gpus_suffice) return false;
  if (row->device[0] != 0) { /* of the first start */
    const ep_device_status *first = ep_device_list_find(devices, row->device);
    const bool stays = gpus_suffice || !ep_device_is_cuda(row->device);
    if (first && first->state != EP_DEVICE_LOST && stays) return strcmp(row->device, device) == 0;
  }
  if (strcmp(row->requested_device, "auto") == 0 && ep_device_is_remote(device))
    return auto_fits_slurm(gpus_least, devices);
  if (strcmp(row->requested_device, "auto") == 0)
    return auto_fits(row, cuda, gpus_suffice, devices);
  return ep_fit_requested(row->requested_device, device);
}

bool ep_fit_any(const ep_job_row *row, int gpus_least, const ep_device_list *devices) {
  for (int i = 0; i < devices->count; i++)
    if (devices->device[i].state != EP_DEVICE_LOST &&
        ep_fit_job(row, gpus_least, devices->device[i].info.id, devices))
      return true;
  return false;
}

double ep_fit_seconds(const ep_job_row *row, const char *device) {
  double seconds = ep_device_is_cuda(device) ? row->seconds_cuda : row->seconds_cpu;
  return row->max_seconds > 0 && seconds > row->max_seconds ? row->max_seconds : seconds;
}

int ep_fit_cores(const ep_job_row *row, const char *device) {
  if (ep_device_is_cuda(device) || ep_device_is_remote(device)) return 1; /* a worker */
  return row->cores > 0 ? row->cores : EP_LIMIT_CPU_JOBS;
}

void ep_fit_none_text(const char *requested_device, char text[EP_MESSAGE_BYTES]) {
  snprintf(text, EP_MESSAGE_BYTES,
           "no device is available for this job: it requests \"%s\"; it waits until there is one, "
           "or until it is cancelled",
           requested_device);
}
