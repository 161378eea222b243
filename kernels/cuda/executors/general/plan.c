#include "kernels/cuda/executors/general/plan.h"

#include "kernels/plans/work.h"

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  double n = (double)rows;
  units[0] = 1;
  units[1] = ep_program_launches(program);
  units[2] = n * sum.wide;
  units[3] = n * sum.thin;
  units[4] = n * sum.conv;
  units[5] = n * sum.values;
  units[6] = ep_program_updated(program);
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 16, .hidden = 2, .rows = 100},
    {.in_features = 2, .width = 64, .hidden = 8, .rows = 1000},
    {.in_features = 2, .width = 8, .hidden = 2, .rows = 65536},
    {.in_features = 2, .width = 128, .hidden = 2, .rows = 65536},
    {.in_features = 2, .width = 1024, .hidden = 4, .rows = 1000},
    {.in_features = 2, .width = 1024, .hidden = 2, .rows = 16384},
    {.in_features = 1, .width = 8, .hidden = 2, .rows = 64, .side = 16},
    {.in_features = 32, .width = 64, .hidden = 2, .rows = 256, .side = 16},
};

const ep_executor_profile ep_cuda_general_profile = {
    .name = "cuda/general",
    .capabilities = {EP_CAPABLE_NETWORK_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .accepts = ep_executor_accepts_all,
    .work = work,
    .terms = {{"step", 1e-5},
              {"launches", 1e-5},
              {"wide multiply-adds", 4.6e-14},
              {"thin multiply-adds", 8.4e-14},
              {"multiply-adds of convolutions", 5.7e-13},
              {"values", 1.2e-11},
              {"updated parameters", 6e-12}},
    .start_seconds = 0.05,
    .again_seconds = 5e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
