#include "kernels/cpu/layers/losses.h"

#include <assert.h>
#include <stddef.h>

#include "kernels/formulas/losses.h"

typedef double (*loss_function)(const ep_program *program, const ep_real *output,
                                const void *target, int64_t rows, double divisor, ep_real *grad,
                                int64_t *errors);

/* One output against one target. */
static double loss_of_numbers(const ep_program *program, const ep_real *output, const void *target,
                              int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  const float *number = target;
  ep_real delta = program->huber_delta;
  double sum = 0;
  for (int64_t i = 0; i < rows * program->out_features; i++) {
    sum += ep_loss_value(program->loss, output[i], number[i], delta);
    *errors += ep_loss_misses(program->loss, output[i], number[i]);
    if (grad) {
      grad[i] = ep_loss_derivative(program->loss, output[i], number[i], delta) / (ep_real)divisor;
    }
  }
  return sum;
}

static int64_t first_largest(const ep_real *row, int64_t columns) {
  int64_t found = 0;
  for (int64_t j = 1; j < columns; j++) {
    if (row[j] > row[found]) found = j;
  }
  return found;
}

/* One row of logits z: the sum of t_j (ln s + m - z_j), and what losses.h asks of it. */
static double loss_of_row(const ep_program *program, const ep_real *z, int64_t label,
                          double divisor, ep_real *grad) {
  int64_t columns = program->out_features;
  ep_real m = z[first_largest(z, columns)];
  ep_real label_weight = ep_class_weight(program->class_weights, label);
  double s = 0, total = 0, targets = 0;
  for (int64_t j = 0; j < columns; j++) s += exp(z[j] - m);
  for (int64_t j = 0; j < columns; j++) {
    double t = ep_class_target(program->label_smoothing, columns, label, label_weight, j,
                               ep_class_weight(program->class_weights, j));
    if (t != 0) total += t * (log(s) + m - z[j]); /* z_j may be -infinity */
    targets += t;
    if (grad) grad[j] = (ep_real)-t;
  }
  for (int64_t j = 0; grad && j < columns; j++) {
    grad[j] = (ep_real)(targets * exp(z[j] - m) / s + grad[j]) / (ep_real)divisor;
  }
  return total;
}

static double loss_of_logits(const ep_program *program, const ep_real *output, const void *target,
                             int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  const int32_t *class = target;
  int64_t columns = program->out_features;
  double total = 0;
  for (int64_t row = 0; row < rows; row++, output += columns) {
    total += loss_of_row(program, output, class[row], divisor, grad ? grad + row * columns : NULL);
    *errors += first_largest(output, columns) != class[row];
  }
  return total;
}

/* A row of log-probabilities z and a class c: -w_c z_c; derivative by z_j: -w_c [j = c]. */
static double loss_of_log_probabilities(const ep_program *program, const ep_real *output,
                                        const void *target, int64_t rows, double divisor,
                                        ep_real *grad, int64_t *errors) {
  const int32_t *class = target;
  int64_t columns = program->out_features;
  double total = 0;
  for (int64_t row = 0; row < rows; row++, output += columns) {
    ep_real weight = ep_class_weight(program->class_weights, class[row]);
    total -= (double)weight * output[class[row]];
    *errors += first_largest(output, columns) != class[row];
    if (!grad) continue;
    for (int64_t j = 0; j < columns; j++) {
      grad[row * columns + j] = j == class[row] ? -weight / (ep_real)divisor : 0;
    }
  }
  return total;
}

#define ELEMENT_ROW(code) [EP_LOSS_##code] = loss_of_numbers,

static const loss_function losses[] = {[EP_LOSS_CROSS_ENTROPY] = loss_of_logits,
                                       [EP_LOSS_NLL] = loss_of_log_probabilities,
                                       EP_ELEMENT_LOSSES(ELEMENT_ROW)};
_Static_assert(sizeof losses / sizeof losses[0] == EP_LOSS_COUNT, "a loss has no row");

double ep_reference_loss_share(const ep_program *program, const void *target) {
  if (!ep_loss_takes_classes(program->loss)) return (double)program->target_columns;
  return ep_class_weight(program->class_weights, *(const int32_t *)target);
}

double ep_reference_loss(const ep_program *program, const ep_real *output, const void *target,
                         int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  assert(program->loss < EP_LOSS_COUNT && losses[program->loss]);
  return losses[program->loss](program, output, target, rows, divisor, grad, errors);
}
