#include "server/jobs/placement/forecast.h"

#include <math.h>
#include <string.h>

#include "server/jobs/placement/fit.h"

void ep_forecast_init(ep_forecast *forecast, const ep_device_list *devices) {
  memset(forecast, 0, sizeof *forecast);
  forecast->devices = devices;
  for (int i = 0; i < devices->count; i++) {
    int cores = devices->device[i].cores;
    forecast->device[i].cores = cores < EP_LIMIT_CPU_JOBS ? cores : EP_LIMIT_CPU_JOBS;
  }
}

static int cores_of(const ep_forecast *forecast, int device, const ep_job_row *row) {
  int cores = ep_fit_cores(row, forecast->devices->device[device].info.id);
  int most = forecast->device[device].cores;
  return cores < most ? cores : most;
}

/* When so many cores are free. */
static double start_find(const ep_forecast_device *device, int cores) {
  if (cores < 1) return INFINITY;
  double free = device->free_seconds[cores - 1];
  return free > device->earliest_seconds ? free : device->earliest_seconds;
}

/* The first `cores` cores are taken until then. */
static void cores_take(ep_forecast_device *device, int cores, double until) {
  double *free = device->free_seconds;
  int rest = device->cores - cores, at = 0;
  memmove(free, free + cores, (size_t)rest * sizeof *free);
  while (at < rest && free[at] <= until) at++;
  memmove(free + at + cores, free + at, (size_t)(rest - at) * sizeof *free);
  for (int i = 0; i < cores; i++) free[at + i] = until;
}

void ep_forecast_run(ep_forecast *forecast, const ep_job_row *row, double left_seconds) {
  for (int i = 0; i < forecast->devices->count; i++)
    if (strcmp(forecast->devices->device[i].info.id, row->device) == 0)
      cores_take(&forecast->device[i], cores_of(forecast, i, row), left_seconds);
}

/* The device that starts it first; -1 = none. */
static int first_find(const ep_forecast *forecast, const ep_job_row *row, int gpus_least,
                      double *start) {
  int best = -1;
  *start = INFINITY;
  for (int i = 0; i < forecast->devices->count; i++) {
    const ep_device_status *device = &forecast->devices->device[i];
    if (device->state == EP_DEVICE_LOST ||
        !ep_fit_job(row, gpus_least, device->info.id, forecast->devices))
      continue;
    double here = start_find(&forecast->device[i], cores_of(forecast, i, row));
    if (best >= 0 && here >= *start) continue;
    *start = here;
    best = i;
  }
  return best;
}

double ep_forecast_start(const ep_forecast *forecast, const ep_job_row *row, int gpus_least) {
  double start;
  first_find(forecast, row, gpus_least, &start);
  return start;
}

double ep_forecast_queue(ep_forecast *forecast, const ep_job_row *row, int gpus_least) {
  double start;
  const int best = first_find(forecast, row, gpus_least, &start);
  if (best < 0) return INFINITY;
  double seconds = ep_fit_seconds(row, forecast->devices->device[best].info.id);
  forecast->device[best].earliest_seconds = start;
  cores_take(&forecast->device[best], cores_of(forecast, best, row),
             seconds > 0 ? start + seconds : INFINITY);
  return start;
}
