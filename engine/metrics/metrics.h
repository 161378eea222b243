/* metrics.h: how good predictions are, in the units of the data (the definitions are
 * scikit-learn's). */
#ifndef EP_ENGINE_METRICS_METRICS_H
#define EP_ENGINE_METRICS_METRICS_H

#include "api/wire/result.h"
#include "engine/data/prepare/prepare.h"

/* Metrics of one split from the network's outputs [rows, out_features] (as predict gives them). For
 * regressions y and outputs are unscaled first. out->loss is left to the caller
 * (mean_loss.h). */
ep_status ep_metrics_compute(const ep_prepared *prepared, ep_split split, ep_loss_type loss,
                             const float *outputs, int64_t out_features, ep_split_metrics *out,
                             ep_error *error);

#endif
