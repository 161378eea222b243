/* split.h: which rows train, which validate, which test. */
#ifndef EP_ENGINE_DATA_PREPARE_SPLIT_H
#define EP_ENGINE_DATA_PREPARE_SPLIT_H

#include "api/spec/spec.h"
#include "api/vocabulary.h"

/* Rows of each split of data that brings own_rows[EP_SPLIT_TRAIN] rows and, besides, test and
 * validation sets of its own (0 rows: none). With folds, the validation split is one of them, and
 * they may differ by one row. Neither the numbers nor the errors depend on "stratify". EP_INVALID
 * at /data/test, /data/validation or /data/folds: a fraction or folds beside a set of that kind, a
 * fraction that takes no row, more folds than rows, no row left to train on. */
ep_status ep_split_count(const ep_data_spec *data, const int64_t own_rows[EP_SPLIT_COUNT],
                         int64_t out[EP_SPLIT_COUNT], ep_error *error);

/* The classes of the main rows, for a split that keeps their shares. */
typedef struct {
  uint16_t *class_of;             /* [rows], owned by whoever made it */
  int64_t rows[EP_LIMIT_CLASSES]; /* of each class */
} ep_strata;

/* Whether each fold gets a row of each class, when `test_rows` of the rows of these classes are
 * taken first: EP_INVALID at /data/folds, with the class and its count. class_rows:
 * [EP_LIMIT_CLASSES]. */
ep_status ep_split_check_classes(const ep_data_spec *data, const int64_t *class_rows,
                                 int64_t test_rows, ep_error *error);

/* The split (ep_split) of each of the rows, [rows], written. Rows stand in the order of the
 * permutation (split_seed, EP_RANDOM_SPLIT): the first `test_rows` test; of the others the first
 * `validation_rows` validate, or, with folds, number k of them is in fold k modulo folds. With
 * strata, the rows of class 0 stand before those of class 1 and so on, each class in the order of
 * the permutation; test and validation rows are taken at even distances, so that each class gets
 * its share, give or take a row. Test rows of the data's own count 0 here: `test_rows` and
 * `validation_rows` are taken from `rows`. strata: NULL unless data->stratify. */
void ep_split_assign(const ep_data_spec *data, int64_t rows, int64_t test_rows,
                     int64_t validation_rows, const ep_strata *strata, uint8_t *split);

#endif
