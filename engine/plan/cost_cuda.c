/* cost_cuda.c: the models of CUDA's executors (kernels/cuda). */
#include "engine/plan/cost_parts.h"

/* "sm_90"; before the worker has said it, a GPU of today is meant. */
static int capability(const ep_device_info *device) {
  int number = 0;
  for (const char *at = device->instruction_set; *at; at++)
    if (*at >= '0' && *at <= '9') number = number * 10 + (*at - '0');
  return number > 0 ? number : 90;
}

static ep_choice_gpu gpu_of(const ep_device_info *device) {
  const int usual_multiprocessors = 132;
  return (ep_choice_gpu){capability(device),
                         device->threads > 0 ? device->threads : usual_multiprocessors};
}

static bool resident_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_resident(&plan->program, &gpu);
}

/* Multiply-adds of a row, one after the other, and what is as dear: one with fewer than four beside
 * it waits for the one before. */
static double resident_products(const ep_plan *plan) {
  const double beside = 4, value = 5;
  double sum = 0;
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    double in = (double)op->in_features, out = (double)op->out_features;
    if (op->type != EP_LAYER_LINEAR) {
      sum += value * ep_cost_activation_values(op) * out;
      continue;
    }
    sum += in * fmax(out, beside) + in * out + (first ? 0 : out * fmax(in, beside));
    first = false;
  }
  return sum;
}

/* A few rows a thread, one after the other, then the sums of all threads, whose exchange within a
 * warp is the multiprocessor's. Rows that a thread has no registers for are read again in each
 * step, each lane from a line of its own. The same blocks, threads and registers as in
 * kernels/cuda/resident. */
static void resident_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                           double terms[EP_COST_TERMS]) {
  const double warp = 32, rows_a_thread = 4, registers = 192;
  const ep_program *program = &plan->program;
  double most = capability(device) >= 90 ? 8 : 1, blocks = 1, threads = 128;
  double batch = (double)program->batch_size;
  while (threads > warp && batch <= threads / 2) threads /= 2;
  while (blocks < most && batch > blocks * threads * rows_a_thread) blocks *= 2;
  double turns = ceil((double)rows / (blocks * threads)), warps = threads / warp;
  double row_values = (double)(program->in_features + program->target_columns);
  double sums = ep_cost_rounded_up((double)plan->parameters + 2, warp);
  bool kept = !ep_program_shuffles(program) && batch == (double)program->train_rows &&
              turns * row_values + (double)plan->parameters + sums <= registers;
  ep_cost_network sum = ep_cost_network_sum(plan);
  terms[0] = 1;
  terms[1] = turns * resident_products(plan);
  terms[2] = sum.stages;
  terms[3] = sums * warps;
  terms[4] = blocks > 1;
  terms[5] = blocks > 1 ? blocks : 0;
  terms[6] = kept ? 0 : turns * warps * row_values;
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
  terms[3] = work.rows * ep_cost_network_sum(plan).values;
}

static bool cluster_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_cluster(&plan->program, &gpu, NULL);
}

/* By the parts of the plan's own expectation. Rows in an order of their own have to be found. */
static void cluster_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  ep_choice_gpu gpu = gpu_of(device);
  ep_choice_cluster_work work;
  ep_program program = plan->program;
  program.batch_size = rows;
  if (!ep_choice_cluster(&program, &gpu, &work)) return;
  terms[0] = 1;
  terms[1] = work.layers;
  terms[2] = work.products;
  terms[3] = work.slices_given;
  terms[4] = work.rows_given;
  terms[5] = ep_program_shuffles(&plan->program);
}

static bool crews_takes(const ep_plan *plan, const ep_device_info *device) {
  ep_choice_gpu gpu = gpu_of(device);
  return ep_choice_crews(&plan->program, &gpu, NULL);
}

/* Exchanges of a crew's blocks; weights, which each block fetches and has a share of to update: a
 * step of fewer rows takes as long. */
