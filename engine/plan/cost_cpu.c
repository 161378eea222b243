/* cost_cpu.c: the models of the CPU's executors (kernels/cpu). */
#include <string.h>

#include "engine/plan/cost_parts.h"

static double lanes_count(const ep_device_info *device) {
  if (strcmp(device->instruction_set, "baseline") == 0) return 4;
  return strcmp(device->instruction_set, "avx2") == 0 ? 8 : 16;
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

static bool has_tiles(const ep_device_info *device) {
  return strcmp(device->instruction_set, "amx") == 0;
}

static int fused_cores(const ep_plan *plan, const ep_device_info *device) {
  return ep_choice_fused_threads(&plan->program, has_tiles(device));
}

/* Wide layers of one row in turn: multiply-adds, those of the matrix unit apart; and of a chunk:
 * weights, of which each chunk reads its own, and features that threads read which another wrote.
 */
typedef struct {
  double lanes, tiles, weights, features;
  double turned; /* inputs that are transposed for the gradients of weights, in whole vectors */
  bool large;    /* some layer is shared or the matrix unit's: chunks are larger */
} wide_work;

/* Threads take pieces of large products; some have one more than others. */
static double shared_at_once(const ep_device_info *device, const ep_op *op) {
  double pieces = ceil((double)op->out_features / EP_CHOICE_SHARED_FEATURES);
  return pieces / ceil(pieces / fmax(device->threads, 1));
}

static wide_work fused_wide(const ep_plan *plan, const ep_device_info *device) {
  wide_work sum = {0};
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    const double weights = (double)ep_op_products(op), times = first ? 2 : 3;
    const double inputs = ep_cost_rounded_up((double)op->in_features, lanes_count(device));
    if (op->type != EP_LAYER_LINEAR) continue;
    bool tiled = has_tiles(device) && ep_choice_tiled(&plan->program, op);
    bool shared = ep_choice_shared(&plan->program, op, has_tiles(device));
    double at_once = shared ? shared_at_once(device, op) : 1;
    if (tiled)
      sum.tiles += weights * times / at_once;
    else if (ep_cost_is_wide(op))
      sum.lanes += (weights * (times - 1) + inputs * (double)op->out_features) / at_once;
    if (ep_cost_is_wide(op) && !tiled) sum.turned += inputs;
    if (ep_cost_is_wide(op)) sum.weights += weights / at_once;
    if (at_once > 1) sum.features += times * (double)(op->in_features + op->out_features);
    sum.large = sum.large || tiled || shared;
    first = false;
  }
  return sum;
}

static double clamped(double value, double least, double most) {
  return fmin(fmax(value, least), most);
}

/* Of a row: what is written on its way, and its inputs, which are only read, from the caches near
 * by or from beyond. */
static double fused_values(const ep_plan *plan, const ep_cost_network *sum, const wide_work *wide) {
  const double near_values = 500000, near_read = 0.35, far_read = 1.5;
  double inputs = (double)plan->program.in_features;
  bool near = (double)plan->program.train_rows * inputs <= near_values;
  return sum->values + wide->turned - inputs + inputs * (near ? near_read : far_read);
}

/* Rows come in vectors, and vectors in chunks whose activations stay in the first cache; weights
 * that do not fit the second one are read again for each chunk. */
static void fused_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                        double terms[EP_COST_TERMS]) {
  const double chunk_values = 10240, most = 1024;
  const double cached_weights = 200000, near_weights = 2e6; /* of the second cache, the third */
  ep_cost_network sum = ep_cost_network_sum(plan);
  wide_work wide = fused_wide(plan, device);
  double padded = ep_cost_rounded_up((double)rows, lanes_count(device));
  double chunks = ceil(padded / clamped(chunk_values / sum.values, wide.large ? 128 : 64, most));
  terms[0] = 1;
  terms[1] = chunks * sum.stages;
  terms[2] = padded * sum.thin;
  terms[3] = padded * wide.lanes;
  terms[4] =
      (sum.wide_weights > cached_weights ? chunks * wide.weights : 0) + padded * wide.features;
  terms[5] = padded * fused_values(plan, &sum, &wide);
  terms[6] = ep_cost_updated(plan);
  terms[7] = sum.wide_weights > near_weights ? chunks * wide.weights : 0;
  terms[8] = shuffled_values(plan, rows);
  terms[9] = padded * wide.tiles;
}

/* Threads take slots of the rows. */
static double blocked_slots(const ep_cost_network *sum, int64_t rows) {
  const double slot_products = 50000, slots_most = 32, slot_rows_least = 8;
  double n = (double)rows, products = sum->thin + sum->wide + sum->conv;
  double slots = clamped(n * products / slot_products, 1, slots_most);
  return fmax(1, fmin(slots, n / slot_rows_least));
}

static int blocked_cores(const ep_plan *plan, const ep_device_info *device) {
  (void)device;
  ep_cost_network sum = ep_cost_network_sum(plan);
  return (int)ceil(blocked_slots(&sum, plan->program.batch_size));
}

static void blocked_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  ep_cost_network sum = ep_cost_network_sum(plan);
  double n = (double)rows, slots = blocked_slots(&sum, rows);
  double at_once = fmin(slots, device->threads > 0 ? device->threads : 1);
  terms[0] = 1;
  terms[1] = slots / at_once * sum.stages;
  terms[2] = n * (sum.thin + sum.wide) / at_once;
  terms[3] = n * sum.conv / at_once;
  terms[4] = n * sum.values / at_once;
  terms[5] = ep_cost_updated(plan);
}

static void reference_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                            double terms[EP_COST_TERMS]) {
  (void)device;
  ep_cost_network sum = ep_cost_network_sum(plan);
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
               .seconds = {8e-9, 7.3e-8, 1.2e-11, 1.3e-11, 7.2e-10, 1.1e-10, 4.4e-10, 1.7e-9,
                           4.2e-10, 9.5e-12}}},
    {.executor = "cpu/blocked",
     .takes = ep_cost_takes_any,
     .terms = blocked_terms,
     .cores = blocked_cores,
     .usual = {.start_seconds = 1e-3,
               .again_seconds = 1e-3,
               .seconds = {5e-6, 2e-6, 6e-11, 4e-11, 5e-9, 3e-9}}},
    {.executor = "cpu/reference",
     .takes = ep_cost_takes_any,
     .terms = reference_terms,
     .usual = {.start_seconds = 2e-4, .again_seconds = 1e-4, .seconds = {0.5e-6, 1e-9, 4e-9}}},
};

const ep_cost_model *ep_cost_models_cpu(int *count) {
  *count = (int)(sizeof cpu_models / sizeof *cpu_models);
  return cpu_models;
}
