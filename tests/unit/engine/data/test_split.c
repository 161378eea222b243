/* Which rows train, validate and test: fractions, folds, and the shares of classes. */
#include "engine/data/prepare/split.h"

#include "engine/data/prepare/prepare.h"
#include "kernels/random.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { ROWS_MOST = 2100, CLASSES_MOST = 7 };

/* Data of `rows` rows, and nothing besides. */
static void count(const ep_data_spec *data, int64_t rows, int64_t out[EP_SPLIT_COUNT]) {
  const int64_t own[EP_SPLIT_COUNT] = {[EP_SPLIT_TRAIN] = rows};
  ep_error error = {0};
  ck_assert_msg(ep_split_count(data, own, out, &error) == EP_OK, "%s", error.message);
}

static void refused(const ep_data_spec *data, int64_t rows, int64_t validation, const char *pointer,
                    const char *message) {
  const int64_t own[EP_SPLIT_COUNT] = {[EP_SPLIT_TRAIN] = rows, [EP_SPLIT_VALIDATION] = validation};
  int64_t out[EP_SPLIT_COUNT];
  ep_error error = {0};
  ck_assert_int_eq(ep_split_count(data, own, out, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, pointer);
  ck_assert_str_eq(error.message, message);
}

/* Draws the classes of the rows, some rare, some absent. */
static void strata_draw(uint64_t *state, int64_t rows, ep_strata *out) {
  uint64_t classes = 1 + scratch_random(state) % CLASSES_MOST;
  memset(out->rows, 0, sizeof out->rows);
  for (int64_t i = 0; i < rows; i++) {
    uint64_t most = 1 + scratch_random(state) % classes;
    out->class_of[i] = (uint16_t)(scratch_random(state) % most);
    out->rows[out->class_of[i]]++;
  }
}

/* Rows of each class in each split. */
static void tally(const ep_strata *strata, const uint8_t *split, int64_t rows,
                  int64_t out[CLASSES_MOST][EP_SPLIT_COUNT]) {
  memset(out, 0, sizeof(int64_t) * CLASSES_MOST * EP_SPLIT_COUNT);
  for (int64_t i = 0; i < rows; i++) out[strata->class_of[i]][split[i]]++;
}

static void totals_check(const uint8_t *split, int64_t rows, const int64_t wanted[EP_SPLIT_COUNT]) {
  int64_t got[EP_SPLIT_COUNT] = {0};
  for (int64_t i = 0; i < rows; i++) got[split[i]]++;
  for (int i = 0; i < EP_SPLIT_COUNT; i++) ck_assert_int_eq(got[i], wanted[i]);
}

/* Every fold of one job's data: each row that is no test row validates once, sizes differ by one at
 * most, and with strata those of each class too. */
static void folds_check(ep_data_spec data, int64_t rows, const ep_strata *strata) {
  uint8_t split[ROWS_MOST], first[ROWS_MOST];
  int64_t validated[ROWS_MOST] = {0}, sizes[EP_SPLIT_COUNT], least = rows, greatest = 0, wrong = 0;
  int64_t class_least[CLASSES_MOST], class_greatest[CLASSES_MOST] = {0};
  for (int i = 0; i < CLASSES_MOST; i++) class_least[i] = rows;
  for (data.fold = 0; data.fold < data.folds; data.fold++) {
    int64_t of_class[CLASSES_MOST][EP_SPLIT_COUNT];
    count(&data, rows, sizes);
    ep_split_assign(&data, rows, sizes[EP_SPLIT_TEST], sizes[EP_SPLIT_VALIDATION], strata, split);
    totals_check(split, rows, sizes);
    ck_assert_int_ge(sizes[EP_SPLIT_TRAIN], 1);
    if (data.fold == 0) memcpy(first, split, sizeof split);
    for (int64_t i = 0; i < rows; i++) {
      wrong += (split[i] == EP_SPLIT_TEST) != (first[i] == EP_SPLIT_TEST);
      validated[i] += split[i] == EP_SPLIT_VALIDATION;
    }
    if (sizes[EP_SPLIT_VALIDATION] < least) least = sizes[EP_SPLIT_VALIDATION];
    if (sizes[EP_SPLIT_VALIDATION] > greatest) greatest = sizes[EP_SPLIT_VALIDATION];
    if (!strata) continue;
    tally(strata, split, rows, of_class);
    for (int i = 0; i < CLASSES_MOST; i++) {
      int64_t mine = of_class[i][EP_SPLIT_VALIDATION];
      if (mine < class_least[i]) class_least[i] = mine;
      if (mine > class_greatest[i]) class_greatest[i] = mine;
    }
  }
  for (int64_t i = 0; i < rows; i++) wrong += validated[i] != (first[i] != EP_SPLIT_TEST);
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_ge(least, 1);
  ck_assert_int_le(greatest - least, 1);
  for (int i = 0; strata && i < CLASSES_MOST; i++)
    ck_assert_int_le(class_greatest[i] - class_least[i], 1);
}

START_TEST(each_row_validates_in_one_fold) {
  uint64_t state = 77;
  uint16_t class_of[ROWS_MOST];
  ep_strata strata = {.class_of = class_of};
  static const int64_t sizes[] = {2, 3, 31, 32, 33, 100, 101, 997, 2099};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int64_t folds = 2; folds <= EP_LIMIT_FOLDS && folds <= sizes[i];
         folds += 1 + folds / 3 * 2) {
      ep_data_spec data = {.folds = folds, .split_seed = scratch_random(&state)};
      strata_draw(&state, sizes[i], &strata);
      folds_check(data, sizes[i], NULL);
      folds_check(data, sizes[i], &strata);
      data.test = 0.23;
      if (sizes[i] - sizes[i] / 4 - 1 < folds) continue;
      folds_check(data, sizes[i], NULL);
      folds_check(data, sizes[i], &strata);
    }
}
END_TEST

