/* calibrator_programs.h: the programs that are timed: for each executor a few that differ in what
 * its time is made of. */
#ifndef EP_ENGINE_WORKER_CALIBRATOR_PROGRAMS_H
#define EP_ENGINE_WORKER_CALIBRATOR_PROGRAMS_H

#include "engine/plan/plan.h"

typedef struct {
  const char *executor;
  int in_features; /* channels, with a side */
  int width;       /* of each hidden layer; out channels of each convolution */
  int hidden;      /* layers, relu between them, and one output */
  int rows;
  int side;  /* 0: dense; else images of side × side and convolutions of 3 × 3 */
  int batch; /* rows of a step, shuffled; 0 = all */
} ep_calibration_program;

/* Those of a device's kind; static. */
const ep_calibration_program *ep_calibration_programs(const char *device, int *count);

/* Plans one; the caller destroys both. */
ep_status ep_calibration_plan(const ep_calibration_program *program, ep_job_spec **spec,
                              ep_plan **plan, ep_error *error);

#endif
