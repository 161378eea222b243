/* cost.c: the models, one an executor. The shapes of their terms follow how each executor works
 * (kernels/); the figures of `usual` were fitted to what one machine measured (docs/adr). */
#include "engine/cost.h"

#include <math.h>
#include <string.h>

#include "engine/plan_parts.h"
#include "kernels/choice.h"

/* --- a network in numbers -------------------------------------------------------------------- */

/* Of one row, forward and back. */
typedef struct {
  double stages;           /* layers that do something */
  double thin, wide, conv; /* multiply-adds: of linear layers by width, and of convolutions */
  double wide_weights;
  double values; /* written on the way: outputs, and what is as dear as writing some */
} network;

/* An activation computes; a function of the library's is as dear as writing several values. */
static double activation_values(const ep_op *op) {
  switch (op->type) {
  case EP_LAYER_FLATTEN: return 0;
  case EP_LAYER_RELU:
  case EP_LAYER_LEAKY_RELU: return 0.5;
  case EP_LAYER_LINEAR:
  case EP_LAYER_CONV2D:
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D:
  case EP_LAYER_RESIDUAL: return 1;
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D: return (double)op->kernel[0] * op->kernel[1];
  default: return 4;
  }
}

enum { WIDE_IN_FEATURES = 16, WIDE_OUT_FEATURES = 4 };

static bool is_wide(const ep_op *op) {
  return op->in_features >= WIDE_IN_FEATURES && op->out_features >= WIDE_OUT_FEATURES;
}

static network network_sum(const ep_plan *plan) {
  network sum = {.values = (double)plan->program.in_features};
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    double products = (double)ep_op_products(op) * (first ? 2 : 3);
    bool wide = is_wide(op);
    sum.stages += op->type != EP_LAYER_FLATTEN && op->type != EP_LAYER_RELU;
    sum.values += activation_values(op) * (double)op->out_features;
    if (op->type == EP_LAYER_CONV2D)
      sum.conv += products;
    else if (wide)
      sum.wide += products;
    else
      sum.thin += products;
    if (wide) sum.wide_weights += (double)ep_op_weights(op);
    first = first && op->weight < 0;
  }
  return sum;
}

/* Parameters as the update sees them: each with the optimizer's slots. */
static double updated(const ep_plan *plan) {
  return (double)plan->parameters *
         (1 + 0.5 * (double)ep_optimizer_slots(&plan->program.optimizer));
}

static double rounded_up(double value, double unit) {
  return ceil(value / unit) * unit;
}

static double clamped(double value, double least, double most) {
  return fmin(fmax(value, least), most);
}

/* --- the CPU's ------------------------------------------------------------------------------- */

static double lanes_count(const ep_device_info *device) {
  if (strcmp(device->instruction_set, "baseline") == 0) return 4;
  return strcmp(device->instruction_set, "avx2") == 0 ? 8 : 16;
}

static bool any_takes(const ep_plan *plan, const ep_device_info *device) {
  (void)plan;
  (void)device;
  return true;
}

/* Of rows that are drawn in an order of their own: finding each is as dear as moving some values.
 */
static double shuffled_values(const ep_plan *plan, int64_t rows) {
  const double order_values = 16;
  if (!ep_program_shuffles(&plan->program)) return 0;
  return (double)rows * (order_values + (double)plan->program.in_features);
}

static bool fused_takes(const ep_plan *plan, const ep_device_info *device) {
  (void)device;
  return ep_choice_fused(&plan->program);
}

/* As many as there are pieces of its largest layer. */
static int fused_cores(const ep_plan *plan) {
  int64_t features = 0;
  for (int i = 0; i < plan->program.ops_count; i++)
    if (ep_choice_shared(&plan->program, &plan->ops[i]) && plan->ops[i].out_features > features)
      features = plan->ops[i].out_features;
  return 1 + (int)(features / EP_CHOICE_SHARED_FEATURES);
}

/* Multiply-adds of wide layers in turn, those of the matrix unit apart; and weights of which each
 * chunk of rows reads its own. */
typedef struct {
  double lanes, tiles, weights;
} wide_work;

static bool has_tiles(const ep_device_info *device) {
  return strcmp(device->instruction_set, "amx") == 0;
}

