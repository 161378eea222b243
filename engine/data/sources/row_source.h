/* row_source.h: rows of x and y as doubles, wherever they come from: a table, a pair of tables, the
 * spec itself, a generator. */
#ifndef EP_ENGINE_DATA_SOURCES_ROW_SOURCE_H
#define EP_ENGINE_DATA_SOURCES_ROW_SOURCE_H

#include "api/spec/spec.h"
#include "api/vocabulary.h"
#include "engine/data/arrays/table.h"
#include "engine/data/datasets/dataset.h"

typedef struct ep_row_source ep_row_source;
struct ep_row_source {
  int64_t rows, features, targets; /* 0 rows: there are none */
  void (*read)(const ep_row_source *samples, int64_t row, double *x, double *y);
  ep_table x, y;      /* open; x is the whole table when the target stands in it */
  int64_t target;     /* its column then */
  bool whole;         /* of a series (data->window): x has the target's cell, too */
  int64_t *kept;      /* [rows], owned: rows of that table that are left (kept_rows.h); NULL: all */
  bool apart;         /* rows of x are rows of the table x */
  ep_column *retyped; /* [retyped_count], owned: columns of the table whose cells a job reads in
                         another way (retype.h), and which they are: */
  int64_t *retyped_column, retyped_count; /* [retyped_count], owned */
  bool swapped;    /* the first of two classes is the positive one: 0 is read as 1, and 1 as 0 */
  bool unlabelled; /* they have no targets: what is read of y are NaN */
  const ep_data_spec *data; /* lent: inline and generators */
  bool test;                /* generators */
};

/* Rows of a table without a target are none: nothing can be learnt from them, or measured by them.
 * A series has none.
 *
 * Opens the main rows (in the place of the training set) and the data's own test and validation
 * rows. `dataset_folder`: NULL unless the source is a dataset, or a path that was read into one.
 * `data` is lent until close. On failure all are closed. */
ep_status ep_row_source_open(const ep_data_spec *data, const char *dataset_folder,
                             ep_row_source sets[EP_SPLIT_COUNT], ep_error *error);
void ep_row_source_close(ep_row_source sets[EP_SPLIT_COUNT]);

/* The row of the file that row `row` is. */
static inline int64_t ep_row_source_place(const ep_row_source *samples, int64_t row) {
  return samples->kept ? samples->kept[row] : row;
}

/* A cell of the table, as the job reads it. row: of the file. */
double ep_row_source_cell(const ep_row_source *samples, int64_t row, int64_t column);

/* x: [features], or NULL when it is not wanted; y: [targets]; written. */
static inline void ep_row_source_read(const ep_row_source *samples, int64_t row, double *x,
                                      double *y) {
  samples->read(samples, row, x, y);
  if (samples->swapped) y[0] = 1 - y[0];
}

#endif
