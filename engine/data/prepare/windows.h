/* windows.h: the examples of a series (data->window): so many successive rows of a table, and the
 * target of a later row. Each series, the rows of one word of window.group or all, is cut by its
 * order into training, validation and test rows, the newest last; an example has rows of one of
 * these alone, its target's too. */
#ifndef EP_ENGINE_DATA_PREPARE_WINDOWS_H
#define EP_ENGINE_DATA_PREPARE_WINDOWS_H

#include "api/baseline/baseline.h"
#include "api/spec/job_spec.h"
#include "api/vocabulary.h"
#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"

typedef struct {
  int64_t length, horizon, stride; /* 0 rows long: rows stand alone, and nothing else is set */
  int64_t time, group;             /* columns of the table; -1: none */
  int64_t count;                   /* series */
  int64_t (*rows)[EP_SPLIT_COUNT]; /* [count], owned: of each */
  int64_t train_rows;              /* of all of them */
  int64_t windows[EP_SPLIT_COUNT]; /* examples of each split */
  int64_t *order;                  /* [rows of the table], owned: rows by series and time; NULL: as
                                      they lie */
  int64_t *first[EP_SPLIT_COUNT];  /* [windows], owned: the place in that order of an example's
                                      first row */
  ep_series_gaps found;            /* in the times */
} ep_windows;

/* The examples of the table of `meta` (NULL: there is none). Where time or group is given, reads
 * the table, without mapping it, and leaves out examples over gaps, unless they are kept (gaps.h).
 * target: its column. EP_INVALID: no such column, one that is no category, or has missing cells; a
 * target with missing cells; folds, stratify or data->group beside it; a split without an example.
 * EP_DATA: the table does not match its metadata. ep_windows_deinit, also on failure. */
ep_status ep_windows_find(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                          ep_windows *out, ep_error *error);

/* split: [rows], written: ep_split of each, in the order of the series. */
void ep_windows_assign(const ep_windows *windows, uint8_t *split);

/* The row that has the target of example `index`, in that order. */
int64_t ep_windows_target_row(const ep_windows *windows, ep_split split, int64_t index);

/* One example. series: [rows, features], encoded, in that order; x: [features, length], written:
 * the oldest row of each feature first. */
void ep_windows_gather(const ep_windows *windows, ep_split split, int64_t index,
                       const float *series, int64_t features, float *x);

/* What the last known target scores as the forecast of the test examples. y: [rows of the table],
 * the targets, in the order of the table where `order` is set and else in that of the series. */
ep_baseline ep_windows_last_value(const ep_windows *windows, const double *y);

void ep_windows_deinit(ep_windows *windows); /* a zeroed one is allowed */

#endif
