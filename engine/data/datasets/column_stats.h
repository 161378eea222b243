/* column_stats.h: what there is to know of a part's columns, found in one walk over its rows: the
 * least and the greatest value, whether all are whole, whether every row is one-hot; of a table's
 * columns also how many cells are missing, and how many values there are. */
#ifndef EP_ENGINE_DATA_DATASETS_COLUMN_STATS_H
#define EP_ENGINE_DATA_DATASETS_COLUMN_STATS_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/distinct.h"

typedef struct {
  ep_dtype dtype;
  int64_t rows, columns;
  ep_column *column; /* [columns], lent; min, max and integer are written */
  double *scratch;   /* [columns], owned: a row as doubles; NULL for bytes */
  uint8_t *least;    /* [2 * columns], owned: least, then greatest of bytes; NULL for others */
  bool one_hot;
  const bool *again; /* [columns], lent: which are measured; NULL: all */
  ep_distinct
      *distinct; /* [columns], owned; NULL: values are not counted, and none may be missing */
  size_t distinct_bytes; /* that all of them may still take */
} ep_column_stats;

/* On failure there is nothing to deinit. */
ep_status ep_column_stats_init(ep_column_stats *measure, ep_dtype dtype, int64_t columns,
                               ep_column *column, ep_error *error);
/* The rows are those of a table: of doubles, in which NaN is a missing cell, and values are
 * counted. Before the first row. */
ep_status ep_column_stats_table(ep_column_stats *measure, ep_error *error);
/* row: [rows, columns] little-endian values of the dtype; doubles are aligned. Refuses what is not
 * finite, with row and column, and more rows than EP_LIMIT_ROWS. */
ep_status ep_column_stats_rows(ep_column_stats *measure, const uint8_t *row, int64_t rows,
                               ep_error *error);
/* Begins again before the first row; of other columns than those of `again` ([columns], lent until
 * the last row; NULL: all) what is known stays. */
void ep_column_stats_restart(ep_column_stats *measure, const bool *again);
/* After the last row: completes the columns. */
void ep_column_stats_finish(ep_column_stats *measure);
/* A zeroed one is allowed. */
void ep_column_stats_deinit(ep_column_stats *measure);

#endif
