#include "engine/data/prepare/raw_rows.h"

#include <stdlib.h>

#include "engine/data/prepare/preparation.h"
#include "engine/data/sources/class_counts.h"

/* Cells of rows of a split, [rows, columns], as they are stored; those of its first rows. */
static void raw_store(const ep_preparation *work, ep_raw_rows *out) {
  const ep_windows *windows = &work->windows;
  const ep_row_source *main = &work->sets[EP_SPLIT_TRAIN], *own = &work->sets[out->split];
  int64_t length = windows->length > 0 ? windows->length : 1, row = 0, of_split = -1;
  bool from_own = out->split != EP_SPLIT_TRAIN && own->rows > 0;
  for (int64_t i = 0; i < out->rows; i++) {
    double *x = out->x + i * out->columns, *y = out->y + i * out->targets;
    if (windows->length > 0) {
      int64_t first = windows->first[out->split][i];
      for (int64_t t = 0; t < length; t++)
        ep_row_source_read(main, first + t, x + t * main->features, y);
      ep_row_source_read(main, ep_windows_target_row(windows, out->split, i), NULL, y);
      continue;
    }
    if (!from_own)
      for (; of_split < i; row++) of_split += work->split[row] == out->split;
    ep_row_source_read(from_own ? own : main, from_own ? i : row - 1, x, y);
    if (work->takes_classes) y[0] = ep_class_value(y, main->targets);
  }
}

ep_status ep_raw_rows_read(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                           int64_t most, ep_raw_rows *out, ep_error *error) {
  static const ep_split ORDER[] = {EP_SPLIT_TEST, EP_SPLIT_VALIDATION, EP_SPLIT_TRAIN};
  ep_preparation work;
  ep_prepared prepared;
  *out = (ep_raw_rows){0};
  ep_status status = ep_preparation_open(data, loss, dataset_folder, &work, &prepared, error);
  if (status == EP_OK) {
    int choice = 0;
    while (prepared.rows[ORDER[choice]] == 0 || work.sets[ORDER[choice]].unlabelled) choice++;
    const ep_row_source *main = &work.sets[EP_SPLIT_TRAIN];
    int64_t length = work.windows.length > 0 ? work.windows.length : 1;
    out->split = ORDER[choice];
    out->of_rows = prepared.rows[out->split];
    out->columns = main->features * length;
    out->targets = main->targets;
    out->rows = most / (out->columns + 1) < out->of_rows ? most / (out->columns + 1) : out->of_rows;
    if (out->rows > EP_LIMIT_PREDICT_ROWS) out->rows = EP_LIMIT_PREDICT_ROWS;
    out->x = malloc((size_t)(out->rows * out->columns + 1) * sizeof *out->x);
    out->y = malloc((size_t)(out->rows * out->targets + 1) * sizeof *out->y);
    if (out->x && out->y)
      raw_store(&work, out);
    else
      status = ep_fail_memory(error);
  }
  ep_preparation_close(&work);
  ep_prepared_deinit(&prepared);
  if (status != EP_OK) ep_raw_rows_deinit(out);
  return status;
}

void ep_raw_rows_deinit(ep_raw_rows *rows) {
  free(rows->x);
  free(rows->y);
  *rows = (ep_raw_rows){0};
}
