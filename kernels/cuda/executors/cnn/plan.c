#include "kernels/cuda/executors/cnn/plan.h"

#include <math.h>

#include "kernels/cuda/executors/cnn/memory.h"
#include "kernels/operators/values.h"
#include "kernels/plans/work.h"

enum {
  GROUP_THREADS = 256,
  GROUPS = 2,             /* of a block: while one waits, the other computes */
  ROW_FLOATS_MAX = 48,    /* a row of an image, in a thread's registers */
  WEIGHTS_MAX = 32,       /* of a window, likewise; more come one by one */
  BACK_REGISTERS = 96,    /* of a thread's 128, for sums, weights and a row */
  CHANNELS_MAX = 4,       /* output channels whose weights a thread sums up */
  POOL_WINDOW_MAX = 255,  /* a place is a byte */
  SPLIT_MAX = 16,         /* parts of a sum */
  ROWS_MAX = 4096,        /* of a batch: more are worth products of matrices */
  LINEAR_MAX = 1 << 17,   /* weights of linear layers: each row reads them all */
  PRODUCTS_MAX = 1 << 23, /* multiplications of a row, forward */
  TARGETS_MAX = 1024,     /* outputs: one warp compares them */
  PARAMETERS_MAX = 1 << 20
};

/* --- stages -------------------------------------------------------------------------------- */

static bool stages_make(const ep_program *program, ep_cnn_plan *plan) {
  ep_value values[EP_CNN_OPS_MAX + 1];
  bool in_place[EP_CNN_OPS_MAX];
  if (program->ops_count > EP_CNN_OPS_MAX) return false;
  ep_values_find(program, 0, values);
  ep_values_in_place(program, values, 0, EP_KEEP_NOTHING, in_place); /* the row is our own copy */
  plan->stages[0] = (ep_cnn_stage){.in = program->in, .out = program->in};
  plan->stages_count = 1;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (in_place[i]) {
      plan->stages[plan->stages_count - 1].chain_count++;
      continue;
    }
    if (plan->stages_count == EP_CNN_STAGES_MAX) return false;
    plan->stages[plan->stages_count++] =
        (ep_cnn_stage){.op = op, .in = op->in, .out = op->out, .chain_first = i + 1};
  }
  return true;
}

static bool is_window(const ep_cnn_stage *stage) {
  return stage->op &&
         (stage->op->type == EP_LAYER_CONV2D || stage->op->type == EP_LAYER_MAX_POOL2D ||
          stage->op->type == EP_LAYER_AVG_POOL2D);
}

static bool conv_fits(const ep_op *op) {
  return op->groups <= 1 && op->dilation[0] <= 1 && op->dilation[1] <= 1 &&
         op->in.width + 2 * op->padding[1] <= ROW_FLOATS_MAX && op->out.width <= ROW_FLOATS_MAX;
}

/* Whether the kernels know the layers, in this order: linear layers last. */
static bool stages_fit(const ep_program *program, ep_cnn_plan *plan) {
  int64_t linear = 0, convolved = 0, products = 0, convs = 0;
  bool flat = false; /* images are over */
  for (int s = 0; s < plan->stages_count; s++) {
    const ep_cnn_stage *stage = &plan->stages[s];
    const ep_op *op = stage->op;
    if (is_window(stage) && flat) return false;
    for (int i = 0; i < stage->chain_count; i++)
      flat = flat || program->ops[stage->chain_first + i].type == EP_LAYER_FLATTEN;
    if (!op) continue;
    if (op->type == EP_LAYER_LINEAR) {
      linear += ep_op_weights(op);
      flat = true;
    }
    if (op->type == EP_LAYER_SOFTMAX || op->type == EP_LAYER_LOG_SOFTMAX) flat = true;
    if (op->type == EP_LAYER_MAX_POOL2D && op->kernel[0] * op->kernel[1] > POOL_WINDOW_MAX)
      return false;
    if (op->type != EP_LAYER_CONV2D) continue;
    if (!conv_fits(op) || op->weight != convolved) return false;
    convolved += ep_op_weights(op) + ep_op_own_biases(op);
    products += ep_op_weights(op) * op->out.height * op->out.width;
    convs++;
  }
  if (convolved > INT32_MAX) return false;
  plan->convolved = (int)convolved;
  return convs > 0 && linear <= LINEAR_MAX && products <= PRODUCTS_MAX;
}

static void first_trained_find(const ep_program *program, ep_cnn_plan *plan) {
  plan->first_trained = plan->stages_count;
  for (int s = plan->stages_count - 1; s > 0; s--) {
    const ep_op *op = plan->stages[s].op;
    if (ep_op_learns(program, op)) plan->first_trained = s;
  }
}

/* --- how convolutions are cut -------------------------------------------------------------- */

