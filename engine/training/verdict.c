#include "engine/training/verdict.h"

#include <math.h>
#include <stdio.h>

enum { ROWS_MIN = 10 };
/* A loss below this part of that of the classes' shares is no constant answer. */
static const double told_apart = 0.95;

/* Rows of the commonest class, and in how many classes predictions fall. */
static int64_t commonest_find(const ep_split_metrics *metrics, int *predicted) {
  int64_t most = 0;
  *predicted = 0;
  for (int i = 0; i < metrics->classes; i++) {
    int64_t truths = 0, guesses = 0;
    for (int j = 0; j < metrics->classes; j++) {
      truths += metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j];
      guesses += metrics->confusion[(size_t)j * (size_t)metrics->classes + (size_t)i];
    }
    *predicted += guesses > 0;
    if (truths > most) most = truths;
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
  int64_t most = commonest_find(metrics, &predicted);
  double baseline = (double)most / (double)metrics->rows;
  double shares = shares_loss(metrics, program);
  if (most == metrics->rows) return; /* there is one class */
  if (predicted == 1 && metrics->loss < told_apart * shares)
    snprintf(
        out, EP_MESSAGE_BYTES,
        "the network says the same class of all %lld %s rows, and yet its loss of %.3g is below "
        "the %.3g of the classes' shares: it tells them apart, not far enough; try more epochs, "
        "a higher learning rate, or the threshold of the best "
        "F1 (plot pr)",
        (long long)metrics->rows, split->name, metrics->loss, shares);
  else if (predicted == 1)
    snprintf(out, EP_MESSAGE_BYTES,
             "the network says the same class of all %lld %s rows: it has learnt nothing of the "
             "columns; try " EP_CONSTANT_REMEDY,
             (long long)metrics->rows, split->name);
  else if (metrics->accuracy <= baseline)
    snprintf(out, EP_MESSAGE_BYTES,
             "of the %s rows %.3g are right; the commonest class alone would be right in %.3g: try "
             "another learning rate, more epochs or standardized columns",
             split->name, metrics->accuracy, baseline);
  else if (metrics->loss > shares)
    snprintf(out, EP_MESSAGE_BYTES,
             "the loss of the %s rows is %.3g; the shares of the classes as the answer to all rows "
             "would have %.3g: where it is wrong it is too sure; try early_stopping, weight_decay "
             "or dropout",
             split->name, metrics->loss, shares);
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
             "r2 of the %s rows is %.3g: the mean of the targets would predict them as well; try "
             "another learning rate, more epochs or standardized columns",
             split.name, split.metrics->r2);
}
