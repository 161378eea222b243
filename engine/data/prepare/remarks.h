/* remarks.h: what a user should hear of the data before the training: it goes well or badly without
 * a fault. */
#ifndef EP_ENGINE_DATA_PREPARE_REMARKS_H
#define EP_ENGINE_DATA_PREPARE_REMARKS_H

#include <stddef.h>

#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"

/* Sentences, each on a line of its own; "" when there are none: gaps of a series, rows without a
 * target, columns that are no features though the spec leaves them in, columns that are mostly
 * missing, targets that are not scaled, splits that lack a class. out: [bytes], cut between lines.
 */
void ep_data_remarks(const ep_job_spec *spec, const ep_data_shape *shape,
                     const ep_prepared *prepared, char *out, size_t bytes);

#endif
