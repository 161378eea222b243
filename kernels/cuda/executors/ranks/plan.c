#include "kernels/cuda/executors/ranks/plan.h"

#include "kernels/plans/work.h"

/* A batch_norm that syncs would have to wait for the other replicas within a layer. */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  if (ep_program_replicas(program) == 1) return true;
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_BATCH_NORM && program->ops[i].sync) return false;
  return true;
}

/* As of one GPU for each rank. Of `pieces` pieces through p stages, p - 1 are waited for. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  const ep_network_work sum = ep_program_work(program);
  const double stages = ep_program_stages(program);
  const double pieces = stages > 1 ? program->parallel.micro_batches : 1;
  const double share = (double)rows / ep_program_ranks(program) * (pieces + stages - 1) / pieces;
  units[0] = ep_program_ranks(program);
  units[1] = pieces * ep_program_launches(program);
  units[2] = share * (sum.wide + sum.thin);
  units[3] = share * sum.conv;
  units[4] = share * sum.values;
  units[5] = ep_program_updated(program) * ep_program_replicas(program) / stages;
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 16, .hidden = 2, .rows = 128, .replicas = 2},
    {.in_features = 2, .width = 1024, .hidden = 2, .rows = 4096, .replicas = 2},
};

const ep_executor_profile ep_cuda_ranks_profile = {
    .name = "cuda/ranks",
    .capabilities = {EP_CAPABLE_NETWORK_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .ranks = true,
    .accepts = accepts,
    .work = work,
    .terms = {{"ranks of a step", 1e-5},
              {"launches", 4e-6},
              {"multiply-adds", 6e-14},
              {"multiply-adds of convolutions", 5.7e-13},
              {"values", 1.2e-11},
              {"summed and updated parameters", 1.2e-11}},
    .start_seconds = 0.1,
    .again_seconds = 1e-2,
    EP_CALIBRATION_PROGRAMS(programs),
};
