#include "engine/data/prepare/names.h"

#include <string.h>

#include "engine/data/sources/target.h"

/* A table of many columns without a name for each is one of pixels, say: nobody asks by name. */
static bool is_named(const ep_part *table) {
  for (int64_t i = 0; i < table->columns; i++)
    if (!table->column[i].name[0]) return false;
  return true;
}

ep_status ep_column_names_find(const ep_data_spec *data, const ep_dataset_meta *meta, ep_words *out,
                               char target[EP_LIMIT_NAME_BYTES + 1], ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t index, used = 0;
  if (table->rows == 0 || !is_named(table)) return EP_OK;
  ep_status status = ep_target_find(data, table, &index, error);
  if (status != EP_OK) return status;
  memcpy(target, table->column[index].name, EP_LIMIT_NAME_BYTES + 1);
  if (!ep_words_init(out, table->columns - 1)) return ep_fail_memory(error);
  for (int64_t i = 0; i < table->columns; i++) {
    if (i == index) continue;
    out->word[used] = strdup(table->column[i].name);
    if (!out->word[used++]) return ep_fail_memory(error);
  }
  return EP_OK;
}
