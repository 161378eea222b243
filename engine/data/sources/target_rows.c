#include "engine/data/sources/target_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/sources/target.h"
#include "engine/files/excerpt.h"
#include "engine/files/path.h"

enum { ROWS_TOLD = 3 };

typedef struct {
  ep_dtype dtype;
  int64_t target; /* its column */
  int64_t rows, missing;
  int64_t first[ROWS_TOLD]; /* from 1 */
} search;

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  search *found = context;
  double value;
  (void)error;
  found->rows++;
  ep_dtype_values(found->dtype, row + (size_t)found->target * ep_dtype_bytes(found->dtype), 1,
                  &value);
  if (!isnan(value)) return EP_OK;
  if (found->missing < ROWS_TOLD) found->first[found->missing] = found->rows;
  found->missing++;
  return EP_OK;
}

static ep_status rows_find(const char *folder, search *found, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_table table;
  size_t values_offset;
  ep_status status = ep_part_path(folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, path, error);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  status = ep_table_peek(file, path, &table, &values_offset, error);
  if (status == EP_OK && found->target >= table.columns)
    status = ep_fail(error, EP_DATA, "%s is not what was said of it", path);
  found->dtype = table.dtype;
  if (status == EP_OK) status = ep_table_walk(file, &table, values_offset, row_visit, found, error);
  close(file);
  return status;
}

static ep_status rows_tell(const search *found, const char *name, ep_error *error) {
  char rows[96] = "", shown[EP_EXCERPT_BYTES];
  size_t used = 0;
  for (int64_t i = 0; i < found->missing && i < ROWS_TOLD; i++)
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%lld", i ? ", " : "",
                             (long long)found->first[i]);
  return ep_fail_at(error, EP_INVALID, "/data/target",
                    "%lld row%s no \"%s\" to learn from: row%s %s%s (counted from 1); leave them "
                    "out of the data",
                    (long long)found->missing, found->missing == 1 ? " has" : "s have",
                    ep_excerpt(shown, name, strlen(name)), found->missing == 1 ? "" : "s", rows,
                    found->missing > ROWS_TOLD ? ", …" : "");
}

ep_status ep_target_rows_check(const ep_data_spec *data, const char *dataset_folder,
                               ep_error *error) {
  ep_dataset_meta meta;
  search found = {0};
  if (!dataset_folder) return EP_OK;
  ep_status status = ep_dataset_meta_read(dataset_folder, &meta, error);
  if (status != EP_OK) return status;
  const ep_part *table = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  if (table->rows > 0) status = ep_target_find(data, table, &found.target, error);
  bool gaps = status == EP_OK && table->rows > 0 && table->column[found.target].missing > 0;
  if (gaps) status = rows_find(dataset_folder, &found, error);
  if (status == EP_OK && found.missing > 0)
    status = rows_tell(&found, table->column[found.target].name, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}
