#include "engine/data/sources/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/positive.h"
#include "engine/data/columns/word_list.h"
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

static ep_status names_copy(const ep_dataset_meta *meta, ep_words *out, ep_error *error) {
  if (!ep_word_list_init(out, meta->classes)) return ep_fail_memory(error);
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
  return ep_word_list_copy(out, words, words->count) ? EP_OK : ep_fail_memory(error);
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
