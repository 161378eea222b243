/* Leaderboards and studies, of records whose figures are made here: what is to come out is known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/sweep/study.h"
#include "tests/suite.h"

enum { DEVICES = 2, WIDTHS = 4, SEEDS = 2, RECORDS = DEVICES * WIDTHS * SEEDS };

static const double widths[WIDTHS] = {10, 100, 1000, 10000};

static const char text[] =
    "{\"job\":{\"data\":{\"generator\":\"disc\",\"rows\":100},\"loss\":\"bce_with_logits\","
    "\"epochs\":3,\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":4},"
    "{\"type\":\"linear\",\"out_features\":1}]}},"
    "\"space\":{\"/model/layers/0/out_features\":{\"values\":[10,100,1000,10000]},"
    "\"/device\":{\"values\":[\"cpu\",\"cuda:0\"]}},\"repeats\":2,\"metric\":\"seconds\"}";

static ep_sweep_spec *sweep_parse(const char *request) {
  ep_problem problem = {0};
  ep_sweep_spec *sweep;
  ck_assert_msg(ep_sweep_spec_parse(request, strlen(request), &sweep, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  return sweep;
}

/* Seconds: the CPU's grow with the width, the GPU's are `flat`, each a little longer on the second
 * seed. */
static void records_make(ep_trial_record records[RECORDS], double flat) {
  memset(records, 0, RECORDS * sizeof *records);
  for (int i = 0; i < RECORDS; i++) {
    int seed = i % SEEDS, width = i / SEEDS % WIDTHS, device = i / SEEDS / WIDTHS;
    double seconds = device == 0 ? widths[width] : flat;
    records[i] = (ep_trial_record){.number = i + 1,
                                   .trial = i / SEEDS,
                                   .part = seed,
                                   .epochs_done = 3,
                                   .parameters = (int64_t)widths[width],
                                   .metric = seconds * (device == 0 && seed == 1 ? 1.21 : 1),
                                   .seconds = seconds,
                                   .point = {device, width}};
  }
}

static void study_make(const ep_sweep_spec *sweep, const ep_trial_record *records, int64_t count,
                       ep_study *study) {
  ep_trial_row *rows;
  int64_t rows_count;
  ck_assert_int_eq(ep_leaderboard_make(sweep, records, count, true, &rows, &rows_count, NULL),
                   EP_OK);
  ck_assert_int_eq(ep_study_make(sweep, records, rows, rows_count, study, NULL), EP_OK);
  free(rows);
}

#define NEAR(value, wanted) ck_assert_double_eq_tol(value, wanted, 1e-9 * fabs((double)(wanted)))

