/* plans.h: what the executors of kernels/cpu/executors/table.h say of themselves, in its order. No
 * compute: epochd links this. */
#ifndef EP_KERNELS_CPU_PLANS_PLANS_H
#define EP_KERNELS_CPU_PLANS_PLANS_H

#include "kernels/plans/profile.h"

/* Static. */
const ep_executor_profile *const *ep_cpu_profiles(int *count);

#endif
