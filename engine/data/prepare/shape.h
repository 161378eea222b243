/* shape.h: the shape that the data of a job will have, from its description alone. */
#ifndef EP_ENGINE_DATA_PREPARE_SHAPE_H
#define EP_ENGINE_DATA_PREPARE_SHAPE_H

#include "api/json/problem.h"
#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"

/* The shape of a row of x that is stored with `dimensions` of its own: [C, H, W], [H, W] as one
 * channel, anything else as a vector; "shape" of the spec goes before. `columns` is its product. */
ep_shape ep_data_row_shape(const ep_data_spec *data, int dimensions, const int64_t *shape,
                           int64_t columns);

/* Shapes that a job would have. `meta` is NULL unless the source is a dataset or a path. Faults (no
 * such target column, a test fraction beside a test set of its own, no rows left) go into *problem.
 */
ep_status ep_data_shape_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, ep_problem *problem);

/* What only the rows tell: whether stratified folds have a row of each class: counts the classes,
 * as class_counts.h says. Nothing is read for other jobs. `shape` is that of a job that has a plan.
 * EP_INVALID at /data/folds, with the class and its count. */
ep_status ep_data_classes_check(const ep_data_spec *data, const char *dataset_folder,
                                const ep_data_shape *shape, ep_error *error);

#endif
