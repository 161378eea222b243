/* plan.h: which programs cpu/ranks takes, and what a step costs. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_PLAN_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cpu_ranks_profile;

#endif
