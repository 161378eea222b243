/* metrics.h: how good the predictions of one split are. */
#ifndef EP_API_WIRE_METRICS_H
#define EP_API_WIRE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/vocabulary.h"

struct json_t; /* jansson's */

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

/* No metrics: every number NaN, no rows. */
void ep_split_metrics_clear(ep_split_metrics *metrics);

/* A number of a split, by an ep_metric. */
double ep_metric_value(const ep_split_metrics *metrics, int metric);

/* The object of one split, null when it has no rows. Confusion matrices of more than max_classes
 * classes are written as null. */
void ep_split_metrics_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes);

/* The same without matrix; loss_only: nor anything but the loss. */
void ep_split_metrics_write_scalars(ep_writer *writer, const ep_split_metrics *metrics,
                                    bool loss_only);

/* Reads what ep_split_metrics_write wrote; out->confusion is the caller's to free, also on failure.
 */
bool ep_split_metrics_read(const struct json_t *split, ep_split_metrics *out);

#endif
