/* The loop of ep_train on a scripted backend: which steps it asks for, what it does when a loss is
 * not finite, and that nothing is asked twice or left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

/* A "network" whose every weight counts the steps done; losses and weights break where the script
 * says. */
static struct {
  int64_t steps, saved;   /* done; at the snapshot */
  int64_t loss_breaks_at; /* the loss of this step and later ones is NaN; -1 = never */
  int64_t
      weights_break_after; /* with more steps than this done the weights are infinite; -1 = never */
  int64_t parameters, evaluations, evaluated_at[64];
  int64_t memory_bytes;         /* of the device */
  ep_status fails_with;         /* of train_segment */
  ep_status predict_fails_with; /* of predict */
  int64_t best_step; /* the validation loss is its distance from this step; 0 = always 1 */
  float lr[256];     /* of the first steps */
  int ranks;         /* that it says it has */
  float restored;    /* the weight that import_state last brought */
} script;

static ep_status script_backend_info(ep_backend *backend, ep_backend_info *out, ep_error *error) {
  (void)backend, (void)error;
  *out = (ep_backend_info){.memory_bytes = script.memory_bytes};
  return EP_OK;
}

static ep_status script_compile(ep_backend *backend, const ep_program *program,
                                const char *executor, ep_instance **out, ep_error *error) {
  (void)backend, (void)executor, (void)error;
  script.steps = 0;
  script.parameters = program->parameters;
  *out = (ep_instance *)&script;
  return EP_OK;
}

static void script_release(ep_instance *instance) {
  (void)instance;
}

static void script_info(const ep_instance *instance, ep_instance_info *out) {
  (void)instance;
  *out = (ep_instance_info){.executor = "test/script", .bytes = 1, .ranks = script.ranks};
  for (int i = 0; i < script.ranks; i++) /* 4 us a step computing, 2 apart, and waiting */
    out->rank[i] = (ep_rank_info){.bytes = 10 + i,
                                  .compute_seconds = (double)script.steps * 4e-6,
                                  .communication_seconds = (double)script.steps * 2e-6,
                                  .idle_seconds = (double)script.steps * 2e-6 * i};
}

static ep_status script_load(ep_instance *instance, ep_split split, const void *x, const void *y,
                             int64_t rows, ep_error *error) {
  (void)instance, (void)split, (void)x, (void)y, (void)rows, (void)error;
  return EP_OK;
}

static ep_status script_train(ep_instance *instance, const ep_segment *segment, ep_error *error) {
  (void)instance;
  if (script.fails_with != EP_OK) return ep_fail(error, script.fails_with, "the script says so");
  ck_assert_int_eq(segment->first_step, script.steps);
  ck_assert_int_gt(segment->steps, 0);
  for (int64_t i = 0; i < segment->steps; i++) {
    int64_t step = segment->first_step + i;
    bool broken = script.loss_breaks_at >= 0 && step >= script.loss_breaks_at;
    segment->loss[i] = broken ? NAN : (float)(step % 4);
    segment->errors[i] = 0;
    if (step < 256) script.lr[step] = segment->lr[segment->lr_count == 1 ? 0 : i];
  }
  script.steps += segment->steps;
  return EP_OK;
}

static ep_status script_evaluate(ep_instance *instance, ep_split split, double *loss,
                                 int64_t *errors, ep_error *error) {
  (void)instance, (void)error;
  if (split == EP_SPLIT_VALIDATION && script.evaluations < 64)
    script.evaluated_at[script.evaluations++] = script.steps;
  *loss = script.best_step ? fabs((double)(script.steps - script.best_step)) : 1;
  *errors = 0;
  return EP_OK;
}

static ep_status script_predict(ep_instance *instance, const void *x, int64_t rows, float *output,
                                ep_error *error) {
  (void)instance, (void)x;
  if (script.predict_fails_with != EP_OK)
    return ep_fail(error, script.predict_fails_with, "the script says so");
  memset(output, 0, (size_t)rows * sizeof *output);
  return EP_OK;
}

static ep_status script_export(ep_instance *instance, float *parameters, float *optimizer,
                               ep_error *error) {
  (void)instance, (void)optimizer, (void)error;
  bool broken = script.weights_break_after >= 0 && script.steps > script.weights_break_after;
  for (int64_t i = 0; i < script.parameters; i++)
    parameters[i] = broken ? INFINITY : (float)script.steps;
  return EP_OK;
}

