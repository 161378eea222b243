#include "engine/training/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/files/excerpt.h"

enum { ROWS_MIN = 10 };
/* A loss below this part of that of the classes' shares is no constant answer. */
static const double told_apart = 0.95;

/* The commonest class, of how many rows, and in how many classes predictions fall. */
static int commonest_find(const ep_split_metrics *metrics, int64_t *rows, int *predicted) {
  int most = 0;
  *rows = *predicted = 0;
  for (int i = 0; i < metrics->classes; i++) {
    int64_t truths = 0, guesses = 0;
    for (int j = 0; j < metrics->classes; j++) {
      truths += metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j];
      guesses += metrics->confusion[(size_t)j * (size_t)metrics->classes + (size_t)i];
    }
    *predicted += guesses > 0;
    if (truths > *rows) *rows = truths, most = i;
  }
  return most;
}

/* The mean loss of the one answer that fits all rows best: the shares of the classes. NaN: the loss
 * is not that of plain probabilities. */
static double shares_loss(const ep_split_metrics *metrics, const ep_program *program) {
  bool binary = program->loss == EP_LOSS_BCE || program->loss == EP_LOSS_BCE_WITH_LOGITS;
  bool classes = program->loss == EP_LOSS_CROSS_ENTROPY || program->loss == EP_LOSS_NLL;
  if (!(binary && program->loss_parameter == 1) &&
      !(classes && !program->class_weights && program->label_smoothing == 0))
    return NAN;
  double all = 0, loss = 0;
  for (int i = 0; i < metrics->classes * metrics->classes; i++)
    all += (double)metrics->confusion[i];
  for (int i = 0; i < metrics->classes; i++) {
    double share = 0;
    for (int j = 0; j < metrics->classes; j++)
      share += (double)metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j] / all;
    if (share > 0) loss -= share * log(share);
  }
  return loss;
}

static void classes_judge(const ep_judged_split *split, const ep_program *program,
                          char out[EP_MESSAGE_BYTES]) {
  const ep_split_metrics *metrics = split->metrics;
  int predicted;
  int64_t most;
  commonest_find(metrics, &most, &predicted);
  double baseline = (double)most / (double)metrics->rows;
  double shares = shares_loss(metrics, program);
  if (most == metrics->rows) return; /* there is one class */
  if (predicted == 1 && metrics->loss < told_apart * shares)
    snprintf(out, EP_MESSAGE_BYTES,
             "the network predicts the same class for all %lld %s rows, although its loss of %.3g "
             "is below the %.3g of the class frequencies: it separates the classes, but not "
             "enough; try more epochs, "
             "a higher learning rate, or the threshold of the best "
             "F1 (plot pr)",
             (long long)metrics->rows, split->name, metrics->loss, shares);
  else if (predicted == 1)
    snprintf(out, EP_MESSAGE_BYTES,
             "the network predicts the same class for all %lld %s rows: it learned nothing from "
             "the columns; try " EP_CONSTANT_REMEDY,
             (long long)metrics->rows, split->name);
  else if (metrics->accuracy <= baseline)
    snprintf(out, EP_MESSAGE_BYTES,
             "the accuracy on the %s rows is %.3g; always predicting the most frequent class gives "
             "%.3g: try "
             "another learning rate, more epochs or standardized columns",
             split->name, metrics->accuracy, baseline);
  else if (metrics->loss > shares)
    snprintf(out, EP_MESSAGE_BYTES,
             "the loss on the %s rows is %.3g; always predicting the class frequencies gives %.3g: "
             "the network is overconfident where it is wrong; try early_stopping, weight_decay "
             "or dropout",
             split->name, metrics->loss, shares);
}

ep_baseline ep_result_baseline(const ep_split_metrics *metrics, const ep_words *classes) {
  char shown[EP_EXCERPT_BYTES];
  if (metrics->classes > 0 && metrics->confusion) {
    int64_t rows;
    int predicted, most = commonest_find(metrics, &rows, &predicted);
    const char *name = classes && most < classes->count ? classes->word[most] : NULL;
    if (name) name = ep_excerpt(shown, name, strlen(name));
    return ep_baseline_of_class(name, most, (double)rows / (double)metrics->rows);
  }
  return isnan(metrics->r2) ? (ep_baseline){0} : ep_baseline_of_mean();
}

ep_judged_split ep_result_judged(const ep_job_result *result) {
  const ep_judged_split splits[] = {
      {&result->test, "test"}, {&result->validation, "validation"}, {&result->train, "training"}};
  int i = 0;
  while (i < 2 && splits[i].metrics->rows == 0) i++;
  ep_judged_split judged = splits[i];
  if (judged.metrics->rows < ROWS_MIN) judged.metrics = NULL;
  return judged;
}

void ep_result_verdict(const ep_job_result *result, const ep_program *program,
                       char out[EP_MESSAGE_BYTES]) {
  ep_judged_split split = ep_result_judged(result);
  out[0] = 0;
  if (!split.metrics) return;
  if (split.metrics->classes > 0 && split.metrics->confusion)
    classes_judge(&split, program, out);
  else if (split.metrics->r2 <= 0)
    snprintf(out, EP_MESSAGE_BYTES,
             "r2 on the %s rows is %.3g: the mean of the targets predicts them as well; try "
             "another learning rate, more epochs or standardized columns",
             split.name, split.metrics->r2);
}
