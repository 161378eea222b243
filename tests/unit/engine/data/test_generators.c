#include "engine/data/prepare/shape.h"
#include "engine/data/sources/generators.h"

#include <math.h>
#include <stdlib.h>

#include "engine/data/datasets/dataset.h"
#include "engine/data/prepare/prepare.h"
#include "tests/suite.h"

static ep_data_spec generated(ep_generator generator, int64_t rows, uint64_t seed) {
  return (ep_data_spec){.source = EP_DATA_GENERATOR,
                        .generator = generator,
                        .rows = rows,
                        .generator_seed = seed,
                        .split_seed = 1};
}

START_TEST(xor_is_the_published_one) {
  static const double published[4][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
  ep_data_spec spec = generated(EP_GENERATOR_XOR, 1000, 1);
  ck_assert_int_eq(ep_generator_rows(&spec), 4);
  for (int test = 0; test < 2; test++)
    for (int row = 0; row < 4; row++) {
      double x[2], y;
      ep_generator_row(&spec, test, row, x, &y);
      ck_assert(x[0] == published[row][0] && x[1] == published[row][1]);
      ck_assert_double_eq(y, published[row][2]);
    }
}
END_TEST

/* The published label: sign(x0^2 + x1^2 - 1/(2 pi)), negated, plus 1, halved, rounded up. */
static double published_label(double x0, double x1) {
  double distance = x0 * x0 + x1 * x1 - 1 / (2 * M_PI);
  double sign = (distance > 0) - (distance < 0);
  return ceil((-sign + 1) / 2);
}

START_TEST(disc_is_uniform_and_labelled_as_published) {
  enum { ROWS = 200000 };
  ep_data_spec spec = generated(EP_GENERATOR_DISC, ROWS, 5);
  ck_assert_int_eq(ep_generator_rows(&spec), ROWS);
  double sum[2] = {0}, square[2] = {0}, product = 0, inside = 0;
  for (int64_t row = 0; row < ROWS; row++) {
    double x[2], y;
    ep_generator_row(&spec, false, row, x, &y);
    ck_assert(x[0] >= 0 && x[0] < 1 && x[1] >= 0 && x[1] < 1);
    ck_assert_double_eq(y, published_label(x[0], x[1]));
    inside += y;
    product += x[0] * x[1];
    for (int i = 0; i < 2; i++) {
      sum[i] += x[i];
      square[i] += x[i] * x[i];
    }
  }
  /* five standard errors: a quarter of the circle of area 1/2 lies in the unit square */
  ck_assert_double_eq_tol(inside / ROWS, 0.125, 5 * sqrt(0.125 * 0.875 / ROWS));
  ck_assert_double_eq_tol(product / ROWS, 0.25, 5 * sqrt(7.0 / 144 / ROWS));
  for (int i = 0; i < 2; i++) {
    ck_assert_double_eq_tol(sum[i] / ROWS, 0.5, 5 * sqrt(1.0 / 12 / ROWS));
    ck_assert_double_eq_tol(square[i] / ROWS, 1.0 / 3, 5 * sqrt(4.0 / 45 / ROWS));
  }
}
END_TEST

START_TEST(disc_depends_on_seed_set_and_row_alone) {
  ep_data_spec spec = generated(EP_GENERATOR_DISC, 10, 1),
               more = generated(EP_GENERATOR_DISC, 99, 1),
               other = generated(EP_GENERATOR_DISC, 10, 2);
  double a[2], b[2], y;
  ep_generator_row(&spec, false, 7, a, &y);
  ep_generator_row(&more, false, 7, b, &y);
  ck_assert(a[0] == b[0] && a[1] == b[1]);
  ep_generator_row(&spec, true, 7, b, &y);
  ck_assert(a[0] != b[0] && a[1] != b[1]);
  ep_generator_row(&other, false, 7, b, &y);
  ck_assert(a[0] != b[0] && a[1] != b[1]);
  ep_generator_row(&spec, false, 8, b, &y);
  ck_assert(a[0] != b[0] && a[1] != b[1]);
}
END_TEST

START_TEST(shapes_need_no_rows) {
  ep_data_spec spec = generated(EP_GENERATOR_DISC, 1000, 1);
  ep_data_shape shape;
  ep_problem problem = {0};
  spec.validation = 0.1;
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &problem), EP_OK);
  ck_assert(shape.train_rows == 900 && shape.validation_rows == 100 && shape.test_rows == 1000);
  ck_assert(shape.features == 2 && shape.target_columns == 1 && shape.classes == 2);
  ck_assert(shape.target_min == 0 && shape.target_max == 1);
  spec.test = 0.1;
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/test");
  for (int64_t rows = EP_LIMIT_GENERATOR_ROWS; rows <= EP_LIMIT_GENERATOR_ROWS + 1; rows++) {
    ep_problem limit = {0};
    spec = generated(EP_GENERATOR_DISC, rows, 1);
    ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &limit),
                     rows > EP_LIMIT_GENERATOR_ROWS ? EP_INVALID : EP_OK);
  }
  ep_problem none = {0};
  spec = generated(EP_GENERATOR_DISC, 0, 1);
  ck_assert_int_eq(ep_data_shape_find(&spec, NULL, &shape, &none), EP_INVALID);
}
END_TEST

START_TEST(generated_rows_are_prepared) {
  ep_data_spec spec = generated(EP_GENERATOR_XOR, 0, 1);
  ep_prepared prepared;
  ep_error error = {0};
  ck_assert_msg(ep_prepare(&spec, EP_LOSS_BCE, NULL, &prepared, &error) == EP_OK, "%s",
                error.message);
  ck_assert(prepared.rows[EP_SPLIT_TRAIN] == 4 && prepared.rows[EP_SPLIT_TEST] == 4 &&
            prepared.rows[EP_SPLIT_VALIDATION] == 0);
  const float *x = prepared.x[EP_SPLIT_TRAIN];
  ck_assert(x[3] == 1 && prepared.y[EP_SPLIT_TRAIN][2] == 1);
  ck_assert_ptr_null(prepared.classes[EP_SPLIT_TRAIN]);
  ep_prepared_deinit(&prepared);
}
END_TEST

EP_SUITE("generators") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, xor_is_the_published_one);
  tcase_add_test(all, disc_is_uniform_and_labelled_as_published);
  tcase_add_test(all, disc_depends_on_seed_set_and_row_alone);
  tcase_add_test(all, shapes_need_no_rows);
  tcase_add_test(all, generated_rows_are_prepared);
}
