#include "engine/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/mean_loss.h"

/* One decision of a classifier, for the area under the ROC curve. */
typedef struct {
  double score;
  bool positive;
} scored;

static int scored_compare(const void *left, const void *right) {
  double a = ((const scored *)left)->score, b = ((const scored *)right)->score;
  return (a > b) - (a < b);
}

/* The probability that a random positive scores above a random negative, ties counting half (the
 * Mann-Whitney U statistic). NaN unless both kinds occur, and when a score is NaN: it has no place
 * in an order. Sorts `rows` in place. */
static double roc_auc(scored *rows, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (isnan(rows[i].score)) return NAN;
  qsort(rows, (size_t)count, sizeof *rows, scored_compare);
  double rank_sum = 0;
  int64_t positives = 0;
  for (int64_t first = 0, last; first < count; first = last) {
    for (last = first; last < count && rows[last].score == rows[first].score;) last++;
    double shared_rank = 0.5 * (double)(first + 1 + last); /* ranks count from 1 */
    for (int64_t i = first; i < last; i++)
      if (rows[i].positive) rank_sum += shared_rank, positives++;
  }
  int64_t negatives = count - positives;
  if (positives == 0 || negatives == 0) return NAN;
  return (rank_sum - 0.5 * (double)positives * (double)(positives + 1)) /
         ((double)positives * (double)negatives);
}

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/* Precision, recall and F1 of class `class` from a confusion matrix [classes, classes], row =
 * truth. */
typedef struct {
  double precision, recall, f1;
  bool present; /* among the true or the predicted classes */
} class_scores;

static class_scores class_score(const int64_t *confusion, int classes, int class) {
  double hits = (double)confusion[class * classes + class], truths = 0, guesses = 0;
  for (int other = 0; other < classes; other++) {
    truths += (double)confusion[class * classes + other];
    guesses += (double)confusion[other * classes + class];
  }
  return (class_scores){ratio(hits, guesses), ratio(hits, truths),
                        ratio(2 * hits, truths + guesses), truths + guesses > 0};
}

/* Fills in what follows from the confusion matrix. */
static void scores_from_confusion(ep_split_metrics *out) {
  int classes = out->classes;
  int64_t hits = 0, all = 0;
  for (int i = 0; i < classes * classes; i++) {
    all += out->confusion[i];
    if (i / classes == i % classes) hits += out->confusion[i];
  }
  out->accuracy = (double)hits / (double)all;
  out->error = 1 - out->accuracy;
  if (classes == 2) {
    class_scores scores = class_score(out->confusion, 2, 1);
    out->precision = scores.precision, out->recall = scores.recall, out->f1 = scores.f1;
    return;
  }
  int present = 0;
  out->precision = out->recall = out->f1 = 0;
  for (int class = 0; class < classes; class ++) {
    class_scores scores = class_score(out->confusion, classes, class);
    if (!scores.present) continue;
    out->precision += scores.precision, out->recall += scores.recall, out->f1 += scores.f1;
    present++;
  }
  out->precision /= present, out->recall /= present, out->f1 /= present;
}

/* classes: at most EP_LIMIT_CLASSES. */
static ep_status confusion_create(ep_split_metrics *out, int classes, ep_error *error) {
  out->confusion = calloc((size_t)classes * (size_t)classes, sizeof *out->confusion);
  if (!out->confusion) return ep_fail(error, EP_NO_MEMORY, "no memory for a confusion matrix");
  out->classes = classes;
  return EP_OK;
}

/* bce, bce_with_logits: every target is a decision of its own. y, outputs: [count]. */
static ep_status binary_metrics(const float *y, const float *outputs, int64_t count,
                                float threshold, ep_split_metrics *out, ep_error *error) {
  scored *decisions = malloc((size_t)count * sizeof *decisions);
  if (!decisions)
    return ep_fail(error, EP_NO_MEMORY, "no memory for %lld scores", (long long)count);
  ep_status status = confusion_create(out, 2, error);
  if (status == EP_OK) {
    for (int64_t i = 0; i < count; i++) {
      bool truth = y[i] > 0.5f, guess = outputs[i] > threshold;
      out->confusion[truth * 2 + guess]++;
      decisions[i] = (scored){outputs[i], truth};
    }
    scores_from_confusion(out);
    out->roc_auc = roc_auc(decisions, count);
  }
  free(decisions);
  return status;
}

/* One class against the rest, averaged over the classes of which both kinds occur. normalizer:
 * [rows], of each row's logits, NULL when the outputs are log-probabilities already; scratch:
 * [rows]. */
static double class_roc_auc(const int32_t *truth, const float *outputs, int64_t rows, int classes,
                            const double *normalizer, scored *scratch) {
  double sum = 0;
  int counted = 0;
  for (int class = classes == 2 ? 1 : 0; class < classes; class ++) {
    for (int64_t i = 0; i < rows; i++) {
      double log_probability =
          (double)outputs[i * classes + class] - (normalizer ? normalizer[i] : 0);
      scratch[i] = (scored){exp(log_probability), truth[i] == class};
    }
    double auc = roc_auc(scratch, rows);
    if (!isnan(auc)) sum += auc, counted++;
  }
  return counted ? sum / counted : NAN;
}

