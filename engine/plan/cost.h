/* cost.h: what a training's time is made of. A step of an executor takes so many units of each of a
 * few kinds of work (barriers, multiply-adds of a kind, values that pass through memory), which its
 * profile counts (kernels/plans/profile.h); a calibration says what a unit of each costs on the
 * machine at hand. No compute: epochd itself links this. */
#ifndef EP_ENGINE_PLAN_COST_H
#define EP_ENGINE_PLAN_COST_H

#include "api/wire/calibration.h"
#include "engine/plan/plan.h"
#include "kernels/plans/profile.h"

/* The executors of a device's kind ("cpu", "cuda:1", "cuda/grid"), in the order in which the device
 * would choose; NULL and 0 for an unknown one. Static. */
const ep_executor_profile *const *ep_cost_executors(const char *device, int *count);

/* By its name; NULL = there is none. */
const ep_executor_profile *ep_cost_executor_find(const char *executor);

/* Its number among those of its device's kind. */
int ep_cost_executor_index(const ep_executor_profile *executor);

/* Whether it can run the program, whoever else can. */
bool ep_cost_executor_can(const ep_executor_profile *executor, const ep_plan *plan,
                          const ep_device_info *device);

/* Whether the device would choose it for the program, as far as the plan can tell: what is
 * installed there its calibration says. */
bool ep_cost_executor_takes(const ep_executor_profile *executor, const ep_plan *plan,
                            const ep_device_info *device);

/* What a step of `rows` rows consists of. units: written. */
void ep_cost_units(const ep_executor_profile *executor, const ep_plan *plan,
                   const ep_device_info *device, int64_t rows, double units[EP_COST_TERMS]);

/* Processor cores that a step could use. */
int ep_cost_cores(const ep_executor_profile *executor, const ep_plan *plan,
                  const ep_device_info *device);

/* What its work costs before anything was measured. */
ep_executor_cost ep_cost_usual(const ep_executor_profile *executor);

/* Seconds of one step of `rows` rows. */
double ep_cost_step_seconds(const ep_executor_profile *executor, const ep_executor_cost *cost,
                            const ep_plan *plan, const ep_device_info *device, int64_t rows);

/* One program, timed. */
typedef struct {
  double units[EP_COST_TERMS];
  double seconds; /* of one step */
  double start_seconds, again_seconds;
} ep_cost_sample;

/* Costs that explain samples: [count] of one executor, those with the least squares of the relative
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