/* Channels of an output that are worth computing: what dropout2d keeps in most rows. */
static double kept_channels(const ep_program *program, const ep_cnn_stage *stage) {
  double channels = (double)stage->out.channels;
  if (stage->list < 0) return channels;
  double p = (double)program->ops[stage->dropout].p;
  double kept = floor(channels * (1 - p) + sqrt(channels * p * (1 - p)));
  return kept < 1 ? 1 : kept < channels ? kept : channels;
}

/* Outputs of a row that a thread takes: the fewest instructions for all of it. */
static int tile_choose(const ep_op *op) {
  int best = EP_CNN_VECTOR;
  double least = 0;
  for (int tile = EP_CNN_VECTOR; tile <= EP_CNN_TILE_MAX; tile += EP_CNN_VECTOR) {
    int inputs = ep_cnn_parts((tile - 1) * op->stride[1] + op->kernel[1], EP_CNN_VECTOR);
    double cost = ep_cnn_parts(op->out.width, tile) *
                  (2.0 * tile * op->kernel[1] + 4 * inputs + 2 * op->kernel[1] + 2);
    if (least > 0 && cost > least) continue;
    least = cost;
    best = tile;
  }
  return best;
}

/* A product: `tasks` threads' worth of sums of `length` terms, each of `term` multiplications. */
typedef struct {
  double tasks, term;
  int64_t length, sums; /* sums: numbers that it makes */
} product;

/* Into how many parts each sum is cut, for a group's threads: a part is written and read again. */
static int split_choose(const product *of, int threads, int split_max, double *time) {
  const double again = 6; /* multiplications' time */
  int best = 1;
  double least = 0;
  for (int split = 1; split <= of->length && split <= split_max; split++) {
    double rounds = ceil(of->tasks * split / threads); /* the last takes as long as any */
    double cost = rounds * ep_cnn_parts(of->length, split) * of->term;
    if (split > 1) cost += again * split * (double)of->sums / threads;
    if (least > 0 && cost >= least) continue;
    least = cost;
    best = split;
  }
  *time = least;
  return best;
}

/* How the gradient of the weights is cut: output channels of a thread, and parts of the rows. */
static void weights_cut(const ep_cnn_plan *plan, double kept, int split_max, ep_cnn_stage *stage) {
  const ep_op *op = stage->op;
  double least = 0;
  for (int tile = 1; tile <= CHANNELS_MAX && tile <= op->out.channels; tile++) {
    double time;
    /* A vector of the input costs as much as 16 multiplications; threads side by side share those
     * of the gradient. */
    double inputs = ep_cnn_parts((op->out.width - 1) * op->stride[1] + op->kernel[1], 4);
    double grads = tile * ep_cnn_parts(op->out.width, 4);
    const product weights = {ceil(kept / tile) * (double)(op->in.channels * op->kernel[0]),
                             (double)tile * op->kernel[1] * (double)op->out.width + 16 * inputs +
                                 4 * grads,
                             op->out.height, ep_op_weights(op)};
    int split = split_choose(&weights, plan->threads, split_max, &time);
    if (least > 0 && time > least) continue;
    least = time;
    stage->weights_tile = tile;
    stage->rows_split = split;
  }
}

static void conv_cut(const ep_program *program, const ep_cnn_plan *plan, int split_max,
                     ep_cnn_stage *stage) {
  const ep_op *op = stage->op;
  double time, kept = kept_channels(program, stage), pairs = ceil(kept / 2);
  int window = op->kernel[0] * op->kernel[1], floats = ep_cnn_vectors(window);
  int64_t registers = 2 * op->in.width + op->out.width + 2 * (floats <= WEIGHTS_MAX ? floats : 0);
  stage->tile = tile_choose(op);
  stage->back_tile = op->in.channels > 1 && registers <= BACK_REGISTERS ? 2 : 1;
  const product forward = {pairs *
                               (double)(op->out.height * ep_cnn_parts(op->out.width, stage->tile)),
                           2.0 * window * stage->tile, op->in.channels, op->out_features};
  const product input = {(double)(op->in.height * ep_cnn_parts(op->in.channels, stage->back_tile)),
                         (double)(stage->back_tile * window * op->out.width), (int64_t)kept,
                         op->in_features};
  stage->split = split_choose(&forward, plan->threads, split_max, &time);
  stage->back_split = split_choose(&input, plan->threads, split_max, &time);
  weights_cut(plan, kept, split_max, stage);
}

/* --- the plan ------------------------------------------------------------------------------ */

