/* positive_class.h: which class of a job is the positive one, at its submission. */
#ifndef EP_ENGINE_DATA_PREPARE_POSITIVE_CLASS_H
#define EP_ENGINE_DATA_PREPARE_POSITIVE_CLASS_H

#include "api/json/problem.h"
#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"

/* data->positive becomes the word of the target that it names. Where it is not given, and the
 * target has two words, it becomes the default (ep_positive_default); of the numbers 0 and 1 it
 * stays empty: 1 is positive. meta: NULL unless the source is a dataset or a path. EP_INVALID at
 * /data/positive: no such class, or no two classes. */
ep_status ep_positive_class_resolve(ep_data_spec *data, ep_loss_type loss,
                                    const ep_dataset_meta *meta, const ep_data_shape *shape,
                                    ep_problem *problem);

#endif
