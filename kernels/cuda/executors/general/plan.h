/* plan.h: what a step of cuda/general costs: it takes every program. Linked into epochd: no CUDA.
 */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GENERAL_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_GENERAL_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_general_profile;

#endif
