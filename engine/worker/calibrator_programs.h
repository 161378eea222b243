/* calibrator_programs.h: the programs that are timed: of each executor a few that differ in what
 * its time is made of (kernels/plans/profile.h). */
#ifndef EP_ENGINE_WORKER_CALIBRATOR_PROGRAMS_H
#define EP_ENGINE_WORKER_CALIBRATOR_PROGRAMS_H

#include "engine/data/prepare/job.h"
#include "engine/plan/cost.h"

/* How many there are for the executors of a device's kind. */
int ep_calibration_programs_count(const char *device);

/* Number `at` of them, one executor's after the other's, and whose it is. Both are static. */
const ep_calibration_program *ep_calibration_program_at(const char *device, int at,
                                                        const ep_executor_profile **executor);

/* Plans one. ep_job_close, also on failure. */
ep_status ep_calibration_open(const ep_calibration_program *program, ep_job *out, ep_error *error);

#endif
