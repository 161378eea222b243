#include "engine/metrics/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/metrics/mean_loss.h"
#include "engine/metrics/roc_auc.h"
#include "engine/parallel.h"
#include "kernels/formulas/losses.h"

/* What is worth a thread: rows of some exponentials each, and rows to be sorted. */
enum { NORMALIZED_ROWS_LEAST = 2000, SORTED_ROWS_LEAST = 10000 };

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
  if (!out->confusion) return ep_fail_memory(error);
  out->classes = classes;
  return EP_OK;
}

/* bce, bce_with_logits: every target is a decision of its own. y, outputs: [count]. */
static ep_status binary_metrics(const float *y, const float *outputs, int64_t count,
                                float threshold, ep_split_metrics *out, ep_error *error) {
  ep_scored *decisions = malloc(2 * (size_t)count * sizeof *decisions);
  if (!decisions) return ep_fail_memory(error);
  ep_status status = confusion_create(out, 2, error);
  if (status == EP_OK) {
    for (int64_t i = 0; i < count; i++) {
      bool truth = y[i] > 0.5f, guess = outputs[i] > threshold;
      out->confusion[truth * 2 + guess]++;
      decisions[i] = (ep_scored){outputs[i], truth};
    }
    scores_from_confusion(out);
    out->roc_auc = ep_roc_auc(decisions, decisions + count, count);
  }
  free(decisions);
  return status;
}

/* A classifier's decisions about rows, for the threads that look at classes. */
typedef struct {
  const int32_t *truth; /* [rows] */
  const float *outputs; /* [rows, classes] */
  int64_t rows, classes;
  double *normalizer; /* [rows] of each row's logits; NULL: the outputs are log-probabilities */
  double *auc;        /* [classes]: of one against the rest, written */
  atomic_bool failed; /* memory was short */
} class_ranking;

static void normalizers_find(void *context, int64_t first, int64_t count) {
  const class_ranking *ranking = context;
  for (int64_t i = first; i < first + count; i++)
    ranking->normalizer[i] =
        ep_logits_normalizer(ranking->outputs + i * ranking->classes, ranking->classes);
}

static void classes_rank(void *context, int64_t first, int64_t count) {
  class_ranking *ranking = context;
  int64_t rows = ranking->rows;
  ep_scored *scores = malloc(2 * (size_t)rows * sizeof *scores);
  if (!scores) {
    atomic_store(&ranking->failed, true);
    return;
  }
  for (int64_t class = first; class < first + count; class ++) {
    for (int64_t i = 0; i < rows; i++) {
      double output = ranking->outputs[i * ranking->classes + class];
      double log_probability = output - (ranking->normalizer ? ranking->normalizer[i] : 0);
      scores[i] = (ep_scored){exp(log_probability), ranking->truth[i] == class};
    }
    ranking->auc[class] = ep_roc_auc(scores, scores + rows, rows);
  }
  free(scores);
}

/* Classes for a thread at least: enough to sort, and no more threads than there is memory for. */
static int64_t ranked_least(const class_ranking *ranking) {
  int64_t row_bytes = 2 * (int64_t)sizeof(ep_scored);
  int64_t least = 1 + SORTED_ROWS_LEAST / ranking->rows;
  int64_t held = 1 + ranking->classes * ranking->rows * row_bytes / EP_LIMIT_RANKING_BYTES;
  return held > least ? held : least;
}

/* One class against the rest, averaged over the classes of which both kinds occur. */
static ep_status class_roc_auc(class_ranking *ranking, bool logits, double *out, ep_error *error) {
  ranking->auc = malloc((size_t)ranking->classes * sizeof *ranking->auc);
  ranking->normalizer = logits ? malloc((size_t)ranking->rows * sizeof(double)) : NULL;
  atomic_init(&ranking->failed, !ranking->auc || (logits && !ranking->normalizer));
  if (!ranking->failed) {
    if (logits) ep_parallel_run(ranking->rows, NORMALIZED_ROWS_LEAST, normalizers_find, ranking);
    ep_parallel_run(ranking->classes, ranked_least(ranking), classes_rank, ranking);
  }
  double sum = 0;
  int counted = 0;
  bool failed = ranking->failed;
  for (int64_t class = ranking->classes == 2 ? 1 : 0; class < ranking->classes && !failed; class ++)
    if (!isnan(ranking->auc[class])) sum += ranking->auc[class], counted++;
  *out = counted ? sum / counted : NAN;
  free(ranking->normalizer);
  free(ranking->auc);
  if (!failed) return EP_OK;
  return ep_fail_memory(error);
}

