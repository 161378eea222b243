/* A learning rate from losses of rates that grow: curves whose answer is known. */
#include "engine/training/rules/proposal.h"

#include <math.h>

#include "tests/suite.h"

/* Takes the losses that `loss` gives at each rate, until they explode. */
static ep_found_lr found(double (*loss)(double lr)) {
  ep_found_lr out = {0};
  bool goes_on = true;
  for (int step = 0; goes_on; step++)
    goes_on = ep_range_add(&out, ep_range_lr(step), loss(ep_range_lr(step)));
  ep_range_propose(&out);
  return out;
}

/* Falls from 1 to 0.1 about a rate of 0.01, and leaves for good at 1. */
static double usual(double lr) {
  return 0.1 + 0.9 / (1 + pow(lr / 0.01, 2)) + (lr > 1 ? pow(lr, 4) : 0);
}

static double level(double lr) {
  (void)lr;
  return 0.7;
}

static double rising(double lr) {
  return 1 + lr;
}

static double broken(double lr) {
  return lr > 1e-3 ? NAN : 1 - 100 * lr;
}

/* Noise of small steps, in which the steepest fall is at the beginning. */
static double noisy(double lr) {
  return lr < 1e-7 ? 2 - 1e7 * lr : usual(lr);
}

START_TEST(rates_are_even_in_the_logarithm) {
  ck_assert(fabs(ep_range_lr(0) - 1e-8) < 1e-20);
  ck_assert(fabs(ep_range_lr(20) - 1e-7) < 1e-18);
  ck_assert(fabs(ep_range_lr(EP_LIMIT_FOUND_STEPS - 1) - 10) < 1e-12);
}
END_TEST

START_TEST(the_smaller_of_two_rules) {
  ep_found_lr f = found(usual);
  ck_assert(f.exploded && f.count < EP_LIMIT_FOUND_STEPS && f.count > 150);
  ck_assert(f.steepest > 0.005 && f.steepest < 0.03); /* the running mean comes a little late */
  ck_assert(f.least > 0.05 && f.least < 2);
  ck_assert(f.proposal == fmin(f.steepest, f.least / 10));
  ep_found_lr n = found(noisy);
  ck_assert(n.steepest == f.steepest);
}
END_TEST

START_TEST(no_fall_is_no_proposal) {
  ep_found_lr f = found(level);
  ck_assert_int_eq(f.count, EP_LIMIT_FOUND_STEPS);
  ck_assert(!f.exploded && isnan(f.proposal) && isnan(f.steepest) && isnan(f.least));
  f = found(rising);
  ck_assert(isnan(f.proposal));
}
END_TEST

START_TEST(a_loss_that_is_no_number_ends_it) {
  ep_found_lr f = found(broken);
  ck_assert(f.exploded && isnan(f.loss[f.count - 1]));
  ck_assert(f.least > 5e-4 && f.least <= 1e-3 && f.proposal <= 1e-4);
  f = (ep_found_lr){0};
  ck_assert(!ep_range_add(&f, 1e-8, INFINITY));
  ep_range_propose(&f);
  ck_assert(f.exploded && f.count == 1 && isnan(f.proposal));
}
END_TEST

EP_SUITE("engine/training/rules/proposal") {
  TCase *all = ep_suite_case(suite, "proposal");
  tcase_add_test(all, rates_are_even_in_the_logarithm);
  tcase_add_test(all, the_smaller_of_two_rules);
  tcase_add_test(all, no_fall_is_no_proposal);
  tcase_add_test(all, a_loss_that_is_no_number_ends_it);
}
