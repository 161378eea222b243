/* softmax and log_softmax, over all features of a row. */
#include "kernels/cpu/layers/layers.h"

/* The largest of a row; NaN when it has one. */
static ep_real largest(const ep_real *row, int64_t columns) {
  ep_real found = row[0];
  for (int64_t j = 1; j < columns; j++) {
    if (!(row[j] <= found)) found = row[j];
  }
  return found;
}

/* s = sum e^(x_j - m), m the largest: at least 1, so that neither e^ nor ln overflows. */
static double sum_of_exponentials(const ep_real *row, int64_t columns, ep_real m) {
  double sum = 0;
  for (int64_t j = 0; j < columns; j++) sum += exp(row[j] - m);
  return sum;
}

/* y_j = e^(x_j - m) / s over the columns of a row. */
static void forward_softmax(const ep_reference_pass *pass, const ep_op *op,
                            const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < pass->rows; row++, x += columns, y += columns) {
    ep_real m = largest(x, columns);
    double sum = sum_of_exponentials(x, columns, m);
    for (int64_t j = 0; j < columns; j++) y[j] = (ep_real)(exp(x[j] - m) / sum);
  }
}

/* grad_x_j = y_j * (grad_y_j - sum grad_y_k y_k) */
static void backward_softmax(const ep_reference_pass *pass, const ep_op *op,
                             const ep_real *const *inputs, const ep_real *y, const ep_real *grad_y,
                             ep_real *const *grad_inputs, double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)x, (void)grad_parameters;
  if (!grad_x) return;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < pass->rows;
       row++, y += columns, grad_y += columns, grad_x += columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += (double)grad_y[j] * y[j];
    for (int64_t j = 0; j < columns; j++) grad_x[j] = (ep_real)(y[j] * (grad_y[j] - sum));
  }
}

/* y_j = x_j - m - ln s over the columns of a row. */
static void forward_log_softmax(const ep_reference_pass *pass, const ep_op *op,
                                const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < pass->rows; row++, x += columns, y += columns) {
    ep_real m = largest(x, columns);
    double log_sum = log(sum_of_exponentials(x, columns, m));
    for (int64_t j = 0; j < columns; j++) y[j] = (ep_real)(x[j] - m - log_sum);
  }
}

/* grad_x_j = grad_y_j - e^y_j * sum grad_y_k */
static void backward_log_softmax(const ep_reference_pass *pass, const ep_op *op,
                                 const ep_real *const *inputs, const ep_real *y,
                                 const ep_real *grad_y, ep_real *const *grad_inputs,
                                 double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)x, (void)grad_parameters;
  if (!grad_x) return;
  int64_t columns = op->in_features;
  for (int64_t row = 0; row < pass->rows;
       row++, y += columns, grad_y += columns, grad_x += columns) {
    double sum = 0;
    for (int64_t j = 0; j < columns; j++) sum += grad_y[j];
    for (int64_t j = 0; j < columns; j++) grad_x[j] = (ep_real)(grad_y[j] - exp(y[j]) * sum);
  }
}

EP_REFERENCE_LAYER(SOFTMAX, forward_softmax, backward_softmax);
EP_REFERENCE_LAYER(LOG_SOFTMAX, forward_log_softmax, backward_log_softmax);
