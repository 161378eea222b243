/* Axes, grids and random points. */
#include "engine/search/space.h"
#include "tests/suite.h"
#include "tests/unit/engine/search/search_fixture.h"

#include <float.h>
#include <math.h>

static ep_status checked(ep_axis axis) {
  return ep_space_check(&axis, 1, NULL);
}

START_TEST(axes_have_limits) {
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_VALUES, 1, 0, 0}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_VALUES, 0, 0, 0}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_VALUES, EP_LIMIT_AXIS_VALUES, 0, 0}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_VALUES, EP_LIMIT_AXIS_VALUES + 1, 0, 0}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_COUNT, 1, 0, 1}), EP_INVALID);
  for (int kind = EP_AXIS_UNIFORM; kind < EP_AXIS_COUNT; kind++) {
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, 2, 2}), EP_OK);
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, 2, 1}), EP_INVALID);
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, NAN, 2}), EP_INVALID);
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, 1, NAN}), EP_INVALID);
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, 1, INFINITY}), EP_INVALID);
    ck_assert_int_eq(checked((ep_axis){(ep_axis_kind)kind, 0, -INFINITY, 1}), EP_INVALID);
  }
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_UNIFORM, 0, -DBL_MAX, DBL_MAX}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_LOG_UNIFORM, 0, DBL_MIN, DBL_MAX}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_LOG_UNIFORM, 0, 0, 1}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_LOG_UNIFORM, 0, 1, 2}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_LOG_UNIFORM, 0, 0, 2}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_UNIFORM, 0, 0.5, 2}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_UNIFORM, 0, 0, 2.5}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_UNIFORM, 0, -0x1p53, 0x1p53}), EP_OK);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_UNIFORM, 0, 0, 0x1p53 + 2}), EP_INVALID);
  ck_assert_int_eq(checked((ep_axis){EP_AXIS_INT_UNIFORM, 0, -0x1p53 - 2, 0}), EP_INVALID);
  ep_axis axes[EP_LIMIT_SWEEP_AXES + 1];
  for (int i = 0; i <= EP_LIMIT_SWEEP_AXES; i++) axes[i] = (ep_axis){EP_AXIS_UNIFORM, 0, 0, 1};
  ck_assert_int_eq(ep_space_check(axes, EP_LIMIT_SWEEP_AXES, NULL), EP_OK);
  ck_assert_int_eq(ep_space_check(axes, EP_LIMIT_SWEEP_AXES + 1, NULL), EP_INVALID);
  axes[3].low = NAN;
  ck_assert_int_eq(ep_space_check(axes, 4, NULL), EP_INVALID); /* it looks at all */
}
END_TEST

static const double LAST = 1 - 0x1p-53; /* fraction */

START_TEST(values_stay_within_their_axis) {
  const ep_axis axes[] = {
      {EP_AXIS_VALUES, 3, 0, 0},
      {EP_AXIS_VALUES, EP_LIMIT_AXIS_VALUES, 0, 0},
      {EP_AXIS_UNIFORM, 0, -DBL_MAX, DBL_MAX},
      {EP_AXIS_UNIFORM, 0, 0.1, 0.1},
      {EP_AXIS_LOG_UNIFORM, 0, DBL_MIN, DBL_MAX},
      {EP_AXIS_LOG_UNIFORM, 0, 0.3, 0.3},
      {EP_AXIS_INT_UNIFORM, 0, -0x1p53, 0x1p53},
      {EP_AXIS_INT_UNIFORM, 0, 7, 7},
      {EP_AXIS_INT_LOG_UNIFORM, 0, 1, 0x1p53},
      {EP_AXIS_INT_LOG_UNIFORM, 0, 3, 3},
  };
  for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
    bool list = axes[i].kind == EP_AXIS_VALUES;
    double low = list ? 0 : axes[i].low, high = list ? (double)axes[i].count - 1 : axes[i].high;
    ck_assert_double_eq_tol(ep_axis_value(&axes[i], 0), low, fabs(low) * 1e-12 + 1e-300);
    ck_assert_double_eq_tol(ep_axis_value(&axes[i], LAST), high, fabs(high) * 1e-12 + 1e-300);
    for (int step = 0; step <= 1000; step++) {
      double value = ep_axis_value(&axes[i], step == 1000 ? LAST : step * 0.001);
      ck_assert(value >= low && value <= high); /* which NaN is not */
      double fraction = ep_axis_fraction(&axes[i], value);
      ck_assert(fraction >= 0 && fraction <= 1);
    }
  }
}
END_TEST

