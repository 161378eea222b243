/* What trainings say of themselves: engine/training/diagnosis.h, and the course of the loss. */
#include <math.h>
#include <stdio.h>
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

/* Each loss and last layer, and a part of what is said of them; "": nothing. */
START_TEST(a_last_layer_that_does_not_suit_the_loss_is_told) {
  static const struct {
    const char *last, *loss, *data, *said;
  } cases[] = {
      {",{\"type\":\"softmax\"}", "cross_entropy", "",
       "ends with softmax, and cross_entropy includes"},
      {",{\"type\":\"log_softmax\"}", "cross_entropy", "", ""},
      {",{\"type\":\"sigmoid\"},{\"type\":\"dropout\"}", "bce_with_logits", "",
       "includes a sigmoid"},
      {",{\"type\":\"sigmoid\"}", "bce", "", ""},
      {"", "nll", "", "ends with linear, and nll expects log-probabilities"},
      {",{\"type\":\"log_softmax\"}", "nll", "", ""},
      {",{\"type\":\"relu\"}", "focal", "", "expects logits"},
      {",{\"type\":\"relu\"}", "mse", "", ""},
      {",{\"type\":\"relu\"}", "mse", ",\"standardize\":[\"y\"]", "a standardized target"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char spec[1024];
    fixture f;
    bool classes = strstr("cross_entropy nll focal", cases[i].loss) != NULL;
    snprintf(
        spec, sizeof spec,
        "{\"data\":{\"inline\":{\"x\":[[0],[1],[2],[3]],\"y\":[0,1,0,1]}%s},\"model\":{"
        "\"layers\":[{\"type\":\"linear\",\"out_features\":%d}%s]},\"loss\":\"%s\",\"epochs\":1}",
        cases[i].data, classes ? 2 : 1, cases[i].last, cases[i].loss);
    ep_job_result result = trained(&f, spec);
    ck_assert_msg(result.status == EP_OK, "%s: %s", spec, result.message);
    ck_assert_msg(cases[i].said[0] ? strstr(result.remarks, cases[i].said) != NULL
                                   : result.remarks[0] == 0,
                  "%s: %s", spec, result.remarks);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
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
  ck_assert_ptr_nonnull(strstr(result.remarks, "by epoch 4 and keeps rising"));
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

/* Same steps, same rate; neither weights nor epochs. In however many segments. */
START_TEST(a_rate_is_found_twice_alike) {
  ep_found_lr found[2];
  for (int run = 0; run < 2; run++) {
    fixture f;
    fixture_open(&f, LINE(HIDDEN, "\"epochs\":3,\"batch_size\":5,\"find\":\"lr\""),
                 ep_backend_cpu(), backend);
    f.training.segment_steps_most = run == 0 ? 0 : 7;
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(result.status, EP_OK);
    ck_assert(!result.has_weights && result.epochs_done == 0 && result.train.rows == 0);
    ck_assert_str_eq(result.stopped, "");
    ck_assert_int_eq(f.records_count, 0);
    found[run] = result.found;
    ck_assert(found[run].count > 50 && found[run].exploded);
    ck_assert(found[run].proposal > 1e-6 && found[run].proposal < 0.1);
    char *text = ep_job_result_format(&result);
    ep_job_result back;
    ck_assert_int_eq(ep_job_result_parse(text, &back, NULL), EP_OK);
    ck_assert_mem_eq(back.found.smoothed, found[run].smoothed,
                     (size_t)(found[run].count - 1) *
                         sizeof(double)); /* the last may be infinite */
    ck_assert(back.found.proposal == found[run].proposal && back.found.exploded);
    free(text);
    ep_job_result_deinit(&back);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
  ck_assert_int_eq(found[0].count, found[1].count);
  ck_assert_mem_eq(found[0].loss, found[1].loss, (size_t)found[0].count * sizeof(double));
}
END_TEST

START_TEST(a_search_for_a_rate_can_be_cancelled) {
  fixture f;
  fixture_open(&f, LINE(HIDDEN, "\"epochs\":3,\"find\":\"lr\""), ep_backend_cpu(), backend);
  atomic_store(&f.cancel, true);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_CANCELLED);
  ck_assert_int_eq(result.found.count, 0);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

EP_SUITE("engine/training/diagnosis") {
  TCase *all = ep_suite_case(suite, "diagnosis");
  tcase_add_checked_fixture(all, backend_open, backend_close);
  tcase_add_test(all, a_last_layer_that_does_not_suit_the_loss_is_told);
  tcase_add_test(all, a_training_that_went_well_says_nothing);
  tcase_add_test(all, dead_units_and_one_value_for_all_rows);
  tcase_add_test(all, a_loss_that_explodes_is_told_once_and_early);
  tcase_add_test(all, a_schedule_is_hinted_at_by_its_own_field);
  tcase_add_test(all, a_rate_is_found_twice_alike);
  tcase_add_test(all, a_search_for_a_rate_can_be_cancelled);
}
