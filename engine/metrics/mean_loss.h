/* mean_loss.h: a split's loss from outputs that are there already, so that the network need not run
 * for it once more. */
#ifndef EP_ENGINE_METRICS_MEAN_LOSS_H
#define EP_ENGINE_METRICS_MEAN_LOSS_H

#include "kernels/program.h"

/* What a backend's evaluate answers for the same rows, up to rounding (here all is in double).
 * outputs: [rows, program->out_features], as predict gives them; y: float [rows, target_columns] or
 * int32 [rows] of classes below out_features, as load_data takes it; rows: at least 1. */
double ep_mean_loss(const ep_program *program, const float *outputs, const void *y, int64_t rows);

/* ln sum e^z over a row of logits: a class's probability is e^(z - that). classes: at least 1. */
double ep_logits_normalizer(const float *logits, int64_t classes);

#endif
