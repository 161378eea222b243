/* columns.h: the encoding of a job's table, where it needs one: for the shape of its data and for
 * its rows. */
#ifndef EP_ENGINE_DATA_PREPARE_COLUMNS_H
#define EP_ENGINE_DATA_PREPARE_COLUMNS_H

#include "engine/data/columns/encoding.h"
#include "engine/data/sources/row_source.h"

/* Plans the encoding of the table of `meta`: *out is the caller's (ep_encoding_deinit, free); NULL
 * where the data are numbers alone and the spec says nothing of columns. Errors of the spec against
 * the table, and of the spec against itself: columns that are scaled already. */
ep_status ep_columns_plan(const ep_data_spec *data, const ep_dataset_meta *meta, ep_encoding **out,
                          ep_error *error);

/* Whether the spec says anything of columns. */
bool ep_columns_are_said(const ep_data_spec *data);

/* Fills in the places of the layers that slice columns by name. meta: NULL without a table.
 * EP_INVALID at the layer's field: there is no such column, or no table. */
ep_status ep_slices_resolve(ep_job_spec *spec, const ep_dataset_meta *meta, ep_error *error);

/* Learns from the rows of `main` (a table) whose split is EP_SPLIT_TRAIN; split: [main rows]. */
ep_status ep_columns_fit(ep_encoding *encoding, const ep_row_source *main, const uint8_t *split,
                         int64_t train_rows, ep_error *error);

#endif
