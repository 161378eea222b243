/* Metrics against figures worked out by hand (and by scikit-learn's definitions). */
#include "engine/metrics/metrics.h"
#include "tests/suite.h"

#include <math.h>
#include <stdlib.h>

/* Equal within 1e-12 of their size; a NaN is equal to nothing. */
static bool close_to(double value, double expected) {
  return fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected));
}

static ep_prepared values_split(float *y, int64_t rows, int64_t columns) {
  ep_prepared prepared = {.target_columns = columns, .scaling = {.y_columns = columns}};
  prepared.rows[EP_SPLIT_TEST] = rows;
  prepared.y[EP_SPLIT_TEST] = y;
  return prepared;
}

static ep_prepared class_split(int32_t *classes, int64_t rows) {
  ep_prepared prepared = {.target_columns = 1};
  prepared.rows[EP_SPLIT_TEST] = rows;
  prepared.classes[EP_SPLIT_TEST] = classes;
  return prepared;
}

static ep_split_metrics measure(const ep_prepared *prepared, ep_loss_type loss,
                                const float *outputs, int64_t out_features) {
  ep_split_metrics metrics;
  ep_error error = {0};
  ck_assert_msg(ep_metrics_compute(prepared, EP_SPLIT_TEST, loss, outputs, out_features, &metrics,
                                   &error) == EP_OK,
                "%s", error.message);
  return metrics;
}

START_TEST(the_comparison_can_fail) {
  ck_assert(close_to(1, 1));
  ck_assert(!close_to(1 + 1e-9, 1));
  ck_assert(!close_to(NAN, NAN));
  ck_assert(!close_to(NAN, 1));
}
END_TEST

START_TEST(regression) {
  float y[] = {3, -0.5f, 2, 7}, outputs[] = {2.5f, 0, 2, 8};
  ep_prepared prepared = values_split(y, 4, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_MSE, outputs, 1);
  ck_assert_int_eq(metrics.rows, 4);
  ck_assert(close_to(metrics.mse, 0.375));
  ck_assert(close_to(metrics.rmse, sqrt(0.375)));
  ck_assert(close_to(metrics.mae, 0.5));
  ck_assert(close_to(metrics.r2, 1 - 1.5 / 29.1875));
  ck_assert(isnan(metrics.accuracy) && isnan(metrics.roc_auc));
  ck_assert_int_eq(metrics.classes, 0);
}
END_TEST

START_TEST(regression_in_the_units_of_the_data) {
  float y[] = {-1, 1}, outputs[] = {0, 1};
  double mean[] = {10}, deviation[] = {3};
  ep_prepared prepared = values_split(y, 2, 1);
  prepared.scaling.y_mean = mean;
  prepared.scaling.y_deviation = deviation;
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_MSE, outputs, 1);
  ck_assert(close_to(metrics.mse, 4.5));
  ck_assert(close_to(metrics.mae, 1.5));
  ck_assert(close_to(metrics.r2, 0.5));
}
END_TEST

START_TEST(regression_of_two_columns_averages_r2) {
  float y[] = {1, 1, 2, 2, 3, 3}, outputs[] = {1, 2, 2, 2, 3, 2};
  ep_prepared prepared = values_split(y, 3, 2);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_MSE, outputs, 2);
  ck_assert(close_to(metrics.mse, 2.0 / 6));
  ck_assert(close_to(metrics.r2, 0.5 * (1 + 0)));
}
END_TEST

START_TEST(a_constant_target_has_r2_of_one_or_zero) {
  float y[] = {5, 5, 5}, right[] = {5, 5, 5}, wrong[] = {5, 5, 6};
  ep_prepared prepared = values_split(y, 3, 1);
  ck_assert(close_to(measure(&prepared, EP_LOSS_MSE, right, 1).r2, 1));
  ck_assert(close_to(measure(&prepared, EP_LOSS_MSE, wrong, 1).r2, 0));
  prepared.rows[EP_SPLIT_TEST] = 1;
  ck_assert(isnan(measure(&prepared, EP_LOSS_MSE, right, 1).r2));
}
END_TEST

START_TEST(binary_from_logits) {
  float y[] = {0, 0, 1, 1, 1}, logits[] = {-2, 1, 0.5f, -1, 3};
  ep_prepared prepared = values_split(y, 5, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_BCE_WITH_LOGITS, logits, 1);
  ck_assert_int_eq(metrics.classes, 2);
  const int64_t confusion[] = {1, 1, 1, 2};
  for (int i = 0; i < 4; i++) ck_assert_int_eq(metrics.confusion[i], confusion[i]);
  ck_assert(close_to(metrics.accuracy, 0.6));
  ck_assert(close_to(metrics.error, 0.4));
  ck_assert(close_to(metrics.precision, 2.0 / 3));
  ck_assert(close_to(metrics.recall, 2.0 / 3));
  ck_assert(close_to(metrics.f1, 2.0 / 3));
  ck_assert(close_to(metrics.roc_auc, 4.0 / 6)); /* 4 of the 6 pairs are in order */
  ck_assert(isnan(metrics.mse));
  free(metrics.confusion);
}
END_TEST