static void crews_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                        double terms[EP_COST_TERMS]) {
  (void)rows;
  ep_choice_gpu gpu = gpu_of(device);
  ep_choice_crews_work work;
  if (!ep_choice_crews(&plan->program, &gpu, &work)) return;
  terms[0] = 1;
  terms[1] = work.front;
  terms[2] = work.shared;
  terms[3] = work.weights;
  terms[4] = work.state;
  terms[5] = work.precise;
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
  ep_cost_network sum = ep_cost_network_sum(plan);
  double turns = ceil((double)rows / gpu_of(device).multiprocessors);
  terms[0] = 1;
  terms[1] = turns * sum.stages;
  terms[2] = turns * sum.conv;
  terms[3] = turns * (sum.thin + sum.wide);
  terms[4] = turns * sum.values;
  terms[5] = ep_cost_updated(plan);
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
  ep_cost_network sum = ep_cost_network_sum(plan);
  double n = (double)rows;
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = n * sum.conv;
  terms[3] = n * sum.values;
  terms[4] = n * (sum.wide + sum.thin);
  terms[5] = ep_cost_updated(plan);
}

static void gemm_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                       double terms[EP_COST_TERMS]) {
  (void)device;
  ep_cost_network sum = ep_cost_network_sum(plan);
  bool half = plan->program.precision == EP_PRECISION_BF16;
  double products = (double)rows * (sum.thin + sum.wide);
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = half ? products / 2 : products;
  terms[3] = (double)rows * sum.values;
  terms[4] = ep_cost_updated(plan);
}

static void general_terms(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                          double terms[EP_COST_TERMS]) {
  (void)device;
  ep_cost_network sum = ep_cost_network_sum(plan);
  double n = (double)rows;
  terms[0] = 1;
  terms[1] = launches_count(plan);
  terms[2] = n * sum.wide;
  terms[3] = n * sum.thin;
  terms[4] = n * sum.conv;
  terms[5] = n * sum.values;
  terms[6] = ep_cost_updated(plan);
}

static const ep_cost_model cuda_models[] = {
    {.executor = "cuda/fused",
     .takes = narrow_takes,
     .terms = narrow_terms,
     .usual = {.start_seconds = 1,
               .again_seconds = 3e-3,
               .seconds = {3.05e-6, 1e-6, 5.8e-12, 1.53e-11}}},
    {.executor = "cuda/resident",
     .takes = resident_takes,
     .terms = resident_terms,
     .usual = {.start_seconds = 0.35,
               .again_seconds = 3e-3,
               .seconds = {2.4e-7, 8.4e-10, 4.8e-8, 6.9e-10, 3e-7, 5e-8, 8.3e-9}}},
    {.executor = "cuda/cluster",
     .takes = cluster_takes,
     .terms = cluster_terms,
     .usual = {.start_seconds = 1.2,
               .again_seconds = 3e-3,
               .seconds = {1.4e-6, 4.2e-8, 8e-10, 4.9e-10, 6.8e-10, 4.6e-7}}},
    {.executor = "cuda/crews",
     .takes = crews_takes,
     .terms = crews_terms,
     .usual = {.start_seconds = 1.2,
               .again_seconds = 3e-3,
               .seconds = {4.2e-6, 5e-7, 2e-6, 3.4e-10, 1e-10, 1.6e-10}}},
    {.executor = "cuda/grid",
     .takes = grid_takes,
     .terms = grid_terms,
     .usual = {.start_seconds = 0.01,
               .again_seconds = 3e-3,
               .seconds = {9.9e-6, 8e-8, 1.7e-6, 2.6e-11, 4.3e-8, 1.9e-10, 1.5e-12, 1.9e-6}}},
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
     .takes = ep_cost_takes_any,
     .terms = general_terms,
     .usual = {.start_seconds = 0.05,
               .again_seconds = 5e-3,
               .seconds = {1e-5, 1e-5, 4.6e-14, 8.4e-14, 5.7e-13, 1.2e-11, 6e-12}}},
};

const ep_cost_model *ep_cost_models_cuda(int *count) {
  *count = (int)(sizeof cuda_models / sizeof *cuda_models);
  return cuda_models;
}
