#include "kernels/cuda/executors/cluster/plan.h"

#include <string.h>

#include "kernels/cuda/executors/dense.h"

enum {
  BLOCKS_MAX = EP_GPU_CLUSTER_BLOCKS_MAX,
  WARPS_MAX = 16,
  OUTPUTS_MAX = 104, /* of the last layer: a lane has some of each row's */
  WIDTH_MAX = 1024,
  NORM_CYCLES = 500,                                    /* there and back */
  MASK_CYCLES = 200,                                    /* of a tile of a dropout's mask */
  SHARED_FLOATS = (EP_GPU_LARGE_BLOCK_BYTES - 1024) / 4 /* but for the kernel's permutation */
};

static int up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

static int parts(int count, int each) {
  return (count + each - 1) / each;
}

static double most(double a, double b) {
  return a > b ? a : b;
}

/* --- layers ---------------------------------------------------------------------------------- */

static float decay_at(const ep_program *program, int64_t offset) {
  return offset < 0 ? -1 : ep_program_decay_at(program, offset);
}

static ep_cluster_layer layer_of(const ep_program *program, const ep_cuda_dense_layer *dense) {
  const ep_op *op = dense->linear, *norm = dense->norm;
  const ep_op activation = ep_cuda_dense_activation(dense);
  return (ep_cluster_layer){.in = (int)op->in_features,
                            .out = (int)op->out_features,
                            .weight = (int)op->weight,
                            .bias = (int)op->bias,
                            .activation = (int)activation.type,
                            .negative_slope = activation.negative_slope,
                            .alpha = activation.alpha,
                            .beta = activation.beta,
                            .threshold = activation.threshold,
                            .weight_decay = ep_program_decay_at(program, op->weight),
                            .bias_decay = decay_at(program, op->bias),
                            .norm_weight = norm ? (int)norm->weight : -1,
                            .norm_bias = norm ? (int)norm->bias : -1,
                            .normal = norm ? 1 : 0, /* until it has a place */
                            .eps = norm ? norm->eps : 0,
                            .norm_weight_decay = norm ? decay_at(program, norm->weight) : -1,
                            .norm_bias_decay = norm ? decay_at(program, norm->bias) : -1,
                            .mask = dense->dropout ? dense->dropout->layer : -1,
                            .p = dense->dropout ? dense->dropout->p : 0};
}

static bool layers_take(const ep_program *program, ep_cluster_plan *plan) {
  ep_cuda_dense_layer dense[EP_CLUSTER_LAYERS_MAX];
  plan->layers_count = ep_cuda_dense_layers(program, WIDTH_MAX, EP_CLUSTER_LAYERS_MAX, dense);
  for (int l = 0; l < plan->layers_count; l++) plan->layers[l] = layer_of(program, &dense[l]);
  if (plan->layers_count == 0) return false;
  const ep_cluster_layer *last = &plan->layers[plan->layers_count - 1];
  return last->normal == 0 && last->mask < 0;
}

/* --- one way of running it ------------------------------------------------------------------- */

static bool is_sliced(const ep_cluster_plan *plan, int l) {
  return plan->slices > 1 && l >= plan->front && l < plan->layers_count - 1;
}

static int halves_each(const ep_cluster_plan *plan, int l) {
  return parts(plan->layers[l].inputs / 8, plan->slices);
}

static int groups_count(const ep_cluster_layer *layer) {
  const int norms = layer->normal > 0 ? 2 : 0;
  return parts(layer->outputs, 16) * (parts(layer->inputs, 32) + norms);
}

/* This block's part of each layer. */
static void layers_cut(ep_cluster_plan *plan) {
  int last = plan->layers_count - 1, before = up(plan->layers[0].in, 8);
  plan->groups = 0;
  for (int l = 0; l <= last; l++) {
    ep_cluster_layer *layer = &plan->layers[l];
    bool sliced = is_sliced(plan, l);
    layer->inputs = before;
    layer->outputs = up(sliced ? parts(layer->out, plan->slices) : layer->out, 8);
    before = sliced && l + 1 < last ? layer->outputs * plan->slices : layer->outputs;
    plan->groups += groups_count(layer);
  }
}

