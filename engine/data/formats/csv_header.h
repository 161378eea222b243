/* csv_header.h: the names of a CSV's columns. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_HEADER_H
#define EP_ENGINE_DATA_FORMATS_CSV_HEADER_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/dialect/layout.h"

/* The columns of the layout, [layout->columns], with their names where it has a header: the
 * caller's. */
ep_status ep_csv_columns_read(const ep_csv_layout *layout, ep_csv_cell *cell, ep_column **out,
                              ep_error *error);

/* "nan", "-inf", "+Infinity", whatever the case: numbers to some programs, none to train on. */
bool ep_csv_not_finite(const char *text);

#endif
