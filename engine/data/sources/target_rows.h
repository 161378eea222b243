/* target_rows.h: which rows of a table have no target, without mapping a file. */
#ifndef EP_ENGINE_DATA_SOURCES_TARGET_ROWS_H
#define EP_ENGINE_DATA_SOURCES_TARGET_ROWS_H

#include "api/spec/spec.h"
#include "engine/data/datasets/dataset.h"

/* EP_INVALID at /data/target when cells of the target are missing, with their count and their first
 * rows. dataset_folder NULL: nothing is missing. Reads the table only where its description says
 * that there are such rows. */
ep_status ep_target_rows_check(const ep_data_spec *data, const char *dataset_folder,
                               ep_error *error);

#endif
