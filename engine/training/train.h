/* train.h: one training from first weights to metrics, on any backend. */
#ifndef EP_ENGINE_TRAINING_TRAIN_H
#define EP_ENGINE_TRAINING_TRAIN_H

#include <stdatomic.h>

#include "api/wire/event.h"
#include "api/wire/result.h"
#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"
#include "kernels/backend.h"

/* Where a training's progress goes. Called from the training thread; must not block for long. */
typedef struct {
  void *context;
  void (*started)(void *context, const ep_plan *plan, const char *executor);
  void (*epoch)(void *context, const ep_progress_record *record);
  void (*alive)(
      void *context); /* after each segment, and between the last steps of a job: it goes on */
  void (*segment)(void *context); /* all epochs of a segment were said: they can go out together */
  /* The result is there, and ep_train will return EP_OK once it has given its memory back, which it
   * does without another look at the result or the spec. */
  void (*done)(void *context);
} ep_train_sink;

typedef struct {
  const ep_backend_ops *backend_ops;
  ep_backend *backend;
  const char *device; /* "cpu", "cuda:0": for the result */
  const ep_job_spec *spec;
  const char *spec_text;      /* goes into the weights file */
  const char *dataset_folder; /* NULL unless the spec names a dataset */
  const char *init_weights;   /* a weights file to start from; NULL = drawn by the seed */
  const char *job_folder;     /* weights.safetensors and predictions.json are written there */
  int64_t data_bytes_max;     /* device memory for the training rows; 0 = what is free */
  const atomic_bool *cancel;  /* looked at between segments, every 50 ms or so */
  ep_train_sink sink;
} ep_training;

/* Runs it. *result is always filled in (status says how it ended; a diverged or cancelled job has
 * the last finite weights); ep_job_result_deinit afterwards. Returns EP_OK unless the worker itself
 * is at fault (EP_DEVICE): then the process should end. */
ep_status ep_train(const ep_training *training, ep_job_result *result, ep_error *error);

#endif
