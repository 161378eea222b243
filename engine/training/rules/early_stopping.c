#include "engine/training/rules/early_stopping.h"

#include <math.h>
#include <stdlib.h>

ep_status ep_early_stopping_init(ep_early_stopping *early_stopping, const ep_job_spec *spec,
                                 int64_t state_floats, int64_t optimizer_floats, ep_error *error) {
  *early_stopping = (ep_early_stopping){.spec = spec, .best = INFINITY};
  if (!spec->keep_best) return EP_OK;
  early_stopping->state =
      malloc((size_t)(state_floats + optimizer_floats) * sizeof *early_stopping->state);
  if (!early_stopping->state) return ep_fail_memory(error);
  early_stopping->optimizer = early_stopping->state + state_floats;
  return EP_OK;
}

void ep_early_stopping_deinit(ep_early_stopping *early_stopping) {
  free(early_stopping->state);
  *early_stopping = (ep_early_stopping){0};
}

bool ep_early_stopping_observe(ep_early_stopping *early_stopping, int64_t epoch, double metric) {
  const ep_job_spec *spec = early_stopping->spec;
  double best = early_stopping->best;
  bool better = metric < best - spec->early_stopping_min_delta;
  bool good = better || (spec->early_stopping_tolerance > 0 && isfinite(best) &&
                         metric <= best + spec->early_stopping_tolerance * fabs(best));
  if (better) {
    early_stopping->best = metric;
    early_stopping->lowest_epoch = epoch;
  }
  if (good) {
    early_stopping->kept = metric;
    early_stopping->kept_epoch = early_stopping->best_epoch = epoch;
  }
  if (spec->early_stopping_patience > 0 &&
      epoch - early_stopping->best_epoch >= spec->early_stopping_patience)
    early_stopping->stops = true;
  return good;
}
