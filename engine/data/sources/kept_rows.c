#include "engine/data/sources/kept_rows.h"

#include <math.h>
#include <stdlib.h>

#include "engine/data/arrays/table.h"
#include "engine/data/columns/retype.h"
#include "engine/data/columns/rules.h"
#include "engine/data/sources/table_walk.h"

static bool drops(const ep_column_matcher *matcher, const ep_part *table, int64_t column) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_column_title(table, column, name);
  const ep_column_rule *rule = ep_column_rule_find(matcher, name);
  return rule && rule->missing == EP_FILL_DROP_ROW && rule->type != EP_COLUMN_AS_IGNORE &&
         table->column[column].type != EP_COLUMN_TEXT && ep_column_chosen(matcher, name);
}

ep_status ep_needed_columns_find(const ep_data_spec *data, const ep_part *table, int64_t target,
                                 int64_t **out, int64_t *count, ep_error *error) {
  *count = 0;
  *out = malloc((size_t)table->columns * sizeof **out);
  if (!*out) return ep_fail_memory(error);
  if (table->column[target].missing > 0) (*out)[(*count)++] = target;
  if (data->columns_count == 0) return EP_OK;
  ep_column_matcher matcher;
  ep_status status = ep_column_matcher_init(data, table, &matcher, error);
  for (int64_t i = 0; status == EP_OK && i < table->columns; i++)
    if (i != target && table->column[i].missing > 0 && drops(&matcher, table, i))
      (*out)[(*count)++] = i;
  ep_column_matcher_deinit(&matcher);
  return status;
}

typedef struct {
  ep_dtype dtype;
  const int64_t *column; /* [count] */
  const ep_part *table;  /* lent */
  int64_t count, rows;
} counting;

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  counting *found = context;
  bool whole = true;
  (void)error;
  for (int64_t i = 0; i < found->count && whole; i++) {
    double cell;
    ep_dtype_values(found->dtype, row + (size_t)found->column[i] * ep_dtype_bytes(found->dtype), 1,
                    &cell);
    const ep_column *column = &found->table->column[found->column[i]];
    if (ep_column_is_retyped(column)) cell = ep_retyped_cell(column, cell);
    whole = !isnan(cell);
  }
  found->rows += whole;
  return EP_OK;
}

ep_status ep_kept_rows_count(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                             int64_t *rows, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t *column;
  counting found = {.dtype = table->dtype};
  ep_status status = ep_needed_columns_find(data, table, target, &column, &found.count, error);
  found.column = column;
  found.table = table;
  if (status == EP_OK && found.count > 1)
    status = ep_main_part_walk(data, meta, EP_ROLE_TABLE, row_visit, &found, error);
  else if (status == EP_OK)
    found.rows = table->rows - (found.count == 1 ? table->column[column[0]].missing : 0);
  free(column);
  *rows = found.rows;
  return status;
}
