/* estimate.h: how long a job would take on each device that is there, and how long such jobs took.
 */
#ifndef EP_SERVER_JOBS_PLACEMENT_ESTIMATE_H
#define EP_SERVER_JOBS_PLACEMENT_ESTIMATE_H

#include "api/responses/job.h"
#include "engine/plan/plan.h"
#include "server/workers/calibrations.h"

/* What a device's calibration alone says of an epoch. */
typedef struct {
  char device[EP_DEVICE_ID_BYTES], executor[EP_EXECUTOR_BYTES];
  double epoch_seconds; /* 0 = nothing */
} ep_expectation;

/* Of a job: held against what it takes. */
typedef struct {
  uint64_t program; /* ep_plan_signature; 0 = of a job from before this start of the daemon */
  ep_expectation cpu, cuda;
} ep_expectations;

/* Whether an executor that was asked for by name ("" = none was) can train the plan on a device of
 * its kind, or no such device is here. EP_INVALID at /executor, with those that can. */
ep_status ep_executor_check(const ep_calibrations *calibrations, const ep_plan *plan,
                            const char *name, ep_problem *problem);

/* Of the devices that are there and can run it, in the supervisor's order. */
ep_status ep_estimate_devices(ep_calibrations *calibrations, const ep_plan *plan,
                              const ep_job_spec *spec, ep_estimate estimates[EP_LIMIT_DEVICES],
                              int *count, ep_error *error);
/* Of the fastest device of a kind ("cpu", "cuda"); NULL = there is none. */
const ep_estimate *ep_estimate_least(const ep_estimate *estimates, int count, const char *kind);
/* The part of an estimate that is the calibration's. NULL is allowed. */
ep_expectation ep_estimate_expect(const ep_estimate *estimate, int64_t epochs);

/* A job began on the device: the next one like it starts faster. */
void ep_estimate_note_start(ep_calibrations *calibrations, const ep_expectations *expected,
                            const char *device);
/* A job ended on the device: how long an epoch took. */
void ep_estimate_note_end(ep_calibrations *calibrations, const ep_expectations *expected,
                          const char *device, const ep_job_result *result);

#endif
