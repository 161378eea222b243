#include "kernels/cpu/plans/plans.h"

#include "kernels/cpu/executors/table.h"

#define DECLARE(name) extern const ep_executor_profile ep_cpu_##name##_profile;
EP_CPU_EXECUTORS(DECLARE)

#define ROW(name) &ep_cpu_##name##_profile,
static const ep_executor_profile *const profiles[] = {EP_CPU_EXECUTORS(ROW)};

const ep_executor_profile *const *ep_cpu_profiles(int *count) {
  *count = (int)(sizeof profiles / sizeof *profiles);
  return profiles;
}
