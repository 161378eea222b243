#include "engine/first_model/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/retype.h"
#include "engine/data/prepare/windows.h"
#include "engine/data/sources/class_counts.h"
#include "engine/data/sources/table_walk.h"

enum { READ_BYTES = 64 << 20 }; /* of the file that is read for it, at most */

bool ep_baseline_reads(const ep_part *part) {
  double values = part ? (double)part->rows * (double)part->columns : 0;
  return values * (part ? (double)ep_dtype_bytes(part->dtype) : 0) <= READ_BYTES;
}

/* The rows of each class, as the description has counted them, or the file. False: not known. */
static bool class_rows_find(const ep_explained *of, const ep_part *table, const ep_words *words,
                            int64_t rows[EP_LIMIT_CLASSES]) {
  int64_t counted = 0;
  memset(rows, 0, EP_LIMIT_CLASSES * sizeof *rows);
  for (int64_t k = 0; words && words->rows && k < words->count && k < EP_LIMIT_CLASSES; k++)
    counted += rows[k] = words->rows[k];
  if (counted > 0) return true;
  const ep_part *y = of->meta ? &of->meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y] : NULL;
  return ep_baseline_reads(table ? table : y) &&
         ep_class_counts_read(&of->spec->data, of->folder, rows, NULL) == EP_OK;
}

static void class_find(const ep_explained *of, const ep_part *table, int64_t target,
                       ep_baseline *out) {
  const ep_dataset_meta *meta = of->meta;
  const ep_words *words = table ? &table->column[target].words : NULL;
  int64_t rows[EP_LIMIT_CLASSES], all = 0;
  int most = 0;
  char shown[EP_EXCERPT_BYTES];
  if (!class_rows_find(of, table, words, rows)) return;
  for (int k = 0; k < EP_LIMIT_CLASSES; k++) {
    all += rows[k];
    if (rows[k] > rows[most]) most = k;
  }
  if (all == 0) return;
  const char *name = words && most < words->count             ? words->word[most]
                     : meta && !words && most < meta->classes ? meta->class_name[most].name
                                                              : NULL;
  if (name) name = ep_excerpt(shown, name, strlen(name));
  *out = ep_baseline_of_class(name, most, (double)rows[most] / (double)all);
}

/* The targets of a table on their way. */
typedef struct {
  const ep_part *table;
  int64_t target;
  double *y; /* [rows] */
  int64_t rows;
} reading;

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  reading *to = context;
  (void)error;
  const ep_column *column = &to->table->column[to->target];
  double *y = &to->y[to->rows++];
  ep_dtype_values(to->table->dtype, row + (size_t)to->target * ep_dtype_bytes(to->table->dtype), 1,
                  y);
  if (ep_column_is_retyped(column)) *y = ep_retyped_cell(column, *y);
  return EP_OK;
}

static ep_baseline last_value_find(const ep_explained *of, const ep_part *table, int64_t target) {
  ep_windows windows = {0};
  reading to = {.table = table, .target = target};
  ep_baseline found = {0};
  if (!table || !ep_baseline_reads(table)) return found;
  to.y = malloc((size_t)table->rows * sizeof *to.y);
  ep_status status = to.y ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK)
    status = ep_main_part_walk(&of->spec->data, of->meta, EP_ROLE_TABLE, row_visit, &to, NULL);
  if (status == EP_OK) status = ep_windows_find(&of->spec->data, of->meta, target, &windows, NULL);
  if (status == EP_OK) found = ep_windows_last_value(&windows, to.y);
  ep_windows_deinit(&windows);
  free(to.y);
  return found;
}

ep_baseline ep_baseline_find(const ep_explained *of, const ep_part *table, int64_t target,
                             int64_t classes) {
  ep_baseline found = {0};
  if (classes > 0) {
    class_find(of, table, target, &found);
    return found;
  }
  if (of->spec->data.window.length > 0) found = last_value_find(of, table, target);
  return found.of[0] ? found : ep_baseline_of_mean();
}
