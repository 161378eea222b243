#include "api/sweep/leaderboard.h"

#include <math.h>
#include <stdlib.h>

/* parts: [count]. */
static void row_fill(const ep_trial_record *parts, int count, ep_trial_row *row) {
  double squares = 0;
  row->epochs = parts->epochs_done;
  for (int i = 0; i < count; i++) {
    row->metric += parts[i].metric / count;
    for (int split = 0; split < EP_SPLIT_COUNT; split++)
      row->loss[split] += parts[i].metrics[split][0] / count;
    row->seconds += parts[i].seconds;
    if (row->outcome == EP_OK) row->outcome = (ep_status)parts[i].status;
  }
  for (int i = 0; i < count; i++)
    squares += (parts[i].metric - row->metric) * (parts[i].metric - row->metric);
  row->deviation = count > 1 ? sqrt(squares / (count - 1)) : NAN;
}

/* What is less stands before. */
static int rows_compare(const ep_trial_row *a, const ep_trial_row *b, double sign) {
  if (isnan(a->metric) != isnan(b->metric)) return isnan(a->metric) ? 1 : -1;
  double first = sign * a->metric, second = sign * b->metric;
  if (first < second) return -1;
  if (first > second) return 1;
  return a->trial < b->trial ? -1 : a->trial > b->trial;
}

static int least_first(const void *a, const void *b) {
  return rows_compare(a, b, 1);
}

static int most_first(const void *a, const void *b) {
  return rows_compare(a, b, -1);
}

static int trials_compare(const void *a, const void *b) {
  const ep_trial_row *first = a, *second = b;
  return first->trial < second->trial ? -1 : first->trial > second->trial;
}

/* A row for each trial. places: [trainings], zeros: the row of a trial, from 1. */
static ep_status rows_collect(const ep_trial_record *records, int64_t trainings, int parts,
                              int64_t *places, ep_trial_row *rows, int64_t *count,
                              ep_error *error) {
  for (int64_t t = 0; t < trainings; t++) {
    const ep_trial_record *first = &records[t * parts];
    if (first->trial < 0 || first->trial >= trainings)
      return ep_fail(error, EP_DAMAGED, "the results of the sweep reference an unknown trial");
    int64_t *place = &places[first->trial];
    if (*place == 0) *place = ++*count;
    rows[*place - 1] = (ep_trial_row){.trial = first->trial, .first = t * parts};
    row_fill(first, parts, &rows[*place - 1]);
  }
  return EP_OK;
}

ep_status ep_leaderboard_make(const ep_sweep_spec *sweep, const ep_trial_record *records,
                              int64_t count, bool by_trial, ep_trial_row **rows,
                              int64_t *rows_count, ep_error *error) {
  int parts = ep_sweep_parts(sweep);
  int64_t trainings = count / parts;
  int64_t *places = calloc((size_t)trainings + 1, sizeof *places);
  *rows_count = 0;
  *rows = calloc((size_t)trainings + 1, sizeof **rows);
  ep_status status = places && *rows ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK)
    status = rows_collect(records, trainings, parts, places, *rows, rows_count, error);
  free(places);
  if (status != EP_OK) {
    free(*rows);
    *rows = NULL;
    return status;
  }
  qsort(*rows, (size_t)*rows_count, sizeof **rows, sweep->maximize ? most_first : least_first);
  for (int64_t i = 0; i < *rows_count; i++) (*rows)[i].rank = i + 1;
  if (by_trial) qsort(*rows, (size_t)*rows_count, sizeof **rows, trials_compare);
  return EP_OK;
}
