/* losses.h: the losses in plain loops, one row of a table each. */
#ifndef EP_KERNELS_CPU_LAYERS_LOSSES_H
#define EP_KERNELS_CPU_LAYERS_LOSSES_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"

/* What one row adds to the number that the mean loss divides by: its columns, or its class's
 * weight. target: of that row. */
double ep_reference_loss_share(const ep_program *program, const void *target);

/* output: [rows, out_features]; target: float [rows, target_columns] or int32 [rows] of classes.
 * Returns the sum (not the mean) of the loss over rows and columns and adds the misclassified
 * targets to *errors. grad: [rows, out_features], written: the loss's derivative by the output
 * divided by `divisor`, the shares of all rows that the mean is over; NULL when nobody asks. */
double ep_reference_loss(const ep_program *program, const ep_real *output, const void *target,
                         int64_t rows, double divisor, ep_real *grad, int64_t *errors);

#endif
