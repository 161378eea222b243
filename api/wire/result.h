/* result.h: what a finished training reports: metrics of each split, times, the identity of the
 * weights. */
#ifndef EP_API_WIRE_RESULT_H
#define EP_API_WIRE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/baseline/baseline.h"
#include "api/json/writer.h"
#include "api/names.h"
#include "api/rates/found.h"
#include "api/status.h"
#include "api/wire/metrics.h"
#include "api/wire/ranks.h"
#include "api/wire/tried.h"

enum { EP_RESULT_LINES_BYTES = 2 * EP_MESSAGE_BYTES };

/* The epoch whose weights a training ends with, where that need not be the last one. */
typedef struct {
  int64_t epoch; /* 0 = the last one */
  int64_t best_epoch;
  double value, best; /* the metric of the validation split after these two */
  ep_metric metric;
  double tolerance; /* by which `value` may be worse than `best`, as a share of it */
} ep_kept_epoch;

typedef struct {
  ep_status status;               /* EP_OK, EP_CANCELLED, EP_DIVERGED, … */
  char message[EP_MESSAGE_BYTES]; /* why it failed, "" if it did not */
  char pointer[EP_POINTER_BYTES];
  char executor[EP_EXECUTOR_BYTES]; /* "cpu/fused" */
  char device[EP_DEVICE_ID_BYTES];  /* "cpu", "cuda:0" */
  int64_t epochs_done;
  ep_split_metrics train, validation, test;
  ep_baseline baseline; /* of the test rows */
  char *class_names;    /* ["cat","dog"], as JSON: the words of the classes; NULL: they are numbers;
                           owned */
  double train_seconds, test_seconds; /* of the loop alone, and of the test split's evaluation */
  double samples_per_second, epoch_microseconds;
  int64_t parameters, bytes; /* of the device's memory, as the executor took it */
  ep_rank_results ranks;
  ep_tried_executors tried;
  ep_found_lr found; /* of a learning-rate finder, which has neither metrics nor weights */
  char stopped[16];  /* what ended it before its last epoch: "early_stopping", "max_seconds"; "" */
  ep_kept_epoch kept;
  char remarks[EP_RESULT_LINES_BYTES];  /* what warnings said before the end, a sentence a line */
  char warnings[EP_RESULT_LINES_BYTES]; /* of how it ended, the same; "" = none */
  char *stored; /* what is left in the job's folder besides, as JSON: {"checkpoints":[step, …],
                   "snapshots":[epoch, …]}; NULL: not known; owned */
  bool has_weights;
  char weights_sha256[EP_SHA256_HEX_BYTES];
  int64_t weights_bytes;
  char predictions_json_sha256[EP_SHA256_HEX_BYTES]; /* "": there are none, or not known */
  char predictions_csv_sha256[EP_SHA256_HEX_BYTES];
} ep_job_result;

/* JSON text of the result, owned by the caller (free); and back: EP_IO for a text that is none,
 * since it comes from the store. */
char *ep_job_result_format(const ep_job_result *result);
ep_status ep_job_result_parse(const char *text, ep_job_result *out, ep_error *error);
/* The weights' hash in such a text, without parsing matrices; "" when there is none. */
void ep_job_result_weights_sha256(const char *text, char sha256[EP_SHA256_HEX_BYTES]);
void ep_job_result_deinit(ep_job_result *result);

/* The same as an object within a larger text. */
void ep_job_result_write(ep_writer *writer, const ep_job_result *result);
ep_status ep_job_result_read(const struct json_t *object, ep_job_result *out, ep_error *error);

/* Adds a sentence to such lines, or leaves it out where it does not fit. */
void ep_result_line_add(char lines[EP_RESULT_LINES_BYTES], const char *sentence);

/* Copies the line at `lines` to `out`, and returns where the next one begins; NULL: there is none
 * left, and nothing was copied. */
const char *ep_result_line_next(const char *lines, char out[EP_MESSAGE_BYTES]);

/* The object "metrics" with its three splits, the baseline, the names of the classes and, of two,
 * which one is positive; the matrix only for test when test_only. */
void ep_metrics_write(ep_writer *writer, const ep_job_result *result, int max_classes,
                      bool test_only);
/* Reads the names of classes that such an object may have, into out->class_names. False: they are
 * none, or memory is short. */
bool ep_class_names_read(const struct json_t *metrics, ep_job_result *out);
/* The members of that object. */
void ep_metrics_write_members(ep_writer *writer, const ep_job_result *result, int max_classes,
                              bool test_only);

/* The same with scalars alone: of train and validation the loss, of test everything but the matrix.
 */
void ep_metrics_write_scalars(ep_writer *writer, const ep_job_result *result);

/* {"epoch":…,"metric":"validation.loss","value":…,"best_epoch":…,"best":…,"tolerance":…,"reason":…}
 * or null; the reason in words: "epoch 41 of 90, whose validation loss (0.267) is the lowest". */
void ep_kept_write(ep_writer *writer, const ep_job_result *result);

/* {"url":…,"sha256":…,"bytes":…} or null. */
void ep_weights_write_reference(ep_writer *writer, const ep_job_result *result, const char *job);

#endif
