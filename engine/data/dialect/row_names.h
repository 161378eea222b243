/* row_names.h: what tells names of rows and columns from cells. */
#ifndef EP_ENGINE_DATA_DIALECT_ROW_NAMES_H
#define EP_ENGINE_DATA_DIALECT_ROW_NAMES_H

#include "engine/data/dialect/sample.h"

/* Whether the cells of the row are different words, none empty; of a wide table the first ones. */
bool ep_row_cells_differ(const ep_sample *sample, int row, ep_csv_cell *cell);

/* What the first cells of the regular rows are. */
typedef struct {
  int rows;
  bool distinct, quoted;
  bool counted; /* 1, 2, 3, …, from any number on */
  double last;
  bool points; /* a cell is a number with a decimal point: no comma is a decimal mark */
  bool halves; /* two neighbours are digits in all rows, as the halves of an unquoted 1,5 are */
} ep_row_starts;

/* From `first_row` of the sample on. EP_NO_MEMORY. */
ep_status ep_row_starts_find(const ep_sample *sample, int first_row, ep_csv_cell *cell,
                             ep_row_starts *out, ep_error *error);

/* "m/s", "(kW)", "[%]", "°C". */
bool ep_text_is_unit(const char *text, size_t bytes);

#endif
