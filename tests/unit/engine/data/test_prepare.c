#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/shape.h"
#include "engine/plan/plan.h"

#include <float.h>
#include <math.h>

#include "engine/data/prepare/split.h"
#include "kernels/random.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static ep_data_spec inline_spec(double *x, double *y, int64_t rows, int64_t columns,
                                int64_t targets) {
  return (ep_data_spec){.source = EP_DATA_INLINE,
                        .inline_x = x,
                        .inline_y = y,
                        .inline_rows = rows,
                        .inline_columns = columns,
                        .inline_targets = targets,
                        .split_seed = 1};
}

/* x of a split that is float32. */
static const float *x_of(const ep_prepared *prepared, int split) {
  ck_assert_int_eq(prepared->x_type, EP_X_FLOAT32);
  return prepared->x[split];
}

static void prepare(const ep_data_spec *spec, ep_loss_type loss, ep_prepared *out) {
  ep_error error = {0};
  ck_assert_msg(ep_prepare(spec, loss, NULL, out, &error) == EP_OK, "%s", error.message);
}

static void refused(const ep_data_spec *spec, ep_loss_type loss, ep_status status,
                    const char *pointer, const char *message) {
  ep_prepared prepared;
  ep_error error = {0};
  ck_assert_int_eq(ep_prepare(spec, loss, NULL, &prepared, &error), status);
  ck_assert_str_eq(error.pointer, pointer);
  ck_assert_str_eq(error.message, message);
  ck_assert_ptr_null(prepared.x[EP_SPLIT_TRAIN]);
}

/* Rows are numbered by their own x, so that a split shows which rows it took. */
START_TEST(the_permutation_decides_and_rows_keep_their_order) {
  enum { ROWS = 101, TEST = 20, VALIDATION = 10 };
  double x[ROWS], y[ROWS];
  for (int i = 0; i < ROWS; i++) x[i] = y[i] = i;
  ep_data_spec spec = inline_spec(x, y, ROWS, 1, 1);
  spec.test = 0.2;       /* 20.2 */
  spec.validation = 0.1; /* 10.1 */
  spec.split_seed = 42;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  ck_assert(prepared.rows[EP_SPLIT_TEST] == TEST &&
            prepared.rows[EP_SPLIT_VALIDATION] == VALIDATION &&
            prepared.rows[EP_SPLIT_TRAIN] == ROWS - TEST - VALIDATION);
  int wanted[ROWS] = {0};
  ep_permutation permutation = ep_permutation_make(42, EP_RANDOM_SPLIT, 0, ROWS);
  for (uint32_t i = 0; i < TEST + VALIDATION; i++)
    wanted[ep_permutation_at(&permutation, i)] = i < TEST ? EP_SPLIT_TEST : EP_SPLIT_VALIDATION;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < prepared.rows[split]; i++) {
      int row = (int)x_of(&prepared, split)[i];
      ck_assert_int_eq(wanted[row], split);
      ck_assert_float_eq(prepared.y[split][i], (float)row);
      if (i > 0) ck_assert_float_lt(x_of(&prepared, split)[i - 1], x_of(&prepared, split)[i]);
    }
  ep_prepared other;
  spec.split_seed = 43;
  prepare(&spec, EP_LOSS_MSE, &other);
  ck_assert_int_ne(memcmp(prepared.x[EP_SPLIT_TEST], other.x[EP_SPLIT_TEST], TEST * sizeof(float)),
                   0);
  ep_prepared_deinit(&other);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(figures_are_the_training_rows) {
  enum { ROWS = 1000, COLUMNS = 3 };
  double *x = malloc(sizeof(double) * ROWS * COLUMNS), y[ROWS];
  uint64_t state = 9;
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLUMNS; j++)
      x[i * COLUMNS + j] = 1e6 + j + (double)(scratch_random(&state) >> 11) * 0x1p-53;
    y[i] = 3 * x[i * COLUMNS] + i;
  }
  ep_data_spec spec = inline_spec(x, y, ROWS, COLUMNS, 1);
  spec.test = 0.3;
  spec.standardize_x = spec.standardize_y = true;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  uint8_t split[ROWS];
  ep_split_assign(&spec, ROWS, 300, 0, NULL, split);
  for (int j = 0; j <= COLUMNS; j++) {
    long double sum = 0, square = 0;
    for (int i = 0; i < ROWS; i++)
      if (split[i] == EP_SPLIT_TRAIN) sum += j < COLUMNS ? x[i * COLUMNS + j] : y[i];
    for (int i = 0; i < ROWS; i++) {
      long double distance = (j < COLUMNS ? x[i * COLUMNS + j] : y[i]) - sum / 700;
      if (split[i] == EP_SPLIT_TRAIN) square += distance * distance;
    }
    const ep_scaling *scaling = &prepared.scaling;
    double mean = j < COLUMNS ? scaling->x_mean[j] : scaling->y_mean[0];
    double deviation = j < COLUMNS ? scaling->x_deviation[j] : scaling->y_deviation[0];
    ck_assert_double_eq_tol(mean, (double)(sum / 700), 1e-15 * (double)(sum / 700));
    ck_assert_double_eq_tol(deviation, (double)sqrtl(square / 700), 1e-12 * deviation);
  }
  int64_t place = 0;
  for (int i = 0; i < ROWS; i++)
    if (split[i] == EP_SPLIT_TRAIN) {
      double scaled =
          (x[i * COLUMNS] - prepared.scaling.x_mean[0]) / prepared.scaling.x_deviation[0];
      ck_assert_float_eq(x_of(&prepared, EP_SPLIT_TRAIN)[place++ * COLUMNS], (float)scaled);
    }
  ep_prepared_deinit(&prepared);
  free(x);
}
END_TEST