/* The test rows are those of a job without folds, and the fold is what the header says. */
START_TEST(folds_are_dealt_in_the_order_of_the_permutation) {
  enum { ROWS = 103 };
  ep_data_spec data = {.folds = 5, .fold = 3, .test = 0.2, .split_seed = 42};
  uint8_t split[ROWS], plain[ROWS];
  int64_t rows[EP_SPLIT_COUNT];
  count(&data, ROWS, rows);
  ck_assert(rows[EP_SPLIT_TEST] == 21 && rows[EP_SPLIT_VALIDATION] == 16);
  ep_split_assign(&data, ROWS, 21, 16, NULL, split);
  ep_permutation permutation = ep_permutation_make(42, EP_RANDOM_SPLIT, 0, ROWS);
  for (uint32_t i = 0; i < ROWS; i++) {
    ep_split wanted = i < 21              ? EP_SPLIT_TEST
                      : (i - 21) % 5 == 3 ? EP_SPLIT_VALIDATION
                                          : EP_SPLIT_TRAIN;
    ck_assert_int_eq(split[ep_permutation_at(&permutation, i)], wanted);
  }
  data.folds = 0;
  ep_split_assign(&data, ROWS, 21, 0, NULL, plain);
  for (int i = 0; i < ROWS; i++)
    ck_assert_int_eq(plain[i] == EP_SPLIT_TEST, split[i] == EP_SPLIT_TEST);
}
END_TEST

/* The share of a class in a split is its share of all rows, give or take a row. */
static void share_check(int64_t got, int64_t of_class, int64_t of_split, int64_t all) {
  double wanted = (double)of_class * (double)of_split / (double)all;
  ck_assert_msg((double)got > wanted - 1 && (double)got < wanted + 1, "%lld of %lld: %lld, not %g",
                (long long)of_split, (long long)all, (long long)got, wanted);
}

START_TEST(fractions_keep_the_shares_of_classes) {
  uint64_t state = 78;
  uint16_t class_of[ROWS_MOST];
  uint8_t split[ROWS_MOST];
  ep_strata strata = {.class_of = class_of};
  for (int round = 0; round < 300; round++) {
    int64_t rows = 20 + (int64_t)(scratch_random(&state) % (ROWS_MOST - 20)), sizes[EP_SPLIT_COUNT];
    int64_t of_class[CLASSES_MOST][EP_SPLIT_COUNT];
    ep_data_spec data = {.stratify = true,
                         .split_seed = scratch_random(&state),
                         .test = (double)(scratch_random(&state) % 5) / 10,
                         .validation = (double)(scratch_random(&state) % 5) / 10};
    strata_draw(&state, rows, &strata);
    count(&data, rows, sizes);
    ep_split_assign(&data, rows, sizes[EP_SPLIT_TEST], sizes[EP_SPLIT_VALIDATION], &strata, split);
    totals_check(split, rows, sizes);
    tally(&strata, split, rows, of_class);
    for (int i = 0; i < CLASSES_MOST; i++) {
      int64_t rest = strata.rows[i] - of_class[i][EP_SPLIT_TEST];
      share_check(of_class[i][EP_SPLIT_TEST], strata.rows[i], sizes[EP_SPLIT_TEST], rows);
      share_check(of_class[i][EP_SPLIT_VALIDATION], rest, sizes[EP_SPLIT_VALIDATION],
                  rows - sizes[EP_SPLIT_TEST]);
    }
  }
}
END_TEST

