/* linear.h: a linear layer over a few rows, fast enough for a look beside a training: in float32,
 * and without its gradient, of which only the norm is wanted. */
#ifndef EP_ENGINE_INSPECTION_LINEAR_H
#define EP_ENGINE_INSPECTION_LINEAR_H

#include "kernels/program.h"

/* y = x W^T + b. x: [rows, in_features]; y: [rows, out_features], written; parameters: the whole
 * program's. */
void ep_linear_forward(const ep_op *op, const float *parameters, int64_t rows, const float *x,
                       float *y);

/* grad_x = grad_y W. grad_x: [rows, in_features], written. */
void ep_linear_backward(const ep_op *op, const float *parameters, int64_t rows, const float *grad_y,
                        float *grad_x);

/* The square of the norm of the gradient by W and b, which is the sum over all pairs of rows of
 * <grad_y, grad_y'> (<x, x'> + 1): neither gradient is made. */
double ep_linear_grad_square(const ep_op *op, int64_t rows, const float *x, const float *grad_y);

#endif
