/* event.h: one line of a job's events.ndjson, exactly as watchers get it. */
#ifndef EP_API_WIRE_EVENT_H
#define EP_API_WIRE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "api/names.h"
#include "api/vocabulary.h"
#include "api/wire/result.h"
#include "api/wire/trial.h"

/* What one layer looks like after an epoch, on a sample of the training rows. */
typedef struct {
  int32_t number, count;  /* of this layer in its line, from 0; of all layers in it */
  int32_t type;           /* an ep_layer_type */
  int32_t units;          /* channels of an image, columns of a vector */
  int32_t dead;           /* units that are 0 for all rows; -1: not a layer whose units can die */
  int32_t has_parameters; /* 0: both norms are NaN */
  char name[24];          /* "3", "4.0" */
  double grad_norm;       /* of the mean loss by the layer's parameters; NaN: it has none */
  double weight_norm;     /* of its parameters; NaN: it has none */
  double low, high;       /* the least and the greatest output */
  uint32_t bins[EP_LIMIT_HISTOGRAM_BINS]; /* outputs in equal parts of low … high */
} ep_layer_figures;

typedef enum {
  EP_PROGRESS_EPOCH,
  EP_PROGRESS_BATCH, /* within an epoch: epoch, batch, batches, loss, lr, elapsed_seconds */
  EP_PROGRESS_LAYER  /* epoch and layer; layer.count records in a row, before that epoch's */
} ep_progress_kind;

/* One report, as a worker sends it. Plain doubles and integers, little-endian on the wire. */
typedef struct {
  int64_t kind;           /* an ep_progress_kind */
  int64_t epoch;          /* epochs completed, 1 … epochs; of a batch the one that it is of */
  int64_t batch, batches; /* kind BATCH: batches done in the epoch, and all of it */
  double loss;            /* mean over the epoch's batches so far, each before its update */
  double error;           /* training error rate of a classifier in 0 … 1, NaN for a regression */
  double validation_loss; /* NaN without a validation split */
  double validation_error; /* NaN without one, or for a regression */
  double lr;
  double elapsed_seconds; /* of training, since this attempt's first step */
  double lowest_loss;     /* where the loss has exploded: the lowest before; 0: it has not. Not in
                             the event, but a warning behind it (explosion.h) */
  int64_t metrics_given;  /* a bit for each ep_metric: which of the next are there */
  union {
    double metrics[EP_METRIC_COUNT]; /* of the validation split, beside its loss and error */
    ep_layer_figures layer;          /* kind LAYER */
  };
} ep_progress_record;

/* A metric of the validation split; NaN: the record has none. */
double ep_progress_validation(const ep_progress_record *record, ep_metric metric);

typedef struct {
  int64_t seq; /* 1, 2, 3, … within the job, without gaps */
  const char *job;
  ep_event_type type;
  int64_t time_us; /* microseconds since 1970, UTC; written as ISO 8601 with milliseconds */
  int64_t epochs;  /* of the spec */
  ep_progress_record progress;      /* types epoch, batch; of layers, checkpoint, paused, resumed,
                                       restarted its epoch */
  const ep_progress_record *layers; /* type layers: [layers[0].layer.count] */
  int64_t step, bytes;              /* type checkpoint */
  const ep_trial_record *trial;     /* type trial, whose number is progress.epoch too */
  const char *values;               /* type trial: the point, a JSON object */
  double eta_seconds;               /* types epoch, batch, trial; NaN = unknown */
  const char *message; /* types warning, restarted, end of a failed job: why. NULL = none */
  int attempt;         /* types started, restarted */
  const char *device, *executor; /* type started */
  ep_state state;                /* type end */
  const ep_job_result *result;   /* type end; NULL when the job never ran */
} ep_event;

/* Writes one line, '\n' included, at `buffer`; no jansson, no heap: this is the hot path of
 * progress. Numbers are written with the fewest digits that read back the same double (17 at most);
 * NaN and infinities as the strings "NaN", "Infinity", "-Infinity"; a field that does not apply as
 * null. Returns its bytes, or 0 when `capacity` is too small (EP_LIMIT_EVENT_BYTES always suffices,
 * because confusion matrices over 64 classes are left out of events). */
size_t ep_event_format(const ep_event *event, char *buffer, size_t capacity);

/* Reads back what curve, resume and restart need from a line: seq, type, time, and for epochs and
 * batches the progress (loss, error, validation, epoch, batch, lr, elapsed). `line` need not end in
 * 0. EP_IO for a torn line: it comes from a disk, and no request has one. */
ep_status ep_event_parse(const char *line, size_t bytes, ep_event *out, ep_error *error);

/* Where a `started` line says that the job runs; "" for what it does not say. */
typedef struct {
  char device[EP_DEVICE_ID_BYTES], executor[EP_EXECUTOR_BYTES];
} ep_event_place;
ep_status ep_event_parse_place(const char *line, size_t bytes, ep_event_place *out,
                               ep_error *error);

#endif
