#include "server/jobs/placement/spill.h"

#include <math.h>
#include <string.h>

/* From the start of a batch script to the first epoch: a process, a connection, a device. */
#define WORKER_SECONDS 5

static double wait_of(const ep_device_status *device) {
  return device->state == EP_DEVICE_IDLE ? 0 : device->wait_seconds + WORKER_SECONDS;
}

const char *ep_spill_find(const ep_forecast *forecast, const ep_job_row *row) {
  const ep_device_list *devices = forecast->devices;
  const char *best = NULL;
  if (strcmp(row->requested_device, "auto") != 0 || row->device[0] != 0) return NULL;
  double least = ep_forecast_start(forecast, &(ep_forecast_job){.row = row});
  for (int i = 0; i < devices->count; i++) {
    const ep_device_status *device = &devices->device[i];
    if (strncmp(device->info.id, EP_SLURM_PREFIX, strlen(EP_SLURM_PREFIX)) != 0 ||
        !(wait_of(device) < least))
      continue;
    least = wait_of(device);
    best = device->info.id;
  }
  return best;
}