static void class_decisions_count(const int32_t *truth, const float *outputs, int64_t rows,
                                  int classes, int64_t *confusion) {
  for (int64_t i = 0; i < rows; i++) {
    const float *row = outputs + i * classes;
    confusion[truth[i] * classes + ep_argmax(row, classes)]++;
  }
}

/* cross_entropy, nll. outputs: [rows, classes]. */
static ep_status class_metrics(const int32_t *truth, const float *outputs, int64_t rows,
                               int classes, bool logits, ep_split_metrics *out, ep_error *error) {
  class_ranking ranking = {.truth = truth, .outputs = outputs, .rows = rows, .classes = classes};
  ep_status status = confusion_create(out, classes, error);
  if (status != EP_OK) return status;
  class_decisions_count(truth, outputs, rows, classes, out->confusion);
  scores_from_confusion(out);
  return class_roc_auc(&ranking, logits, &out->roc_auc, error);
}

/* A regression's truth and predictions, [rows, columns] as the network sees them, and what brings
 * them into the units of the data: of each column its mean and deviation. */
typedef struct {
  const float *truth, *predicted;
  int64_t rows, columns;
  const ep_scaling *scaling;
} regression;

static double unscaled(const regression *data, int64_t column, float value) {
  const ep_scaling *scaling = data->scaling;
  if (!scaling->y_mean) return value;
  return value * scaling->y_deviation[column] + scaling->y_mean[column];
}

/* Sums of the columns, [columns] each. Rows lie one after the other: they are gone through as they
 * lie, not column by column. */
typedef struct {
  double *mean, *total, *residual; /* of the truth; of squares about it; of squared errors */
} column_sums;

/* The sums start at 0. Returns the sum of absolute errors. */
static double columns_sum(const regression *data, const column_sums *sums) {
  int64_t rows = data->rows, columns = data->columns;
  double absolutes = 0;
  for (int64_t i = 0; i < rows * columns; i += columns)
    for (int64_t j = 0; j < columns; j++) {
      double truth = unscaled(data, j, data->truth[i + j]);
      double difference = unscaled(data, j, data->predicted[i + j]) - truth;
      sums->mean[j] += truth;
      sums->residual[j] += difference * difference;
      absolutes += fabs(difference);
    }
  for (int64_t j = 0; j < columns; j++) sums->mean[j] /= (double)rows;
  for (int64_t i = 0; i < rows * columns; i += columns)
    for (int64_t j = 0; j < columns; j++) {
      double deviation = unscaled(data, j, data->truth[i + j]) - sums->mean[j];
      sums->total[j] += deviation * deviation;
    }
  return absolutes;
}

/* The coefficient of determination of one column. */
static double r_squared(int64_t rows, double total, double residual) {
  if (rows < 2) return NAN;
  if (total == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / total;
}

static ep_status regression_metrics(const regression *data, ep_split_metrics *out,
                                    ep_error *error) {
  int64_t columns = data->columns;
  double *memory = calloc(3 * (size_t)columns, sizeof *memory);
  if (!memory) return ep_fail_memory(error);
  column_sums sums = {memory, memory + columns, memory + 2 * columns};
  double absolutes = columns_sum(data, &sums), squares = 0, r2 = 0;
  for (int64_t j = 0; j < columns; j++) {
    squares += sums.residual[j];
    r2 += r_squared(data->rows, sums.total[j], sums.residual[j]);
  }
  free(memory);
  double count = (double)data->rows * (double)columns;
  out->mse = squares / count;
  out->rmse = sqrt(out->mse);
  out->mae = absolutes / count;
  out->r2 = r2 / (double)columns;
  return EP_OK;
}

ep_status ep_metrics_compute(const ep_prepared *prepared, ep_split split, ep_loss_type loss,
                             const float *outputs, int64_t out_features, ep_split_metrics *out,
                             ep_error *error) {
  int64_t rows = prepared->rows[split];
  ep_split_metrics_clear(out);
  if (!ep_prepared_targets(prepared, split)) return EP_OK;
  out->rows = rows;
  if (ep_loss_takes_classes(loss))
    return class_metrics(prepared->classes[split], outputs, rows, (int)out_features,
                         ep_loss_normalizes(loss), out, error);
  if (ep_loss_is_classifier(loss))
    return binary_metrics(prepared->y[split], outputs, rows * prepared->target_columns,
                          loss == EP_LOSS_BCE ? 0.5f : 0.0f, out, error);
  regression data = {prepared->y[split], outputs, rows, prepared->target_columns,
                     &prepared->scaling};
  return regression_metrics(&data, out, error);
}
