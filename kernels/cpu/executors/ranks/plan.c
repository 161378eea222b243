#include "kernels/cpu/executors/ranks/plan.h"

#include "kernels/plans/work.h"

static int cores(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  return ep_program_ranks(program);
}

/* Stages but for the bubble: of `pieces` pieces through p stages, p - 1 are waited for. */
static double bubble_factor(const ep_program *program) {
  double stages = ep_program_stages(program);
  double pieces = program->parallel.micro_batches > 1 ? program->parallel.micro_batches : 1;
  return stages > 1 ? (pieces + stages - 1) / pieces : 1;
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_network_work sum = ep_program_work(program);
  double ranks = ep_program_ranks(program), threads = device->cpu.threads;
  double at_once = threads > 0 && threads < ranks ? threads : ranks;
  /* With fewer cores than ranks, other ranks fill the bubble. */
  double share = (double)rows * fmax(1 / at_once, bubble_factor(program) / ranks);
  units[0] = ranks;
  units[1] = share * (sum.thin + sum.wide + sum.conv);
  units[2] = share * sum.values;
  units[3] = ep_program_replicas(program) > 1 ? ep_program_updated(program) : 0;
}

static const ep_calibration_program programs[] = {
    {.in_features = 4, .width = 4, .hidden = 1, .rows = 16, .replicas = 2},
    {.in_features = 8, .width = 32, .hidden = 2, .rows = 64, .replicas = 2},
};

const ep_executor_profile ep_cpu_ranks_profile = {
    .name = "cpu/ranks",
    .capabilities = EP_CAPABLE_OF_VOCABULARY,
    .ranks = true,
    .accepts = ep_executor_accepts_all,
    .work = work,
    .cores = cores,
    .terms = {{"ranks of a step", 1e-5},
              {"multiply-adds", 1e-9},
              {"values", 4e-9},
              {"summed parameters", 2e-9}},
    .start_seconds = 5e-4,
    .again_seconds = 5e-4,
    EP_CALIBRATION_PROGRAMS(programs),
};
