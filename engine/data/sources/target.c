#include "engine/data/sources/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/retype.h"
#include "engine/files/excerpt.h"

static const char pointer[] = "/data/target";

static bool index_parse(const char *text, long long *index) {
  char *end;
  const char *digits = *text == '-' ? text + 1 : text;
  if (*digits < '0' || *digits > '9') return false;
  errno = 0;
  *index = strtoll(text, &end, 10);
  return errno == 0 && *end == 0;
}

static ep_status index_find(long long index, const ep_part *table, int64_t *column,
                            ep_error *error) {
  long long columns = table->columns;
  if (index < -columns || index >= columns)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "there is no column %lld: the data has columns 0 to %lld, or -%lld to -1 "
                      "from the end",
                      index, columns - 1, columns);
  *column = index < 0 ? index + columns : index;
  return EP_OK;
}

ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error) {
  char shown[EP_EXCERPT_BYTES], last[EP_EXCERPT_BYTES];
  long long index;
  int64_t found = -1;
  if (table->columns < 2 && data->window.length == 0)
    return ep_fail_at(error, EP_INVALID, "/data/dataset",
                      "the data has one column: there is nothing to predict it from");
  if (!data->has_target) return index_find(-1, table, column, error);
  ep_excerpt(shown, data->target, strlen(data->target));
  for (int64_t i = 0; i < table->columns && data->target[0]; i++) {
    if (strcmp(table->column[i].name, data->target) != 0) continue;
    if (found >= 0)
      return ep_fail_at(error, EP_INVALID, pointer,
                        "columns %lld and %lld are both called \"%s\": give the index",
                        (long long)found, (long long)i, shown);
    found = i;
  }
  *column = found;
  if (found >= 0) return EP_OK;
  if (index_parse(data->target, &index)) return index_find(index, table, column, error);
  const char *name = table->column[table->columns - 1].name;
  if (!name[0])
    return ep_fail_at(error, EP_INVALID, pointer,
                      "there is no column \"%s\": the data has no names, give an index", shown);
  return ep_fail_at(error, EP_INVALID, pointer, "there is no column \"%s\"; the last one is \"%s\"",
                    shown, ep_excerpt(last, name, strlen(name)));
}

ep_status ep_data_retype(const ep_data_spec *data, ep_dataset_meta *meta, ep_error *error) {
  ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t target;
  if (table->rows == 0 || data->columns_count == 0) return EP_OK;
  ep_status status = ep_target_find(data, table, &target, error);
  bool numbers = status == EP_OK && table->column[target].type == EP_COLUMN_NUMBER;
  if (status == EP_OK) status = ep_columns_retype(data, table, target, error);
  if (status != EP_OK || !numbers || meta->folder[0] ||
      !ep_column_is_retyped(&table->column[target]))
    return status;
  return ep_fail_at(error, EP_INVALID, "/data/target",
                    "files that are used where they lie have no list of a target's values: upload "
                    "them to make classes of its numbers");
}
