/* split.h: which rows train, which validate, which test. */
#ifndef EP_ENGINE_DATA_PREPARE_SPLIT_H
#define EP_ENGINE_DATA_PREPARE_SPLIT_H

#include "api/spec/spec.h"
#include "kernels/backend.h"

/* Rows of each split of data that brings own_rows[EP_SPLIT_TRAIN] rows and, besides, test and
 * validation sets of its own (0 rows: none). EP_INVALID at /data/test or /data/validation: a
 * fraction beside a set of that kind, a fraction that takes no row, no row left to train on. */
ep_status ep_split_count(const ep_data_spec *data, const int64_t own_rows[EP_SPLIT_COUNT],
                         int64_t out[EP_SPLIT_COUNT], ep_error *error);

/* The split (ep_split) of each of the rows, [rows], written: elements 0 … of the permutation
 * (split_seed, EP_RANDOM_SPLIT) test, the next validate. Test rows of the data's own count 0 here:
 * `test_rows` and `validation_rows` are taken from `rows`. */
void ep_split_assign(uint64_t split_seed, int64_t rows, int64_t test_rows, int64_t validation_rows,
                     uint8_t *split);

#endif