START_TEST(a_column_without_deviation_is_divided_by_1) {
  enum { ROWS = 10007 };
  double *x = malloc(sizeof(double) * 2 * ROWS), *y = calloc(ROWS, sizeof(double));
  for (int i = 0; i < ROWS; i++) {
    x[2 * i] = 0.1; /* its mean, summed up, is not 0.1 to the last bit */
    x[2 * i + 1] = i;
  }
  ep_data_spec spec = inline_spec(x, y, ROWS, 2, 1);
  spec.standardize_x = spec.standardize_y = true;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  ck_assert(prepared.scaling.x_deviation[0] == 1 && prepared.scaling.x_mean[0] == 0.1);
  ck_assert(prepared.scaling.y_deviation[0] == 1 && prepared.scaling.y_mean[0] == 0);
  for (int i = 0; i < ROWS; i++) ck_assert_float_eq(x_of(&prepared, EP_SPLIT_TRAIN)[2 * i], 0);
  ep_prepared_deinit(&prepared);
  free(x);
  free(y);
}
END_TEST

START_TEST(what_is_too_large_to_standardize_is_said) {
  double small[] = {1, 2, 3, 4, 5, 6}, large[] = {1, 1e300, 2, 2, 3, 3}, y[] = {1e300, 2, 3};
  ep_data_spec spec = inline_spec(large, small, 3, 2, 1);
  ep_prepared prepared;
  ep_error error = {0};
  spec.standardize_x = true;
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, NULL, &prepared, &error), EP_DATA);
  ck_assert_str_eq(error.pointer, "/data/standardize");
  ck_assert_ptr_nonnull(strstr(error.message, "column 2 of x"));
  spec = inline_spec(small, y, 3, 2, 1);
  spec.standardize_y = true;
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, NULL, &prepared, &error), EP_DATA);
  ck_assert_ptr_nonnull(strstr(error.message, "column 1 of y"));
}
END_TEST

/* Looking at each by itself would take 7e9 values. */
START_TEST(many_columns_without_deviation_take_no_time) {
  enum { ROWS = 3000, COLUMNS = 1500 };
  double *x = calloc(ROWS * COLUMNS, sizeof *x), *y = calloc(ROWS, sizeof *y);
  ck_assert(x && y);
  ep_data_spec spec = inline_spec(x, y, ROWS, COLUMNS, 1);
  spec.standardize_x = true;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  for (int j = 0; j < COLUMNS; j++) ck_assert(prepared.scaling.x_deviation[j] == 1);
  ep_prepared_deinit(&prepared);
  free(x);
  free(y);
}
END_TEST