static ep_status script_import(ep_instance *instance, const float *parameters,
                               const float *optimizer, ep_error *error) {
  (void)instance, (void)optimizer, (void)error;
  script.restored = parameters[0];
  return EP_OK;
}

static ep_status script_snapshot(ep_instance *instance, ep_error *error) {
  (void)instance, (void)error;
  script.saved = script.steps;
  return EP_OK;
}

static ep_status script_rollback(ep_instance *instance, ep_error *error) {
  (void)instance, (void)error;
  script.steps = script.saved;
  return EP_OK;
}

static const ep_backend_ops ops = {.version = EP_BACKEND_VERSION,
                                   .name = "script",
                                   .info = script_backend_info,
                                   .compile = script_compile,
                                   .release = script_release,
                                   .instance_info = script_info,
                                   .load_data = script_load,
                                   .train_segment = script_train,
                                   .evaluate = script_evaluate,
                                   .predict = script_predict,
                                   .export_state = script_export,
                                   .import_state = script_import,
                                   .snapshot = script_snapshot,
                                   .rollback = script_rollback};

/* 8 rows in batches of 2: 4 steps an epoch. */
#define SPEC(extra, data)                                                                       \
  "{\"data\":{\"inline\":{\"x\":[[0],[1],[2],[3],[4],[5],[6],[7],[8],[9]],"                     \
  "\"y\":[0,1,2,3,4,5,6,7,8,9]}" data                                                           \
  "},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\"," extra \
  "}"

static void script_reset(void) {
  memset(&script, 0, sizeof script);
  script.memory_bytes = 1 << 20;
  script.loss_breaks_at = script.weights_break_after = -1;
}

