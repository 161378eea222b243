#include "engine/data/prepare/split.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "kernels/random.h"

static ep_status fraction_count(double fraction, int64_t rows, const char *pointer, int64_t *out,
                                ep_error *error) {
  *out = 0;
  if (fraction == 0) return EP_OK;
  if (!(fraction > 0 && fraction < 1))
    return ep_fail_at(error, EP_INVALID, pointer, "a fraction must be at least 0 and below 1");
  *out = llround(fraction * (double)rows);
  if (*out > 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer, "%g of %lld row%s is less than one row", fraction,
                    (long long)rows, rows == 1 ? "" : "s");
}

/* Rows of the fold that validates, of `rows`; *out stays where there are no folds. */
static ep_status fold_count(const ep_data_spec *data, int64_t rows, int64_t *out, ep_error *error) {
  if (data->folds == 0) return EP_OK;
  if (data->folds > rows)
    return ep_fail_at(error, EP_INVALID, "/data/folds",
                      "%lld folds of %lld row%s%s: each takes at least one", (long long)data->folds,
                      (long long)rows, rows == 1 ? "" : "s",
                      data->test != 0 ? " that are not test rows" : "");
  *out = (rows - data->fold + data->folds - 1) / data->folds;
  return EP_OK;
}

ep_status ep_split_count(const ep_data_spec *data, const int64_t own_rows[EP_SPLIT_COUNT],
                         int64_t out[EP_SPLIT_COUNT], ep_error *error) {
  int64_t test, validation, rows = own_rows[EP_SPLIT_TRAIN];
  if (data->test != 0 && own_rows[EP_SPLIT_TEST] > 0)
    return ep_fail_at(error, EP_INVALID, "/data/test",
                      "the data already has a test set (%lld rows): remove the fraction",
                      (long long)own_rows[EP_SPLIT_TEST]);
  if (data->validation != 0 && own_rows[EP_SPLIT_VALIDATION] > 0)
    return ep_fail_at(error, EP_INVALID, "/data/validation",
                      "the data already has a validation set (%lld rows): remove the fraction",
                      (long long)own_rows[EP_SPLIT_VALIDATION]);
  if (data->folds != 0 && own_rows[EP_SPLIT_VALIDATION] > 0)
    return ep_fail_at(
        error, EP_INVALID, "/data/folds",
        "the data already has a validation set (%lld rows): remove the folds or the set",
        (long long)own_rows[EP_SPLIT_VALIDATION]);
  ep_status status = fraction_count(data->test, rows, "/data/test", &test, error);
  if (status == EP_OK)
    status = fraction_count(data->validation, rows, "/data/validation", &validation, error);
  if (status != EP_OK) return status;
  if (data->test + data->validation >= 1 || test + validation >= rows)
    return ep_fail_at(error, EP_INVALID, data->test != 0 ? "/data/test" : "/data/validation",
                      "test (%g) and validation (%g) of %lld rows leave none to train on",
                      data->test, data->validation, (long long)rows);
  status = fold_count(data, rows - test, &validation, error);
  if (status != EP_OK) return status;
  out[EP_SPLIT_TRAIN] = rows - test - validation;
  out[EP_SPLIT_VALIDATION] = validation + own_rows[EP_SPLIT_VALIDATION]; /* one of them is 0 */
  out[EP_SPLIT_TEST] = test + own_rows[EP_SPLIT_TEST];
  return EP_OK;
}

/* Of `all` places in a row, `chosen` are taken at even distances: how many are before `place`. */
static int64_t chosen_before(int64_t place, int64_t chosen, int64_t all) {
  return all == 0 ? 0 : place * chosen / all; /* below 2^62 */
}

static bool is_chosen(int64_t place, int64_t chosen, int64_t all) {
  return chosen_before(place + 1, chosen, all) > chosen_before(place, chosen, all);
}

ep_status ep_split_check_classes(const ep_data_spec *data, const int64_t *class_rows,
                                 int64_t test_rows, ep_error *error) {
  int64_t all = 0, place = 0;
  if (data->folds == 0) return EP_OK;
  for (int i = 0; i < EP_LIMIT_CLASSES; i++) all += class_rows[i];
  for (int i = 0; i < EP_LIMIT_CLASSES; i++) {
    int64_t end = place + class_rows[i];
    int64_t taken = chosen_before(end, test_rows, all) - chosen_before(place, test_rows, all);
    int64_t rest = class_rows[i] - taken;
    place = end;
    if (class_rows[i] == 0 || rest >= data->folds) continue;
    return ep_fail_at(
        error, EP_INVALID, "/data/folds",
        "class %d has %lld row%s%s, fewer than %lld folds: a stratified fold takes at "
        "least one of each class",
        i, (long long)rest, rest == 1 ? "" : "s", test_rows > 0 ? " that are not test rows" : "",
        (long long)data->folds);
  }
  return EP_OK;
}

/* What a split is cut by. */
typedef struct {
  int64_t rows, test_rows, validation_rows;
  int64_t folds, fold;
  bool evenly; /* at even distances, else from the front */
} cut;

/* The split of the row at `place` of the order. */
static ep_split split_at(const cut *by, int64_t place) {
  bool test = by->evenly ? is_chosen(place, by->test_rows, by->rows) : place < by->test_rows;
  if (test) return EP_SPLIT_TEST;
  place -= by->evenly ? chosen_before(place, by->test_rows, by->rows) : by->test_rows;
  bool validation = by->folds > 0 ? place % by->folds == by->fold
                    : by->evenly  ? is_chosen(place, by->validation_rows, by->rows - by->test_rows)
                                  : place < by->validation_rows;
  return validation ? EP_SPLIT_VALIDATION : EP_SPLIT_TRAIN;
}

void ep_split_assign(const ep_data_spec *data, int64_t rows, int64_t test_rows,
                     int64_t validation_rows, const ep_strata *strata, uint8_t *split) {
  assert(rows >= 1 && rows <= EP_LIMIT_ROWS && test_rows + validation_rows <= rows);
  cut by = {.rows = rows,
            .test_rows = test_rows,
            .validation_rows = validation_rows,
            .folds = data->folds,
            .fold = data->fold,
            .evenly = strata != NULL};
  ep_permutation permutation =
      ep_permutation_make(data->split_seed, EP_RANDOM_SPLIT, 0, (uint64_t)rows);
  int64_t next[EP_LIMIT_CLASSES] = {0}; /* the place of the next row of each class */
  for (int i = 1; strata && i < EP_LIMIT_CLASSES; i++) next[i] = next[i - 1] + strata->rows[i - 1];
  for (int64_t i = 0; i < rows; i++) {
    uint32_t row = ep_permutation_at(&permutation, (uint32_t)i);
    split[row] = (uint8_t)split_at(&by, strata ? next[strata->class_of[row]]++ : i);
  }
}