/* What the slices give each other on layer l's account. */
static int landing_floats(const ep_cluster_plan *plan, int l) {
  int of_warps = plan->row_warps * plan->slices;
  if (plan->slices == 1) return 0;
  if (l == plan->layers_count - 1) return of_warps * plan->layers[l].out * 8;
  return is_sliced(plan, l) && l > 0 ? of_warps * halves_each(plan, l) * 64 : 0;
}

/* What a norm needs, from `at` on; returns where that ends. */
static int norm_place(ep_cluster_layer *layer, int rows, int at) {
  layer->normal = at;
  layer->shifts = layer->normal + layer->outputs * (rows + 4);
  layer->scales = layer->shifts + layer->outputs * (rows + 4);
  layer->offsets = layer->scales + layer->outputs;
  layer->deviations = layer->offsets + layer->outputs;
  return layer->deviations + rows;
}

/* Places all that lies in shared memory. */
static void memory_place(const ep_program *program, ep_cluster_plan *plan) {
  int at = 0, rows = plan->row_warps * 8, stride = rows + 4;
  int exchanges = plan->slices > 1 ? 2 * plan->layers_count + 1 : 1;
  for (int l = 0; l < plan->layers_count; l++) {
    ep_cluster_layer *layer = &plan->layers[l];
    layer->x = at;
    layer->grad = layer->x + layer->inputs * stride;
    layer->weights = layer->grad + layer->outputs * stride;
    layer->biases = layer->weights + layer->outputs * (layer->inputs + 4);
    layer->landing = layer->biases + layer->outputs;
    at = layer->landing + landing_floats(plan, l);
    if (layer->normal > 0) at = norm_place(layer, rows, at);
  }
  plan->fetched = at;
  plan->targets = plan->fetched + 2 * rows * (int)program->in_features;
  plan->order = plan->targets + 2 * rows * (int)program->target_columns;
  plan->updates = plan->order + rows;
  plan->losses = plan->updates + 16;
  plan->barriers = up(plan->losses + 4 * plan->row_blocks * plan->row_warps, 4);
  plan->shared_floats = plan->barriers + up(2 * plan->row_warps * exchanges, 4);
}

/* Groups that a warp has, and tiles, with those of biases, that it updates. */
static int groups_owned(const ep_cluster_plan *plan) {
  return parts(plan->groups, plan->warps);
}
/* Turns of the warps whose groups are summed up by one slice for all: weights.cuh's. */
static int shared_turns(const ep_cluster_plan *plan) {
  int front = 0, each = groups_owned(plan);
  if (plan->slices == 1 || plan->row_blocks != 2) return 0;
  for (int l = 0; l < plan->front; l++) front += groups_count(&plan->layers[l]);
  int turns = front / plan->warps, share = parts(turns * plan->warps, plan->slices);
  return share <= each * plan->warps - plan->groups ? turns : 0;
}
static int tiles_owned(const ep_cluster_plan *plan) {
  return plan->row_blocks > 2 ? parts(parts(5 * plan->groups, plan->row_blocks), plan->warps)
                              : 5 * groups_owned(plan);
}

/* Registers that a thread needs, roughly; the optimizer's state may go to memory. A norm takes all
 * of a row's outputs at once, and the loss several times those of the last layer. */
static int registers_count(const ep_cluster_plan *plan) {
  int slopes = 0, groups = groups_owned(plan);
  int at_once = 12 * parts(plan->layers[plan->layers_count - 1].out, 16);
  for (int l = 0; l < plan->layers_count; l++) {
    const int outputs = 4 * parts(plan->layers[l].outputs, 16);
    slopes += outputs;
    if (plan->layers[l].normal > 0) at_once = (int)most(at_once, 2 * outputs + 8);
  }
  return 50 + 5 * tiles_owned(plan) + 4 * groups +
         (int)most(slopes + most(24, at_once), 20 * groups);
}

