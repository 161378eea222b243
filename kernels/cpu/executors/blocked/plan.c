#include "kernels/cpu/executors/blocked/plan.h"

#include "kernels/plans/work.h"

/* Threads take slots of the rows: of a convolution's a row is enough. */
static double slots_of(const ep_network_work *sum, int64_t rows) {
  const double slot_products = 50000, slots_most = 32, slot_rows_least = sum->conv > 0 ? 1 : 8;
  double n = (double)rows, products = sum->thin + sum->wide + sum->conv;
  double slots = fmin(fmax(n * products / slot_products, 1), slots_most);
  return fmax(1, fmin(slots, n / slot_rows_least));
}

static int cores(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  return (int)ceil(slots_of(&sum, program->batch_size));
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_network_work sum = ep_program_work(program);
  double n = (double)rows, slots = slots_of(&sum, rows);
  double at_once = fmin(slots, device->cpu.threads > 0 ? device->cpu.threads : 1);
  units[0] = 1;
  units[1] = slots / at_once * sum.stages;
  units[2] = n * (sum.thin + sum.wide) / at_once;
  units[3] = n * sum.conv / at_once;
  units[4] = n * sum.values / at_once;
  units[5] = ep_program_updated(program);
}

/* Beside cpu/fused's. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  const ep_network_work sum = ep_program_work(program);
  return (sum.thin + sum.wide) * (double)program->batch_size;
}

static const ep_calibration_program programs[] = {
    {.in_features = 4, .width = 4, .hidden = 1, .rows = 16},
    {.in_features = 8, .width = 16, .hidden = 8, .rows = 100},
    {.in_features = 64, .width = 64, .hidden = 2, .rows = 256},
    {.in_features = 16, .width = 256, .hidden = 3, .rows = 1024},
    {.in_features = 16, .width = 1024, .hidden = 2, .rows = 256},
    {.in_features = 1, .width = 8, .hidden = 2, .rows = 64, .side = 16},
    {.in_features = 16, .width = 32, .hidden = 2, .rows = 32, .side = 16},
};

const ep_executor_profile ep_cpu_blocked_profile = {
    .name = "cpu/blocked",
    /* A layer without loops of its own goes by cpu/layers. */
    .capabilities = {EP_CAPABLE_EVERY_LAYER | EP_CAPABLE_GRAPH,
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .accepts = ep_executor_accepts_all,
    .cycles = cycles,
    .work = work,
    .cores = cores,
    .terms = {{"step", 5e-6},
              {"stages of slots", 2e-6},
              {"multiply-adds of linear layers", 6e-11},
              {"multiply-adds of convolutions", 4e-11},
              {"values", 5e-9},
              {"updated parameters", 3e-9}},
    .start_seconds = 1e-3,
    .again_seconds = 1e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
