#include "kernels/cpu/executors/reference/plan.h"

#include "kernels/plans/work.h"

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  units[0] = 1;
  units[1] = (double)rows * (sum.thin + sum.wide + sum.conv);
  units[2] = (double)rows * sum.values;
}

static const ep_calibration_program programs[] = {
    {.in_features = 4, .width = 4, .hidden = 1, .rows = 16},
    {.in_features = 8, .width = 32, .hidden = 2, .rows = 64},
};

const ep_executor_profile ep_cpu_reference_profile = {
    .name = "cpu/reference",
    .capabilities = EP_CAPABLE_OF_VOCABULARY,
    .accepts = ep_executor_accepts_all,
    .work = work,
    .terms = {{"step", 0.5e-6}, {"multiply-adds", 1e-9}, {"values", 4e-9}},
    .start_seconds = 2e-4,
    .again_seconds = 1e-4,
    EP_CALIBRATION_PROGRAMS(programs),
};
