#include "kernels/cuda/executors/gemm/plan.h"

#include <stddef.h>

#include "kernels/operators/operator.h"
#include "kernels/plans/work.h"

/* --- the shape of a network ---------------------------------------------------------------- */

static bool is_tail(ep_layer_type type) {
  return ep_activation_is(type) || type == EP_LAYER_SOFTMAX || type == EP_LAYER_LOG_SOFTMAX;
}

/* What stands behind the layer that was found last. */
typedef enum { NOTHING, ACTIVATION, DROPOUT } follower;

/* Adds op to the layers found so far: a linear one, its activation, its dropout, or, after the
 * last, the tail. */
static bool op_add(const ep_op *op, bool last, ep_gemm_plan *plan, follower *behind) {
  if (op->type == EP_LAYER_FLATTEN) return true;
  if (op->type == EP_LAYER_LINEAR) {
    if (plan->layers) plan->layers[plan->layers_count] = (ep_cuda_dense_layer){.linear = op};
    plan->layers_count++;
    *behind = NOTHING;
    return true;
  }
  ep_cuda_dense_layer *layer = plan->layers ? &plan->layers[plan->layers_count - 1] : NULL;
  const follower is = op->type == EP_LAYER_DROPOUT ? DROPOUT : ACTIVATION;
  if (plan->layers_count == 0 || *behind >= is) return false;
  *behind = is;
  if (last) {
    plan->tail = op;
    return is_tail(op->type);
  }
  if (layer && is == DROPOUT) layer->dropout = op;
  if (layer && is == ACTIVATION) layer->activation = op;
  return is == DROPOUT || ep_activation_is(op->type);
}

/* Whether it is linear layers with at most one activation and one dropout after each. */
static bool layers_find(const ep_program *program, ep_gemm_plan *plan) {
  follower behind = NOTHING;
  int last = program->ops_count - 1;
  plan->layers_count = 0;
  plan->tail = NULL;
  while (last > 0 && program->ops[last].type == EP_LAYER_FLATTEN) last--;
  for (int i = 0; i <= last; i++) {
    bool ends = true; /* no linear layer comes after it */
    for (int j = i + 1; j <= last && ends; j++) ends = program->ops[j].type != EP_LAYER_LINEAR;
    if (!op_add(&program->ops[i], ends && i == last, plan, &behind)) return false;
    if (ends && i < last && program->ops[i].type != EP_LAYER_LINEAR &&
        program->ops[i].type != EP_LAYER_FLATTEN)
      return false; /* two after the last linear layer */
  }
  return plan->layers_count > 0;
}

bool ep_gemm_group_find(const ep_program *program, int64_t first, int64_t count, bool *trained,
                        float *decay) {
  *trained = true;
  *decay = 0;
  if (program->groups_count == 0) return true;
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (first < group->first || first + count > group->first + group->count) continue;
    *trained = !group->frozen;
    *decay = group->weight_decay;
    return true;
  }
  return false;
}

/* Whether no tensor is cut by a border of groups. */
static bool groups_fit(const ep_program *program) {
  bool trained;
  float decay;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (op->type != EP_LAYER_LINEAR) continue;
    if (!ep_gemm_group_find(program, op->weight, ep_op_weights(op), &trained, &decay)) return false;
    if (op->bias >= 0 && !ep_gemm_group_find(program, op->bias, ep_op_biases(op), &trained, &decay))
      return false;
  }
  return true;
}

bool ep_gemm_plan_make(const ep_program *program, ep_gemm_plan *plan) {
  return program->precision != EP_PRECISION_FP32 && program->optimizer.clip_norm == 0 &&
         program->buffers == 0 && layers_find(program, plan) && groups_fit(program);
}

/* --- the profile --------------------------------------------------------------------------- */

/* The kernels are the plug-in's own: what they are compiled for must know TF32, too. */
static bool accepts(const ep_program *program, const ep_device_traits *device) {
  ep_gemm_plan plan = {.layers = NULL};
  return (ep_gpu_features(device->gpu.generation) & EP_GPU_AMPERE) &&
         ep_gemm_plan_make(program, &plan);
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  bool half = program->precision == EP_PRECISION_BF16;
  double products = (double)rows * (sum.thin + sum.wide);
  units[0] = 1;
  units[1] = ep_program_launches(program);
  units[2] = half ? products / 2 : products;
  units[3] = (double)rows * sum.values;
  units[4] = ep_program_updated(program);
  units[5] = (double)rows * sum.stages; /* few blocks pass over narrow layers */
}

/* By the usual costs: of those that take a program, the place in the table does not say who is the
 * fastest. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  return ep_executor_usual_cycles(&ep_cuda_gemm_profile, program, device);
}

static const ep_calibration_program programs[] = {
    {.in_features = 16, .width = 128, .hidden = 2, .rows = 1024, .precision = EP_PRECISION_TF32},
    {.in_features = 16, .width = 1024, .hidden = 4, .rows = 4096, .precision = EP_PRECISION_TF32},
    {.in_features = 16, .width = 64, .hidden = 2, .rows = 65536, .precision = EP_PRECISION_TF32},
};

const ep_executor_profile ep_cuda_gemm_profile = {
    .name = "cuda/gemm",
    .capabilities = {EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_SOFTMAXES | EP_CAPABLE_LAYER(DROPOUT),
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .gpu_features = EP_GPU_AMPERE,
    .accepts = accepts,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 1e-6},
              {"launches", 3.6e-6},
              {"multiply-adds in TF32", 4.5e-15},
              {"values", 1.2e-12},
              {"updated parameters", 1.2e-11},
              {"rows of layers", 1e-9}},
    .start_seconds = 0.05,
    .again_seconds = 5e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
