/* parts.h: the trainings of one trial, or of one job: folds and repeats. */
#ifndef EP_API_RESPONSES_PARTS_H
#define EP_API_RESPONSES_PARTS_H

#include "api/json/writer.h"
#include "api/wire/trial.h"

/* {"mean": {split: {…}}, "deviation": {…}, "each": […]}: means and sample standard deviations of
 * the parts that ended well. parts: [count]. */
void ep_parts_write(ep_writer *writer, const ep_trial_record *parts, int count);

#endif
