#include "kernels/cuda/executors/images/plan.h"

#include "kernels/cuda/executors/images/parts.h"
#include "kernels/plans/work.h"

/* The kernels are the plug-in's own: what they are compiled for must know bfloat16, too. */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  return (ep_gpu_features(device->gpu.generation) & EP_GPU_AMPERE) && ep_images_takes(program);
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  double n = (double)rows;
  units[0] = 1;
  units[1] = ep_program_launches(program);
  units[2] = n * sum.conv;
  units[3] = n * sum.values;
  units[4] = n * (sum.wide + sum.thin);
  units[5] = ep_program_updated(program);
}

static const ep_calibration_program programs[] = {
    {.in_features = 32,
     .width = 64,
     .hidden = 2,
     .rows = 256,
     .side = 16,
     .precision = EP_PRECISION_BF16},
};

const ep_executor_profile ep_cuda_images_profile = {
    .name = "cuda/images",
    .capabilities = {EP_CAPABLE_NETWORK_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .work = work,
    .terms = {{"step", 1e-5},
              {"launches", 2e-6},
              {"multiply-adds of convolutions", 4.5e-15},
              {"values", 7e-13},
              {"multiply-adds of linear layers", 1e-13},
              {"updated parameters", 1e-11}},
    .start_seconds = 0.3,
    .again_seconds = 0.02,
    EP_CALIBRATION_PROGRAMS(programs),
};
