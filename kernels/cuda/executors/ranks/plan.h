/* plan.h: which programs cuda/ranks takes, and what a step costs. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RANKS_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_RANKS_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_ranks_profile;

#endif
