#include "engine/data/tables/table_rows.h"

ep_table_cell ep_table_cell_make(const char *text, size_t bytes, int64_t line, int64_t column) {
  text = ep_cell_trim(text, &bytes);
  return (ep_table_cell){text, bytes, line, column, false};
}
