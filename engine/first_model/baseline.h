/* baseline.h: what the simplest answer will score, before anything is trained. For this folder's
 * files alone. */
#ifndef EP_ENGINE_FIRST_MODEL_BASELINE_H
#define EP_ENGINE_FIRST_MODEL_BASELINE_H

#include "api/baseline/baseline.h"
#include "engine/first_model/explanation.h"

/* Whether the main file of the data is small enough to be read for this. */
bool ep_baseline_reads(const ep_part *part);

/* table: NULL: the data are no table; target: its column. classes: 0: it predicts numbers. Reads
 * the targets where they have to be and their file is not large. */
ep_baseline ep_baseline_find(const ep_explained *of, const ep_part *table, int64_t target,
                             int64_t classes);

#endif
