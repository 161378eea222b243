/* part_writer.h: writes one part of a dataset row by row, as a canonical NPY file, and gathers each
 * column's least and greatest value on the way. Rows may be written before it is known what their
 * cells are. */
#ifndef EP_ENGINE_DATA_DATASETS_PART_WRITER_H
#define EP_ENGINE_DATA_DATASETS_PART_WRITER_H

#include "api/hash/checksum.h"
#include "api/vocabulary.h"
#include "engine/data/datasets/column_stats.h"
#include "engine/data/datasets/dataset.h"

typedef struct {
  ep_dtype dtype;
  int64_t columns;
  int dimensions; /* of a row, as it will be stored */
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS];
  ep_column *column; /* [columns], owned */
  ep_column_stats measure;
  uint8_t *buffer; /* [capacity], owned: whole rows not yet written */
  size_t row_bytes, capacity, used;
  ep_checksum checksum;  /* of what was written */
  int file;              /* -1: checks only, writes nothing */
  int64_t *budget_bytes; /* lent; what may still be written */
} ep_part_writer;

/* "folder/train.table.npy" into path: [EP_PATH_BYTES]. */
ep_status ep_part_path(const char *folder, ep_split split, ep_role role, char *path,
                       ep_error *error);

/* folder NULL: nothing is written. `column` ([columns], names filled in; of a table also types and
 * words) may be NULL: no names; it is taken, also on failure. After a failure of any function:
 * ep_part_writer_abandon. */
ep_status ep_part_writer_open(ep_part_writer *writer, const char *folder, ep_split split,
                              ep_role role, ep_dtype dtype, int64_t columns, ep_column *column,
                              int64_t *budget_bytes, ep_error *error);

/* A row is stored as [shape…], not as [columns]. shape: [dimensions], its product is `columns`. */
void ep_part_writer_shape(ep_part_writer *writer, int dimensions, const int64_t *shape);

/* The rows are those of a table, of doubles: NaN is a missing cell, and each column's values are
 * counted. Right after open. */
ep_status ep_part_writer_table(ep_part_writer *writer, ep_error *error);

/* The place of the next row, [columns] little-endian values of the dtype, aligned for it; commit
 * when it is filled. A later commit, or finish, refuses what is not finite, with row and column. */
static inline void *ep_part_writer_next(ep_part_writer *writer) {
  return writer->buffer + writer->used;
}
ep_status ep_part_writer_commit(ep_part_writer *writer, ep_error *error);

/* Goes back before the first row, and gives back what the rows took of the budget. */
ep_status ep_part_writer_restart(ep_part_writer *writer, ep_error *error);

/* Makes another row of each that was committed, of doubles, in its place: [columns], read and
 * written. again: [columns], whose values it changes; lent until finish. */
typedef void ep_row_map(void *context, double *row);
ep_status ep_part_writer_map(ep_part_writer *writer, const bool *again, ep_row_map *map,
                             void *context, ep_error *error);

/* Completes the file, fsyncs it and describes it in *out (whose columns the caller then owns). */
ep_status ep_part_writer_finish(ep_part_writer *writer, ep_part *out, ep_error *error);
/* Frees all; allowed after finish and on a zeroed writer. */
void ep_part_writer_abandon(ep_part_writer *writer);

#endif