START_TEST(a_small_deviation_stays) {
  double x[4] = {1, 1 + DBL_EPSILON, 1, 1 + DBL_EPSILON}, y[4] = {0};
  ep_data_spec spec = inline_spec(x, y, 4, 1, 1);
  spec.standardize_x = true;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  for (int i = 0; i < 4; i++) ck_assert_float_le(fabsf(x_of(&prepared, EP_SPLIT_TRAIN)[i]), 2);
  ck_assert_float_gt(x_of(&prepared, EP_SPLIT_TRAIN)[1], x_of(&prepared, EP_SPLIT_TRAIN)[0]);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(scaling_goes_there_and_back) {
  double x[6] = {1, -2, 3, 4, 5, 60}, y[6] = {10, 0.5, 20, 0.25, 60, 0};
  ep_data_spec spec = inline_spec(x, y, 3, 2, 2);
  spec.standardize_x = spec.standardize_y = true;
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  float scaled[6];
  double back[6];
  ep_scaling_apply_x(&prepared.scaling, x, 3, scaled);
  ck_assert_int_eq(memcmp(scaled, prepared.x[EP_SPLIT_TRAIN], sizeof scaled), 0);
  ep_scaling_undo_y(&prepared.scaling, prepared.y[EP_SPLIT_TRAIN], 3, back);
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(back[i], y[i], 1e-5);
  ep_prepared_deinit(&prepared);
  ep_scaling none = {.x_columns = 2, .y_columns = 1}; /* nothing standardized: as it is */
  ep_scaling_apply_x(&none, x, 3, scaled);
  ck_assert_float_eq(scaled[5], 60);
  ep_scaling_undo_y(&none, (float[]){1.5f}, 1, back);
  ck_assert_double_eq(back[0], 1.5);
}
END_TEST

START_TEST(classes_are_integers) {
  double x[3] = {1, 2, 3}, y[3] = {2, 0, 1};
  ep_data_spec spec = inline_spec(x, y, 3, 1, 1);
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_CROSS_ENTROPY, &prepared);
  ck_assert_ptr_null(prepared.y[EP_SPLIT_TRAIN]);
  ck_assert(prepared.classes[EP_SPLIT_TRAIN][0] == 2 && prepared.classes[EP_SPLIT_TRAIN][2] == 1);
  ck_assert_int_eq(prepared.target_columns, 1);
  ep_prepared_deinit(&prepared);
  y[1] = 0.5;
  refused(&spec, EP_LOSS_NLL, EP_DATA, "/loss",
          "row 2: the target 0.5 is not a class; classes are 0, 1, 2, …");
  y[1] = -1;
  refused(&spec, EP_LOSS_NLL, EP_DATA, "/loss",
          "row 2: the target -1 is not a class; classes are 0, 1, 2, …");
  y[1] = 2147483647;
  refused(&spec, EP_LOSS_NLL, EP_DATA, "/loss",
          "row 2: the target 2.14748e+09 is not a class; classes are 0, 1, 2, …");
  y[1] = 2147483646;
  prepare(&spec, EP_LOSS_NLL, &prepared);
  ck_assert_int_eq(prepared.classes[EP_SPLIT_TRAIN][1], INT32_MAX - 1);
  ep_prepared_deinit(&prepared);
  spec = inline_spec(x, y, 1, 1, 2);
  refused(&spec, EP_LOSS_CROSS_ENTROPY, EP_INVALID, "/loss",
          "cross_entropy takes one column of classes, or one-hot columns; the data has 2 target "
          "columns, which are not one-hot");
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  double x[2] = {1, 1e39}, y[2] = {0, 1};
  ep_data_spec spec = inline_spec(x, y, 2, 1, 1);
  refused(&spec, EP_LOSS_MSE, EP_DATA, "/data/standardize",
          "row 2, column 1 of x is too large for float32; standardize x or scale the data down");
  spec.standardize_x = true; /* now it fits */
  ep_prepared prepared;
  prepare(&spec, EP_LOSS_MSE, &prepared);
  ck_assert_float_eq_tol(x_of(&prepared, EP_SPLIT_TRAIN)[1], 1, 1e-6);
  ep_prepared_deinit(&prepared);
  spec.standardize_y = true;
  refused(&spec, EP_LOSS_BCE_WITH_LOGITS, EP_INVALID, "/data/standardize",
          "y contains classes for bce_with_logits: it cannot be standardized");
  spec.standardize_y = false;
  spec.test = 0.9;
  refused(&spec, EP_LOSS_MSE, EP_INVALID, "/data/test",
          "test (0.9) and validation (0) of 2 rows leave none to train on");
}
END_TEST