START_TEST(fractions_are_the_inverse) {
  const ep_axis whole[] = {
      {EP_AXIS_VALUES, 9, 0, 0},
      {EP_AXIS_INT_UNIFORM, 0, -4, 20},
      {EP_AXIS_INT_LOG_UNIFORM, 0, 2, 300},
  };
  for (int i = 0; i < 3; i++) {
    double cells = 0, low = i == 0 ? 0 : whole[i].low;
    for (double value = low; value < low + (double)ep_axis_size(&whole[i]); value++) {
      ck_assert_double_eq(ep_axis_value(&whole[i], ep_axis_fraction(&whole[i], value)), value);
      cells += ep_axis_cell(&whole[i], value);
    }
    ck_assert_double_eq_tol(cells, i == 0 ? 0 : 1, 1e-12);
  }
  const ep_axis even = {EP_AXIS_UNIFORM, 0, -3, 5}, log_even = {EP_AXIS_LOG_UNIFORM, 0, 1e-6, 10};
  for (double fraction = 0; fraction < 1; fraction += 0.01) {
    ck_assert_double_eq_tol(ep_axis_fraction(&even, ep_axis_value(&even, fraction)), fraction,
                            1e-12);
    ck_assert_double_eq_tol(ep_axis_fraction(&log_even, ep_axis_value(&log_even, fraction)),
                            fraction, 1e-12);
  }
  ck_assert_double_eq_tol(ep_axis_value(&log_even, 1.0 / 7), 1e-5, 1e-15);
}
END_TEST

enum { TRIALS = 60000 };

/* Counts of `cells` equal parts: `value` lies in part floor(value). */
static void assert_even(const int *counts, int cells) {
  double expected = (double)TRIALS / cells, spread = 5 * sqrt(expected);
  for (int i = 0; i < cells; i++) ck_assert_double_eq_tol(counts[i], expected, spread);
}

START_TEST(random_points_are_even) {
  const ep_axis axes[] = {
      {EP_AXIS_VALUES, 5, 0, 0},           {EP_AXIS_UNIFORM, 0, -1, 5},
      {EP_AXIS_LOG_UNIFORM, 0, 1e-4, 1e2}, {EP_AXIS_INT_UNIFORM, 0, -2, 3},
      {EP_AXIS_INT_LOG_UNIFORM, 0, 1, 13}, /* 0.5 … 13.5: 1 to 4 are half of the logarithm */
  };
  int counts[5][6] = {{0}}, ends[2] = {0};
  for (int trial = 0; trial < TRIALS; trial++) {
    double point[5];
    ep_space_random(axes, 5, 3, trial, point);
    for (int i = 0; i < 5; i++)
      if (i != 1 && i != 2) ck_assert_double_eq(point[i], floor(point[i]));
    counts[0][(int)point[0]]++;
    counts[1][(int)(point[1] + 1)]++;
    counts[2][(int)(log10(point[2]) + 4)]++;
    counts[3][(int)point[3] + 2]++;
    counts[4][(int)(log((point[4] + 0.5) / 0.5 - 1e-9) / log(27) * 3)]++; /* by the upper edge */
    ends[0] += point[4] == 1;
    ends[1] += point[4] == 13;
  }
  assert_even(counts[0], 5);
  for (int i = 1; i < 4; i++) assert_even(counts[i], 6);
  ck_assert_int_eq(counts[4][0] + counts[4][1] + counts[4][2], TRIALS);
  ck_assert_double_eq_tol(ends[0], TRIALS * log(3) / log(27), 5 * sqrt(TRIALS / 3.0));
  ck_assert_double_eq_tol(ends[1], TRIALS * log(13.5 / 12.5) / log(27), 5 * sqrt(TRIALS / 40.0));
}
END_TEST

START_TEST(random_axes_are_unrelated) {
  const ep_axis axes[2] = {{EP_AXIS_UNIFORM, 0, -1, 1}, {EP_AXIS_UNIFORM, 0, -1, 1}};
  double product = 0, next_product = 0, before = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    double point[2];
    ep_space_random(axes, 2, 9, trial, point);
    product += point[0] * point[1];
    next_product += point[0] * before;
    before = point[0];
  }
  ck_assert_double_eq_tol(product / TRIALS, 0, 5 / 3.0 / sqrt(TRIALS));
  ck_assert_double_eq_tol(next_product / TRIALS, 0, 5 / 3.0 / sqrt(TRIALS));
}
END_TEST

START_TEST(a_random_point_depends_on_its_number_alone) {
  const ep_axis axes[2] = {{EP_AXIS_UNIFORM, 0, 0, 1}, {EP_AXIS_VALUES, 100, 0, 0}};
  ep_search_options options = {EP_SEARCH_RANDOM, axes, 2, false, 5, 50, 1, 1, 0, 0, 0};
  search_log few = search_run(&options, metric_smooth);
  options.max_trials = 200;
  options.parallel = 17;
  options.epochs = 12;
  search_log many = search_run(&options, metric_smooth);
  for (int i = 0; i < 50; i++) {
    double point[2];
    ep_space_random(axes, 2, 5, i, point);
    ck_assert_mem_eq(few.trainings[i].point, point, sizeof point);
    ck_assert_mem_eq(many.trainings[i].point, point, sizeof point);
  }
  ck_assert_int_eq(few.trainings[49].epochs, 1);
  ck_assert_int_eq(many.trainings[199].epochs, 12);
  ck_assert_int_eq(many.trainings[199].trial, 199);
  free(few.trainings);
  free(many.trainings);
}
END_TEST

