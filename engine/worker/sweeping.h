/* sweeping.h: a sweep, which epochd sends as it sends a job, and the folds and repeats of a job. */
#ifndef EP_ENGINE_WORKER_SWEEPING_H
#define EP_ENGINE_WORKER_SWEEPING_H

#include "engine/sweep/help.h"
#include "engine/sweep/sweep.h"

/* Reads the sweep's spec and trains all that it names. run: its shared and its callbacks are filled
 * in, but for the folder of the data. Returns as ep_sweep_train does. */
ep_status ep_sweeping_train(const char *data_dir, const char *id, const char *spec,
                            ep_sweep_run *run, ep_job_result *result, ep_error *error);

/* Trains points of the sweep, or of a job's folds and repeats, that another worker has. As
 * ep_sweep_help_run. */
ep_status ep_sweeping_help(const char *data_dir, const char *id, const char *spec,
                           ep_sweep_help *help, ep_sweep_run *run,
                           ep_status (*ready)(void *context, int64_t slots, bool together,
                                              ep_error *error),
                           ep_error *error);

/* The same of the folds and repeats that a job's spec asks for, in the job's folder. */
ep_status ep_sweeping_train_parts(const char *data_dir, const char *id, const char *spec,
                                  ep_sweep_run *run, ep_job_result *result, ep_error *error);

#endif