START_TEST(every_step_once_and_the_mean_of_each_epoch) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":1000,\"batch_size\":2,\"report_every\":1", ",\"test\":0.2"),
               &ops, NULL);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(script.steps, 4000);
  ck_assert_int_eq(f.records_count, 1000);
  for (int i = 0; i < 1000; i++) ck_assert(f.records[i].loss == 1.5); /* of 0, 1, 2, 3 */
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* Replica by replica, stage by stage. */
START_TEST(what_each_rank_did_is_the_mean_of_a_step) {
  fixture f;
  script.ranks = 2;
  fixture_open(&f,
               SPEC("\"epochs\":10,\"batch_size\":2,\"parallel\":{\"data\":2}", ",\"test\":0.2"),
               &ops, NULL);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(result.ranks.count, 2);
  for (int i = 0; i < 2; i++) {
    const ep_rank_result *rank = &result.ranks.rank[i];
    ck_assert_int_eq(rank->data, i);
    ck_assert_int_eq(rank->model, 0);
    ck_assert_int_eq(rank->bytes, 10 + i);
    ck_assert_double_eq_tol(rank->compute_microseconds, 4, 1e-9);
    ck_assert_double_eq_tol(rank->communication_microseconds, 2, 1e-9);
    ck_assert_double_eq_tol(rank->idle_share, 2.0 * i / (6 + 2.0 * i), 1e-9);
  }
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(validation_sees_the_weights_of_its_epoch) {
  fixture f;
  fixture_open(&f,
               SPEC("\"epochs\":50,\"batch_size\":2,\"report_every\":20", ",\"validation\":0.2"),
               &ops, NULL);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(f.records_count, 4);
  const int64_t steps[] = {4, 80, 160, 200}; /* the final metrics are taken from predictions */
  ck_assert_int_eq(script.evaluations, 4);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(script.evaluated_at[i], steps[i]);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_broken_loss_goes_back_to_just_before_it) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":1000,\"batch_size\":2,\"report_every\":1", ",\"test\":0.2"),
               &ops, NULL);
  script.loss_breaks_at = 1234;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_int_eq(script.steps, 1234);
  ck_assert_int_eq(result.epochs_done, 308);
  ck_assert_int_eq(f.records_count, 309);
  ck_assert(isnan(f.records[308].loss));
  ck_assert_ptr_nonnull(strstr(result.message, "epoch 309"));
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(weights_that_broke_unseen_go_back_to_the_last_finite_ones) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":25,\"batch_size\":2,\"report_every\":1", ",\"test\":0.2"), &ops,
               NULL);
  script.weights_break_after = 57;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_int_eq(script.steps, 57);
  ck_assert_ptr_nonnull(strstr(result.message, "epoch 25;")); /* there is no 26th */
  ck_assert(result.has_weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_loss_broken_from_the_first_step_keeps_the_first_weights) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":25", ",\"test\":0.2"), &ops, NULL);
  script.loss_breaks_at = 0;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_int_eq(script.steps, 0);
  ck_assert_int_eq(result.epochs_done, 0);
  ck_assert(result.has_weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* The best weights come back also where no epoch was too many. */
START_TEST(early_stopping_ends_it_and_brings_the_best_back) {
  static const struct {
    const char *patience;
    int epochs;
  } cases[] = {{"3", 13}, {"100", 50}};
  fixture f;
  char spec[512];
  snprintf(spec, sizeof spec,
           SPEC("\"epochs\":50,\"batch_size\":2,\"report_every\":1,"
                "\"early_stopping\":{\"patience\":%s}",
                ",\"validation\":0.2"),
           cases[_i].patience);
  fixture_open(&f, spec, &ops, NULL);
  script.best_step = 40; /* 4 steps an epoch: epoch 10 */
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(result.epochs_done, cases[_i].epochs);
  ck_assert_int_eq(f.records_count, cases[_i].epochs);
  ck_assert(script.restored == 40);
  ck_assert_int_eq(result.kept.epoch, 10);
  ck_assert_int_eq(result.kept.best_epoch, 10);
  ck_assert_double_eq(result.kept.value, 0);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(keep_last_keeps_the_last) {
  fixture f;
  fixture_open(&f,
               SPEC("\"epochs\":50,\"batch_size\":2,\"report_every\":1,\"keep\":\"last\","
                    "\"early_stopping\":{\"patience\":3}",
                    ",\"validation\":0.2"),
               &ops, NULL);
  script.best_step = 40;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.epochs_done, 13);
  ck_assert(script.restored != 40);
  ck_assert_int_eq(result.kept.epoch, 0);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* Epoch 13 is the last by patience; its last step breaks the weights, and no loss shows it. */
START_TEST(weights_that_broke_where_it_stopped_early_go_back_too) {
  fixture f;
  fixture_open(&f,
               SPEC("\"epochs\":50,\"batch_size\":2,\"report_every\":1,\"keep\":\"last\","
                    "\"early_stopping\":{\"patience\":3}",
                    ",\"validation\":0.2"),
               &ops, NULL);
  script.best_step = 40;
  script.weights_break_after = 51;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_DIVERGED);
  ck_assert_int_eq(script.steps, 51);
  ck_assert(result.has_weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_schedule_gives_each_step_its_learning_rate) {
  fixture f;
  fixture_open(&f,
               SPEC("\"epochs\":6,\"batch_size\":2,\"optimizer\":{\"lr\":0.5},"
                    "\"schedule\":{\"type\":\"step\",\"step_size\":2,\"gamma\":0.5}",
                    ",\"test\":0.2"),
               &ops, NULL);
  ep_job_result result = fixture_train(&f);
  for (int step = 0; step < 24; step++)
    ck_assert(script.lr[step] == (step < 8 ? 0.5f : step < 16 ? 0.25f : 0.125f));
  ck_assert(f.records[f.records_count - 1].lr == 0.125);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_plateau_lowers_the_learning_rate) {
  fixture f;
  fixture_open(&f,
               SPEC("\"epochs\":6,\"batch_size\":2,\"report_every\":1,\"optimizer\":{\"lr\":0.5},"
                    "\"schedule\":{\"type\":\"reduce_on_plateau\",\"factor\":0.5,\"patience\":1}",
                    ",\"validation\":0.2"),
               &ops, NULL);
  ep_job_result result = fixture_train(&f);
  for (int epoch = 0; epoch < 6; epoch++) /* flat from epoch 1 on: lowered after 3, and after 5 */
    ck_assert(script.lr[4 * epoch] == (epoch < 3 ? 0.5f : epoch < 5 ? 0.25f : 0.125f));
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_cancel_is_seen_between_segments) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":100000000,\"report_every\":1000000", ""), &ops, NULL);
  f.cancel_at_epoch = 1;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_CANCELLED);
  ck_assert_int_lt(result.epochs_done, 100000000);
  ck_assert_int_eq(result.epochs_done, script.steps);
  ck_assert_int_gt(f.alive, 1); /* after each segment, though no epoch was reported in most */
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_failed_device_is_the_workers_fault) {
  fixture f;
  ep_job_result result;
  ep_error error = {0};
  fixture_open(&f, SPEC("\"epochs\":3", ""), &ops, NULL);
  script.fails_with = EP_DEVICE;
  ck_assert_int_eq(ep_train(&f.training, &result, &error), EP_DEVICE);
  ck_assert_str_eq(error.message, "the script says so");
  ck_assert(!result.has_weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_shortage_of_memory_is_the_jobs) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":3", ""), &ops, NULL);
  script.fails_with = EP_NO_MEMORY;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_NO_MEMORY);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_job_larger_than_the_device_is_not_begun) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":3", ""), &ops, NULL);
  /* 10 rows of x and y, 2 parameters, as many of a snapshot and a gradient; 4 bytes each */
  script.memory_bytes = 4 * (10 * 2 + 3 * 2) - 1;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_NO_MEMORY);
  ck_assert_str_eq(result.pointer, "/model");
  ck_assert_int_eq(f.started, 0);
  script.memory_bytes++;
  result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

