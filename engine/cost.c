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

static network network_sum(const ep_plan *plan) {
  network sum = {.values = (double)plan->program.in_features};
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    double products = (double)ep_op_products(op) * (first ? 2 : 3);
    bool wide = op->in_features >= WIDE_IN_FEATURES && op->out_features >= WIDE_OUT_FEATURES;
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
  if (strcmp(device->instruction_set, "avx512") == 0) return 16;
  return strcmp(device->instruction_set, "baseline") == 0 ? 4 : 8;
}

static bool any_takes(const ep_plan *plan, const ep_device_info *device) {
  (void)plan;
  (void)device;
  return true;
}

static bool fused_takes(const ep_plan *plan, const ep_device_info *device) {
  (void)device;
  return ep_choice_fused(&plan->program);
}

/* Rows come in vectors, and vectors in chunks whose activations stay in the first cache; weights
 * that do not fit the second one are read again for each chunk. */
static void fused_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                        double terms[EP_COST_TERMS]) {
  const double chunk_values = 10240, least = 64, most = 1024, cached_weights = 200000;
  network sum = network_sum(plan);
  double padded = rounded_up((double)rows, lanes_count(device));
  double chunks = ceil(padded / clamped(chunk_values / sum.values, least, most));
  terms[0] = 1;
  terms[1] = chunks * sum.stages;
  terms[2] = padded * sum.thin;
  terms[3] = padded * sum.wide;
  terms[4] = sum.wide_weights > cached_weights ? chunks * sum.wide_weights : 0;
  terms[5] = padded * sum.values;
  terms[6] = updated(plan);
}

/* Threads take slots of the rows. */
static void blocked_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  const double slot_products = 50000, slots_most = 32, slot_rows_least = 8;
  network sum = network_sum(plan);
  double n = (double)rows, products = sum.thin + sum.wide + sum.conv;
  double slots = clamped(n * products / slot_products, 1, slots_most);
  slots = fmax(1, fmin(slots, n / slot_rows_least));
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
     .usual = {.start_seconds = 2e-4,
               .again_seconds = 1e-4,
               .seconds = {0.15e-6, 0.03e-6, 4e-11, 4e-11, 2e-10, 3e-10, 3e-10}}},
    {.executor = "cpu/blocked",
     .takes = any_takes,
     .terms = blocked_terms,
     .usual = {.start_seconds = 1e-3,
               .again_seconds = 1e-3,
               .seconds = {10e-6, 0.5e-6, 3e-11, 5e-11, 1e-9, 1e-9}}},
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

/* Few rows a thread, one after the other, then the sums of all threads. */
static void resident_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                           double terms[EP_COST_TERMS]) {
  const double threads = 128, rows_a_thread = 4;
  network sum = network_sum(plan);
  double most = capability(device) >= 90 ? 8 : 1, blocks = 1, n = (double)rows;
  while (blocks < most && n > blocks * threads * rows_a_thread) blocks *= 2;
  double turns = ceil(n / (blocks * threads));
  terms[0] = 1;
  terms[1] = turns * (sum.thin + sum.wide);
  terms[2] = turns * sum.values;
  terms[3] = (double)plan->parameters;
  terms[4] = blocks > 1;
}

static bool grid_takes(const ep_plan *plan, const ep_device_info *device) {
  return capability(device) >= 90 && ep_choice_grid(&plan->program);
}

/* Barriers where a graph has launches: of a cluster, or of all multiprocessors. */
static void grid_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                       double terms[EP_COST_TERMS]) {
  const int64_t cluster_parameters = 100000;
  (void)device;
  network sum = network_sum(plan);
  bool cluster = plan->parameters <= cluster_parameters;
  double n = rounded_up((double)rows, 8), products = n * (sum.thin + sum.wide);
  double layers = ep_program_linear_layers(&plan->program);
  terms[0] = 1;
  terms[1] = cluster ? layers : 0;
  terms[2] = cluster ? 0 : layers;
  terms[3] = cluster ? products : 0;
  terms[4] = cluster ? 0 : products;
  terms[5] = updated(plan);
  terms[6] = n * sum.values;
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
    {.executor = "cuda/resident",
     .takes = resident_takes,
     .terms = resident_terms,
     .usual = {.start_seconds = 0.35,
               .again_seconds = 3e-3,
               .seconds = {0.5e-6, 2e-9, 1e-9, 2e-9, 0.5e-6}}},
    {.executor = "cuda/grid",
     .takes = grid_takes,
     .terms = grid_terms,
     .usual = {.start_seconds = 0.5,
               .again_seconds = 3e-3,
               .seconds = {2e-6, 3.5e-6, 6e-6, 5e-13, 2e-14, 2e-12, 1e-12}}},
    {.executor = "cuda/general",
     .takes = any_takes,
     .terms = general_terms,
     .usual = {.start_seconds = 0.05,
               .again_seconds = 5e-3,
               .seconds = {5e-6, 3e-6, 4e-14, 2e-12, 4e-13, 5e-12, 4e-12}}},
};

/* --- the tables ------------------------------------------------------------------------------ */

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

const ep_cost_model *ep_cost_models(const char *device, int *count) {
  bool cpu = strcmp(device, "cpu") == 0, cuda = strncmp(device, "cuda", 4) == 0;
  *count = cpu ? COUNT(cpu_models) : cuda ? COUNT(cuda_models) : 0;
  return cpu ? cpu_models : cuda ? cuda_models : NULL;
}

const ep_cost_model *ep_cost_model_find(const char *executor) {
  int count;
  const ep_cost_model *models =
      ep_cost_models(strncmp(executor, "cpu/", 4) ? "cuda" : "cpu", &count);
  for (int i = 0; i < count; i++)
    if (strcmp(models[i].executor, executor) == 0) return &models[i];
  return NULL;
}

double ep_cost_step_seconds(const ep_cost_model *model, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, int64_t rows) {
  double terms[EP_COST_TERMS] = {0}, seconds = 0;
  model->terms(plan, device, rows, terms);
  for (int i = 0; i < EP_COST_TERMS; i++) seconds += terms[i] * cost->seconds[i];
  return seconds;
}