START_TEST(binary_from_probabilities_with_ties) {
  float y[] = {0, 1, 0, 1}, probabilities[] = {0.4f, 0.4f, 0.2f, 0.9f};
  ep_prepared prepared = values_split(y, 4, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_BCE, probabilities, 1);
  ck_assert(close_to(metrics.accuracy, 0.75));
  ck_assert(close_to(metrics.recall, 0.5));
  ck_assert(close_to(metrics.roc_auc, 3.5 / 4)); /* the tied pair counts half */
  free(metrics.confusion);
}
END_TEST

START_TEST(one_kind_alone_has_no_roc_auc) {
  float y[] = {0, 0, 0}, logits[] = {-1, -2, 1};
  ep_prepared prepared = values_split(y, 3, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_BCE_WITH_LOGITS, logits, 1);
  ck_assert(isnan(metrics.roc_auc));
  ck_assert(close_to(metrics.accuracy, 2.0 / 3));
  ck_assert(close_to(metrics.precision, 0) && close_to(metrics.recall, 0));
  free(metrics.confusion);
}
END_TEST

START_TEST(three_classes_average_over_those_that_occur) {
  int32_t classes[] = {0, 1, 2, 2};
  /* four outputs, of which the last is neither true nor predicted */
  float logits[] = {5, 1, 0, 0, 3, 2, 1, 0, 0, 1, 4, 0, 0, 0, 2, 1};
  ep_prepared prepared = class_split(classes, 4);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_CROSS_ENTROPY, logits, 4);
  ck_assert_int_eq(metrics.classes, 4);
  ck_assert_int_eq(metrics.confusion[0 * 4 + 0], 1);
  ck_assert_int_eq(metrics.confusion[1 * 4 + 0], 1);
  ck_assert_int_eq(metrics.confusion[2 * 4 + 2], 2);
  ck_assert(close_to(metrics.accuracy, 0.75));
  ck_assert(close_to(metrics.precision, (0.5 + 0 + 1) / 3));
  ck_assert(close_to(metrics.recall, (1.0 + 0 + 1) / 3));
  ck_assert(close_to(metrics.f1, (2.0 / 3 + 0 + 1) / 3));
  free(metrics.confusion);
}
END_TEST

START_TEST(two_classes_by_nll_score_the_second) {
  int32_t classes[] = {0, 1, 1};
  float log_probabilities[6];
  const double second[] = {0.3, 0.2, 0.9};
  for (int i = 0; i < 3; i++) {
    log_probabilities[2 * i] = (float)log(1 - second[i]);
    log_probabilities[2 * i + 1] = (float)log(second[i]);
  }
  ep_prepared prepared = class_split(classes, 3);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_NLL, log_probabilities, 2);
  ck_assert(close_to(metrics.roc_auc, 0.5));
  ck_assert(close_to(metrics.precision, 1) && close_to(metrics.recall, 0.5));
  free(metrics.confusion);
}
END_TEST

/* A network may well answer NaN while its weights are still finite. */
START_TEST(scores_that_are_nan_have_no_roc_auc) {
  float y[] = {0, 1, 0, 1}, outputs[] = {0.2f, NAN, 0.4f, 0.8f};
  ep_prepared prepared = values_split(y, 4, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_BCE, outputs, 1);
  ck_assert(isnan(metrics.roc_auc));
  ck_assert(close_to(metrics.accuracy, 0.75));
  free(metrics.confusion);

  int32_t classes[] = {0, 1};
  static const ep_loss_type losses[] = {EP_LOSS_CROSS_ENTROPY, EP_LOSS_NLL};
  prepared = class_split(classes, 2);
  for (int i = 0; i < 2; i++) {
    metrics = measure(&prepared, losses[i], outputs, 2);
    ck_assert(isnan(metrics.roc_auc));
    free(metrics.confusion);
  }
}
END_TEST

START_TEST(no_rows_no_figures) {
  ep_prepared prepared = values_split(NULL, 0, 1);
  ep_split_metrics metrics = measure(&prepared, EP_LOSS_MSE, NULL, 1);
  ck_assert_int_eq(metrics.rows, 0);
  ck_assert(isnan(metrics.mse) && isnan(metrics.loss));
}
END_TEST

EP_SUITE("metrics") {
  TCase *tests = ep_suite_case(suite, "metrics");
  tcase_add_test(tests, the_comparison_can_fail);
  tcase_add_test(tests, regression);
  tcase_add_test(tests, regression_in_the_units_of_the_data);
  tcase_add_test(tests, regression_of_two_columns_averages_r2);
  tcase_add_test(tests, a_constant_target_has_r2_of_one_or_zero);
  tcase_add_test(tests, binary_from_logits);
  tcase_add_test(tests, binary_from_probabilities_with_ties);
  tcase_add_test(tests, one_kind_alone_has_no_roc_auc);
  tcase_add_test(tests, three_classes_average_over_those_that_occur);
  tcase_add_test(tests, two_classes_by_nll_score_the_second);
  tcase_add_test(tests, scores_that_are_nan_have_no_roc_auc);
  tcase_add_test(tests, no_rows_no_figures);
}
