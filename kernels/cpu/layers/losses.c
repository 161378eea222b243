#include "kernels/cpu/layers/losses.h"

#include <stddef.h>

#include "kernels/formulas/losses.h"

/* One output against one target: EP_ELEMENT_LOSSES. */
static double loss_of_numbers(const ep_program *program, const ep_real *output, const void *target,
                              int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  const float *number = target;
  ep_real parameter = program->loss_parameter;
  double sum = 0;
  for (int64_t i = 0; i < rows * program->out_features; i++) {
    sum += ep_loss_value(program->loss, output[i], number[i], parameter);
    *errors += ep_loss_misses(program->loss, output[i], number[i]);
    if (grad) {
      grad[i] =
          ep_loss_derivative(program->loss, output[i], number[i], parameter) / (ep_real)divisor;
    }
  }
  return sum;
}

/* One row z of class `label`: the sum of t_j (ln s + m - z_j), or of t_j (-z_j) where the loss does
 * not normalize; and the gradient, as losses.h has them. */
static double loss_of_row(const ep_program *program, const ep_real *z, int64_t label,
                          double divisor, ep_real *grad) {
  int64_t columns = program->out_features;
  bool normalizes = ep_loss_normalizes(program->loss);
  ep_real m = z[ep_argmax(z, (int)columns)];
  ep_real label_weight = ep_class_weight(program->class_weights, label);
  double s = 0, total = 0, targets = 0;
  for (int64_t j = 0; normalizes && j < columns; j++) s += exp(z[j] - m);
  for (int64_t j = 0; j < columns; j++) {
    double t = ep_class_target(program->label_smoothing, columns, label, label_weight, j,
                               ep_class_weight(program->class_weights, j));
    if (t != 0) total += t * ((normalizes ? log(s) + m : 0) - z[j]); /* z_j may be -infinity */
    targets += t;
    if (grad) grad[j] = (ep_real)-t;
  }
  ep_row_scales scales =
      ep_class_scales(program->loss, normalizes ? (ep_real)(z[label] - m - log(s)) : z[label],
                      program->loss_parameter);
  for (int64_t j = 0; grad && j < columns; j++) {
    double share = normalizes ? targets * exp(z[j] - m) / s : 0;
    grad[j] = scales.grad * (ep_real)(share + grad[j]) / (ep_real)divisor;
  }
  return scales.value * total;
}

/* Rows of outputs against a class each: EP_CLASS_LOSSES. */
static double loss_of_classes(const ep_program *program, const ep_real *output, const void *target,
                              int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  const int32_t *class = target;
  int64_t columns = program->out_features;
  double total = 0;
  for (int64_t row = 0; row < rows; row++, output += columns) {
    total += loss_of_row(program, output, class[row], divisor, grad ? grad + row * columns : NULL);
    *errors += ep_argmax(output, (int)columns) != class[row];
  }
  return total;
}

double ep_reference_loss_share(const ep_program *program, const void *target) {
  if (!ep_loss_takes_classes(program->loss)) return (double)program->target_columns;
  return ep_class_weight(program->class_weights, *(const int32_t *)target);
}

double ep_reference_loss(const ep_program *program, const ep_real *output, const void *target,
                         int64_t rows, double divisor, ep_real *grad, int64_t *errors) {
  if (ep_loss_takes_classes(program->loss))
    return loss_of_classes(program, output, target, rows, divisor, grad, errors);
  return loss_of_numbers(program, output, target, rows, divisor, grad, errors);
}
