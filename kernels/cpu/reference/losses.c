#include "kernels/cpu/reference/losses.h"

#include <assert.h>

#include "kernels/formulas/losses.h"

typedef double (*loss_function)(const ep_program *program, const ep_real *output,
                                const void *target, int64_t rows, int64_t count, ep_real *grad,
                                int64_t *errors);

/* One output against one target: mse, mae, huber, bce, bce_with_logits. */
static double loss_of_numbers(const ep_program *program, const ep_real *output, const void *target,
                              int64_t rows, int64_t count, ep_real *grad, int64_t *errors) {
  const float *number = target;
  ep_real delta = program->huber_delta;
  double sum = 0;
  for (int64_t i = 0; i < rows * program->out_features; i++) {
    sum += ep_loss_value(program->loss, output[i], number[i], delta);
    *errors += ep_loss_misses(program->loss, output[i], number[i]);
    if (grad) {
      grad[i] = ep_loss_derivative(program->loss, output[i], number[i], delta) / (ep_real)count;
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

/* A row of logits z and a class c: ln sum e^(z_j - m) + m - z_c, m the largest;
 * derivative by z_j: softmax(z)_j - [j = c]. */
static double loss_of_logits(const ep_program *program, const ep_real *output, const void *target,
                             int64_t rows, int64_t count, ep_real *grad, int64_t *errors) {
  const int32_t *class = target;
  int64_t columns = program->out_features;
  double total = 0;
  for (int64_t row = 0; row < rows; row++, output += columns) {
    int64_t best = first_largest(output, columns);
    ep_real m = output[best];
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += exp(output[j] - m);
    total += log(sum) + m - output[class[row]];
    *errors += best != class[row];
    if (!grad) continue;
    for (int64_t j = 0; j < columns; j++) {
      double probability = exp(output[j] - m) / sum;
      grad[row * columns + j] = (ep_real)(probability - (j == class[row])) / (ep_real)count;
    }
  }
  return total;
}

/* A row of log-probabilities z and a class c: -z_c; derivative by z_j: -[j = c]. */
static double loss_of_log_probabilities(const ep_program *program, const ep_real *output,
                                        const void *target, int64_t rows, int64_t count,
                                        ep_real *grad, int64_t *errors) {
  const int32_t *class = target;
  int64_t columns = program->out_features;
  double total = 0;
  for (int64_t row = 0; row < rows; row++, output += columns) {
    total -= output[class[row]];
    *errors += first_largest(output, columns) != class[row];
    if (!grad) continue;
    for (int64_t j = 0; j < columns; j++) {
      grad[row * columns + j] = j == class[row] ? -1 / (ep_real)count : 0;
    }
  }
  return total;
}

static const loss_function losses[] = {
    [EP_LOSS_MSE] = loss_of_numbers,
    [EP_LOSS_MAE] = loss_of_numbers,
    [EP_LOSS_HUBER] = loss_of_numbers,
    [EP_LOSS_BCE] = loss_of_numbers,
    [EP_LOSS_BCE_WITH_LOGITS] = loss_of_numbers,
    [EP_LOSS_CROSS_ENTROPY] = loss_of_logits,
    [EP_LOSS_NLL] = loss_of_log_probabilities,
};
_Static_assert(sizeof losses / sizeof losses[0] == EP_LOSS_COUNT, "a loss has no row");

double ep_reference_loss(const ep_program *program, const ep_real *output, const void *target,
                         int64_t rows, int64_t count, ep_real *grad, int64_t *errors) {
  assert(program->loss < EP_LOSS_COUNT && losses[program->loss]);
  return losses[program->loss](program, output, target, rows, count, grad, errors);
}