/* Large products are shared among the threads. */
static wide_work fused_wide(const ep_plan *plan, const ep_device_info *device) {
  wide_work sum = {0};
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    const double weights = (double)ep_op_products(op);
    if (op->type != EP_LAYER_LINEAR) continue;
    double pieces = floor((double)op->out_features / EP_CHOICE_SHARED_FEATURES);
    double at_once = ep_choice_shared(&plan->program, op) ? fmin(device->threads, pieces) : 1;
    at_once = fmax(at_once, 1);
    if (has_tiles(device) && ep_choice_tiled(&plan->program, op))
      sum.tiles += weights * (first ? 2 : 3) / at_once;
    else if (is_wide(op))
      sum.lanes += weights * (first ? 2 : 3) / at_once;
    if (is_wide(op)) sum.weights += weights / at_once;
    first = false;
  }
  return sum;
}

/* Rows come in vectors, and vectors in chunks whose activations stay in the first cache; weights
 * that do not fit the second one are read again for each chunk. */
static void fused_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                        double terms[EP_COST_TERMS]) {
  const double chunk_values = 10240, least = has_tiles(device) ? 128 : 64, most = 1024;
  const double cached_weights = 200000, near_weights = 2e6; /* of the second cache, the third */
  network sum = network_sum(plan);
  double padded = rounded_up((double)rows, lanes_count(device));
  double chunks = ceil(padded / clamped(chunk_values / sum.values, least, most));
  wide_work wide = fused_wide(plan, device);
  terms[0] = 1;
  terms[1] = chunks * sum.stages;
  terms[2] = padded * sum.thin;
  terms[3] = padded * wide.lanes;
  terms[4] = sum.wide_weights > cached_weights ? chunks * wide.weights : 0;
  terms[5] = padded * sum.values;
  terms[6] = updated(plan);
  terms[7] = sum.wide_weights > near_weights ? chunks * wide.weights : 0;
  terms[8] = shuffled_values(plan, rows);
  terms[9] = padded * wide.tiles;
}

/* Threads take slots of the rows. */
static double blocked_slots(const network *sum, int64_t rows) {
  const double slot_products = 50000, slots_most = 32, slot_rows_least = 8;
  double n = (double)rows, products = sum->thin + sum->wide + sum->conv;
  double slots = clamped(n * products / slot_products, 1, slots_most);
  return fmax(1, fmin(slots, n / slot_rows_least));
}

static int blocked_cores(const ep_plan *plan) {
  network sum = network_sum(plan);
  return (int)ceil(blocked_slots(&sum, plan->program.batch_size));
}

static void blocked_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  network sum = network_sum(plan);
  double n = (double)rows, slots = blocked_slots(&sum, rows);
  double at_once = fmin(slots, device->threads > 0 ? device->threads : 1);
  terms[0] = 1;
  terms[1] = slots / at_once * sum.stages;
  terms[2] = n * (sum.thin + sum.wide) / at_once;
  terms[3] = n * sum.conv / at_once;
  terms[4] = n * sum.values / at_once;
  terms[5] = updated(plan);
}

static void reference_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                            double terms[EP_COST_TERMS]) {
  (void)device;
  network sum = network_sum(plan);
  terms[0] = 1;
  terms[1] = (double)rows * (sum.thin + sum.wide + sum.conv);
  terms[2] = (double)rows * sum.values;
}

static const ep_cost_model cpu_models[] = {
    {.executor = "cpu/fused",
     .takes = fused_takes,
     .terms = fused_terms,
     .cores = fused_cores,
     .usual = {.start_seconds = 2e-4,
               .again_seconds = 1e-4,
               .seconds = {1e-7, 1e-8, 2.2e-11, 1.6e-11, 3.5e-10, 1.5e-10, 2e-10, 1e-9, 1.4e-9,
                           1e-11}}},
    {.executor = "cpu/blocked",
     .takes = any_takes,
     .terms = blocked_terms,
     .cores = blocked_cores,
     .usual = {.start_seconds = 1e-3,
               .again_seconds = 1e-3,
               .seconds = {5e-6, 2e-6, 6e-11, 4e-11, 5e-9, 3e-9}}},
    {.executor = "cpu/reference",
     .takes = any_takes,
     .terms = reference_terms,
     .usual = {.start_seconds = 2e-4, .again_seconds = 1e-4, .seconds = {0.5e-6, 1e-9, 4e-9}}},
};

/* --- CUDA's ---------------------------------------------------------------------------------- */

/* "sm_90"; before the worker has said it, a GPU of today is meant. */
static int capability(const ep_device_info *device) {
  int number = 0;
  for (const char *at = device->instruction_set; *at; at++)
    if (*at >= '0' && *at <= '9') number = number * 10 + (*at - '0');
  return number > 0 ? number : 90;
}

static bool resident_takes(const ep_plan *plan, const ep_device_info *device) {
  (void)device;
  return ep_choice_resident(&plan->program);
}

