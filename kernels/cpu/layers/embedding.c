/* embedding: numbers stay what they are, and each whole number behind them becomes a row of W:
 * [embeddings, dimension]. */
#include "kernels/cpu/layers/layers.h"

static void forward_embedding(const ep_reference_pass *pass, const ep_op *op,
                              const ep_real *const *inputs, ep_real *y) {
  const ep_real *x = inputs[0];
  int64_t dimension = ep_op_dimension(op);
  for (int64_t row = 0; row < pass->rows; row++, x += op->in_features) {
    for (int64_t i = 0; i < op->numbers; i++) *y++ = x[i];
    for (int64_t i = op->numbers; i < op->in_features; i++) {
      const ep_real *weight = pass->parameters + op->weight + (int64_t)x[i] * dimension;
      for (int64_t j = 0; j < dimension; j++) *y++ = weight[j];
    }
  }
}

/* grad_W's rows += grad_y where they were taken. Whole numbers have no slope. */
static void backward_embedding(const ep_reference_pass *pass, const ep_op *op,
                               const ep_real *const *inputs, const ep_real *y,
                               const ep_real *grad_y, ep_real *const *grad_inputs,
                               double *grad_parameters) {
  const ep_real *x = inputs[0];
  ep_real *grad_x = grad_inputs[0];
  (void)y;
  int64_t dimension = ep_op_dimension(op);
  for (int64_t row = 0; row < pass->rows; row++, x += op->in_features) {
    for (int64_t i = 0; grad_x && i < op->in_features; i++)
      *grad_x++ = i < op->numbers ? grad_y[i] : 0;
    grad_y += op->numbers;
    for (int64_t i = op->numbers; i < op->in_features; i++) {
      double *grad_weight = grad_parameters + op->weight + (int64_t)x[i] * dimension;
      for (int64_t j = 0; j < dimension; j++) grad_weight[j] += *grad_y++;
    }
  }
}

EP_REFERENCE_LAYER(EMBEDDING, forward_embedding, backward_embedding);