START_TEST(a_hundred_thousand_at_once) {
  const ep_axis axes[2] = {{EP_AXIS_LOG_UNIFORM, 0, 1e-5, 1}, {EP_AXIS_INT_UNIFORM, 0, 1, 9}};
  ep_search_options options = {
      _i ? EP_SEARCH_SOBOL : EP_SEARCH_RANDOM, axes, 2, false, 5, 100000, 16896, 1, 0, 0, 0};
  search_log log = search_run(&options, metric_smooth);
  ck_assert_int_eq(log.count, 100000);
  ck_assert_int_eq(ep_search_trainings(&options), 100000);
  free(log.trainings);
}
END_TEST

START_TEST(a_grid_counts_with_its_last_axis_first) {
  const ep_axis axes[3] = {
      {EP_AXIS_VALUES, 2, 0, 0}, {EP_AXIS_INT_UNIFORM, 0, -1, 1}, {EP_AXIS_VALUES, 2, 0, 0}};
  static const double POINTS[12][3] = {{0, -1, 0}, {0, -1, 1}, {0, 0, 0},  {0, 0, 1},
                                       {0, 1, 0},  {0, 1, 1},  {1, -1, 0}, {1, -1, 1},
                                       {1, 0, 0},  {1, 0, 1},  {1, 1, 0},  {1, 1, 1}};
  ep_search_options options = {EP_SEARCH_GRID, axes, 3, false, 0, 100, 4, 8, 0, 0, 0};
  search_log log = search_run(&options, metric_smooth);
  ck_assert_int_eq(ep_search_trainings(&options), 12);
  ck_assert_int_eq(log.count, 12);
  for (int i = 0; i < 12; i++) {
    ck_assert_int_eq(log.trainings[i].trial, i);
    ck_assert_int_eq(log.trainings[i].epochs, 8);
    ck_assert_mem_eq(log.trainings[i].point, POINTS[i], sizeof POINTS[i]);
  }
  free(log.trainings);
  options.max_trials = 7;
  log = search_run(&options, metric_smooth);
  ck_assert_int_eq(log.count, 7);
  ck_assert_int_eq(ep_search_trainings(&options), 7);
  free(log.trainings);
  options.axes_count = 0; /* one point, of no coordinates */
  log = search_run(&options, metric_smooth);
  ck_assert_int_eq(log.count, 1);
  free(log.trainings);
}
END_TEST

START_TEST(the_size_of_a_grid) {
  ep_axis axes[EP_LIMIT_SWEEP_AXES];
  for (int i = 0; i < EP_LIMIT_SWEEP_AXES; i++)
    axes[i] = (ep_axis){EP_AXIS_VALUES, EP_LIMIT_AXIS_VALUES, 0, 0};
  int64_t size = 0;
  ck_assert_int_eq(ep_search_grid_size(axes, 4, &size, NULL), EP_OK);
  ck_assert_int_eq(size, 10000000000000000);
  ck_assert_int_eq(ep_search_grid_size(axes, 5, &size, NULL), EP_OK);
  ck_assert_int_eq(size, INT64_MAX);
  ck_assert_int_eq(ep_search_grid_size(axes, EP_LIMIT_SWEEP_AXES, &size, NULL), EP_OK);
  ck_assert_int_eq(size, INT64_MAX);
  axes[0] = (ep_axis){EP_AXIS_INT_UNIFORM, 0, -3, 3};
  ck_assert_int_eq(ep_search_grid_size(axes, 2, &size, NULL), EP_OK);
  ck_assert_int_eq(size, 70000);
  ck_assert_int_eq(ep_search_grid_size(NULL, 0, &size, NULL), EP_OK);
  ck_assert_int_eq(size, 1);
  size = -5;
  static const ep_axis_kind OTHERS[] = {EP_AXIS_UNIFORM, EP_AXIS_LOG_UNIFORM,
                                        EP_AXIS_INT_LOG_UNIFORM};
  for (int i = 0; i < 3; i++) {
    axes[1] = (ep_axis){OTHERS[i], 0, 1, 2};
    ck_assert_int_eq(ep_search_grid_size(axes, 2, &size, NULL), EP_INVALID);
  }
  ck_assert_int_eq(size, -5);
}
END_TEST

EP_SUITE("search/space") {
  TCase *tests = ep_suite_case(suite, "space");
  tcase_add_test(tests, axes_have_limits);
  tcase_add_test(tests, values_stay_within_their_axis);
  tcase_add_test(tests, fractions_are_the_inverse);
  tcase_add_test(tests, random_points_are_even);
  tcase_add_test(tests, random_axes_are_unrelated);
  tcase_add_test(tests, a_random_point_depends_on_its_number_alone);
  tcase_add_loop_test(tests, a_hundred_thousand_at_once, 0, 2);
  tcase_add_test(tests, a_grid_counts_with_its_last_axis_first);
  tcase_add_test(tests, the_size_of_a_grid);
}
