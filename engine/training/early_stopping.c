#include "engine/training/early_stopping.h"

#include <math.h>
#include <stdlib.h>

ep_status ep_early_stopping_init(ep_early_stopping *selection, const ep_job_spec *spec,
                                 int64_t state_floats, int64_t optimizer_floats, ep_error *error) {
  *selection = (ep_early_stopping){.spec = spec, .best = INFINITY};
  if (!spec->keep_best) return EP_OK;
  selection->state = malloc((size_t)(state_floats + optimizer_floats) * sizeof *selection->state);
  if (!selection->state) return ep_fail_memory(error);
  selection->optimizer = selection->state + state_floats;
  return EP_OK;
}

void ep_early_stopping_deinit(ep_early_stopping *selection) {
  free(selection->state);
  *selection = (ep_early_stopping){0};
}

bool ep_early_stopping_observe(ep_early_stopping *selection, int64_t epoch, double metric) {
  const ep_job_spec *spec = selection->spec;
  bool better = metric < selection->best - spec->early_stopping_min_delta;
  if (better) {
    selection->best = metric;
    selection->best_epoch = epoch;
  }
  if (spec->early_stopping_patience > 0 &&
      epoch - selection->best_epoch >= spec->early_stopping_patience)
    selection->stops = true;
  return better;
}
