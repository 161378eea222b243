/* Tests of engine/training/verdict.h. */
#include "engine/training/verdict.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static const ep_program classes_program = {.loss = EP_LOSS_CROSS_ENTROPY};

static ep_job_result result_make(void) {
  ep_job_result result = {0};
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.validation);
  ep_split_metrics_clear(&result.test);
  return result;
}

/* What is said of a classifier with that confusion matrix. */
static void judged(ep_split_metrics *split, const int64_t *confusion, int classes,
                   ep_job_result *result, char *verdict) {
  int64_t rows = 0, hits = 0;
  for (int i = 0; i < classes * classes; i++) {
    rows += confusion[i];
    hits += i / classes == i % classes ? confusion[i] : 0;
  }
  split->classes = classes;
  split->rows = rows;
  split->accuracy = (double)hits / (double)rows;
  split->confusion = (int64_t *)confusion;
  ep_result_verdict(result, &classes_program, verdict);
}

START_TEST(regressions_are_held_against_the_mean) {
  ep_job_result result = result_make();
  char verdict[EP_MESSAGE_BYTES];
  result.train.rows = 100;
  result.train.r2 = -3;
  result.test.rows = 40;
  result.test.r2 = 0.1;
  ep_result_verdict(&result, &(ep_program){.loss = EP_LOSS_MSE}, verdict);
  ck_assert_str_eq(verdict, "");
  result.test.r2 = -0.25;
  ep_result_verdict(&result, &(ep_program){.loss = EP_LOSS_MSE}, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "r2 on the test rows is -0.25"));
  result.test.rows = 9; /* too few to say */
  ep_result_verdict(&result, &(ep_program){.loss = EP_LOSS_MSE}, verdict);
  ck_assert_str_eq(verdict, "");
  result.test.rows = 0;
  ep_result_verdict(&result, &(ep_program){.loss = EP_LOSS_MSE}, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "r2 on the training rows is -3"));
  result.train.r2 = NAN;
  ep_result_verdict(&result, &(ep_program){.loss = EP_LOSS_MSE}, verdict);
  ck_assert_str_eq(verdict, "");
}
END_TEST

START_TEST(classifiers_are_held_against_the_commonest_class) {
  const int64_t good[] = {20, 5, 5, 20}, constant[] = {30, 0, 20, 0}, bad[] = {28, 2, 19, 1},
                one[] = {50, 0, 0, 0};
  ep_job_result result = result_make();
  char verdict[EP_MESSAGE_BYTES];
  judged(&result.test, good, 2, &result, verdict);
  ck_assert_str_eq(verdict, "");
  judged(&result.test, constant, 2, &result, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "the same class for all 50 test rows"));
  result.test.loss = 0.5; /* the shares of 3 and 2 of 5 have 0.673 */
  judged(&result.test, constant, 2, &result, verdict);
  ck_assert_ptr_nonnull(
      strstr(verdict, "its loss of 0.5 is below the 0.673 of the class frequencies"));
  result.test.loss = 0.673;
  judged(&result.test, bad, 2, &result, verdict);
  ck_assert_ptr_nonnull(
      strstr(verdict, "is 0.58; always predicting the most frequent class gives 0.6"));
  judged(&result.test, one, 2, &result, verdict); /* there is nothing else to say */
  ck_assert_str_eq(verdict, "");
  result.test.rows = 0;
  judged(&result.validation, constant, 2, &result, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "all 50 validation rows"));
}
END_TEST

START_TEST(sure_and_wrong_is_worse_than_the_shares_of_the_classes) {
  const int64_t good[] = {20, 5, 5, 20}; /* shares of a half: log 2 */
  const ep_program binary = {.loss = EP_LOSS_BCE, .loss_parameter = 1},
                   weighted = {.loss = EP_LOSS_BCE, .loss_parameter = 3};
  ep_job_result result = result_make();
  char verdict[EP_MESSAGE_BYTES];
  result.test.loss = 0.69;
  judged(&result.test, good, 2, &result, verdict);
  ck_assert_str_eq(verdict, "");
  result.test.loss = 0.7;
  judged(&result.test, good, 2, &result, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "the loss on the test rows is 0.7"));
  ck_assert_ptr_nonnull(strstr(verdict, "gives 0.693"));
  ck_assert_ptr_nonnull(strstr(verdict, "try early_stopping"));
  ep_result_verdict(&result, &binary, verdict);
  ck_assert_ptr_nonnull(strstr(verdict, "gives 0.693"));
  ep_result_verdict(&result, &weighted, verdict); /* not the loss of plain probabilities */
  ck_assert_str_eq(verdict, "");
}
END_TEST

START_TEST(the_simplest_answer_has_a_score) {
  char *names[] = {"no", "yes"};
  ep_words words = {.count = 2, .word = names};
  int64_t confusion[] = {10, 5, 5, 20};
  ep_split_metrics metrics;
  ep_split_metrics_clear(&metrics);
  ck_assert_str_eq(ep_result_baseline(&metrics, NULL).of, ""); /* neither numbers nor classes */
  metrics.rows = 40;
  metrics.r2 = 0.3;
  ep_baseline found = ep_result_baseline(&metrics, NULL);
  ck_assert_str_eq(found.of, "the mean alone");
  ck_assert(found.metric == EP_METRIC_R2 && found.value == 0);
  metrics.classes = 2;
  metrics.confusion = confusion;
  found = ep_result_baseline(&metrics, &words);
  ck_assert_str_eq(found.of, "always \"yes\"");
  ck_assert(found.metric == EP_METRIC_ACCURACY && found.value == 25.0 / 40);
  ck_assert_str_eq(ep_result_baseline(&metrics, NULL).of, "always \"1\"");
}
END_TEST

EP_SUITE("engine/training/verdict") {
  TCase *all = ep_suite_case(suite, "verdict");
  tcase_add_test(all, the_simplest_answer_has_a_score);
  tcase_add_test(all, regressions_are_held_against_the_mean);
  tcase_add_test(all, sure_and_wrong_is_worse_than_the_shares_of_the_classes);
  tcase_add_test(all, classifiers_are_held_against_the_commonest_class);
}