static void dropouts_find(const ep_program *program, ep_cnn_plan *plan) {
  for (int s = 0; s < plan->stages_count; s++) {
    ep_cnn_stage *stage = &plan->stages[s];
    stage->list = stage->dropout = -1;
    if (!stage->op) continue;
    ep_layer_type wanted = stage->op->type == EP_LAYER_CONV2D   ? EP_LAYER_DROPOUT2D
                           : stage->op->type == EP_LAYER_LINEAR ? EP_LAYER_DROPOUT
                                                                : EP_LAYER_COUNT;
    for (int i = stage->chain_count - 1; i >= 0; i--) {
      const ep_op *op = &program->ops[stage->chain_first + i];
      if (op->type == wanted &&
          (wanted == EP_LAYER_DROPOUT || op->in.channels == stage->out.channels))
        stage->dropout = stage->chain_first + i;
    }
    if (stage->dropout >= 0 && wanted == EP_LAYER_DROPOUT2D) stage->list = 0;
  }
}

/* Where the rows of the linear layers lie for the update. */
static void linear_place(const ep_program *program, ep_cnn_plan *plan) {
  int64_t at = 0;
  for (int s = 0; s < plan->stages_count; s++) {
    ep_cnn_stage *stage = &plan->stages[s];
    if (!stage->op || stage->op->type != EP_LAYER_LINEAR) continue;
    stage->x = (int)at;
    at += program->batch_size * ep_cnn_vectors(stage->op->in_features);
    stage->g = (int)at;
    at += program->batch_size * ep_cnn_vectors(stage->op->out_features);
  }
  plan->linear_floats = at;
}

static bool memory_fits(const ep_program *program, ep_cnn_plan *plan, int groups, bool linear,
                        int split_max, int64_t shared_bytes) {
  plan->groups = groups;
  plan->threads = GROUP_THREADS * GROUPS / groups;
  for (int s = 1; s < plan->stages_count; s++)
    if (plan->stages[s].op->type == EP_LAYER_CONV2D)
      conv_cut(program, plan, split_max, &plan->stages[s]);
  return ep_cnn_memory_place(program, linear, plan) &&
         ep_cnn_plan_shared_bytes(plan) <= shared_bytes;
}

int64_t ep_cnn_plan_shared_bytes(const ep_cnn_plan *plan) {
  return ((int64_t)plan->staged_floats + (int64_t)plan->groups * plan->group_floats) *
         (int64_t)sizeof(float);
}

bool ep_cnn_plan_make(const ep_program *program, const ep_gpu_traits *gpu, ep_cnn_plan *plan) {
  const int64_t shared_bytes = ep_gpu_shared_bytes(gpu->capability);
  const int blocks = gpu->multiprocessors;
  *plan = (ep_cnn_plan){.blocks = blocks};
  if (program->parameters < 1 || program->parameters > PARAMETERS_MAX ||
      !ep_program_is_resident(program) || program->optimizer.clip_norm > 0 ||
      program->batch_size > ROWS_MAX || program->out_features > TARGETS_MAX ||
      !stages_make(program, plan) || !stages_fit(program, plan))
    return false;
  first_trained_find(program, plan);
  if (plan->first_trained == plan->stages_count) return false;
  dropouts_find(program, plan);
  linear_place(program, plan);
  for (int groups = program->batch_size > blocks ? GROUPS : 1; groups >= 1; groups--)
    for (int linear = 1; linear >= 0; linear--)
      for (int split_max = SPLIT_MAX; split_max >= 1; split_max /= 2)
        if (memory_fits(program, plan, groups, linear, split_max, shared_bytes)) return true;
  return false;
}

/* --- the profile --------------------------------------------------------------------------- */

static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_cnn_plan plan;
  return ep_cnn_plan_make(program, &device->gpu, &plan);
}

/* Multiprocessors share the rows of a batch; each takes its rows one after the other. */
static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  ep_network_work sum = ep_program_work(program);
  double turns = ceil((double)rows / device->gpu.multiprocessors);
  units[0] = 1;
  units[1] = turns * sum.stages;
  units[2] = turns * sum.conv;
  units[3] = turns * (sum.thin + sum.wide);
  units[4] = turns * sum.values;
  units[5] = ep_program_updated(program);
}

static const ep_calibration_program programs[] = {
    {.in_features = 1, .width = 8, .hidden = 2, .rows = 200, .side = 16},
};

const ep_executor_profile ep_cuda_cnn_profile = {
    .name = "cuda/cnn",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_SOFTMAXES | EP_CAPABLE_DROPOUTS |
                         EP_CAPABLE_LAYER(CONV2D) | EP_CAPABLE_LAYER(MAX_POOL2D) |
                         EP_CAPABLE_LAYER(AVG_POOL2D),
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .work = work,
    .terms = {{"step", 5e-6},
              {"stages in turn", 1e-6},
              {"multiply-adds of convolutions in turn", 1e-11},
              {"multiply-adds of linear layers in turn", 2e-11},
              {"values in turn", 5e-11},
              {"updated parameters", 2e-11}},
    .start_seconds = 2,
    .again_seconds = 3e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
