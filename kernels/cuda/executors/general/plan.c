#include "kernels/cuda/executors/general/plan.h"

#include "kernels/plans/work.h"

/* Launches, forward, back and to the weights, by what they take: a wide product with the passes
 * beside it as much as six. What follows from the operator's row needs no number here. */
static double op_launches(const ep_op *op, int64_t rows, bool first) {
  const ep_operator *row = ep_operator_of(op->type);
  if (op->type == EP_LAYER_LINEAR) return ep_op_is_thin(op, rows) ? 1.4 : first ? 4.3 : 6;
  if (row->start == EP_START_STATE) return 3 + 0.5 * (double)op->in.width; /* its steps */
  if (row->multiplies) return 3;
  switch (row->writes) {
  case EP_WRITES_NOTHING: return 0;
  case EP_WRITES_APART: return 2 * op->inputs;
  case EP_WRITES_ROWS: return ep_op_weights(op) > 0 ? 2.5 : 1;
  case EP_WRITES_EACH: break;
  }
  if (row->saved == EP_SAVED_MASK) return 0.7; /* mostly with the layer before it */
  if (row->saved == EP_SAVED_NOTHING && op->inputs == 1) return 0; /* with the layer before it */
  /* A sum is one of two values at a time. */
  return row->reads == EP_READS_NOTHING && op->inputs > 1 ? 2 * (op->inputs - 1) : 2;
}

/* Beside the layers: the rows, the loss and the update. */
static double launches_of(const ep_program *program, int64_t rows) {
  double launches = 3.5;
  bool first = true;
  for (int i = 0; i < program->ops_count; i++) {
    launches += op_launches(&program->ops[i], rows, first);
    first = first && program->ops[i].weight < 0;
  }
  return launches;
}

static void work(const ep_program *program, const ep_device_traits *device, int64_t rows,
                 double units[EP_LIMIT_COST_TERMS]) {
  (void)device;
  ep_network_work sum = ep_program_work(program);
  double n = (double)rows;
  units[0] = 1;
  const bool precise = program->precision == EP_PRECISION_FP32;
  units[1] = launches_of(program, rows);
  units[2] = precise ? n * sum.wide : n * sum.wide / 4;
  units[3] = n * sum.thin;
  units[4] = n * sum.conv;
  units[5] = n * sum.values;
  units[6] = ep_program_updated(program);
}

/* By the usual costs: of those that take a program, the place in the table does not say who is the
 * fastest. */
static double cycles(const ep_program *program, const ep_device_traits *device) {
  return ep_executor_usual_cycles(&ep_cuda_general_profile, program, device);
}

static const ep_calibration_program programs[] = {
    {.in_features = 2, .width = 16, .hidden = 2, .rows = 100},
    {.in_features = 2, .width = 64, .hidden = 8, .rows = 1000},
    {.in_features = 2, .width = 8, .hidden = 2, .rows = 65536},
    {.in_features = 2, .width = 128, .hidden = 2, .rows = 65536},
    {.in_features = 2, .width = 1024, .hidden = 4, .rows = 1000},
    {.in_features = 2, .width = 1024, .hidden = 2, .rows = 16384},
    {.in_features = 1, .width = 8, .hidden = 2, .rows = 64, .side = 16},
    {.in_features = 32, .width = 64, .hidden = 2, .rows = 256, .side = 16},
};

const ep_executor_profile ep_cuda_general_profile = {
    .name = "cuda/general",
    .capabilities = {EP_CAPABLE_EVERY_LAYER | EP_CAPABLE_GRAPH,
                     EP_CAPABLE_ELEMENT_LOSSES | EP_CAPABLE_CLASS_LOSSES, EP_CAPABLE_OPTIMIZERS},
    .accepts = ep_executor_accepts_all,
    .cycles = cycles,
    .work = work,
    .terms = {{"step", 1e-6},
              {"launches", 3.4e-6},
              {"wide multiply-adds", 2.4e-14},
              {"thin multiply-adds", 2e-14},
              {"multiply-adds of convolutions", 2e-13},
              {"values", 5.2e-12},
              {"updated parameters", 7.1e-12}},
    .start_seconds = 0.08,
    .again_seconds = 5e-3,
    EP_CALIBRATION_PROGRAMS(programs),
};
