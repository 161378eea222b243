/* embedding: each whole number of x becomes a row of W: [embeddings, dimension]. */
#include "kernels/cpu/layers/layers.h"

static void forward_embedding(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                              ep_real *y) {
  int64_t dimension = op->out_features / op->in_features;
  for (int64_t i = 0; i < pass->rows * op->in_features; i++, y += dimension) {
    const ep_real *weight = pass->parameters + op->weight + (int64_t)x[i] * dimension;
    for (int64_t j = 0; j < dimension; j++) y[j] = weight[j];
  }
}

/* grad_W's rows += grad_y where they were taken. Whole numbers have no slope. */
static void backward_embedding(const ep_reference_pass *pass, const ep_op *op, const ep_real *x,
                               const ep_real *y, const ep_real *grad_y, ep_real *grad_x,
                               double *grad_parameters) {
  (void)y;
  int64_t dimension = op->out_features / op->in_features;
  for (int64_t i = 0; i < pass->rows * op->in_features; i++, grad_y += dimension) {
    double *grad_weight = grad_parameters + op->weight + (int64_t)x[i] * dimension;
    for (int64_t j = 0; j < dimension; j++) grad_weight[j] += grad_y[j];
    if (grad_x) grad_x[i] = 0;
  }
}

const ep_reference_layer ep_reference_embedding = {forward_embedding, backward_embedding};
