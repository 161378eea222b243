/* class_counts.h: how many rows of the main set are of each class, without mapping a file: epochd
 * counts them when a job is submitted. They do not stand in a dataset's description, because any
 * column may be the target, and because descriptions from before have none. */
#ifndef EP_ENGINE_DATA_SOURCES_CLASS_COUNTS_H
#define EP_ENGINE_DATA_SOURCES_CLASS_COUNTS_H

#include "api/spec/spec.h"

/* What a row's targets say of its class: the value of one column, or which of several one-hot
 * columns is 1. y: [targets]. */
double ep_class_value(const double *y, int64_t targets);

/* Whether one is 1 and the others are 0. */
bool ep_row_is_one_hot(const double *y, int64_t targets);

/* The same as a number; EP_DATA at /loss where it is none from 0 to below EP_LIMIT_CLASSES. */
ep_status ep_class_find(const double *y, int64_t targets, int *out, ep_error *error);

/* Reads the targets of the training rows as they come, before any split. `dataset_folder`: NULL
 * unless the source is a dataset, or a path that was read into one. rows: [EP_LIMIT_CLASSES],
 * written. Takes as long as reading the file that has the targets. */
ep_status ep_class_counts_read(const ep_data_spec *data, const char *dataset_folder,
                               int64_t rows[EP_LIMIT_CLASSES], ep_error *error);

#endif
