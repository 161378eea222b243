/* optimizers.h: the optimizers in plain loops, one row of a table each. */
#ifndef EP_KERNELS_CPU_REFERENCE_OPTIMIZERS_H
#define EP_KERNELS_CPU_REFERENCE_OPTIMIZERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"

/* One step. parameters: [count], changed. grad: [count]. state: [optimizer_floats], changed; NULL
 * when that is 0. */
void ep_reference_update(const ep_optimizer *optimizer, ep_real lr, int64_t count,
                         ep_real *parameters, const double *grad, ep_real *state);

#endif
