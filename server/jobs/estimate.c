/* estimate.c: see jobs_state.h: what a job would take on each device that is there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/state.h"

/* A shorter training says little of its epochs: its first ones find nothing in any cache. */
#define TELLING_SECONDS 5e-3

ep_status ep_jobs_estimate(ep_jobs *jobs, const ep_plan *plan, const ep_job_spec *spec,
                           ep_estimate estimates[EP_LIMIT_DEVICES], int *count, ep_error *error) {
  const uint64_t program = ep_plan_signature(plan);
  *count = 0;
  ep_device_list *devices = malloc(sizeof *devices);
  ep_calibration *calibration = malloc(sizeof *calibration);
  if (devices && calibration) {
    ep_supervisor_get_devices(jobs->supervisor, devices);
    for (int i = 0; i < devices->count; i++) {
      if (devices->device[i].state == EP_DEVICE_LOST) continue;
      ep_program_past past;
      bool known = ep_calibrations_get(&jobs->calibrations, i, program, calibration, &past);
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

const ep_estimate *ep_estimates_least(const ep_estimate *estimates, int count, const char *kind) {
  const ep_estimate *least = NULL;
  for (int i = 0; i < count; i++)
    if (strncmp(estimates[i].device, kind, strlen(kind)) == 0 &&
        (!least || estimates[i].seconds < least->seconds))
      least = &estimates[i];
  return least;
}

ep_expectation ep_estimate_said(const ep_estimate *estimate, int64_t epochs) {
  ep_expectation said = {0};
  if (!estimate || !estimate->calibrated) return said;
  memcpy(said.device, estimate->device, sizeof said.device);
  memcpy(said.executor, estimate->executor, sizeof said.executor);
  said.epoch_seconds = estimate->model_seconds / (double)epochs;
  return said;
}

/* -1 = it is not there. */
static int device_index(ep_jobs *jobs, const char *device) {
  int index = -1;
  ep_device_list *devices = malloc(sizeof *devices);
  if (!devices) return -1;
  ep_supervisor_get_devices(jobs->supervisor, devices);
  for (int i = 0; i < devices->count; i++)
    if (strcmp(devices->device[i].info.id, device) == 0) index = i;
  free(devices);
  return index;
}

void ep_job_note_start(ep_jobs *jobs, const ep_live_job *job, const char *device) {
  int index = device_index(jobs, device);
  if (index >= 0) ep_calibrations_note_start(&jobs->calibrations, index, job->program);
}

/* 0 = nothing was said of this executor there. What one GPU's calibration says, another's does not
 * answer for. */
static double said_seconds(const ep_live_job *job, const char *executor) {
  bool cuda = ep_device_is_cuda(job->row.device);
  const ep_expectation *said = cuda ? &job->said_cuda : &job->said_cpu;
  bool same = strcmp(said->device, job->row.device) == 0 && strcmp(said->executor, executor) == 0;
  return same ? said->epoch_seconds : 0;
}

void ep_job_note_end(ep_jobs *jobs, const ep_live_job *job, const ep_job_result *result) {
  int index = device_index(jobs, job->row.device);
  bool tells = result->status == EP_OK && result->epochs_done > 0 && result->validation.rows == 0 &&
               result->train_seconds >= TELLING_SECONDS;
  if (index >= 0 && tells)
    ep_calibrations_note_end(&jobs->calibrations, index, job->program, result->executor,
                             result->train_seconds / (double)result->epochs_done,
                             said_seconds(job, result->executor));
}