/* A folder lies where one of the files is to be. */
static const char *const obstacles[] = {"weights.safetensors", "predictions.csv"};

static void obstacle_put(fixture *f, const char *file) {
  snprintf(f->obstacle, sizeof f->obstacle, "%s/%s", f->folder, file);
  ck_assert_int_eq(mkdir(f->obstacle, 0700), 0);
}

START_TEST(results_that_the_disk_refuses_are_written_later) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":25", ",\"test\":0.2"), &ops, NULL);
  obstacle_put(&f, obstacles[_i]);
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_OK);
  ck_assert_int_eq(f.waits, 1);
  ck_assert(result.has_weights);
  ck_assert_int_eq(result.test.rows, 2);
  ck_assert_int_gt(f.alive, 0);
  char *predictions = fixture_read(&f, "predictions.csv");
  ck_assert_ptr_nonnull(predictions);
  free(predictions);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(a_cancel_ends_the_wait_for_the_disk) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":25", ",\"test\":0.2"), &ops, NULL);
  obstacle_put(&f, obstacles[_i]);
  f.cancel_waiting = true;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_CANCELLED);
  ck_assert_int_eq(f.waits, 1);
  ck_assert(!result.has_weights); /* what one try writes is there together */
  ck_assert_int_eq(rmdir(f.obstacle), 0);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(metrics_that_fail_leave_the_weights) {
  fixture f;
  fixture_open(&f, SPEC("\"epochs\":3", ""), &ops, NULL);
  script.predict_fails_with = EP_NO_MEMORY;
  ep_job_result result = fixture_train(&f);
  ck_assert_int_eq(result.status, EP_NO_MEMORY);
  ck_assert(result.has_weights);
  char *weights = fixture_read(&f, "weights.safetensors");
  ck_assert_ptr_nonnull(weights);
  free(weights);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

EP_SUITE("training loop") {
  TCase *tests = ep_suite_case(suite, "training loop");
  tcase_add_checked_fixture(tests, script_reset, NULL);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, every_step_once_and_the_mean_of_each_epoch);
  tcase_add_test(tests, what_each_rank_did_is_the_mean_of_a_step);
  tcase_add_test(tests, validation_sees_the_weights_of_its_epoch);
  tcase_add_test(tests, a_broken_loss_goes_back_to_just_before_it);
  tcase_add_test(tests, weights_that_broke_unseen_go_back_to_the_last_finite_ones);
  tcase_add_test(tests, a_loss_broken_from_the_first_step_keeps_the_first_weights);
  tcase_add_loop_test(tests, early_stopping_ends_it_and_brings_the_best_back, 0, 2);
  tcase_add_test(tests, weights_that_broke_where_it_stopped_early_go_back_too);
  tcase_add_test(tests, keep_last_keeps_the_last);
  tcase_add_test(tests, a_schedule_gives_each_step_its_learning_rate);
  tcase_add_test(tests, a_plateau_lowers_the_learning_rate);
  tcase_add_test(tests, a_cancel_is_seen_between_segments);
  tcase_add_test(tests, a_failed_device_is_the_workers_fault);
  tcase_add_test(tests, a_shortage_of_memory_is_the_jobs);
  tcase_add_test(tests, a_job_larger_than_the_device_is_not_begun);
  tcase_add_loop_test(tests, results_that_the_disk_refuses_are_written_later, 0, 2);
  tcase_add_loop_test(tests, a_cancel_ends_the_wait_for_the_disk, 0, 2);
  tcase_add_test(tests, metrics_that_fail_leave_the_weights);
}
