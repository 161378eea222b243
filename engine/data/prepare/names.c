#include "engine/data/prepare/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/sources/target.h"

/* A table of many columns without a name for each is one of pixels, say: nobody asks by name. */
static bool is_named(const ep_part *table) {
  for (int64_t i = 0; i < table->columns; i++)
    if (!table->column[i].name[0]) return false;
  return true;
}

ep_status ep_column_names_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                               ep_scaling *out, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t index, used = 0;
  if (table->rows == 0 || !is_named(table)) return EP_OK;
  ep_status status = ep_target_find(data, table, &index, error);
  if (status != EP_OK) return status;
  memcpy(out->target, table->column[index].name, EP_LIMIT_NAME_BYTES + 1);
  out->ranges = calloc((size_t)table->columns, sizeof *out->ranges);
  if (!out->ranges || !ep_words_init(&out->names, table->columns - 1)) return ep_fail_memory(error);
  for (int64_t i = 0; i < table->columns; i++) {
    const ep_column *column = &table->column[i];
    if (i == index) continue;
    out->ranges[used] = (ep_column_range){column->min, column->max, NAN, column->integer};
    out->names.word[used] = strdup(column->name);
    if (!out->names.word[used++]) return ep_fail_memory(error);
  }
  return EP_OK;
}
