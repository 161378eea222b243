/* Which epoch is kept, and when a training stops. */
#include "engine/training/rules/early_stopping.h"
#include "tests/suite.h"

#include <math.h>

typedef struct {
  double min_delta, tolerance;
  int64_t kept, stops; /* epochs; 0: it does not stop */
} outcome;

/* A loss that falls, lies within a tenth of its least for a while, and rises. */
static const double course[] = {9, 4, 2, 2.1, 2.15, 2.5, 3, 4, 5, NAN};

static const outcome outcomes[] = {{0, 0, 3, 6},
                                   {0, 0.05, 4, 7}, /* 2.1 is within it */
                                   {0, 0.1, 5, 8},
                                   {2.5, 0, 2, 5}, /* from 4 to 2 is not enough */
                                   {0, 1, 8, 0}};  /* twice the least is still good */

START_TEST(the_last_epoch_within_the_tolerance_is_kept) {
  const outcome *wanted = &outcomes[_i];
  const ep_job_spec spec = {.early_stopping_patience = 3,
                            .early_stopping_min_delta = wanted->min_delta,
                            .early_stopping_tolerance = wanted->tolerance};
  ep_early_stopping rule;
  int64_t kept = 0, stopped = 0;
  ck_assert_int_eq(ep_early_stopping_init(&rule, &spec, 1, 0, NULL), EP_OK);
  for (int64_t epoch = 1; epoch <= 10 && !stopped; epoch++) {
    if (ep_early_stopping_observe(&rule, epoch, course[epoch - 1])) kept = epoch;
    if (rule.stops) stopped = epoch;
  }
  ck_assert_int_eq(kept, wanted->kept);
  ck_assert_int_eq(rule.best_epoch, wanted->kept);
  ck_assert_int_eq(rule.kept_epoch, wanted->kept);
  ck_assert_double_eq(rule.kept, course[wanted->kept - 1]);
  ck_assert_double_eq(course[rule.lowest_epoch - 1], rule.best);
  ck_assert_int_eq(stopped, wanted->stops);
  ep_early_stopping_deinit(&rule);
}
END_TEST

/* Of metrics of which more is better the rule sees the negative. */
START_TEST(a_negative_metric_has_a_tolerance_too) {
  const ep_job_spec spec = {.early_stopping_tolerance = 0.1};
  ep_early_stopping rule;
  ck_assert_int_eq(ep_early_stopping_init(&rule, &spec, 1, 0, NULL), EP_OK);
  ck_assert(!ep_early_stopping_observe(&rule, 1, INFINITY));
  ck_assert(ep_early_stopping_observe(&rule, 2, -0.9));
  ck_assert(ep_early_stopping_observe(&rule, 3, -0.85));
  ck_assert(!ep_early_stopping_observe(&rule, 4, -0.8));
  ep_early_stopping_deinit(&rule);
}
END_TEST

EP_SUITE("engine/early_stopping") {
  TCase *tests = ep_suite_case(suite, "early stopping");
  tcase_add_loop_test(tests, the_last_epoch_within_the_tolerance_is_kept, 0,
                      (int)(sizeof outcomes / sizeof *outcomes));
  tcase_add_test(tests, a_negative_metric_has_a_tolerance_too);
}
