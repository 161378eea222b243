#define EP_REAL double /* of the formulas */

#include "engine/metrics/mean_loss.h"

#include <stdlib.h>

#include "engine/parallel.h"
#include "kernels/formulas/losses.h"

enum { MEASURED_LEAST = 2000 }; /* rows that are worth a thread */

static double numbers_sum(const ep_program *program, const float *outputs, const float *targets,
                          int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += ep_loss_value(program->loss, outputs[i], targets[i], program->loss_parameter);
  return sum;
}

double ep_logits_normalizer(const float *logits, int64_t classes) {
  double greatest = logits[0], sum = 0;
  for (int64_t j = 1; j < classes; j++)
    if (logits[j] > greatest) greatest = logits[j];
  for (int64_t j = 0; j < classes; j++) sum += exp(logits[j] - greatest);
  return greatest + log(sum);
}

/* cross_entropy of one row, or a loss that scales it. */
static double logits_loss(const ep_program *program, const float *logits, int64_t label) {
  const float *weights = program->class_weights;
  int64_t classes = program->out_features;
  double normalizer = ep_logits_normalizer(logits, classes), sum = 0;
  for (int64_t j = 0; j < classes; j++) {
    double target =
        ep_class_target(program->label_smoothing, classes, label, ep_class_weight(weights, label),
                        j, ep_class_weight(weights, j));
    if (target != 0) sum += target * (normalizer - logits[j]); /* a logit may be -infinity */
  }
  ep_row_scales scales =
      ep_class_scales(program->loss, logits[label] - normalizer, program->loss_parameter);
  return scales.value * sum;
}

/* Rows of logits, for the threads that share them. */
typedef struct {
  const ep_program *program;
  const float *outputs;
  const int32_t *classes;
  double *losses; /* [rows], written */
} logit_rows;

static void logits_measure(void *context, int64_t first, int64_t count) {
  const logit_rows *rows = context;
  for (int64_t i = first; i < first + count; i++)
    rows->losses[i] = logits_loss(rows->program, rows->outputs + i * rows->program->out_features,
                                  rows->classes[i]);
}

double ep_mean_loss(const ep_program *program, const float *outputs, const void *y, int64_t rows) {
  int64_t columns = program->out_features;
  if (!ep_loss_takes_classes(program->loss))
    return numbers_sum(program, outputs, y, rows * columns) / ((double)rows * (double)columns);
  const int32_t *classes = y;
  bool logits = ep_loss_normalizes(program->loss);
  logit_rows shared = {program, outputs, classes,
                       logits ? malloc((size_t)rows * sizeof(double)) : NULL};
  if (shared.losses) ep_parallel_run(rows, MEASURED_LEAST, logits_measure, &shared);
  double sum = 0, divisor = 0;
  for (int64_t i = 0; i < rows; i++) {
    const float *row = outputs + i * columns;
    double weight = ep_class_weight(program->class_weights, classes[i]);
    sum += shared.losses ? shared.losses[i]
           : logits      ? logits_loss(program, row, classes[i])
                         : -weight * row[classes[i]];
    divisor += weight;
  }
  free(shared.losses);
  return sum / divisor;
}
