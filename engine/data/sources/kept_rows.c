#include "engine/data/sources/kept_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/columns/retype.h"
#include "engine/data/columns/rules.h"
#include "engine/data/datasets/part_writer.h"

static bool drops(const ep_data_spec *data, const ep_part *table, int64_t column) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_column_title(table, column, name);
  const ep_column_rule *rule = ep_column_rule_find(data, name);
  return rule && rule->missing == EP_FILL_DROP_ROW && rule->type != EP_COLUMN_AS_IGNORE &&
         table->column[column].type != EP_COLUMN_TEXT && ep_column_chosen(data, name);
}

ep_status ep_needed_columns_find(const ep_data_spec *data, const ep_part *table, int64_t target,
                                 int64_t **out, int64_t *count, ep_error *error) {
  *count = 0;
  *out = malloc((size_t)table->columns * sizeof **out);
  if (!*out) return ep_fail_memory(error);
  if (table->column[target].missing > 0) (*out)[(*count)++] = target;
  for (int64_t i = 0; data->columns_count > 0 && i < table->columns; i++)
    if (i != target && table->column[i].missing > 0 && drops(data, table, i))
      (*out)[(*count)++] = i;
  return EP_OK;
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

static ep_status rows_read(const char *folder, counting *found, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_table table;
  size_t values_offset;
  ep_status status = ep_part_path(folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, path, error);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  status = ep_table_peek(file, path, &table, &values_offset, error);
  for (int64_t i = 0; i < found->count && status == EP_OK; i++)
    if (found->column[i] >= table.columns)
      status = ep_fail(error, EP_DATA, "%s is not what was said of it", path);
  if (status == EP_OK) {
    found->dtype = table.dtype;
    status = ep_table_walk(file, &table, values_offset, row_visit, found, error);
  }
  close(file);
  return status;
}

ep_status ep_kept_rows_count(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                             int64_t *rows, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t *column;
  counting found = {0};
  ep_status status = ep_needed_columns_find(data, table, target, &column, &found.count, error);
  found.column = column;
  found.table = table;
  if (status == EP_OK && found.count > 1)
    status = rows_read(meta->folder, &found, error);
  else if (status == EP_OK)
    found.rows = table->rows - (found.count == 1 ? table->column[column[0]].missing : 0);
  free(column);
  *rows = found.rows;
  return status;
}
