/* plan.h: what a step of cpu/reference costs: it takes every program. Linked into epochd: no
 * compute. */
#ifndef EP_KERNELS_CPU_EXECUTORS_REFERENCE_PLAN_H
#define EP_KERNELS_CPU_EXECUTORS_REFERENCE_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cpu_reference_profile;

#endif