START_TEST(zero_may_be_positive) {
  double x[4] = {1, 2, 3, 4}, y[4] = {0, 1, 1, 0};
  ep_data_spec spec = inline_spec(x, y, 4, 1, 1);
  ep_prepared prepared;
  snprintf(spec.positive, sizeof spec.positive, "0");
  prepare(&spec, EP_LOSS_CROSS_ENTROPY, &prepared);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(prepared.classes[EP_SPLIT_TRAIN][i], 1 - (int)y[i]);
  ck_assert_str_eq(ep_scaling_classes(&prepared.scaling)->word[1], "0");
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(inline_shapes_know_their_targets) {
  double x[4] = {1, 2, 3, 4}, y[4] = {0, 3, 1, 1};
  ep_data_spec spec = inline_spec(x, y, 4, 1, 1);
  ep_data_shape shape;
  ep_problem problem = {0};
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &problem), EP_OK);
  ck_assert(shape.classes == 4 && shape.target_min == 0 && shape.target_max == 3);
  y[2] = 0.5;
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &problem), EP_OK);
  ck_assert_int_eq(shape.classes, 0);
  y[2] = 2147483647.0; /* no int32 could hold that many classes */
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &problem), EP_OK);
  ck_assert_int_eq(shape.classes, 0);
}
END_TEST

/* A stored table with the target in the middle; the shape and the rows agree. */
START_TEST(a_table_is_prepared) {
  static const char text[] = "a,y,b\n1,0,10\n2,1,20\n3,0,30\n4,1,40\n";
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  ep_data_spec spec = {.source = EP_DATA_DATASET,
                       .test = 0.25,
                       .split_seed = 1,
                       .target_by = EP_TARGET_NAME,
                       .target = "y"};
  ep_data_shape shape;
  ep_problem problem = {0};
  ep_prepared prepared;
  ck_assert_int_eq(ep_data_shape_find(&spec, &meta, &shape, &problem), EP_OK);
  ck_assert_msg(ep_prepare(&spec, EP_LOSS_BCE, scratch_folder, &prepared, &error) == EP_OK, "%s",
                error.message);
  ck_assert(prepared.features == shape.features && prepared.rows[0] == shape.train_rows &&
            prepared.rows[EP_SPLIT_TEST] == shape.test_rows);
  for (int64_t i = 0; i < 3; i++) {
    float a = x_of(&prepared, EP_SPLIT_TRAIN)[2 * i];
    ck_assert_float_eq(x_of(&prepared, EP_SPLIT_TRAIN)[2 * i + 1], 10 * a);
    ck_assert_float_eq(prepared.y[EP_SPLIT_TRAIN][i], (int)a % 2 == 0);
  }
  ep_prepared_deinit(&prepared);
  snprintf(spec.target, sizeof spec.target, "z");
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_BCE, scratch_folder, &prepared, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/target");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(a_test_set_of_its_own_is_scaled_by_training_figures) {
  static const char text[] = "{\"m\":2,\"n\":1,\"x\":[1,3],\"y\":[10,30],\"m_test\":1,"
                             "\"x_test\":[5],\"y_test\":[50]}";
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ep_data_spec spec = {
      .source = EP_DATA_DATASET, .split_seed = 1, .standardize_x = true, .standardize_y = true};
  ep_prepared prepared;
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, scratch_folder, &prepared, &error), EP_OK);
  ck_assert_float_eq(x_of(&prepared, EP_SPLIT_TRAIN)[0], -1);
  ck_assert_float_eq(x_of(&prepared, EP_SPLIT_TEST)[0], 3);
  ck_assert_float_eq(prepared.y[EP_SPLIT_TEST][0], 3);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(damaged_parts_are_refused) {
  ep_dataset_meta meta;
  ep_error error;
  char path[256];
  ck_assert_int_eq(scratch_ingest("1,2\n3,4\n", 8, NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1};
  ep_prepared prepared;
  snprintf(path, sizeof path, "%s/train.table.npy", scratch_folder);
  ck_assert_int_eq(truncate(path, 128 + 24), 0);
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, scratch_folder, &prepared, &error), EP_INVALID);
  unlink(path);
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, scratch_folder, &prepared, &error), EP_NOT_FOUND);
}
END_TEST

EP_SUITE("prepare") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, the_permutation_decides_and_rows_keep_their_order);
  tcase_add_test(all, figures_are_the_training_rows);
  tcase_add_test(all, a_column_without_deviation_is_divided_by_1);
  tcase_add_test(all, what_is_too_large_to_standardize_is_said);
  tcase_add_test(all, many_columns_without_deviation_take_no_time);
  tcase_add_test(all, a_small_deviation_stays);
  tcase_add_test(all, scaling_goes_there_and_back);
  tcase_add_test(all, classes_are_integers);
  tcase_add_test(all, what_cannot_be_is_refused);
  tcase_add_test(all, zero_may_be_positive);
  tcase_add_test(all, inline_shapes_know_their_targets);
  tcase_add_test(all, a_table_is_prepared);
  tcase_add_test(all, a_test_set_of_its_own_is_scaled_by_training_figures);
  tcase_add_test(all, damaged_parts_are_refused);
}