/* Few rows a thread, one after the other, then the sums of all threads. Rows that a thread cannot
 * keep are read again in each step. */
static void resident_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                           double terms[EP_COST_TERMS]) {
  const double threads = 128, rows_a_thread = 4;
  const int64_t roomy_parameters = 60; /* beside more, a thread has no registers for its rows */
  network sum = network_sum(plan);
  double most = capability(device) >= 90 ? 8 : 1, blocks = 1, n = (double)rows;
  while (blocks < most && n > blocks * threads * rows_a_thread) blocks *= 2;
  double turns = ceil(n / (blocks * threads));
  bool room = turns <= 1 || plan->parameters <= roomy_parameters;
  bool kept = turns <= rows_a_thread && room;
  terms[0] = 1;
  terms[1] = turns * (sum.thin + sum.wide);
  terms[2] = turns * sum.values;
  terms[3] = (double)plan->parameters;
  terms[4] = blocks > 1;
  terms[5] = kept ? 0 : turns * (double)plan->program.in_features;
}

static ep_choice_gpu gpu_of(const ep_device_info *device) {
  const int usual_multiprocessors = 132;
  return (ep_choice_gpu){capability(device),
                         device->threads > 0 ? device->threads : usual_multiprocessors};
}

static bool narrow_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  ep_choice_narrow_work work;
  return ep_choice_narrow(&plan->program, &gpu, &work);
}

/* Two barriers and the sums of all blocks; tiles of rows through all layers. */
static void narrow_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                         double terms[EP_COST_TERMS]) {
  ep_choice_gpu gpu = gpu_of(device);
  ep_choice_narrow_work work = {0};
  ep_program program = plan->program;
  program.batch_size = rows;
  (void)ep_choice_narrow(&program, &gpu, &work); /* a last batch may be small */
  terms[0] = 1;
  terms[1] = work.turns;
  terms[2] = work.products;
  terms[3] = work.rows * network_sum(plan).values;
}

static bool cluster_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_cluster(&plan->program, &gpu, NULL);
}

/* The plan has its own expectation. */
static void cluster_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  ep_choice_gpu gpu = gpu_of(device);
  ep_program program = plan->program;
  program.batch_size = rows;
  if (!ep_choice_cluster(&program, &gpu, &terms[1])) return;
  terms[0] = 1;
}

static bool grid_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_grid(&plan->program, &gpu, NULL);
}

/* Phases with barriers between them; what a block does in each. Fewer rows are taken to be cut in
 * the same way. */
static void grid_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                       double terms[EP_COST_TERMS]) {
  ep_choice_gpu gpu = gpu_of(device);
  ep_choice_grid_work work = {0};
  ep_program program = plan->program;
  program.batch_size = rows;
  if (!ep_choice_grid(&program, &gpu, &work)) return;
  terms[0] = 1;
  terms[1] = work.cluster ? work.layers : 0;
  terms[2] = work.cluster ? 0 : work.layers;
  terms[3] = work.front;
  terms[4] = work.rounds;
  terms[5] = work.moved;
  terms[6] = work.multiplied;
  terms[7] = work.turns;
}

static bool graph_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_graph(&plan->program, &gpu);
}

/* Rows of a batch are spread over the multiprocessors, each of which takes one after the other. */
static void graph_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                        double terms[EP_COST_TERMS]) {
  network sum = network_sum(plan);
  double turns = ceil((double)rows / gpu_of(device).multiprocessors);
  terms[0] = 1;
  terms[1] = turns * sum.stages;
  terms[2] = turns * sum.conv;
  terms[3] = turns * (sum.thin + sum.wide);
  terms[4] = turns * sum.values;
  terms[5] = updated(plan);
}

static bool images_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_images(&plan->program, &gpu);
}

static bool gemm_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_gemm(&plan->program, &gpu);
}

/* Launches of one step: the update, and each layer's; activations go with the layer before them. */
static double launches_count(const ep_plan *plan) {
  double launches = 1;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    bool moves = op->in_features != op->out_features || op->weight >= 0;
    if (op->type == EP_LAYER_FLATTEN) continue;
    if (ep_op_products(op) > 0)
      launches += 3;
    else if (moves || op->type == EP_LAYER_RESIDUAL)
      launches += 2;
  }
  return launches;
}

static void images_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                         double terms[EP_COST_TERMS]) {
  (void)device;
  network sum = network_sum(plan);
  double n = (double)rows;
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = n * sum.conv;
  terms[3] = n * sum.values;
  terms[4] = n * (sum.wide + sum.thin);
  terms[5] = updated(plan);
}

