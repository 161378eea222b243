#include "engine/data/prepare/split.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/random.h"

static ep_status fraction_count(double fraction, int64_t rows, const char *pointer, int64_t *out,
                                ep_error *error) {
  *out = 0;
  if (fraction == 0) return EP_OK;
  if (!(fraction > 0 && fraction < 1))
    return ep_fail_at(error, EP_INVALID, pointer, "a fraction lies from 0 to below 1");
  *out = llround(fraction * (double)rows);
  if (*out > 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer, "%g of %lld row%s is no row at all", fraction,
                    (long long)rows, rows == 1 ? "" : "s");
}

ep_status ep_split_count(const ep_data_spec *data, const int64_t own_rows[EP_SPLIT_COUNT],
                         int64_t out[EP_SPLIT_COUNT], ep_error *error) {
  int64_t test, validation, rows = own_rows[EP_SPLIT_TRAIN];
  if (data->test != 0 && own_rows[EP_SPLIT_TEST] > 0)
    return ep_fail_at(error, EP_INVALID, "/data/test",
                      "the data brings a test set of its own (%lld rows): leave the fraction out",
                      (long long)own_rows[EP_SPLIT_TEST]);
  if (data->validation != 0 && own_rows[EP_SPLIT_VALIDATION] > 0)
    return ep_fail_at(error, EP_INVALID, "/data/validation",
                      "the data brings a validation set of its own (%lld rows): leave the fraction "
                      "out",
                      (long long)own_rows[EP_SPLIT_VALIDATION]);
  ep_status status = fraction_count(data->test, rows, "/data/test", &test, error);
  if (status == EP_OK)
    status = fraction_count(data->validation, rows, "/data/validation", &validation, error);
  if (status != EP_OK) return status;
  if (data->test + data->validation >= 1 || test + validation >= rows)
    return ep_fail_at(error, EP_INVALID, data->test != 0 ? "/data/test" : "/data/validation",
                      "test (%g) and validation (%g) of %lld rows leave none to train on",
                      data->test, data->validation, (long long)rows);
  out[EP_SPLIT_TRAIN] = rows - test - validation;
  out[EP_SPLIT_VALIDATION] = validation + own_rows[EP_SPLIT_VALIDATION]; /* one of them is 0 */
  out[EP_SPLIT_TEST] = test + own_rows[EP_SPLIT_TEST];
  return EP_OK;
}

void ep_split_assign(uint64_t split_seed, int64_t rows, int64_t test_rows, int64_t validation_rows,
                     uint8_t *split) {
  assert(rows >= 1 && rows <= EP_LIMIT_ROWS && test_rows + validation_rows <= rows);
  ep_permutation permutation = ep_permutation_make(split_seed, EP_RANDOM_SPLIT, 0, (uint64_t)rows);
  memset(split, EP_SPLIT_TRAIN, (size_t)rows);
  for (int64_t i = 0; i < test_rows + validation_rows; i++)
    split[ep_permutation_at(&permutation, (uint32_t)i)] =
        i < test_rows ? EP_SPLIT_TEST : EP_SPLIT_VALIDATION;
}
