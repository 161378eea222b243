/* choice.h: which of a device's executors trains a job. The device takes the most special one that
 * can; where the cost model expects about as much of others, and the training is long enough, the
 * job's own first steps are timed on each, and the fastest has it. */
#ifndef EP_ENGINE_TRAINING_CHOICE_H
#define EP_ENGINE_TRAINING_CHOICE_H

#include "engine/training/trainer.h"

/* The trainer has an instance with its rows and first weights. Afterwards it has the same, of the
 * fastest executor, and `tried` says what was timed; nothing was where the job names an executor,
 * goes on from a checkpoint, is short, or runs on the CPU, whose cores were counted out for one.
 * What a program got, it gets again from this process. An executor that fails is none, unless the
 * device failed. */
ep_status ep_choice_make(ep_trainer *trainer, ep_error *error);

#endif
