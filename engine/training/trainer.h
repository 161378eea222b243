/* trainer.h: the state of one training, which the files of this room share. In reading order:
 * setup.c makes it, train.c runs the loop (segment.c: what the device does; report.c: what an epoch
 * yields; divergence.c: what to do when a loss is not finite), results.c writes what it leaves. */
#ifndef EP_ENGINE_TRAINING_TRAINER_H
#define EP_ENGINE_TRAINING_TRAINER_H

#include "engine/data/prepare/prepare.h"
#include "engine/training/early_stopping.h"
#include "engine/training/schedule.h"
#include "engine/training/training.h"

typedef struct {
  const ep_training *job;
  ep_prepared data;
  ep_plan *plan;
  ep_instance *instance;
  int64_t steps_per_epoch, steps_total;
  ep_schedule schedule;
  ep_early_stopping early_stopping;
  int64_t step;          /* steps done */
  int64_t segment_steps; /* wanted of the next segment */
  float *lr;             /* [EP_SEGMENT_STEPS_MAX or steps_total] of the present segment */
  float *loss;           /* the same */
  int32_t *errors;       /* the same */
  double epoch_loss;     /* sum of the present epoch's batch losses */
  int64_t epoch_errors;  /* misclassified targets of the present epoch */
  double seconds;        /* in train_segment so far */
  float *state;          /* [state floats], owned: first weights, then what was exported last */
  float *optimizer;      /* [optimizer_floats] behind them; NULL when that is 0 */
  bool exported, finite; /* they are what the device holds; all of `state` is finite */
} ep_trainer;

/* Brings the state of the device into `state` and `optimizer`, unless it is there; sets `finite`.
 */
ep_status ep_trainer_export(ep_trainer *trainer, ep_error *error);

/* Tells the sink that the training goes on. */
void ep_trainer_alive(const ep_trainer *trainer);

double ep_seconds_now(void);
/* Seconds to the nanosecond: the precision of the clock. */
double ep_nanoseconds_round(double seconds);

#endif
