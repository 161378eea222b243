/* norms.h: what batch_norm's running statistics become after a training batch. Plain C that also
 * compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_NORMS_H
#define EP_KERNELS_FORMULAS_NORMS_H

#include "kernels/formulas/real.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

EP_DEVICE_INLINE ep_real ep_running_mean(ep_real running, ep_real mean, ep_real momentum) {
  return (1 - momentum) * running + momentum * mean;
}

/* variance: the batch's population variance over `count` numbers, which its unbiased form
 * multiplies by count / (count - 1). One number has no such form (torch refuses the batch): the
 * running variance stays. */
EP_DEVICE_INLINE ep_real ep_running_variance(ep_real running, ep_real variance, int64_t count,
                                             ep_real momentum) {
  if (count < 2) return running;
  ep_real unbiased = variance * ((ep_real)count / (ep_real)(count - 1));
  return (1 - momentum) * running + momentum * unbiased;
}

#endif
