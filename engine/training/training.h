/* training.h: what a training is given: a job, a device, files, and where its progress goes. */
#ifndef EP_ENGINE_TRAINING_TRAINING_H
#define EP_ENGINE_TRAINING_TRAINING_H

#include <stdatomic.h>

#include "api/spec/job_spec.h"
#include "api/wire/event.h"
#include "engine/checkpoints/checkpoint.h"
#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"
#include "kernels/backend.h"

/* How a training began. */
typedef struct {
  const ep_plan *plan;
  const char *executor;
  int64_t epoch;       /* whole epochs that a checkpoint had; 0 = none */
  const char *note;    /* why a newer checkpoint could not be used; "" = there was none */
  const char *remarks; /* of the data (remarks.h); "" = none */
} ep_train_start;

/* Where the progress of a training goes. Called from the training thread; must not block for long.
 */
typedef struct {
  void *context;
  void (*started)(void *context, const ep_train_start *start);
  /* One record of an epoch or a batch, or those of all layers. */
  void (*report)(void *context, const ep_progress_record *records, int count);
  /* After each segment, and between the last steps of a job: the training goes on. */
  void (*alive)(void *context);
  /* After the last `report` of a segment: its records can go out together. */
  void (*segment)(void *context);
  /* A checkpoint is on disk, or why it is not: failure is NULL, or lent. From the thread that wrote
   * it, beside the others. */
  void (*checkpoint)(void *context, const ep_checkpoint *checkpoint, const ep_error *failure);
  /* The disk refuses the results, and why: they are tried again until it takes them. Called before
   * each such wait. */
  void (*waiting)(void *context, const ep_error *why);
  /* The result is complete. ep_train frees its memory and returns EP_OK; it reads neither the
   * result nor the spec again. */
  void (*done)(void *context);
} ep_train_sink;

typedef struct {
  const ep_backend_ops *backend_ops;
  ep_backend *backend;
  const char *device; /* "cpu", "cuda:0": for the result */
  const int *gpus;    /* [gpus_count], of a job of several ranks: the device's own number first */
  int gpus_count;     /* 0 = the device alone */
  const ep_job_spec *spec;
  const char *spec_text;       /* goes into the weights file */
  const char *dataset_folder;  /* NULL unless the spec names a dataset */
  const char *init_weights;    /* a weights file to start from; a checkpoint where the spec says
                                  init_optimizer; NULL: drawn by the seed */
  const char *job_folder;      /* weights.safetensors, predictions.json and checkpoints are there;
                                  NULL: the training leaves its result alone */
  const ep_prepared *prepared; /* the rows, lent; NULL: read as the spec says */
  int64_t epochs_most;         /* ends after so many of the spec's epochs; 0 = after all */
  int64_t epochs_logged; /* a checkpoint beyond the reports up to here is not taken: they would be
                            missing for ever. -1 = all reports are known */
  int thinning;          /* one of 2^thinning reports is known */
  bool last_alone;       /* of the epochs that report_every leaves out, the first too is not
                            reported */
  double checkpoint_after_seconds; /* of training: no checkpoint is written before */
  int64_t segment_steps_most;      /* between two looks at the host; 0 = as the clock says */
  int64_t data_bytes_max;          /* device memory for the training rows; 0 = what is free */
  /* Read between segments, about every 50 ms. pause: ends with EP_PAUSED and a checkpoint. */
  const atomic_bool *cancel, *pause;
  ep_train_sink sink;
} ep_training;

#endif
