#include "engine/data/tables/table_rows.h"

#include <stdio.h>
#include <string.h>

ep_table_cell ep_table_cell_make(const char *text, size_t bytes, int64_t line, int64_t column) {
  text = ep_cell_trim(text, &bytes);
  return (ep_table_cell){text, bytes, line, column};
}

const char *ep_column_label(const ep_column *column, int64_t index,
                            char out[EP_COLUMN_LABEL_BYTES]) {
  const char *name = column[index].name;
  char shown[EP_EXCERPT_BYTES];
  if (name[0])
    snprintf(out, EP_COLUMN_LABEL_BYTES, "column %lld (\"%s\")", (long long)index + 1,
             ep_excerpt(shown, name, strlen(name)));
  else
    snprintf(out, EP_COLUMN_LABEL_BYTES, "column %lld", (long long)index + 1);
  return out;
}
