#include "engine/data/sources/target.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/nearest.h"
#include "engine/data/columns/positive.h"
#include "engine/data/columns/retype.h"
#include "engine/data/columns/rules.h"
#include "engine/files/excerpt.h"

static const char pointer[] = "/data/target";

static ep_status index_find(int64_t index, const ep_part *table, int64_t *column, ep_error *error) {
  const long long columns = table->columns;
  if (index < -columns || index >= columns)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "no column %lld: the data has columns 0 to %lld, or -%lld to -1 from the end",
                      (long long)index, columns - 1, columns);
  *column = index < 0 ? index + columns : index;
  return EP_OK;
}

/* The column that was probably meant, a loan; NULL: none, or memory is short. */
static const char *nearest_find(const char *name, const ep_part *table) {
  const char **names = calloc((size_t)table->columns, sizeof *names);
  for (int64_t i = 0; names && i < table->columns; i++)
    if (table->column[i].name[0]) names[i] = table->column[i].name;
  const char *meant = names ? ep_nearest_name(name, names, (int)table->columns) : NULL;
  free(names);
  return meant;
}

/* No column has that name. */
static ep_status name_fail(const char *name, const ep_part *table, ep_error *error) {
  char shown[EP_EXCERPT_BYTES], other[EP_EXCERPT_BYTES];
  const char *digits = name[0] == '-' ? name + 1 : name;
  ep_excerpt(shown, name, strlen(name));
  if (digits[0] && strspn(digits, "0123456789") == strlen(digits))
    return ep_fail_at(
        error, EP_INVALID, pointer,
        "no column named \"%s\": to use it as an index, give the number %s without quotes", shown,
        shown);
  const char *wanted = name;
  name = table->column[table->columns - 1].name;
  if (!name[0])
    return ep_fail_at(error, EP_INVALID, pointer,
                      "no column named \"%s\": the data has no column names, give an index", shown);
  const char *meant = nearest_find(wanted, table);
  if (meant)
    return ep_fail_at(error, EP_INVALID, pointer, "no column named \"%s\": did you mean \"%s\"?",
                      shown, ep_excerpt(other, meant, strlen(meant)));
  return ep_fail_at(error, EP_INVALID, pointer, "no column named \"%s\"; the last one is \"%s\"",
                    shown, ep_excerpt(other, name, strlen(name)));
}

ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error) {
  if (table->columns < 2 && data->window.length == 0)
    return ep_fail_at(error, EP_INVALID, "/data/dataset",
                      "the data has only one column: nothing to predict it from");
  if (data->target_by == EP_TARGET_LAST) return index_find(-1, table, column, error);
  if (data->target_by == EP_TARGET_INDEX)
    return index_find(data->target_index, table, column, error);
  ep_status status = ep_column_named(table, data->target, pointer, "give the index", column, error);
  if (status != EP_NOT_FOUND) return status;
  if (data->target_by == EP_TARGET_EITHER)
    return index_find(data->target_index, table, column, error);
  return name_fail(data->target, table, error);
}

static ep_status names_copy(const ep_dataset_meta *meta, ep_words *out, ep_error *error) {
  if (!ep_words_init(out, meta->classes)) return ep_fail_memory(error);
  for (int i = 0; i < meta->classes; i++) {
    out->word[i] = strdup(meta->class_name[i].name);
    if (!out->word[i]) return ep_fail_memory(error);
  }
  return EP_OK;
}

ep_status ep_target_classes_find(const ep_dataset_meta *meta, int64_t target, ep_words *out,
                                 ep_error *error) {
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  const ep_words *words = &ep_binary_numbers;
  *out = (ep_words){0};
  if (table && table->rows == 0 && meta->classes > 0) return names_copy(meta, out, error);
  if (table && table->rows > 0 && table->column[target].type == EP_COLUMN_CATEGORY)
    words = &table->column[target].words;
  return ep_words_copy(words, words->count, out) ? EP_OK : ep_fail_memory(error);
}

ep_status ep_target_swapped_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                                 int64_t target, bool *out, ep_error *error) {
  ep_words classes;
  *out = false;
  if (!data->positive[0]) return EP_OK;
  ep_status status = ep_target_classes_find(meta, target, &classes, error);
  if (status == EP_OK) *out = ep_classes_are_swapped(data, &classes);
  ep_words_deinit(&classes);
  return status;
}

ep_status ep_data_retype(const ep_data_spec *data, ep_dataset_meta *meta, ep_error *error) {
  ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t target;
  if (table->rows == 0 || (data->columns_count == 0 && data->task == EP_TASK_AUTO)) return EP_OK;
  ep_status status = ep_target_find(data, table, &target, error);
  bool numbers = status == EP_OK && table->column[target].type == EP_COLUMN_NUMBER;
  if (status == EP_OK)
    status = ep_columns_retype(data, meta->dialect ? &meta->dialect->dialect : NULL, table, target,
                               error);
  if (status != EP_OK || !numbers || meta->folder[0] ||
      !ep_column_is_retyped(&table->column[target]))
    return status;
  return ep_fail_at(
      error, EP_INVALID, "/data/target",
      "files used in place have no list of target values: upload them to use numbers as classes");
}
