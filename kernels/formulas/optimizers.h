/* optimizers.h: one step of an optimizer for one parameter. Plain C that also compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_OPTIMIZERS_H
#define EP_KERNELS_FORMULAS_OPTIMIZERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

/* torch.optim.SGD without dampening. Returns the new parameter; *velocity is read and written when
 * there is momentum, and may be NULL when there is none. */
EP_DEVICE_INLINE ep_real ep_sgd(const ep_optimizer *sgd, ep_real lr, ep_real parameter,
                                ep_real grad, ep_real *velocity) {
  if (sgd->weight_decay != 0) grad += (ep_real)sgd->weight_decay * parameter;
  if (sgd->momentum != 0) {
    *velocity = (ep_real)sgd->momentum * *velocity + grad;
    grad = sgd->nesterov ? grad + (ep_real)sgd->momentum * *velocity : *velocity;
  }
  return parameter - lr * grad;
}

#endif
