/* result.h: what a finished training reports: metrics of each split, times, the weights' identity.
 */
#ifndef EP_API_WIRE_RESULT_H
#define EP_API_WIRE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/names.h"
#include "api/status.h"

/* Metrics of one split, in the units of the data (standardization of y undone, but for `loss`,
 * which is the training loss as the optimizer saw it). What does not apply is NaN and null in JSON.
 */
typedef struct {
  int64_t rows;              /* 0: the split is empty; the whole object is null in JSON */
  double loss;               /* mean over the rows, in training units */
  double mse, rmse, mae, r2; /* regression */
  double accuracy, precision, recall,
      f1;             /* classification; macro average over classes if more than two */
  double roc_auc;     /* two classes; one-against-rest macro average if more */
  double error;       /* 1 - accuracy */
  int classes;        /* 0: not a classifier */
  int64_t *confusion; /* [classes, classes], row = true class; owned, may be NULL */
} ep_split_metrics;

typedef struct {
  ep_status status;               /* EP_OK, EP_CANCELLED, EP_DIVERGED, … */
  char message[EP_MESSAGE_BYTES]; /* why it failed, "" if it did not */
  char pointer[EP_POINTER_BYTES];
  char executor[EP_EXECUTOR_BYTES]; /* "cpu/fused" */
  char device[EP_DEVICE_ID_BYTES];  /* "cpu", "cuda:0" */
  int64_t epochs_done;
  ep_split_metrics train, validation, test;
  double train_seconds, test_seconds; /* of the loop alone, and of the test split's evaluation */
  double samples_per_second, epoch_microseconds;
  int64_t parameters, bytes; /* of the device's memory, as the executor took it */
  bool has_weights;
  char weights_sha256[EP_SHA256_HEX_BYTES];
  int64_t weights_bytes;
} ep_job_result;

/* JSON text of the result, owned by the caller (free); and back. */
char *ep_job_result_format(const ep_job_result *result);
ep_status ep_job_result_parse(const char *text, ep_job_result *out, ep_error *error);
void ep_job_result_deinit(ep_job_result *result);

#endif
