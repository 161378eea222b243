/* Whole trainings on the CPU: what is learned, what is reported, what is written. */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hash/sha256.h"
#include "engine/weights/weights.h"
#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

static ep_backend *backend;

static void backend_open(void) {
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void backend_close(void) {
  ep_backend_cpu()->close(backend);
}

/* y = 2 a - 3 b + 1, without noise. */
#define PLANE_ROWS "[[0,0],[1,0],[0,1],[1,1],[2,1],[1,2],[3,1],[2,2]]"
#define PLANE_Y "[1,3,-2,0,2,-3,4,-1]"
#define PLANE(extra, data)                                                                      \
  "{\"data\":{\"inline\":{\"x\":" PLANE_ROWS ",\"y\":" PLANE_Y "}" data                         \
  "},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\"," extra \
  "}"

START_TEST(a_plane_is_found) {
  fixture f;
  fixture_open(&f, PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":3000,\"report_every\":100", ""),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(result.epochs_done, 3000);
  ck_assert_int_eq(result.parameters, 3);
  ck_assert_int_eq(result.train.rows, 8);
  ck_assert(result.train.mse < 1e-8);
  ck_assert(result.train.r2 > 0.999999);
  ck_assert_int_eq(result.test.rows, 0);
  ck_assert(result.has_weights);
  ck_assert(result.train_seconds > 0 && result.samples_per_second > 0);

  ck_assert_int_eq(f.started, 1);
  ck_assert_int_eq(f.records_count, 31);
  for (int i = 0; i < 31; i++) {
    ck_assert_int_eq(f.records[i].epoch, i == 0 ? 1 : 100 * i);
    ck_assert(isnan(f.records[i].error) && isnan(f.records[i].validation_loss));
    if (i > 0) {
      ck_assert(f.records[i].loss <= f.records[i - 1].loss);
      ck_assert(f.records[i].elapsed_seconds >= f.records[i - 1].elapsed_seconds);
    }
  }
  char *weights = fixture_read(&f, "weights.safetensors");
  ck_assert_ptr_nonnull(weights);
  ck_assert_ptr_null(fixture_read(&f, "predictions.json")); /* there is no test split */
  free(weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(standardizing_changes_the_way_not_the_answer) {
  fixture f;
  fixture_open(&f,
               PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":2000",
                     ",\"standardize\":[\"x\",\"y\"],\"test\":0.25"),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(result.train.rows, 6);
  ck_assert_int_eq(result.test.rows, 2);
  ck_assert(result.test.mse < 1e-6);
  char *predictions = fixture_read(&f, "predictions.json");
  ck_assert_ptr_nonnull(predictions);
  ck_assert_ptr_nonnull(strstr(predictions, "\"rows\":2,\"target\":["));
  free(predictions);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* So many that threads share their making and writing: on one core and on all there are. */
START_TEST(many_weights_are_the_same_on_any_number_of_cores) {
  char sha256[2][65];
  for (int run = 0; run < 2; run++) {
    fixture f;
    fixture_open(&f,
                 "{\"data\":{\"inline\":{\"x\":" PLANE_ROWS ",\"y\":" PLANE_Y "},\"test\":0.25},"
                 "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":700},"
                 "{\"type\":\"linear\",\"out_features\":700},"
                 "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":1,"
                 "\"optimizer\":{\"lr\":0.0001}}",
                 ep_backend_cpu(), backend);
    cpu_set_t all, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
      if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
    if (run == 0) ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
    ck_assert_int_eq(result.status, EP_OK);
    ck_assert_int_eq(result.test.rows, 2);
    ck_assert(result.has_weights && result.weights_bytes > result.parameters * 4);
    char *weights = fixture_read(&f, "weights.safetensors");
    char *predictions = fixture_read(&f, "predictions.csv");
    ck_assert(weights != NULL && predictions != NULL);
    ep_sha256 hash;
    ck_assert_int_eq(ep_sha256_init(&hash, NULL), EP_OK);
    ep_sha256_update(&hash, weights, (size_t)result.weights_bytes);
    ep_sha256_final(&hash, sha256[run]);
    ck_assert_str_eq(sha256[run], result.weights_sha256);
    free(predictions);
    free(weights);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
  ck_assert_str_eq(sha256[0], sha256[1]);
}
END_TEST

START_TEST(the_first_and_the_last_epoch_are_reported_whatever_the_interval) {
  fixture f;
  fixture_open(&f, PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":25,\"report_every\":10", ""),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(f.records_count, 4);
  const int64_t epochs[] = {1, 10, 20, 25};
  for (int i = 0; i < 4; i++) ck_assert_int_eq(f.records[i].epoch, epochs[i]);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(validation_is_looked_at_on_reported_epochs) {
  fixture f;
  fixture_open(&f,
               PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":40,\"report_every\":10,"
                     "\"batch_size\":2",
                     ",\"validation\":0.25"),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.validation.rows, 2);
  ck_assert_int_eq(f.records_count, 5);
  for (int i = 0; i < 5; i++) ck_assert(isfinite(f.records[i].validation_loss));
  /* the weights of the last event are the final ones */
  ck_assert(fabs(f.records[4].validation_loss - result.validation.loss) < 1e-7);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* What is told within epochs and of layers changes no bit of the weights. */
START_TEST(batches_and_layers_are_told_and_change_nothing) {
  static const char *const specs[] = {
      PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":5,\"report_every\":2,\"batch_size\":1", ""),
      PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":5,\"report_every\":2,\"batch_size\":1,"
            "\"report_batches\":3,\"report\":{\"layers\":true}",
            "")};
  char sha256[2][65];
  for (int run = 0; run < 2; run++) {
    fixture f;
    int64_t epochs = 0, batches = 0, layers[6] = {0};
    fixture_open(&f, specs[run], ep_backend_cpu(), backend);
    f.training.spec_text = "{}"; /* it goes into the file, and its hash */
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(result.status, EP_OK);
    memcpy(sha256[run], result.weights_sha256, sizeof sha256[run]);
    for (int i = 0; i < f.records_count; i++) {
      const ep_progress_record *record = &f.records[i];
      ck_assert(record->epoch >= 1 && record->epoch <= 5);
      if (record->kind == EP_PROGRESS_EPOCH) epochs++;
      if (record->kind == EP_PROGRESS_LAYER) layers[record->epoch]++;
      if (record->kind != EP_PROGRESS_BATCH) continue;
      ck_assert_int_eq(record->epoch, batches / 2 + 1); /* two of 8 batches are told */
      ck_assert_int_eq(record->batch, batches % 2 == 0 ? 3 : 6);
      ck_assert(record->batches == 8 && record->loss > 0 && record->lr == 0.1);
      batches++;
    }
    ck_assert_int_eq(epochs, 4);
    ck_assert_int_eq(batches, run == 0 ? 0 : 10);
    /* others as time allows */
    ck_assert(layers[1] == run && layers[3] == 0 && layers[5] == run);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
  ck_assert_str_ne(sha256[0], "");
  ck_assert_str_eq(sha256[0], sha256[1]);
}
END_TEST

#define XOR(seed)                                                                                  \
  "{\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\"" \
  ":8},{\"type\":\"tanh\"},{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_"        \
  "logits\""                                                                                       \
  ",\"optimizer\":{\"lr\":0.5},\"epochs\":2000,\"seed\":" seed "}"

START_TEST(xor_ends_with_all_four_right_and_the_same_bits_twice) {
  char sha256[2][65];
  for (int run = 0; run < 2; run++) {
    fixture f;
    fixture_open(&f, XOR("3"), ep_backend_cpu(), backend);
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(result.status, EP_OK);
    ck_assert(result.test.accuracy == 1.0);
    ck_assert_int_eq(result.test.rows, 4);
    ck_assert(f.records[0].error >= 0 && f.records[0].error <= 1);
    ck_assert(f.records[f.records_count - 1].error == 0);
    memcpy(sha256[run], result.weights_sha256, sizeof sha256[run]);
    char *csv = fixture_read(&f, "predictions.csv");
    ck_assert_int_eq(strncmp(csv, "row,target,prediction,output_0\n1,0,0,", 37), 0);
    free(csv);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
  ck_assert_str_eq(sha256[0], sha256[1]);
}
END_TEST

/* Those of the last epoch are those of the job. */
START_TEST(epochs_have_the_metrics_that_are_named) {
  fixture f;
  fixture_open(&f,
               PLANE("\"optimizer\":{\"lr\":0.1},\"epochs\":60,\"report_every\":20,"
                     "\"validation_metrics\":[\"r2\",\"mae\"]",
                     ",\"validation\":0.25"),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  const ep_progress_record *last = &f.records[f.records_count - 1];
  ck_assert_int_eq(last->metrics_given, 1 << EP_METRIC_R2 | 1 << EP_METRIC_MAE);
  ck_assert(ep_progress_validation(last, EP_METRIC_MAE) == result.validation.mae);
  ck_assert(ep_progress_validation(last, EP_METRIC_R2) == result.validation.r2);
  ck_assert(isnan(ep_progress_validation(last, EP_METRIC_RMSE)));
  ck_assert(ep_progress_validation(&f.records[0], EP_METRIC_MAE) > result.validation.mae);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* Of r2 more is better: the weights that are kept have the greatest of all reports. */
START_TEST(the_best_weights_are_those_of_the_metric_that_is_named) {
  fixture f;
  fixture_open(&f,
               PLANE("\"optimizer\":{\"lr\":0.25},\"epochs\":400,\"report_every\":1,\"batch_size\":"
                     "1,\"early_stopping\":{\"patience\":5,\"metric\":\"validation.r2\"}",
                     ",\"validation\":0.25"),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  double best = -INFINITY;
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_str_eq(result.stopped, "early_stopping");
  for (int i = 0; i < f.records_count; i++)
    best = fmax(best, ep_progress_validation(&f.records[i], EP_METRIC_R2));
  ck_assert(best > ep_progress_validation(&f.records[f.records_count - 1], EP_METRIC_R2));
  ck_assert(result.validation.r2 == best);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_learning_rate_too_high_ends_as_diverged_with_finite_weights) {
  fixture f;
  fixture_open(&f, PLANE("\"optimizer\":{\"lr\":50},\"epochs\":100000,\"report_every\":1", ""),
               ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_str_eq(result.pointer, "/optimizer/lr");
  ck_assert_ptr_nonnull(strstr(result.message, "learning rate"));
  ck_assert(result.epochs_done > 0 && result.epochs_done < 1000);
  ck_assert(result.has_weights);
  ep_progress_record last = f.records[f.records_count - 1];
  ck_assert(!isfinite(last.loss)); /* the curve shows where it broke */
  ck_assert_int_eq(last.epoch, result.epochs_done + 1);
  ck_assert_int_eq(f.records_count, result.epochs_done + 1);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* The remedy names what is large and not scaled, and nothing else. */
START_TEST(a_divergence_names_what_is_not_scaled) {
  static const char y_far[] = "[1000,3000,-2000,0]", y_near[] = "[1,3,-2,0]",
                    x_far[] = "[[0],[1000],[2000],[500]]", x_near[] = "[[0],[1],[2],[0.5]]";
  const struct {
    const char *x, *y, *data, *remedy; /* NULL: none */
  } rows[] = {{x_near, y_far, "", ", or standardize y"},
              {x_far, y_near, "", ", or standardize x"},
              {x_far, y_far, "", ", or standardize x and y"},
              {x_far, y_far, ",\"standardize\":[\"x\"]", ", or standardize y"},
              {x_far, y_far, ",\"standardize\":[\"x\",\"y\"]", NULL},
              {x_near, y_near, "", NULL}};
  char spec[1024];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    snprintf(spec, sizeof spec,
             "{\"data\":{\"inline\":{\"x\":%s,\"y\":%s}%s},\"model\":{\"layers\":[{\"type\":"
             "\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"optimizer\":{\"lr\":1e6},"
             "\"epochs\":1000}",
             rows[i].x, rows[i].y, rows[i].data);
    fixture_open(&f, spec, ep_backend_cpu(), backend);
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(result.status, EP_DIVERGED);
    const char *remedy = strstr(result.message, ", or");
    ck_assert_msg(rows[i].remedy ? remedy && strcmp(remedy, rows[i].remedy) == 0 : !remedy,
                  "%zu: %s", i, result.message);
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
}
END_TEST

/* The last finite weights are so large that the outputs are not numbers. */
START_TEST(a_diverged_classifier_ends_too) {
  static const char *const losses[] = {"cross_entropy", "bce_with_logits"};
  char spec[1024];
  for (int i = 0; i < 2; i++) {
    fixture f;
    snprintf(
        spec, sizeof spec,
        "{\"data\":{\"inline\":{\"x\":[[1,2],[2,1],[3,4],[4,3]],\"y\":[0,1,0,1]}},\"model\":{"
        "\"layers\":[{\"type\":\"linear\",\"out_features\":8},{\"type\":\"leaky_relu\"},{\"type\":"
        "\"linear\",\"out_features\":8},{\"type\":\"leaky_relu\"},{\"type\":\"linear\","
        "\"out_features\":%d}]},\"loss\":\"%s\",\"optimizer\":{\"lr\":1e19},\"epochs\":100}",
        2 - i, losses[i]);
    fixture_open(&f, spec, ep_backend_cpu(), backend);
    ep_job_result result = fixture_train(&f);
    ck_assert_int_eq(result.status, EP_DIVERGED);
    ck_assert(result.has_weights);
    ep_progress_record last = f.records[f.records_count - 1];
    ck_assert(!isfinite(last.loss));
    ck_assert(isnan(last.error)); /* the rows of that epoch were not counted */
    ep_job_result_deinit(&result);
    fixture_close(&f);
  }
}
END_TEST

START_TEST(a_cancel_ends_it_soon_and_keeps_what_was_learned) {
  fixture f;
  fixture_open(&f, PLANE("\"optimizer\":{\"lr\":1e-6},\"epochs\":1000000000", ""), ep_backend_cpu(),
               backend);
  atomic_store(&f.cancel, true);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_CANCELLED);
  ck_assert_int_eq(result.epochs_done, 0);
  ck_assert(result.has_weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(an_unknown_executor_is_refused) {
  fixture f;
  fixture_open(&f, PLANE("\"executor\":\"cpu/abacus\",\"epochs\":1", ""), ep_backend_cpu(),
               backend);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_ne(result.status, EP_OK);
  ck_assert_ptr_nonnull(strstr(result.message, "cpu/abacus"));
  ck_assert(!result.has_weights);
  ck_assert_int_eq(f.started, 0);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

EP_SUITE("train") {
  TCase *tests = ep_suite_case(suite, "train");
  tcase_add_checked_fixture(tests, backend_open, backend_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_plane_is_found);
  tcase_add_test(tests, standardizing_changes_the_way_not_the_answer);
  tcase_add_test(tests, many_weights_are_the_same_on_any_number_of_cores);
  tcase_add_test(tests, batches_and_layers_are_told_and_change_nothing);
  tcase_add_test(tests, the_first_and_the_last_epoch_are_reported_whatever_the_interval);
  tcase_add_test(tests, validation_is_looked_at_on_reported_epochs);
  tcase_add_test(tests, xor_ends_with_all_four_right_and_the_same_bits_twice);
  tcase_add_test(tests, epochs_have_the_metrics_that_are_named);
  tcase_add_test(tests, the_best_weights_are_those_of_the_metric_that_is_named);
  tcase_add_test(tests, a_learning_rate_too_high_ends_as_diverged_with_finite_weights);
  tcase_add_test(tests, a_diverged_classifier_ends_too);
  tcase_add_test(tests, a_divergence_names_what_is_not_scaled);
  tcase_add_test(tests, a_cancel_ends_it_soon_and_keeps_what_was_learned);
  tcase_add_test(tests, an_unknown_executor_is_refused);
}
