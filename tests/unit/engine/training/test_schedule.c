/* The learning rate of every schedule, by torch's formulas worked out by hand at their corners. The
 * whole sequences stand in tests/golden. */
#include "engine/training/rules/schedule.h"
#include "tests/suite.h"

#include <math.h>

static ep_job_spec job;
static ep_schedule schedule;

static void reset(void) {
  job = (ep_job_spec){.epochs = 10, .optimizer = {.lr = 0.8}};
}

static double lr(int64_t step) {
  return ep_schedule_lr(&schedule, step);
}

static void start(ep_schedule_type type, int64_t steps_per_epoch) {
  job.schedule.type = type;
  ep_schedule_init(&schedule, &job, steps_per_epoch);
}

#define ASSERT_LR(step, expected) ck_assert_double_eq_tol(lr(step), expected, 1e-12)

START_TEST(constant) {
  start(EP_SCHEDULE_CONSTANT, 3);
  ck_assert(ep_schedule_is_constant(&schedule));
  ASSERT_LR(0, 0.8);
  ASSERT_LR(29, 0.8);
}
END_TEST

START_TEST(warmup_rises_step_by_step) {
  job.schedule.warmup_epochs = 2;
  job.schedule.warmup_factor = 0.25;
  start(EP_SCHEDULE_CONSTANT, 4);
  ck_assert(!ep_schedule_is_constant(&schedule));
  ASSERT_LR(0, 0.275);
  ASSERT_LR(3, 0.5); /* the end of epoch 1 of 2: half of the way */
  ASSERT_LR(7, 0.8);
  ASSERT_LR(8, 0.8);
}
END_TEST

START_TEST(an_epoch_of_one_step_warms_up_by_its_part) {
  job.schedule.warmup_epochs = 4;
  start(EP_SCHEDULE_CONSTANT, 1);
  for (int epoch = 0; epoch < 4; epoch++) ASSERT_LR(epoch, 0.2 * (epoch + 1));
  ASSERT_LR(4, 0.8);
}
END_TEST

START_TEST(step_drops_every_so_many_epochs) {
  job.schedule.step_size = 3;
  job.schedule.gamma = 0.5;
  start(EP_SCHEDULE_STEP, 2);
  ASSERT_LR(5, 0.8);
  ASSERT_LR(6, 0.4);
  ASSERT_LR(12, 0.2);
}
END_TEST

START_TEST(multi_step_drops_at_its_milestones) {
  int64_t milestones[] = {2, 5};
  job.schedule.milestones = milestones;
  job.schedule.milestones_count = 2;
  job.schedule.gamma = 0.1;
  start(EP_SCHEDULE_MULTI_STEP, 1);
  ASSERT_LR(1, 0.8);
  ASSERT_LR(2, 0.08);
  ASSERT_LR(4, 0.08);
  ASSERT_LR(5, 0.008);
}
END_TEST

START_TEST(exponential_and_cosine) {
  job.schedule.gamma = 0.5;
  start(EP_SCHEDULE_EXPONENTIAL, 1);
  ASSERT_LR(3, 0.1);
  job.schedule.t_max = 10;
  job.schedule.eta_min = 0.2;
  start(EP_SCHEDULE_COSINE, 1);
  ASSERT_LR(0, 0.8);
  ASSERT_LR(5, 0.5);
  ASSERT_LR(10, 0.2);
}
END_TEST

START_TEST(one_cycle_rises_and_falls_by_steps) {
  job.schedule =
      (ep_schedule_spec){.max_lr = 1, .pct_start = 0.3, .div_factor = 25, .final_div_factor = 1e4};
  start(EP_SCHEDULE_ONE_CYCLE, 10);
  ASSERT_LR(0, 0.04);
  ASSERT_LR(29, 1);
  ASSERT_LR(99, 4e-6);
  ck_assert(lr(10) < lr(20) && lr(40) > lr(60));
}
END_TEST

START_TEST(one_cycle_of_one_step_is_finite) {
  job.epochs = 1;
  job.schedule =
      (ep_schedule_spec){.max_lr = 1, .pct_start = 0.3, .div_factor = 25, .final_div_factor = 1e4};
  start(EP_SCHEDULE_ONE_CYCLE, 1);
  ck_assert(isfinite(lr(0)));
}
END_TEST

START_TEST(plateau_waits_for_its_patience_and_counts_again) {
  job.schedule = (ep_schedule_spec){.factor = 0.5, .patience = 2, .threshold = 1e-4, .min_lr = 0.3};
  start(EP_SCHEDULE_PLATEAU, 1);
  ep_schedule_observe(&schedule, 1, 1.0);
  ep_schedule_observe(&schedule, 2, 0.99995); /* too little to count */
  ep_schedule_observe(&schedule, 3, 1.0);
  ASSERT_LR(3, 0.8);
  ep_schedule_observe(&schedule, 4, NAN);
  ASSERT_LR(4, 0.4);
  ep_schedule_observe(&schedule, 5, 1.0);
  ep_schedule_observe(&schedule, 6, 1.0);
  ASSERT_LR(6, 0.4);
  ep_schedule_observe(&schedule, 7, 1.0);
  ASSERT_LR(7, 0.3); /* not below the least */
  ep_schedule_observe(&schedule, 8, 0.5);
  ck_assert_int_eq(schedule.best_epoch, 8);
}
END_TEST

/* A metric of which more is better comes as its negative. */
START_TEST(plateau_of_negative_values_takes_what_is_further_below_zero) {
  job.schedule = (ep_schedule_spec){.factor = 0.5, .patience = 1, .threshold = 1e-2};
  start(EP_SCHEDULE_PLATEAU, 1);
  ep_schedule_observe(&schedule, 1, -0.5);
  ep_schedule_observe(&schedule, 2, -0.504); /* too little to count */
  ck_assert_int_eq(schedule.best_epoch, 1);
  ep_schedule_observe(&schedule, 3, -0.506);
  ck_assert_int_eq(schedule.best_epoch, 3);
  ASSERT_LR(3, 0.8); /* no plateau */
}
END_TEST

EP_SUITE("schedule") {
  TCase *tests = ep_suite_case(suite, "schedule");
  tcase_add_checked_fixture(tests, reset, NULL);
  tcase_add_test(tests, constant);
  tcase_add_test(tests, warmup_rises_step_by_step);
  tcase_add_test(tests, an_epoch_of_one_step_warms_up_by_its_part);
  tcase_add_test(tests, step_drops_every_so_many_epochs);
  tcase_add_test(tests, multi_step_drops_at_its_milestones);
  tcase_add_test(tests, exponential_and_cosine);
  tcase_add_test(tests, one_cycle_rises_and_falls_by_steps);
  tcase_add_test(tests, one_cycle_of_one_step_is_finite);
  tcase_add_test(tests, plateau_of_negative_values_takes_what_is_further_below_zero);
  tcase_add_test(tests, plateau_waits_for_its_patience_and_counts_again);
}
