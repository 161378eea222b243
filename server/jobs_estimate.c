/* jobs_estimate.c: see jobs_state.h: what a job would take on each device that is there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs_state.h"

ep_status ep_jobs_estimate(ep_jobs *jobs, const ep_plan *plan, const ep_job_spec *spec,
                           ep_estimate estimates[EP_LIMIT_DEVICES], int *count, ep_error *error) {
  const uint64_t program = ep_plan_signature(plan);
  *count = 0;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_calibration *calibration = malloc(sizeof *calibration);
  if (devices != NULL && calibration != NULL) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    for (int i = 0; i < devices->count; i++) {
      if (devices->device[i].state == EP_DEVICE_LOST) continue;
      bool seen;
      bool known = ep_calibrations_get(&jobs->calibrations, i, program, calibration, &seen);
      ep_estimate estimate =
          ep_plan_estimate(plan, spec, &devices->device[i].info, known ? calibration : NULL, seen);
      if (isfinite(estimate.seconds)) estimates[(*count)++] = estimate;
    }
  }
  bool done = devices != NULL && calibration != NULL;
  free(calibration);
  free(devices);
  return done ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory to estimate");
}

double ep_estimates_least(const ep_estimate *estimates, int count, const char *kind) {
  double least = INFINITY;
  for (int i = 0; i < count; i++)
    if (strncmp(estimates[i].device, kind, strlen(kind)) == 0)
      least = fmin(least, estimates[i].seconds);
  return least;
}

void ep_job_program_note(ep_jobs *jobs, const ep_live_job *job, const char *device) {
  ep_device_list *devices = malloc(sizeof *devices);
  if (devices == NULL) return; /* its next start counts as a first one */
  ep_supervisor_get_devices(jobs->supervisor, devices);
  for (int i = 0; i < devices->count; i++)
    if (strcmp(devices->device[i].info.id, device) == 0)
      ep_calibrations_note(&jobs->calibrations, i, job->program);
  free(devices);
}
