/* choice.c: which executor of a table takes a program. */
#include "kernels/plans/profile.h"

bool ep_executor_can(const ep_executor_profile *profile, const ep_program *program,
                     const ep_device_traits *device) {
  return profile->ranks == (ep_program_ranks(program) > 1) &&
         (profile->gpu_features & ~ep_gpu_features(device->gpu.capability)) == 0 &&
         ep_capabilities_cover(profile->capabilities, ep_program_needs(program)) &&
         profile->accepts(program, device);
}

bool ep_executor_takes(const ep_executor_profile *const *profiles, int count, int at,
                       const ep_program *program, const ep_device_traits *device) {
  if (!ep_executor_can(profiles[at], program, device)) return false;
  if (!profiles[at]->cycles) return true;
  const double cycles = profiles[at]->cycles(program, device);
  for (int i = at + 1; i < count; i++)
    if (profiles[i]->cycles && ep_executor_can(profiles[i], program, device) &&
        profiles[i]->cycles(program, device) < cycles)
      return false;
  return true;
}

double ep_executor_usual_seconds(const ep_executor_profile *profile, const ep_program *program,
                                 const ep_device_traits *device) {
  double units[EP_LIMIT_COST_TERMS] = {0}, seconds = 0;
  profile->work(program, device, program->batch_size, units);
  for (int i = 0; i < EP_LIMIT_COST_TERMS; i++) seconds += units[i] * profile->terms[i].seconds;
  return seconds;
}

double ep_executor_usual_cycles(const ep_executor_profile *profile, const ep_program *program,
                                const ep_device_traits *device) {
  return EP_GPU_CYCLES_PER_SECOND * ep_executor_usual_seconds(profile, program, device);
}

bool ep_executor_accepts_all(const ep_program *program, const ep_device_traits *device) {
  (void)program;
  (void)device;
  return true;
}
