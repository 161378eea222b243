/* split_column.h: splits that a column of the table decides: by time, or by groups of rows. */
#ifndef EP_ENGINE_DATA_PREPARE_SPLIT_COLUMN_H
#define EP_ENGINE_DATA_PREPARE_SPLIT_COLUMN_H

#include "api/spec/job_spec.h"
#include "api/vocabulary.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/sources/row_source.h"

typedef struct {
  bool time;                    /* rows stand in the order of the column; else they are in groups */
  int64_t column;               /* of the table; -1: none decides */
  uint8_t *split;               /* [groups], owned: ep_split of each; NULL without groups */
  int64_t groups;               /* words of the column, and missing cells */
  int64_t rows[EP_SPLIT_COUNT]; /* with groups */
} ep_split_column;

/* The column of the table (NULL: there is none) of that name; EP_INVALID at `pointer`. */
ep_status ep_split_column_named(const ep_part *table, const char *name, const char *pointer,
                                int64_t *out, ep_error *error);

/* What data->time or data->group says of a table (NULL: there is none). Groups stand in the order
 * of a permutation (split_seed), and each goes to the test, then to the validation, while that
 * comes nearer to its share of the rows. EP_INVALID at /data/time or /data/group: no such column,
 * one of another type or with missing cells, beside stratify, folds or the other of the two; groups
 * so large that a split gets none. ep_split_column_deinit, also on failure. */
ep_status ep_split_column_find(const ep_data_spec *data, const ep_part *table, ep_split_column *out,
                               ep_error *error);
void ep_split_column_deinit(ep_split_column *by);

/* EP_INVALID at /data/group where rows have no target: what the groups have without them is not
 * known before the rows are read. */
ep_status ep_split_column_check(const ep_split_column *by, int64_t rows_without_target,
                                ep_error *error);

/* The split (ep_split) of each of the source's rows, [rows], written. By time the latest
 * `test_rows` test, and the latest of the others validate; of rows of the same time the last in the
 * table are the latest. */
ep_status ep_split_column_assign(const ep_split_column *by, const ep_row_source *source,
                                 int64_t test_rows, int64_t validation_rows, uint8_t *split,
                                 ep_error *error);

#endif
