/* cost.c: which programs cuda/grid takes, and what a step of one costs, by the plan that it runs
 * by. */
#include "kernels/cuda/executors/dense.h"
#include "kernels/cuda/executors/grid/offsets.h"
#include "kernels/cuda/executors/grid/plan.h"

enum { TILE_SMALL = 0, TILE_LARGE = 1 };

/* The kernels are the plug-in's own: what they are compiled for must have what they need, too. */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_grid_plan plan;
  return (ep_gpu_features(device->gpu.generation) & EP_GPU_LARGE_BLOCKS) &&
         ep_cuda_dense_suits(program) &&
         ep_grid_plan_make(program, device->gpu.multiprocessors, &plan);
}

/* What a step is made of. */
typedef struct {
  double layers;     /* phases, each with a barrier at its end */
  double front;      /* multiply-adds of a block, one after the other, in the layers at the front */
  double turns;      /* of rows through a layer at the front, one after the other */
  double rounds;     /* of tasks of products, one after the other */
  double moved;      /* floats that a block moves for its tasks */
  double multiplied; /* multiply-adds of a block's tasks */
} step_work;

/* Adds a product: tiles of rows × columns, sums of `k` products. */
static void product_add(step_work *sum, const ep_grid_cut *cut, const int rows[2],
                        const int columns[2], int64_t k, int blocks) {
  double m = rows[cut->large ? TILE_LARGE : TILE_SMALL];
  double n = columns[cut->large ? TILE_LARGE : TILE_SMALL];
  double depth = (double)(cut->chunk < k ? cut->chunk : k);
  int64_t tasks = (int64_t)cut->across * cut->down * cut->splits;
  double rounds = (double)((tasks + blocks - 1) / blocks);
  double at_once = (double)(tasks < blocks ? tasks : blocks) / blocks;
  sum->rounds += rounds + (cut->splits > 1 ? 1 : 0);
  sum->moved += rounds * at_once * ((m + n) * depth + 2 * m * n);
  sum->multiplied += rounds * m * n * depth;
}

static step_work step_work_of(const ep_grid_plan *plan) {
  const int m[2] = {EP_GRID_SMALL_M, ep_grid_large_m(plan->args.precise)};
  static const int n[2] = {EP_GRID_SMALL_N, EP_GRID_LARGE_N},
                   weights_m[2] = {EP_GRID_WEIGHTS_SMALL_M, EP_GRID_WEIGHTS_LARGE_M},
                   weights_n[2] = {EP_GRID_WEIGHTS_SMALL_N, EP_GRID_WEIGHTS_LARGE_N};
  const ep_grid_args *args = &plan->args;
  int64_t group = args->tiles * EP_GRID_GROUP;
  int64_t groups = (args->batch_rows + group - 1) / group;
  double turns = (double)((groups + plan->blocks - 1) / plan->blocks);
  step_work sum = {0};
  for (int l = 0; l < args->layers_count; l++) {
    const ep_grid_layer *layer = &args->layers[l];
    sum.layers += l < args->front ? 1 : 3;
    if (l < args->front) sum.turns += turns * (double)args->tiles;
    if (l < args->front) sum.front += turns * (double)group * layer->in * layer->out * 3;
    product_add(&sum, &layer->update, weights_m, weights_n, args->batch_rows, plan->blocks);
    if (l < args->front || l == args->layers_count - 1) continue;
    product_add(&sum, &layer->forward, m, n, layer->in, plan->blocks);
    if (l > 0) product_add(&sum, &layer->backward, m, n, layer->out, plan->blocks);
  }
  return sum;
}

/* Phases with barriers between them; what a block does in each. A smaller batch is taken to be cut
 * in the same way. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_grid_plan plan;
  ep_program step = *program;
  step.batch_size = rows;
  if (!ep_cuda_dense_suits(program) ||
      !ep_grid_plan_make(&step, device->gpu.multiprocessors, &plan))
    return;
  const step_work sum = step_work_of(&plan);
  units[0] = 1;
  units[1] = plan.args.cluster ? sum.layers : 0;
  units[2] = plan.args.cluster ? 0 : sum.layers;
  units[3] = sum.front;
  units[4] = sum.rounds;
  units[5] = sum.moved;
  units[6] = sum.multiplied;
  units[7] = sum.turns;
}

/* By the usual costs: of those that take a program, the place in the table does not say who is the
 * fastest. But these do not tell what a chained front saves. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  const double chained_share = 0.4;
  ep_grid_plan plan;
  const bool chained =
      ep_grid_plan_make(program, device->gpu.multiprocessors, &plan) && plan.args.chained;
  return (chained ? chained_share : 1) *
         ep_executor_usual_cycles(&ep_cuda_grid_profile, program, device);
}

static const ep_calibration_program programs[] = {
    {.in_features = 16, .width = 32, .hidden = 4, .rows = 8192},
    {.in_features = 16, .width = 128, .hidden = 2, .rows = 4096},
    {.in_features = 2, .width = 512, .hidden = 4, .rows = 100},
    {.in_features = 2, .width = 1024, .hidden = 4, .rows = 1000},
    {.in_features = 2, .width = 2048, .hidden = 2, .rows = 100},
};

const ep_executor_profile ep_cuda_grid_profile = {
    .name = "cuda/grid",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS, EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES,
                     EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_LARGE_BLOCKS,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 7.4e-6},
              {"phases of a cluster", 8e-8},
              {"phases of all multiprocessors", 3e-6},
              {"multiply-adds of the front in turn", 3.7e-11},
              {"rounds of tasks", 4.3e-8},
              {"floats that a block moves", 2.6e-10},
              {"multiply-adds of a block", 1.1e-12},
              {"turns of the front", 2.6e-6}},
    .start_seconds = 0.01,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
