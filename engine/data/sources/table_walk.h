/* table_walk.h: what describes the rows of a job, and a walk over the main ones without mapping
 * their file: for epochd, which a file that is cut meanwhile must not end. */
#ifndef EP_ENGINE_DATA_SOURCES_TABLE_WALK_H
#define EP_ENGINE_DATA_SOURCES_TABLE_WALK_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* What describes the rows of `data`, with the types that it sets: meta.json of `dataset_folder`,
 * or, where that is NULL and the source a path, the mapped files; their values are read if `values`
 * says so. *there is false, and *out empty, when the rows stand in the spec or are made. */
ep_status ep_data_describe(const ep_data_spec *data, const char *dataset_folder, bool values,
                           bool *there, ep_dataset_meta *out, ep_error *error);

/* Calls `visit` for each training row in order, until one fails. meta: of a dataset's folder, or of
 * the files of data->path. row: [columns] values of the part's dtype, lent for the call. EP_DATA:
 * the file is not what meta says of it. */
ep_status ep_main_part_walk(const ep_data_spec *data, const ep_dataset_meta *meta, ep_role role,
                            ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                            void *context, ep_error *error);

#endif
