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

/* It ends then; while it runs alone, nothing else starts. */
static void end_note(ep_forecast *forecast, const ep_forecast_job *job, double until) {
  if (until > forecast->last_end_seconds) forecast->last_end_seconds = until;
  if (job->alone && until > forecast->alone_seconds) forecast->alone_seconds = until;
}

static bool gang_has(const ep_gang *gang, const char *device) {
  const int number = ep_device_is_cuda(device) ? ep_device_number(device) : -1;
  for (int i = 0; gang && number >= 0 && i < gang->count; i++)
    if (gang->gpu[i] == number) return true;
  return false;
}

void ep_forecast_run(ep_forecast *forecast, const ep_forecast_job *job, double left_seconds) {
  for (int i = 0; i < forecast->devices->count; i++) {
    const char *device = forecast->devices->device[i].info.id;
    if (strcmp(device, job->row->device) == 0 || gang_has(job->gang, device))
      cores_take(&forecast->device[i], cores_of(forecast, i, job->row), left_seconds);
  }
  end_note(forecast, job, left_seconds);
}

static bool fits(const ep_forecast *forecast, const ep_forecast_job *job, int device) {
  const ep_device_status *status = &forecast->devices->device[device];
  return status->state != EP_DEVICE_LOST &&
         ep_fit_job(job->row, job->gang ? job->gang->least : 0, status->info.id, forecast->devices);
}

/* When the device can take the job. When a scheduler starts another worker is not known. */
static double device_start(const ep_forecast *forecast, const ep_forecast_job *job, int device) {
  const ep_device_status *status = &forecast->devices->device[device];
  const double start = start_find(&forecast->device[device], cores_of(forecast, device, job->row));
  const bool remote = ep_device_is_remote(status->info.id);
  return remote && (status->state != EP_DEVICE_IDLE || start > 0) ? INFINITY : start;
}

/* The device that starts it first; -1 = none. */
static int first_find(const ep_forecast *forecast, const ep_forecast_job *job, double *start) {
  int best = -1;
  *start = INFINITY;
  for (int i = 0; i < forecast->devices->count; i++) {
    if (!fits(forecast, job, i)) continue;
    double here = device_start(forecast, job, i);
    if (best >= 0 && here >= *start) continue;
    *start = here;
    best = i;
  }
  return best;
}

/* Adds the GPUs that a gang gets beside taken[0], those that are free first, and puts *start off
 * until all are. Returns how many it has. */
static int gang_find(const ep_forecast *forecast, const ep_forecast_job *job,
                     int taken[EP_LIMIT_DEVICES], double *start) {
  const int wanted =
      ep_gang_wanted(job->gang, ep_fit_gpus(job->row->requested_device, forecast->devices));
  bool used[EP_LIMIT_DEVICES] = {false};
  int count = 1;
  used[taken[0]] = true;
  while (count < wanted) {
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < forecast->devices->count; i++) {
      if (used[i] || !ep_device_is_cuda(forecast->devices->device[i].info.id) ||
          !fits(forecast, job, i))
        continue;
      double here = device_start(forecast, job, i);
      if (next < 0 || here < least) next = i, least = here;
    }
    if (next < 0) break; /* stages share a GPU where there are too few */
    used[next] = true;
    taken[count++] = next;
    if (least > *start) *start = least;
  }
  return count;
}

/* Where and when the job starts: *start, and the devices that it takes. Returns how many. */
static int places_find(const ep_forecast *forecast, const ep_forecast_job *job,
                       int taken[EP_LIMIT_DEVICES], double *start) {
  const int best = first_find(forecast, job, start);
  int count = 1;
  if (best < 0) return 0;
  taken[0] = best;
  if (job->gang && job->gang->most > 0 &&
      ep_device_is_cuda(forecast->devices->device[best].info.id))
    count = gang_find(forecast, job, taken, start);
  if (job->alone && forecast->last_end_seconds > *start) *start = forecast->last_end_seconds;
  if (forecast->alone_seconds > *start) *start = forecast->alone_seconds;
  return count;
}

double ep_forecast_start(const ep_forecast *forecast, const ep_forecast_job *job) {
  int taken[EP_LIMIT_DEVICES];
  double start;
  places_find(forecast, job, taken, &start);
  return start;
}

double ep_forecast_queue(ep_forecast *forecast, const ep_forecast_job *job) {
  int taken[EP_LIMIT_DEVICES];
  double start;
  const int count = places_find(forecast, job, taken, &start);
  if (count == 0) return INFINITY;
  double seconds = ep_fit_seconds(job->row, forecast->devices->device[taken[0]].info.id);
  double until = seconds > 0 ? start + seconds : INFINITY;
  for (int i = 0; i < count; i++) {
    forecast->device[taken[i]].earliest_seconds = start;
    cores_take(&forecast->device[taken[i]], cores_of(forecast, taken[i], job->row), until);
  }
  end_note(forecast, job, until);
  return start;
}