START_TEST(both_sides_of_the_counts) {
  int64_t rows[EP_SPLIT_COUNT];
  ep_data_spec data = {.folds = 5, .fold = 4, .split_seed = 1};
  count(&data, 5, rows);
  ck_assert(rows[EP_SPLIT_TRAIN] == 4 && rows[EP_SPLIT_VALIDATION] == 1);
  refused(&data, 4, 0, "/data/folds", "5 folds of 4 rows: each takes at least one");
  refused(&data, 1, 0, "/data/folds", "5 folds of 1 row: each takes at least one");
  data.test = 0.25;
  refused(&data, 6, 0, "/data/folds",
          "5 folds of 4 rows that are not test rows: each takes at least one");
  count(&data, 7, rows);
  ck_assert(rows[EP_SPLIT_TRAIN] == 4 && rows[EP_SPLIT_TEST] == 2);
  refused(&data, 100, 7, "/data/folds",
          "the data already has a validation set (7 rows): remove the folds or the set");
  data.test = 0;
  data.folds = EP_LIMIT_FOLDS;
  data.fold = EP_LIMIT_FOLDS - 1;
  count(&data, EP_LIMIT_ROWS, rows);
  ck_assert_int_eq(rows[EP_SPLIT_VALIDATION], EP_LIMIT_ROWS / EP_LIMIT_FOLDS);
}
END_TEST

START_TEST(a_fold_has_a_row_of_each_class) {
  ep_data_spec data = {.folds = 5, .stratify = true};
  int64_t rows[EP_LIMIT_CLASSES] = {[0] = 50, [3] = 5, [EP_LIMIT_CLASSES - 1] = 7};
  ep_error error = {0};
  ck_assert_int_eq(ep_split_check_classes(&data, rows, 0, &error), EP_OK);
  rows[3] = 4;
  ck_assert_int_eq(ep_split_check_classes(&data, rows, 0, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/folds");
  ck_assert_str_eq(error.message, "class 3 has 4 rows, fewer than 5 folds: a stratified fold takes "
                                  "at least one of each class");
  rows[3] = 5;
  ck_assert_int_eq(ep_split_check_classes(&data, rows, 31, &error), EP_INVALID); /* half of all */
  ck_assert_ptr_nonnull(strstr(error.message, "class 3 has 3 rows that are not test rows, fewer"));
  data.folds = 0; /* fractions round as they may */
  ck_assert_int_eq(ep_split_check_classes(&data, rows, 31, &error), EP_OK);
}
END_TEST

static ep_data_spec inline_spec(double *x, double *y, int64_t rows, int64_t targets) {
  return (ep_data_spec){.source = EP_DATA_INLINE,
                        .inline_x = x,
                        .inline_y = y,
                        .inline_rows = rows,
                        .inline_columns = 1,
                        .inline_targets = targets,
                        .split_seed = 1,
                        .folds = 3,
                        .stratify = true};
}

/* Classes as numbers, as one-hot columns, and of a binary loss are split alike. */
START_TEST(prepared_folds_are_stratified) {
  enum { ROWS = 90 };
  double x[ROWS], y[ROWS], one_hot[2 * ROWS];
  for (int i = 0; i < ROWS; i++) {
    x[i] = i;
    y[i] = i % 10 == 0; /* 9 rows of 1 */
    one_hot[2 * i] = !(one_hot[2 * i + 1] = y[i]);
  }
  for (int64_t fold = 0; fold < 3; fold++) {
    ep_data_spec spec = inline_spec(x, y, ROWS, 1), wide = inline_spec(x, one_hot, ROWS, 2);
    ep_prepared classes, binary, columns;
    ep_error error = {0};
    spec.fold = wide.fold = fold;
    ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_CROSS_ENTROPY, NULL, &classes, &error), EP_OK);
    ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_BCE_WITH_LOGITS, NULL, &binary, &error), EP_OK);
    ck_assert_int_eq(ep_prepare(&wide, EP_LOSS_CROSS_ENTROPY, NULL, &columns, &error), EP_OK);
    ck_assert_int_eq(classes.rows[EP_SPLIT_VALIDATION], 30);
    int ones = 0;
    for (int i = 0; i < 30; i++) ones += classes.classes[EP_SPLIT_VALIDATION][i];
    ck_assert_int_eq(ones, 3);
    ck_assert_mem_eq(classes.x[EP_SPLIT_VALIDATION], binary.x[EP_SPLIT_VALIDATION],
                     30 * sizeof(float));
    ck_assert_mem_eq(classes.x[EP_SPLIT_VALIDATION], columns.x[EP_SPLIT_VALIDATION],
                     30 * sizeof(float));
    ep_prepared_deinit(&classes);
    ep_prepared_deinit(&binary);
    ep_prepared_deinit(&columns);
  }
}
END_TEST