static void gemm_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                       double terms[EP_COST_TERMS]) {
  (void)device;
  network sum = network_sum(plan);
  bool half = plan->program.precision == EP_PRECISION_BF16;
  double products = (double)rows * (sum.thin + sum.wide);
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = half ? products / 2 : products;
  terms[3] = (double)rows * sum.values;
  terms[4] = updated(plan);
}

static void general_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  (void)device;
  network sum = network_sum(plan);
  double n = (double)rows;
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = n * sum.wide;
  terms[3] = n * sum.thin;
  terms[4] = n * sum.conv;
  terms[5] = n * sum.values;
  terms[6] = updated(plan);
}

static const ep_cost_model cuda_models[] = {
    {.executor = "cuda/fused",
     .takes = narrow_takes,
     .terms = narrow_terms,
     .usual = {.start_seconds = 1,
               .again_seconds = 3e-3,
               .seconds = {2.8e-6, 9.8e-7, 6e-12, 1.5e-11}}},
    {.executor = "cuda/resident",
     .takes = resident_takes,
     .terms = resident_terms,
     .usual = {.start_seconds = 0.35,
               .again_seconds = 3e-3,
               .seconds = {2.4e-7, 2.6e-9, 6e-10, 1.4e-9, 2e-7, 3e-8}}},
    {.executor = "cuda/cluster",
     .takes = cluster_takes,
     .terms = cluster_terms,
     .usual = {.start_seconds = 1.2, .again_seconds = 3e-3, .seconds = {1e-7, 5.7e-10}}},
    {.executor = "cuda/grid",
     .takes = grid_takes,
     .terms = grid_terms,
     .usual = {.start_seconds = 0.01,
               .again_seconds = 3e-3,
               .seconds = {7.8e-6, 1e-7, 3.4e-6, 2.2e-11, 5e-8, 3e-10, 2e-12, 1.7e-6}}},
    {.executor = "cuda/graph",
     .takes = graph_takes,
     .terms = graph_terms,
     .usual = {.start_seconds = 2,
               .again_seconds = 3e-3,
               .seconds = {5e-6, 1e-6, 1e-11, 2e-11, 5e-11, 2e-11}}},
    {.executor = "cuda/images",
     .takes = images_takes,
     .terms = images_terms,
     .usual = {.start_seconds = 0.3,
               .again_seconds = 0.02,
               .seconds = {1e-5, 2e-6, 4.5e-15, 7e-13, 1e-13, 1e-11}}},
    {.executor = "cuda/gemm",
     .takes = gemm_takes,
     .terms = gemm_terms,
     .usual = {.start_seconds = 0.05,
               .again_seconds = 5e-3,
               .seconds = {7e-6, 4e-6, 3e-15, 1.4e-11, 5e-12}}},
    {.executor = "cuda/general",
     .takes = any_takes,
     .terms = general_terms,
     .usual = {.start_seconds = 0.05,
               .again_seconds = 5e-3,
               .seconds = {8e-6, 5.4e-6, 4.1e-14, 7e-14, 4.8e-13, 1.2e-11, 5e-12}}},
};

/* --- the tables ------------------------------------------------------------------------------ */

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
_Static_assert(COUNT(cpu_models) <= EP_COST_EXECUTORS && COUNT(cuda_models) <= EP_COST_EXECUTORS,
               "a device's executors have a place each");

const ep_cost_model *ep_cost_models(const char *device, int *count) {
  bool cpu = strncmp(device, "cpu", 3) == 0, cuda = strncmp(device, "cuda", 4) == 0;
  *count = cpu ? COUNT(cpu_models) : cuda ? COUNT(cuda_models) : 0;
  return cpu ? cpu_models : cuda ? cuda_models : NULL;
}

const ep_cost_model *ep_cost_model_find(const char *executor) {
  int count;
  const ep_cost_model *models = ep_cost_models(executor, &count);
  for (int i = 0; i < count; i++)
    if (strcmp(models[i].executor, executor) == 0) return &models[i];
  return NULL;
}

int ep_cost_model_place(const ep_cost_model *model) {
  int count;
  return (int)(model - ep_cost_models(model->executor, &count));
}

double ep_cost_step_seconds(const ep_cost_model *model, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, int64_t rows) {
  double terms[EP_COST_TERMS] = {0}, seconds = 0;
  model->terms(plan, device, rows, terms);
  for (int i = 0; i < EP_COST_TERMS; i++) seconds += terms[i] * cost->seconds[i];
  return seconds;
}