START_TEST(effects_and_crossover) {
  ep_trial_record records[RECORDS];
  ep_study study;
  ep_sweep_spec *sweep = sweep_parse(text);
  ck_assert_int_eq(sweep->device_axis, 0); /* the slowest, wherever it stood */
  records_make(records, 500);
  study_make(sweep, records, RECORDS, &study);
  ck_assert_int_eq(study.effects_count, 1 + WIDTHS - 1);
  /* 500 over 1.105 times each width, geometric mean */
  NEAR(study.effects[0].ratio, 500 / (1.105 * pow(10, 2.5)));
  ck_assert_int_eq(study.effects[0].cells, WIDTHS);
  ck_assert(study.effects[0].low < study.effects[0].ratio);
  ck_assert(study.effects[0].high > study.effects[0].ratio);
  /* ten times the CPU's, once the GPU's */
  NEAR(study.effects[1].ratio, sqrt(10));
  ck_assert_int_eq(study.effects[1].cells, DEVICES);
  ck_assert(study.by_parameters);
  ck_assert_int_eq(study.crossovers_count, 1);
  NEAR(study.crossovers[0].x, 500 / 1.105);
  NEAR(study.crossovers[0].high, 500);
  NEAR(study.crossovers[0].low, 500 / 1.21);
  ep_study_deinit(&study);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(interactions) {
  ep_trial_record records[RECORDS];
  ep_study study;
  ep_sweep_spec *sweep = sweep_parse(text);
  records_make(records, 500);
  study_make(sweep, records, RECORDS, &study);
  ck_assert_int_eq(study.interactions_count, 1);
  const ep_study_interaction *pair = &study.interactions[0];
  ck_assert(pair->levels[0] == DEVICES && pair->levels[1] == WIDTHS);
  for (int w = 0; w < WIDTHS; w++) {
    /* half of what the width alone does to one device */
    NEAR(pair->factors[w], pow(10, (w - 1.5) / 2));
    NEAR(pair->factors[w] * pair->factors[WIDTHS + w], 1);
  }
  ep_study_deinit(&study);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(what_is_not_there) {
  ep_trial_record records[RECORDS];
  ep_study study;
  ep_trial_row *rows;
  int64_t count;
  ep_error error = {0};
  ep_sweep_spec *sweep = sweep_parse(text);
  records_make(records, 50000); /* the CPU is always faster */
  study_make(sweep, records, RECORDS, &study);
  ck_assert_int_eq(study.crossovers_count, 0);
  ep_study_deinit(&study);
  study_make(sweep, records, RECORDS / 2 + 1, &study); /* half a cell of the GPU */
  ck_assert(isnan(study.effects[0].ratio) && study.effects[0].cells == 0);
  ep_study_deinit(&study);
  study_make(sweep, records, 0, &study);
  ck_assert_int_eq(study.crossovers_count, 0);
  ep_study_deinit(&study);
  ep_sweep_spec_destroy(sweep);
  char range[sizeof text + 64];
  snprintf(range, sizeof range, "%.*s", (int)(strstr(text, "\"space\"") - text), text);
  strcat(range, "\"space\":{\"/optimizer/lr\":{\"uniform\":[0.1,1]}},\"metric\":\"seconds\"}");
  sweep = sweep_parse(range);
  ck_assert_int_eq(ep_leaderboard_make(sweep, records, 0, true, &rows, &count, NULL), EP_OK);
  ck_assert_int_eq(ep_study_make(sweep, records, rows, count, &study, &error), EP_CONFLICT);
  ck_assert_ptr_nonnull(strstr(error.message, "/optimizer/lr"));
  ep_study_deinit(&study);
  free(rows);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(leaderboards) {
  ep_trial_record records[RECORDS];
  ep_trial_row *rows;
  int64_t count;
  ep_sweep_spec *sweep = sweep_parse(text);
  records_make(records, 500);
  records[2].metric = NAN; /* a part that failed: its trial has no metric */
  records[2].status = EP_DIVERGED;
  ck_assert_int_eq(ep_leaderboard_make(sweep, records, RECORDS, false, &rows, &count, NULL), EP_OK);
  ck_assert_int_eq(count, DEVICES * WIDTHS);
  ck_assert_int_eq(rows[0].trial, 0);
  NEAR(rows[0].metric, 11.05);
  NEAR(rows[0].deviation, 2.1 / sqrt(2));
  ck_assert_int_eq(rows[1].trial, 4); /* of the GPU's four equals the first */
  ck_assert_int_eq(rows[2].trial, 5);
  ck_assert_int_eq(rows[count - 1].trial, 1);
  ck_assert(isnan(rows[count - 1].metric) && rows[count - 1].outcome == EP_DIVERGED);
  for (int64_t i = 0; i < count; i++) ck_assert_int_eq(rows[i].rank, i + 1);
  free(rows);
  records[4].trial = 99; /* a file that is damaged */
  ck_assert_int_eq(ep_leaderboard_make(sweep, records, RECORDS, false, &rows, &count, NULL),
                   EP_DAMAGED);
  ck_assert_ptr_null(rows);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

EP_SUITE("study") {
  TCase *tests = ep_suite_case(suite, "study");
  tcase_add_test(tests, effects_and_crossover);
  tcase_add_test(tests, interactions);
  tcase_add_test(tests, what_is_not_there);
  tcase_add_test(tests, leaderboards);
}