static void class_decisions_count(const int32_t *truth, const float *outputs, int64_t rows,
                                  int classes, int64_t *confusion) {
  for (int64_t i = 0; i < rows; i++) {
    const float *row = outputs + i * classes;
    int guess = 0;
    for (int class = 1; class < classes; class ++)
      if (row[class] > row[guess]) guess = class;
    confusion[truth[i] * classes + guess]++;
  }
}

/* cross_entropy, nll. outputs: [rows, classes]. */
static ep_status class_metrics(const int32_t *truth, const float *outputs, int64_t rows,
                               int classes, bool logits, ep_split_metrics *out, ep_error *error) {
  scored *scratch = malloc((size_t)rows * sizeof *scratch);
  double *normalizer = logits ? malloc((size_t)rows * sizeof *normalizer) : NULL;
  ep_status status = EP_OK;
  if (!scratch || (logits && !normalizer))
    status = ep_fail(error, EP_NO_MEMORY, "no memory for %lld scores", (long long)rows);
  if (status == EP_OK) status = confusion_create(out, classes, error);
  if (status == EP_OK) {
    class_decisions_count(truth, outputs, rows, classes, out->confusion);
    scores_from_confusion(out);
    for (int64_t i = 0; logits && i < rows; i++)
      normalizer[i] = ep_logits_normalizer(outputs + i * classes, classes);
    out->roc_auc = class_roc_auc(truth, outputs, rows, classes, normalizer, scratch);
  }
  free(normalizer);
  free(scratch);
  return status;
}

/* The coefficient of determination of one column, given the sum of squared residuals. */
static double r_squared(const double *truth, int64_t rows, int64_t columns, int64_t column,
                        double residual) {
  double mean = 0, total = 0;
  for (int64_t i = 0; i < rows; i++) mean += truth[i * columns + column];
  mean /= (double)rows;
  for (int64_t i = 0; i < rows; i++) {
    double deviation = truth[i * columns + column] - mean;
    total += deviation * deviation;
  }
  if (rows < 2) return NAN;
  if (total == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / total;
}

/* truth, predicted: [rows, columns] in the units of the data. */
static void regression_metrics(const double *truth, const double *predicted, int64_t rows,
                               int64_t columns, ep_split_metrics *out) {
  double squares = 0, absolutes = 0, r2 = 0;
  for (int64_t column = 0; column < columns; column++) {
    double residual = 0;
    for (int64_t i = 0; i < rows; i++) {
      double difference = predicted[i * columns + column] - truth[i * columns + column];
      residual += difference * difference;
      absolutes += fabs(difference);
    }
    squares += residual;
    r2 += r_squared(truth, rows, columns, column, residual);
  }
  double count = (double)rows * (double)columns;
  out->mse = squares / count;
  out->rmse = sqrt(out->mse);
  out->mae = absolutes / count;
  out->r2 = r2 / (double)columns;
}

static ep_status unscaled_metrics(const ep_prepared *prepared, ep_split split, const float *outputs,
                                  ep_split_metrics *out, ep_error *error) {
  int64_t rows = prepared->rows[split], columns = prepared->target_columns;
  size_t count = (size_t)rows * (size_t)columns;
  double *values = malloc(2 * count * sizeof *values);
  if (!values) return ep_fail(error, EP_NO_MEMORY, "no memory for %zu predictions", count);
  ep_scaling_undo_y(&prepared->scaling, prepared->y[split], rows, values);
  ep_scaling_undo_y(&prepared->scaling, outputs, rows, values + count);
  regression_metrics(values, values + count, rows, columns, out);
  free(values);
  return EP_OK;
}

ep_status ep_metrics_compute(const ep_prepared *prepared, ep_split split, ep_loss_type loss,
                             const float *outputs, int64_t out_features, ep_split_metrics *out,
                             ep_error *error) {
  int64_t rows = prepared->rows[split];
  *out = (ep_split_metrics){.rows = rows,
                            .loss = NAN,
                            .mse = NAN,
                            .rmse = NAN,
                            .mae = NAN,
                            .r2 = NAN,
                            .accuracy = NAN,
                            .precision = NAN,
                            .recall = NAN,
                            .f1 = NAN,
                            .roc_auc = NAN,
                            .error = NAN};
  if (rows == 0) return EP_OK;
  if (ep_loss_takes_classes(loss))
    return class_metrics(prepared->classes[split], outputs, rows, (int)out_features,
                         loss == EP_LOSS_CROSS_ENTROPY, out, error);
  if (ep_loss_is_classifier(loss))
    return binary_metrics(prepared->y[split], outputs, rows * prepared->target_columns,
                          loss == EP_LOSS_BCE ? 0.5f : 0.0f, out, error);
  return unscaled_metrics(prepared, split, outputs, out, error);
}
