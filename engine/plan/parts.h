/* parts.h: what the sources of the plan share. Nobody else includes it. */
#ifndef EP_ENGINE_PLAN_PARTS_H
#define EP_ENGINE_PLAN_PARTS_H

#include <stdio.h>
#include <string.h>

#include "api/json/problem.h"
#include "engine/layers/lowering.h"
#include "engine/plan/plan.h"
#include "kernels/operators/operator.h"
#include "kernels/plans/work.h"

/* a + b, or INT64_MAX. */
static inline int64_t ep_add_saturated(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* All layers, those within blocks too: as many as there are ops. */
int ep_layers_total(const ep_layer_spec *layers, int count);

/* The name of one of the model's own layers: its number, unless it was given one. */
static inline void ep_layer_title(const ep_job_spec *spec, int layer, ep_layer_name out) {
  const char *name = spec->layers[layer].name;
  if (name[0])
    memcpy(out, name, sizeof(ep_layer_name));
  else
    snprintf(out, sizeof(ep_layer_name), "%d", layer);
}

/* Lowers the layers (lowering.c): fills ops, names, groups and the program's counts, for which
 * there is room. *rank: sides of the data's rows (1: vectors, 3: images), then of the output.
 * Returns false when a shape does not fit, so that nothing can be said of what follows it. */
bool ep_plan_lower(const ep_job_spec *spec, ep_plan *plan, int *rank, ep_problem *problem);

/* The output and the data against what the loss and the rest of the spec ask for (plan_checks.c).
 */
void ep_plan_check_loss(const ep_job_spec *spec, const ep_plan *plan, int rank,
                        ep_problem *problem);
void ep_plan_check_data(const ep_job_spec *spec, const ep_plan *plan, int rank,
                        ep_problem *problem);
void ep_plan_check_training(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem);

/* How a batch is cut (ranks.c): the program's replicas and micro-batches, before its layers; and
 * its stages, after them. */
void ep_plan_slices(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem);
void ep_plan_ranks(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem);

/* Whether each batch has rows enough for the op, of the layer `name`: a mean and variance over one
 * row is none. */
void ep_plan_pieces_check(const ep_plan *plan, const ep_op *op, const char *name,
                          ep_problem *problem);
/* What several ranks hold beside the data: replicas with gradients in double, their sums, the
 * snapshot, pieces on their way, and what evaluates. */
int64_t ep_plan_ranks_bytes(const ep_program *program);

/* Which of the model's own layers an op is of: the first where it stands before all. */
static inline int ep_plan_layer_of(const ep_plan *plan, int op) {
  int layer = 0;
  while (layer + 1 < plan->layers_count && plan->value_of[layer] <= op) layer++;
  return layer;
}

/* What it costs (plan_costs.c); saturated at INT64_MAX. */
int64_t ep_plan_predict_rows(const ep_plan *plan);
int64_t ep_plan_operations(const ep_plan *plan);
int64_t ep_plan_bytes(const ep_plan *plan);

#endif
