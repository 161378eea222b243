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
  bool halves; /* two neighbours may be the halves of one number in all rows: 1,5 or 1,5e3 */
} ep_row_starts;

/* From `first_row` of the sample on. EP_NO_MEMORY. */
ep_status ep_row_starts_find(const ep_sample *sample, int first_row, ep_csv_cell *cell,
                             ep_row_starts *out, ep_error *error);

/* "m/s", "(kW)", "[%]", "°C". */
bool ep_text_is_unit(const char *text, size_t bytes);

/* Cells of a line that may be one of units. Zeroed at first. */
typedef struct {
  int64_t filled, known, numbers; /* of these: known units; above columns of numbers or dates */
  bool other;                     /* one can be no unit: it is long, a number, or begins so */
} ep_units_look;

/* Adds a cell that is not empty. */
void ep_units_look_add(ep_units_look *look, const char *text, size_t bytes, bool above_numbers);

/* Whether half of the cells are known units, and half stand above numbers or dates. */
bool ep_cells_are_units(const ep_units_look *look);

#endif