/* --- what a step is expected to take --------------------------------------------------------- */

/* Products of 16 by 8 by 8 by each of some warps: latency, or the loads of all. */
static double products_cycles(int each, int warps, bool precise) {
  return most(each * (precise ? 24 : 12), (double)each * warps * (precise ? 7 : 5));
}

/* Bytes that come into a block from others of its row block. */
static double exchange_cycles(double bytes) {
  return EP_GPU_EXCHANGE_CYCLES + bytes / EP_GPU_EXCHANGE_BYTES;
}

static double slices_cycles(const ep_cluster_plan *plan) {
  double cycles = 0;
  int warps = plan->row_warps, last = plan->layers_count - 1;
  if (plan->slices == 1) return 0;
  for (int l = plan->front; l < last; l++) {
    const ep_cluster_layer *layer = &plan->layers[l];
    if (l + 1 < last) cycles += exchange_cycles((double)warps * plan->slices * layer->outputs * 32);
    if (l > 0) cycles += exchange_cycles((double)warps * plan->slices * halves_each(plan, l) * 256);
    if (l > 0 && l == plan->front) cycles += exchange_cycles((double)warps * layer->inputs * 32);
  }
  return cycles + exchange_cycles((double)warps * plan->slices * plan->layers[last].out * 32);
}

static double row_blocks_cycles(const ep_cluster_plan *plan) {
  double bytes = plan->groups * 2560.0;
  if (plan->row_blocks == 1) return 0;
  if (plan->row_blocks == 2) return 700 + 2 * bytes / 50;
  return 2 * EP_GPU_EXCHANGE_CYCLES + (2 + 2.0 / plan->row_blocks) * bytes / EP_GPU_EXCHANGE_BYTES;
}

/* Where the optimizer has a state, which goes to memory as soon as warps are few, shared turns are
 * no reason to take few. */
static double gradients_cycles(const ep_cluster_plan *plan, bool precise, bool has_state) {
  int shared = has_state ? 0 : shared_turns(plan), of_all = shared * plan->warps;
  int groups = plan->groups - of_all + parts(of_all, plan->slices);
  return most((groups_owned(plan) - shared) * 50, groups * 13) * plan->row_warps *
         (precise ? 1.7 : 1);
}

static ep_cluster_work work_expected(const ep_cluster_plan *plan, bool precise, bool has_state) {
  ep_cluster_work work = {.layers = plan->layers_count,
                          .products = 25 * tiles_owned(plan),
                          .slices_given = slices_cycles(plan),
                          .rows_given = row_blocks_cycles(plan)};
  for (int l = 0; l < plan->layers_count; l++) {
    const ep_cluster_layer *layer = &plan->layers[l];
    int there = parts(layer->outputs, 16) * (layer->inputs / 8);
    int back = l > 0 ? parts(layer->inputs, 16) * (layer->outputs / 8) : 0;
    work.products += products_cycles(there, plan->row_warps, precise) +
                     products_cycles(back, plan->row_warps, precise);
    if (layer->normal > 0) work.products += NORM_CYCLES;
    if (layer->mask >= 0) work.products += MASK_CYCLES * parts(layer->outputs, 16);
  }
  work.products += gradients_cycles(plan, precise, has_state);
  work.cycles = 3500 + 160 * work.layers + work.products + work.slices_given + work.rows_given;
  return work;
}

/* --- the choice ------------------------------------------------------------------------------ */

/* A norm has all outputs of its layer in one block. */
static bool norms_fit(const ep_cluster_plan *plan) {
  bool fit = true;
  for (int l = 0; l < plan->layers_count; l++)
    fit = fit && (plan->layers[l].normal == 0 || !is_sliced(plan, l));
  return fit;
}

