/* plan.h: which programs cuda/images takes, and what a step of one costs; parts.h says how it runs
 * them. Linked into epochd: no CUDA. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_images_profile;

#endif
