#include "engine/data/columns/range.h"

#include <stdio.h>

#include "api/json/fields.h"

static void cell_warn(const ep_column_encoding *column, int64_t row, double cell,
                      ep_warnings *warnings) {
  char pointer[EP_POINTER_BYTES], detail[EP_MESSAGE_BYTES];
  ep_field_reader reader = {0};
  snprintf(pointer, sizeof pointer, "%lld", (long long)row);
  ep_field_reader_enter(&reader, "rows");
  ep_field_reader_enter(&reader, pointer);
  ep_field_reader_enter(&reader, column->name);
  snprintf(detail, sizeof detail,
           "%.6g is far outside of what the model learnt from, %.6g to %.6g: do not rely on this "
           "prediction",
           cell, column->least, column->greatest);
  ep_warnings_add(warnings, reader.pointer, detail);
}

void ep_encoding_range_warn(const ep_encoding *encoding, const double *x, int64_t rows,
                            ep_warnings *warnings) {
  int warned = 0;
  for (int64_t i = 0; i < encoding->columns && warned < EP_RANGE_WARNINGS; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    double width = column->greatest - column->least;
    if (!column->ranged || !(width > 0)) continue;
    double low = column->least - width, high = column->greatest + width;
    for (int64_t row = 0; row < rows; row++) {
      double cell = x[row * encoding->columns + i];
      if (!(cell < low || cell > high)) continue; /* a missing one is neither */
      cell_warn(column, row, cell, warnings);
      warned++;
      break;
    }
  }
}
