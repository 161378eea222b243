/* cost.h: what a training's time is made of. Each executor has a model: a step of it takes so much
 * of each of a few terms (barriers, multiply-adds of a kind, values that pass through memory), and
 * a calibration says what a unit of each costs on the machine at hand. No compute: epochd itself
 * links this. */
#ifndef EP_ENGINE_PLAN_COST_H
#define EP_ENGINE_PLAN_COST_H

#include "api/wire/calibration.h"
#include "engine/plan/plan.h"

typedef struct {
  const char *executor; /* "cpu/fused" */
  /* Whether the executor is for this program, by the rules of kernels/choice.h. */
  bool (*takes)(const ep_plan *plan, const ep_device_info *device);
  /* What a step of `rows` rows consists of; written. */
  void (*terms)(const ep_plan *plan, const ep_device_info *device, int64_t rows,
                double terms[EP_COST_TERMS]);
  /* Of the CPU, that a step could use; NULL: one. */
  int (*cores)(const ep_plan *plan, const ep_device_info *device);
  ep_executor_cost usual; /* before anything was measured */
} ep_cost_model;

/* The models of a device's kind ("cpu", "cuda:1", "cuda/grid"), in the order in which the device
 * would choose; NULL and 0 for an unknown one. Static. */
const ep_cost_model *ep_cost_models(const char *device, int *count);
const ep_cost_model *ep_cost_model_find(const char *executor); /* NULL = there is none */
int ep_cost_model_place(const ep_cost_model *model);           /* in its table */

/* Seconds of one step of `rows` rows. */
double ep_cost_step_seconds(const ep_cost_model *model, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, int64_t rows);

/* One program, timed. */
typedef struct {
  double terms[EP_COST_TERMS];
  double seconds; /* of one step */
  double start_seconds, again_seconds;
} ep_cost_sample;

/* Costs that explain samples: [count] of one model, those with the least squares of the relative
 * errors. Where the samples say little, the proportions of `usual` stay, on this machine's scale.
 * Without samples it is `usual`. */
void ep_cost_fit(const ep_executor_cost *usual, const ep_cost_sample *samples, int count,
                 ep_executor_cost *out);

/* The same, of samples some of which were disturbed, which only makes them longer: those that took
 * much longer than the others say are left out, half of them at most. Puts them at the end of
 * samples. */
void ep_cost_fit_disturbed(const ep_executor_cost *usual, ep_cost_sample *samples, int count,
                           ep_executor_cost *out);

#endif