START_TEST(classes_beyond_the_limit_are_one_stratum) {
  enum { ROWS = 40 };
  double x[ROWS], y[ROWS];
  for (int i = 0; i < ROWS; i++) {
    x[i] = i;
    y[i] = i % 2 ? EP_LIMIT_CLASSES + i : 0;
  }
  ep_data_spec spec = inline_spec(x, y, ROWS, 1);
  ep_prepared prepared;
  ep_error error = {0};
  spec.folds = 0;
  spec.test = 0.5;
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_CROSS_ENTROPY, NULL, &prepared, &error), EP_OK);
  int zeros = 0;
  for (int i = 0; i < ROWS / 2; i++) zeros += prepared.classes[EP_SPLIT_TEST][i] == 0;
  ck_assert_int_eq(zeros, ROWS / 4);
  ep_prepared_deinit(&prepared);
}
END_TEST

static void prepare_refused(const ep_data_spec *spec, ep_loss_type loss, ep_status status,
                            const char *pointer, const char *message) {
  ep_prepared prepared;
  ep_error error = {0};
  ck_assert_int_eq(ep_prepare(spec, loss, NULL, &prepared, &error), status);
  ck_assert_str_eq(error.pointer, pointer);
  ck_assert_str_eq(error.message, message);
}

START_TEST(what_has_no_classes_is_not_stratified) {
  double x[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, y[9] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
  ep_data_spec spec = inline_spec(x, y, 9, 1);
  prepare_refused(&spec, EP_LOSS_CROSS_ENTROPY, EP_INVALID, "/data/folds",
                  "class 1 has 2 rows, fewer than 3 folds: a stratified fold takes at least one of "
                  "each class");
  prepare_refused(&spec, EP_LOSS_MSE, EP_INVALID, "/data/stratify",
                  "mse of 1 target column has no classes to stratify by");
  ep_data_spec wide = inline_spec(x, y, 4, 2);
  prepare_refused(&wide, EP_LOSS_BCE, EP_INVALID, "/data/stratify",
                  "bce of 2 target columns has no classes to stratify by");
  y[0] = 0.5;
  prepare_refused(&spec, EP_LOSS_BCE, EP_DATA, "/loss",
                  "the target 0.5 is not a class; classes are 0, 1, 2, … up to 1023");
  y[0] = EP_LIMIT_CLASSES;
  prepare_refused(&spec, EP_LOSS_NLL, EP_DATA, "/loss",
                  "the target 1024 is not a class; classes are 0, 1, 2, … up to 1023");
}
END_TEST

EP_SUITE("split") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, each_row_validates_in_one_fold);
  tcase_add_test(all, folds_are_dealt_in_the_order_of_the_permutation);
  tcase_add_test(all, fractions_keep_the_shares_of_classes);
  tcase_add_test(all, both_sides_of_the_counts);
  tcase_add_test(all, a_fold_has_a_row_of_each_class);
  tcase_add_test(all, prepared_folds_are_stratified);
  tcase_add_test(all, classes_beyond_the_limit_are_one_stratum);
  tcase_add_test(all, what_has_no_classes_is_not_stratified);
}
