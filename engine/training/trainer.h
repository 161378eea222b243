/* trainer.h: the state of one training, which the files of this room share. In reading order:
 * setup.c makes it, choice.c takes the fastest executor, train.c runs the loop (segment.c: what the
 * device does; report.c: what an epoch yields; layers.c: what its layers look like; divergence.c:
 * what to do when a loss is not finite; checkpointing.c: how it goes on after a death), results.c
 * writes what it leaves, diagnosis.c says what came of it. */
#ifndef EP_ENGINE_TRAINING_TRAINER_H
#define EP_ENGINE_TRAINING_TRAINER_H

#include <pthread.h>

#include "engine/checkpoints/checkpoint.h"
#include "engine/data/prepare/prepare.h"
#include "engine/inspection/inspection.h"
#include "engine/training/rules/early_stopping.h"
#include "engine/training/rules/schedule.h"
#include "engine/training/training.h"
#include "kernels/cache/cache.h"

/* The checkpoint that is being written, beside the training. */
typedef struct {
  double due_seconds; /* of ep_seconds_now: the next one; 0 = none was begun */
  int64_t last_step;  /* of the last one on disk; 0 = none */
  bool writing;       /* one was begun, and its thread was not waited for */
  bool threaded;      /* by `thread` */
  pthread_t thread;
  atomic_bool written; /* the thread has ended; the members below are its own until then */
  float *values;       /* [state floats + optimizer_floats], and the best ones behind; owned */
  bool has_best;
  int64_t taken_step; /* that `values` and `checkpoint` are of; 0 = none */
  ep_checkpoint checkpoint;
  ep_status status;
} ep_checkpointing;

/* Where a training began. */
typedef struct {
  int64_t step;                /* of the checkpoint that it went on from; -1 = none */
  char note[EP_MESSAGE_BYTES]; /* why a newer one could not be used; "" = there was none */
} ep_resumed;

/* Where a loss has been, since this start. */
typedef struct {
  double first, lowest;        /* 0: none was seen */
  int64_t lowest_epoch;        /* 0: none */
  double reported;             /* the last one that was reported */
  int rises;                   /* reports in a row of which each was higher than the one before */
  ep_progress_record exploded; /* the one in which the loss was seen to explode; its lowest_loss is
                                  0: in none */
} ep_loss_course;

/* The looks at the layers, if the spec asks for them. */
typedef struct {
  ep_inspection *inspection;   /* owned; NULL before the first */
  ep_progress_record *records; /* [EP_LIMIT_REPORTED_LAYERS]; the same */
  int64_t due;                 /* the epoch at whose end the next is; 0 = none in this segment */
  int64_t last_epoch;          /* of the last one; 0 = none */
  double spent_seconds, cost_seconds; /* of all, and of the cheapest */
  bool failed;                        /* memory was short */
} ep_layers_course;

typedef struct {
  const ep_training *job;
  ep_prepared data;
  ep_plan *plan;
  ep_instance *instance;
  int64_t steps_per_epoch, steps_total;
  ep_schedule schedule;
  ep_early_stopping early_stopping;
  int64_t step;           /* steps done */
  int64_t steps_run;      /* on this instance, those that were undone too */
  int64_t segment_steps;  /* wanted of the next segment */
  float *lr;              /* [EP_SEGMENT_STEPS_MAX or steps_total] of the present segment */
  float *loss;            /* the same */
  int32_t *errors;        /* the same */
  double epoch_loss;      /* sum of the present epoch's batch losses, each by its weight */
  double epoch_weight;    /* sum of these weights (report.c) */
  int64_t epoch_errors;   /* misclassified targets of the present epoch */
  double last_epoch_loss; /* the mean of the last whole epoch */
  ep_loss_course course;  /* of the mean losses of whole epochs */
  ep_layers_course layers;
  bool constant;         /* by the last split, the network predicts one value */
  double seconds;        /* in train_segment so far */
  float *state;          /* [state floats], owned: first weights, then what was exported last */
  float *optimizer;      /* [optimizer_floats] behind them; NULL when that is 0 */
  bool exported, finite; /* they are what the device holds; all of `state` is finite */
  ep_resumed resumed;
  ep_tried_executors tried; /* before the first step */
  ep_checkpointing checkpointing;
  bool best_restored; /* the device holds the best weights; those of `step` are gone from it */
  bool pausable;      /* the results may end with EP_PAUSED: the training can go on from there */
} ep_trainer;

/* Brings the state of the device into `state` and `optimizer`, unless it is there; sets `finite`.
 */
ep_status ep_trainer_export(ep_trainer *trainer, ep_error *error);

/* The trainer's device, as far as costs depend on it. */
ep_device_info ep_trainer_device(const ep_trainer *trainer, const ep_backend_info *backend);

/* All that a choice for the program depends on: the program, the device, and what runs it. what:
 * the choice. */
ep_cache_key ep_trainer_cache_key(const ep_trainer *trainer, const ep_backend_info *backend,
                                  const char *what);

bool ep_values_finite(const float *values, int64_t count);

/* Tells the sink that the training goes on. */
void ep_trainer_alive(const ep_trainer *trainer);

double ep_seconds_now(void);
/* Seconds to the nanosecond: the precision of the clock. */
double ep_nanoseconds_round(double seconds);

#endif
