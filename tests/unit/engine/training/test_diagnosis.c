/* What trainings say of themselves: engine/training/diagnosis.h, and the course of the loss. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

static ep_backend *backend;

static void backend_open(void) {
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void backend_close(void) {
  ep_backend_cpu()->close(backend);
}

static ep_job_result trained(fixture *f, const char *spec) {
  fixture_open(f, spec, ep_backend_cpu(), backend);
  return fixture_train(f);
}

/* A line through 12 rows, learnt by these layers. */
#define LINE(layers, more)                                                            \
  "{\"data\":{\"inline\":{\"x\":[[0],[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11]]," \
  "\"y\":[0,2,4,6,8,10,12,14,16,18,20,22]}},\"model\":{\"layers\":[" layers           \
  "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\"," more "}"
#define HIDDEN "{\"type\":\"linear\",\"out_features\":8},{\"type\":\"relu\"},"

START_TEST(a_training_that_went_well_says_nothing) {
  fixture f;
  ep_job_result result =
      trained(&f, LINE(HIDDEN, "\"epochs\":400,\"optimizer\":{\"type\":\"adam\",\"lr\":0.01}"));
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_str_eq(result.warnings, "");
  ck_assert_str_eq(result.remarks, "");
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* One step that is far too long kills all units: the output is the last bias. */
START_TEST(dead_units_and_one_value_for_all_rows) {
  fixture f;
  ep_job_result result =
      trained(&f, LINE(HIDDEN HIDDEN, "\"epochs\":2,\"batch_size\":12,\"optimizer\":{\"lr\":5}"));
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_ptr_nonnull(strstr(result.warnings, "the same value for all 12 training rows"));
  ck_assert_ptr_nonnull(strstr(result.warnings, "of the 8 units of layer "));
  ck_assert_ptr_nonnull(strstr(result.warnings, "for all of 12 training rows"));
  ck_assert_ptr_nonnull(strstr(result.warnings, "try a lower learning rate"));
  ck_assert_ptr_nonnull(strchr(result.warnings, '\n')); /* two sentences */
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* Epochs before a loss is infinite, it has grown in each of several. */
START_TEST(a_loss_that_explodes_is_told_once_and_early) {
  fixture f;
  ep_job_result result =
      trained(&f, LINE("", "\"epochs\":200,\"report_every\":1,\"optimizer\":{\"lr\":0.03}"));
  ck_assert_int_eq(result.status, EP_DIVERGED);
  int told = 0;
  for (int i = 0; i < f.records_count; i++) {
    if (f.records[i].lowest_loss == 0) continue;
    told++;
    ck_assert_int_eq(f.records[i].epoch, 4); /* the third report that is higher */
    ck_assert(f.records[i].loss > 10 * f.records[i].lowest_loss);
  }
  ck_assert_int_eq(told, 1);
  ck_assert_int_gt(f.records_count, 5);
  ck_assert_ptr_nonnull(strstr(result.remarks, "by epoch 4, and goes on rising"));
  ck_assert_ptr_nonnull(strstr(result.remarks, "try a learning rate of 0.003"));
  ck_assert_ptr_nonnull(strstr(result.message, "began to rise in epoch 2 at a learning rate of"));
  ck_assert_ptr_nonnull(strstr(result.message, "of 0.03: try 0.003"));
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* The rate at which the loss began to rise is not that of the optimizer, where a schedule has
 * another one. */
START_TEST(a_schedule_is_hinted_at_by_its_own_field) {
  fixture f;
  ep_job_result result =
      trained(&f, LINE("", "\"epochs\":100,\"schedule\":{\"type\":\"one_cycle\",\"max_lr\":2},"
                           "\"optimizer\":{\"lr\":0.001}"));
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_str_eq(result.pointer, "/schedule/max_lr");
  ck_assert_ptr_nonnull(strstr(result.message, "began to rise"));
  ck_assert_ptr_null(strstr(result.message, "rate of 0.001"));
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

EP_SUITE("engine/training/diagnosis") {
  TCase *all = ep_suite_case(suite, "diagnosis");
  tcase_add_checked_fixture(all, backend_open, backend_close);
  tcase_add_test(all, a_training_that_went_well_says_nothing);
  tcase_add_test(all, dead_units_and_one_value_for_all_rows);
  tcase_add_test(all, a_loss_that_explodes_is_told_once_and_early);
  tcase_add_test(all, a_schedule_is_hinted_at_by_its_own_field);
}
