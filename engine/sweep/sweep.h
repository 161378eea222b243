/* sweep.h: the trainings of a sweep on one device, side by side where it has cores. */
#ifndef EP_ENGINE_SWEEP_SWEEP_H
#define EP_ENGINE_SWEEP_SWEEP_H

#include "api/sweep/sweep_spec.h"
#include "api/wire/trial.h"
#include "engine/sweep/sharing.h"
#include "engine/training/training.h"

typedef struct {
  const ep_sweep_spec *sweep;
  /* Of all trials: backend, device, dataset_folder, data_bytes_max, cancel, pause, and of the sink
   * context, alive and waiting, which one thread at a time calls. */
  ep_training shared;
  const char *folder; /* of the sweep: its results are there */
  int64_t logged;     /* results up to this number are known; further ones are told again */
  void (*started)(void *context, int64_t parameters, int64_t done);
  /* Results in the order of their numbers. One thread at a time. A failure ends the sweep. */
  ep_status (*results)(void *context, const ep_trial_record *records, int64_t count,
                       ep_error *error);
  /* Other workers; NULL = there can be none. `wants` is called once, `points` from a thread of the
   * sweep's own; where it fails the worker with the lease has none of them, and is a helper no
   * more.
   */
  ep_sweep_sharing *sharing;
  void (*wants)(void *context, int helpers);
  ep_status (*points)(void *context, uint64_t lease, const ep_trial_point *points, int64_t count,
                      ep_error *error);
} ep_sweep_run;

/* Trains all that the search names. *result: status, trainings done in epochs_done, seconds; no
 * metrics and no weights. Where the next trial is of another device, the status is EP_PAUSED and
 * result->device that one. Returns EP_OK unless the device failed. */
ep_status ep_sweep_train(const ep_sweep_run *run, ep_job_result *result, ep_error *error);

#endif
