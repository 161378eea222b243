/* cost.c: the models, one an executor (cost_cpu.c, cost_cuda.c). The shapes of their terms follow
 * how each executor works (kernels/); the figures of `usual` were fitted to what one machine
 * measured (docs/adr/0010). */
#include "engine/plan/cost.h"

#include <string.h>

#include "engine/plan/cost_parts.h"

const ep_cost_model *ep_cost_models(const char *device, int *count) {
  *count = 0;
  if (strncmp(device, "cpu", 3) == 0) return ep_cost_models_cpu(count);
  return strncmp(device, "cuda", 4) == 0 ? ep_cost_models_cuda(count) : NULL;
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
