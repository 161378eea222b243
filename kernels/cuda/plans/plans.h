/* plans.h: what the executors of kernels/cuda/executors/table.h say of themselves, in its order. No
 * CUDA: epochd links this. */
#ifndef EP_KERNELS_CUDA_PLANS_PLANS_H
#define EP_KERNELS_CUDA_PLANS_PLANS_H

#include "kernels/plans/profile.h"

/* Static. */
const ep_executor_profile *const *ep_cuda_profiles(int *count);

#endif
