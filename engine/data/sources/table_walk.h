/* table_walk.h: the rows of the main table without mapping its file: for epochd, which a file that
 * is cut meanwhile must not end. */
#ifndef EP_ENGINE_DATA_SOURCES_TABLE_WALK_H
#define EP_ENGINE_DATA_SOURCES_TABLE_WALK_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* Calls `visit` for each row in order, until one fails. meta: of a dataset's folder, or of the
 * files of data->path. row: [columns] values of the table's dtype, lent for the call. EP_DATA: the
 * file is not what meta says of it. */
ep_status ep_main_table_walk(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                             void *context, ep_error *error);

#endif