/* Takes a way over the best so far where it fits and is expected to be faster. */
static void way_try(const ep_program *program, ep_cluster_plan *plan, ep_cluster_plan *best) {
  int rows = parts((int)program->batch_size, plan->row_blocks);
  plan->row_warps = parts(rows, 8);
  if (plan->row_warps >= WARPS_MAX || !norms_fit(plan)) return;
  layers_cut(plan);
  memory_place(program, plan);
  if (plan->shared_floats > SHARED_FLOATS) return;
  for (plan->warps = 4; plan->warps <= WARPS_MAX; plan->warps += 4) {
    int registers = EP_GPU_REGISTERS / (plan->warps * EP_GPU_WARP);
    if (plan->warps <= plan->row_warps ||
        registers_count(plan) > (registers < 255 ? registers : 255))
      continue;
    plan->work =
        work_expected(plan, program->precision == EP_PRECISION_FP32, program->optimizer_floats > 0);
    if (best->work.cycles == 0 || plan->work.cycles < best->work.cycles) *best = *plan;
  }
}

static bool program_fits(const ep_program *program) {
  return program->parameters > 0 && program->parameters <= INT32_MAX / 64 &&
         program->batch_size <= BLOCKS_MAX * (WARPS_MAX - 1) * 8 &&
         program->out_features <= OUTPUTS_MAX && program->train_rows <= INT32_MAX / 2;
}

bool ep_cluster_plan_make(const ep_program *program, ep_cluster_plan *out) {
  ep_cluster_plan plan;
  memset(out, 0, sizeof *out);
  memset(&plan, 0, sizeof plan);
  if (!program_fits(program) || !layers_take(program, &plan)) return false;
  for (plan.row_blocks = 1; plan.row_blocks <= BLOCKS_MAX; plan.row_blocks *= 2) {
    plan.slices = 1;
    plan.front = plan.layers_count;
    way_try(program, &plan, out);
    for (plan.slices = 2; plan.slices * plan.row_blocks <= BLOCKS_MAX; plan.slices *= 2)
      for (plan.front = 0; plan.front < plan.layers_count - 1; plan.front++)
        way_try(program, &plan, out);
  }
  if (out->row_blocks > 1)
    out->scratch_floats = (int64_t)(2 * out->row_blocks + 1) * out->slices * out->groups * 640;
  return out->work.cycles > 0;
}

/* --- the profile ----------------------------------------------------------------------------- */

static bool plan_make(const ep_program *program, ep_cluster_plan *plan) {
  return ep_cuda_dense_suits(program) && ep_program_trains(program) &&
         ep_cluster_plan_make(program, plan);
}

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  ep_cluster_plan plan;
  return plan_make(program, &plan);
}

static double cycles(const ep_program *program, const ep_device_traits *device) {
  (void)device;
  ep_cluster_plan plan;
  return plan_make(program, &plan) ? plan.work.cycles : (double)INFINITY;
}

/* By the parts of the plan's own expectation. Rows in an order of their own have to be found. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_cluster_plan plan;
  ep_program step = *program;
  step.batch_size = rows;
  if (!plan_make(&step, &plan)) return;
  units[0] = 1;
  units[1] = plan.work.layers;
  units[2] = plan.work.products;
  units[3] = plan.work.slices_given;
  units[4] = plan.work.rows_given;
  units[5] = ep_program_shuffles(program);
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 16, .hidden = 2, .rows = 100},
    {.in_features = 2, .width = 64, .hidden = 4, .rows = 500},
    {.in_features = 12, .width = 20, .hidden = 1, .rows = 80},
    {.in_features = 10, .width = 6, .hidden = 7, .rows = 60},
    {.in_features = 24, .width = 64, .hidden = 4, .rows = 100},
    {.in_features = 32, .width = 200, .hidden = 1, .rows = 200},
};

const ep_executor_profile ep_cuda_cluster_profile = {
    .name = "cuda/cluster",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_LAYER(LAYER_NORM) |
                         EP_CAPABLE_LAYER(DROPOUT),
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_LARGE_BLOCKS,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 1e-6},
              {"layers", 2e-7},
              {"cycles of products", 1.4e-9},
              {"cycles of slices' exchange", 4.9e-10},
              {"cycles of row blocks' exchange", 6.8e-10},
              {"shuffled step", 4.6e-7}},
    .start_seconds = 1.2,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
