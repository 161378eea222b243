#include "kernels/cuda/plans/plans.h"

#include "kernels/cuda/executors/table.h"

#define DECLARE(name, compiler) extern const ep_executor_profile ep_cuda_##name##_profile;
EP_CUDA_EXECUTORS(DECLARE)

#define ROW(name, compiler) &ep_cuda_##name##_profile,
static const ep_executor_profile *const profiles[] = {EP_CUDA_EXECUTORS(ROW)};

const ep_executor_profile *const *ep_cuda_profiles(int *count) {
  *count = (int)(sizeof profiles / sizeof *profiles);
  return profiles;
}
