#include "engine/data/sources/target.h"

#include <string.h>

#include "engine/data/columns/rules.h"
#include "engine/files/excerpt.h"

static const char pointer[] = "/data/target";

static ep_status index_find(int64_t index, const ep_part *table, int64_t *column, ep_error *error) {
  const long long columns = table->columns;
  if (index < -columns || index >= columns)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "there is no column %lld: the data has columns 0 to %lld, or -%lld to -1 "
                      "from the end",
                      (long long)index, columns - 1, columns);
  *column = index < 0 ? index + columns : index;
  return EP_OK;
}

/* No column has that name. */
static ep_status name_fail(const char *name, const ep_part *table, ep_error *error) {
  char shown[EP_EXCERPT_BYTES], last[EP_EXCERPT_BYTES];
  const char *digits = name[0] == '-' ? name + 1 : name;
  ep_excerpt(shown, name, strlen(name));
  if (digits[0] && strspn(digits, "0123456789") == strlen(digits))
    return ep_fail_at(error, EP_INVALID, pointer,
                      "no column is called \"%s\": for the column with that index give the number, "
                      "%s, without quotes",
                      shown, shown);
  name = table->column[table->columns - 1].name;
  if (!name[0])
    return ep_fail_at(error, EP_INVALID, pointer,
                      "there is no column \"%s\": the data has no names, give an index", shown);
  return ep_fail_at(error, EP_INVALID, pointer, "there is no column \"%s\"; the last one is \"%s\"",
                    shown, ep_excerpt(last, name, strlen(name)));
}

ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error) {
  if (table->columns < 2 && data->window.length == 0)
    return ep_fail_at(error, EP_INVALID, "/data/dataset",
                      "the data has one column: there is nothing to predict it from");
  if (data->target_by == EP_TARGET_LAST) return index_find(-1, table, column, error);
  if (data->target_by == EP_TARGET_INDEX)
    return index_find(data->target_index, table, column, error);
  ep_status status = ep_column_named(table, data->target, pointer, "give the index", column, error);
  if (status != EP_NOT_FOUND) return status;
  if (data->target_by == EP_TARGET_EITHER)
    return index_find(data->target_index, table, column, error);
  return name_fail(data->target, table, error);
}
