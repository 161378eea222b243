/* scaling.h: what is learnt of the training rows before the training: to the scale that a network
 * learns in ("standardize"), and back; the encoding of a table's columns. */
#ifndef EP_ENGINE_DATA_PREPARE_SCALING_H
#define EP_ENGINE_DATA_PREPARE_SCALING_H

#include <stdint.h>

#include "engine/data/columns/encoding.h"

/* Mean and deviation of the training split: scaled = (value - mean) / deviation (population
 * deviation; a column without any is divided by 1). */
typedef struct {
  int64_t x_columns, y_columns;
  double *x_mean, *x_deviation; /* [x_columns], NULL unless x is standardized; owned */
  double *y_mean, *y_deviation; /* [y_columns], NULL unless y is; owned */
  ep_encoding *encoding;        /* of raw rows to x; NULL: rows are what a network takes; owned */
  ep_words names; /* of a table of plain numbers, which is not encoded: the columns of x, as they
                     are called; empty: they have no names; owned, without `rows`, */
  ep_column_range *ranges;              /* [names.count], of each; owned, */
  char target[EP_LIMIT_NAME_BYTES + 1]; /* and the one that is predicted; */
  ep_dialect dialect;                   /* how the table was written; nothing set: in no text */
  ep_words classes; /* what class numbers stand for, where x and y came apart; owned, without
                       `rows` */
} ep_scaling;

/* x: [rows, x_columns] in units of the data, scaled: [rows, x_columns] float32, written. */
void ep_scaling_apply_x(const ep_scaling *scaling, const double *x, int64_t rows, float *scaled);
/* Undoes y's scaling: output: [rows, y_columns] of the network, values: written in units of the
 * data. */
void ep_scaling_undo_y(const ep_scaling *scaling, const float *output, int64_t rows,
                       double *values);
/* The names of the classes: those of the data, or of an encoded table's target; NULL: numbers. A
 * loan. */
const ep_words *ep_scaling_classes(const ep_scaling *scaling);
void ep_scaling_deinit(ep_scaling *scaling);

#endif
