/* trainer.h: the state of one training, between the files that make it one: trainer_setup.c,
 * train.c (the loop), trainer_results.c. */
#ifndef EP_ENGINE_TRAINING_TRAINER_H
#define EP_ENGINE_TRAINING_TRAINER_H

#include "engine/training/early_stopping.h"
#include "engine/training/schedule.h"
#include "engine/training/train.h"

/* The host comes back for progress and to see a cancel about this often. */
extern const double ep_segment_seconds;
enum { EP_SEGMENT_STEPS_MAX = 1 << 16 };

typedef struct {
  const ep_training *job;
  ep_prepared data;
  ep_plan *plan;
  ep_instance *instance;
  int64_t steps_per_epoch, steps_total;
  ep_schedule schedule;
  ep_early_stopping selection;
  int64_t step;          /* steps done */
  int64_t segment_steps; /* of the next segment */
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

/* On failure what was made is still the caller's to deinit. */
ep_status ep_trainer_init(ep_trainer *trainer, ep_error *error);
void ep_trainer_deinit(ep_trainer *trainer);

/* The weights, then the metrics of every split and the test set's predictions: whatever these may
 * run into, what was learned is kept. */
ep_status ep_trainer_results(ep_trainer *trainer, ep_job_result *result, ep_error *error);

/* Brings what the device holds into state and optimizer, unless it is there. */
ep_status ep_trainer_export(ep_trainer *trainer, ep_error *error);

/* Tells the sink that the training goes on. */
void ep_trainer_alive(const ep_trainer *trainer);

double ep_seconds_now(void);
/* Seconds to the nanosecond: what the clock knows, and no more digits than that. */
double ep_nanoseconds_round(double seconds);
/* Index of the first value that is NaN or infinite; `count` when there is none. */
int64_t ep_first_not_finite(const float *values, int64_t count);

#endif
