/* series_rows.h: raw rows of a request as a series, or several of them: told apart by the column
 * that the model's windows are grouped by, and in the order of its time. No window has rows of two.
 */
#ifndef EP_ENGINE_DATA_INPUTS_SERIES_ROWS_H
#define EP_ENGINE_DATA_INPUTS_SERIES_ROWS_H

#include "api/json/warnings.h"
#include "engine/data/columns/encoding.h"

typedef struct {
  const double *x; /* [rows + ahead, encoding->columns]: the rows, then what is known of those to
                      come, whose targets are not looked at */
  int64_t rows, ahead;
  int64_t steps; /* rows to forecast of each series, behind its last one with a target; 0: none,
                    each window is an example */
} ep_given_rows;

typedef struct ep_series_rows {
  double *x; /* [rows, columns], owned: of a series all cells of its rows, NaN where it has fewer */
  int64_t rows, columns, windows; /* series; cells of one; examples of one */
  int64_t count;                  /* predictions that are meant: */
  int64_t *example; /* [count], owned: which one of [rows, windows], in the order of the request */
  int64_t *last; /* [count], owned: the row of the request that the example ends with; NULL: it is
                    a forecast */
  char **name;   /* [count], owned, and each: its series; NULL: rows do not say, or it is one
                    alone and no forecast */
  char **time; /* [count], owned, and each: of a forecast its time as JSON, a number or a date, null
                  where it is not known; NULL: the rows have none, or it is no forecast */
  int64_t *step; /* [count], owned: of a forecast, from 1; else NULL */
  bool many;     /* there are several series */
  bool moved;    /* the rows were not in their order */
} ep_series_rows;

/* Rows without a cell of the group are of one series, those without a time are in order: but not
 * some of them. Series that are too short are left out, with a warning, unless all are. EP_INVALID:
 * these, or a column that the model needs of rows to come is not known (all are named);
 * EP_TOO_LARGE. */
ep_status ep_series_rows_take(const ep_encoding *encoding, const ep_given_rows *given,
                              ep_series_rows *out, ep_warnings *warnings, ep_problem *problem);
void ep_series_rows_deinit(ep_series_rows *rows); /* a zeroed one is allowed */

#endif
