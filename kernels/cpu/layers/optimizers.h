/* optimizers.h: the update that ends a step, in plain loops over kernels/formulas/optimizers.h. */
#ifndef EP_KERNELS_CPU_LAYERS_OPTIMIZERS_H
#define EP_KERNELS_CPU_LAYERS_OPTIMIZERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"

/* Of the gradients first … end - 1 that are not frozen, before clipping. grad: [parameters]. */
double ep_reference_squares(const ep_program *program, const double *grad, int64_t first,
                            int64_t end);

/* The same for the parameters first … end - 1 alone; squares: of all gradients. */
void ep_reference_update_range(const ep_program *program, int64_t step, float lr, double squares,
                               int64_t first, int64_t end, ep_real *parameters, const double *grad,
                               ep_real *state);

/* Step number `step`, counted from 0: gradients are clipped by their norm over all groups that are
 * not frozen, then by value. parameters, grad: [parameters], the former changed; state:
 * [optimizer_floats], changed. */
void ep_reference_update(const ep_program *program, int64_t step, float lr, ep_real *parameters,
                         const double *grad, ep_real *state);

#endif
