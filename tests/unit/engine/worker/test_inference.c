/* Answers of a trained network for new rows, from its weights file alone. */
#include "engine/worker/inference.h"

#include <limits.h>
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

static const char *weights_of(const char *folder) {
  static char path[256];
  snprintf(path, sizeof path, "%s/weights.safetensors", folder);
  return path;
}

/* Of a predictor that has held nothing before. */
static ep_status infer(const char *folder, const double *x, int64_t rows, int64_t columns,
                       double **output, int64_t *output_columns, ep_error *error) {
  ep_predictor *predictor;
  ck_assert_int_eq(ep_predictor_create(&predictor, error), EP_OK);
  ep_status status = ep_predictor_answer(predictor, weights_of(folder), false, "", x, rows, columns,
                                         1, output, output_columns, error);
  ep_predictor_destroy(predictor);
  return status;
}

/* y = 2 a - 3 b + 1 */
#define PLANE(standardize)                                                                \
  "{\"data\":{\"inline\":{\"x\":[[0,0],[1,0],[0,1],[1,1],[2,1],[1,2],[3,1],[2,2]],"       \
  "\"y\":[1,3,-2,0,2,-3,4,-1]},\"standardize\":" standardize                              \
  "},\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\"," \
  "\"optimizer\":{\"lr\":0.1,\"momentum\":0.5},\"epochs\":3000}"

static void train(fixture *f, const char *spec) {
  fixture_open(f, spec, ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(f);
  ck_assert_int_eq(result.status, EP_OK);
  ep_job_result_deinit(&result);
}

static const char *const planes[] = {PLANE("[]"), PLANE("[\"x\"]"), PLANE("[\"y\"]"),
                                     PLANE("[\"x\",\"y\"]")};

START_TEST(answers_are_in_the_units_of_the_data) {
  fixture f;
  const double x[] = {10, 1, -2, 4};
  double *output;
  int64_t columns;
  ep_error error = {0};
  train(&f, planes[_i]);
  ck_assert_msg(infer(f.folder, x, 2, 2, &output, &columns, &error) == EP_OK, "%s", error.message);
  ck_assert_int_eq(columns, 1);
  ck_assert(fabs(output[0] - 18) < 1e-3);
  ck_assert(fabs(output[1] + 15) < 1e-3);
  free(output);
  fixture_close(&f);
}
END_TEST

START_TEST(a_classifier_answers_with_its_outputs) {
  fixture f;
  const double x[] = {0, 0, 0, 1, 1, 0, 1, 1};
  double *output;
  int64_t columns;
  train(&f, "{\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":\"linear\","
            "\"out_features\":8},{\"type\":\"tanh\"},{\"type\":\"linear\",\"out_features\":2}]},"
            "\"loss\":\"cross_entropy\",\"optimizer\":{\"lr\":0.5},\"epochs\":2000,\"seed\":3}");
  ck_assert_int_eq(infer(f.folder, x, 4, 2, &output, &columns, NULL), EP_OK);
  ck_assert_int_eq(columns, 2);
  const bool odd[] = {false, true, true, false};
  for (int i = 0; i < 4; i++) ck_assert((output[2 * i + 1] > output[2 * i]) == odd[i]);
  free(output);
  fixture_close(&f);
}
END_TEST

START_TEST(a_row_of_another_width_is_refused) {
  fixture f;
  const double x[] = {1, 2, 3};
  double *output;
  int64_t columns;
  ep_error error = {0};
  train(&f, planes[0]);
  ck_assert_int_eq(infer(f.folder, x, 1, 3, &output, &columns, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/x/0");
  ck_assert_ptr_nonnull(strstr(error.message, "2 values per row, not 3"));
  ck_assert_ptr_null(output);
  fixture_close(&f);
}
END_TEST

START_TEST(more_numbers_than_a_frame_takes_are_refused) {
  enum { OUTPUTS = 1000, MOST = EP_LIMIT_PREDICT_BYTES / 8 / OUTPUTS };
  fixture f;
  ep_predictor *predictor;
  double *x = calloc(MOST + 1, sizeof *x), *output;
  int64_t columns, joins;
  ep_error error = {0};
  ck_assert_ptr_nonnull(x);
  train(&f, "{\"data\":{\"inline\":{\"x\":[[0],[1]],\"y\":[0,1]}},\"model\":{\"layers\":[{\"type\":"
            "\"linear\",\"out_features\":1000}]},\"loss\":\"cross_entropy\",\"epochs\":1}");
  ck_assert_int_eq(infer(f.folder, x, MOST, 1, &output, &columns, NULL), EP_OK);
  ck_assert_int_eq(columns, OUTPUTS);
  free(output);
  ck_assert_int_eq(infer(f.folder, x, MOST + 1, 1, &output, &columns, &error), EP_TOO_LARGE);
  ck_assert_str_eq(error.pointer, "/x");
  ck_assert_ptr_null(output);
  ck_assert_int_eq(ep_predictor_create(&predictor, NULL), EP_OK);
  ck_assert_int_eq(ep_predictor_hold(predictor, weights_of(f.folder), false, "", &joins, NULL),
                   EP_OK);
  ck_assert_int_eq(joins, MOST); /* no more are made together than fit */
  ep_predictor_destroy(predictor);
  free(x);
  fixture_close(&f);
}
END_TEST

START_TEST(weights_of_another_hash_give_no_answer) {
  fixture f;
  ep_predictor *predictor;
  const double x[] = {10, 1};
  double *output;
  int64_t columns;
  ep_error error = {0};
  fixture_open(&f, planes[0], ep_backend_cpu(), backend);
  ep_job_result result = fixture_train(&f);
  char other[EP_SHA256_HEX_BYTES];
  memcpy(other, result.weights_sha256, sizeof other);
  other[0] = other[0] == '0' ? '1' : '0';
  ck_assert_int_eq(ep_predictor_create(&predictor, NULL), EP_OK);
  ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(f.folder), false, other, x, 1, 2, 1,
                                       &output, &columns, &error),
                   EP_DAMAGED);
  ck_assert_ptr_null(output);
  ck_assert_ptr_nonnull(strstr(error.message, "submit the job's spec again"));
  ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(f.folder), false,
                                       result.weights_sha256, x, 1, 2, 1, &output, &columns, NULL),
                   EP_OK);
  free(output);
  ep_predictor_destroy(predictor);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(without_weights_there_is_no_answer) {
  const double x[] = {1, 2};
  double *output;
  int64_t columns;
  ck_assert_int_ne(infer("/nonexistent", x, 1, 2, &output, &columns, NULL), EP_OK);
  ck_assert_ptr_null(output);
}
END_TEST

/* One predictor: two jobs in turn, weights that are replaced, rows that do not fit in between. */
START_TEST(what_is_held_is_not_mixed_up) {
  fixture plane, other;
  ep_predictor *predictor;
  char from[PATH_MAX], to[PATH_MAX];
  const double x[] = {10, 1, 0};
  double *output;
  int64_t columns;
  train(&plane, planes[0]);
  train(&other, planes[3]);
  ck_assert_int_eq(ep_predictor_create(&predictor, NULL), EP_OK);
  double first[4];
  for (int i = 0; i < 4; i++) {
    const char *folder = i % 2 ? other.folder : plane.folder;
    ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(folder), false, "", x, 1, 2, 1,
                                         &output, &columns, NULL),
                     EP_OK);
    first[i] = output[0];
    free(output);
    ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(folder), false, "", x, 1, 3, 1,
                                         &output, &columns, NULL),
                     EP_INVALID);
    ck_assert_ptr_null(output);
  }
  ck_assert(first[0] == first[2] && first[1] == first[3] && first[0] != first[1]);
  snprintf(from, sizeof from, "%s/weights.safetensors", other.folder);
  snprintf(to, sizeof to, "%s/weights.safetensors", plane.folder);
  ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(plane.folder), false, "", x, 1, 2, 1,
                                       &output, &columns, NULL),
                   EP_OK);
  free(output);
  ck_assert_int_eq(rename(from, to), 0);
  ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(plane.folder), false, "", x, 1, 2, 1,
                                       &output, &columns, NULL),
                   EP_OK);
  ck_assert_double_eq(output[0], first[1]);
  free(output);
  ck_assert_int_eq(remove(to), 0);
  ck_assert_int_ne(ep_predictor_answer(predictor, weights_of(plane.folder), false, "", x, 1, 2, 1,
                                       &output, &columns, NULL),
                   EP_OK);
  ep_predictor_destroy(predictor);
  fixture_close(&plane);
  fixture_close(&other);
}
END_TEST

#define LINEAR(width) "{\"type\":\"linear\",\"out_features\":" #width "}"
#define TABLE                                                                                \
  "\"data\":{\"inline\":{\"x\":[[0,1,2,0],[1,0,1,1],[2,2,0,2],[0,0,1,1]],\"y\":[0,1,2,1]}}," \
  "\"loss\":\"cross_entropy\",\"epochs\":1,\"batch_size\":2"

static const struct {
  const char *spec;
  int64_t joins; /* rows: 0, or as many as a frame has of its outputs */
} networks[] = {
    {"{" TABLE ",\"model\":{\"layers\":[" LINEAR(32) ",{\"type\":\"relu\"}," LINEAR(3) "]}}",
     EP_LIMIT_PREDICT_BYTES / 8 / 3},
    {"{" TABLE ",\"model\":{\"layers\":[" LINEAR(331) ",{\"type\":\"tanh\"}," LINEAR(
         512) ",{\"type\":\"silu\"},{\"type\":\"gelu\"}," LINEAR(512) "," LINEAR(5) "]}}",
     EP_LIMIT_PREDICT_BYTES / 8 / 5},
    {"{" TABLE ",\"model\":{\"layers\":[{\"type\":\"embedding\",\"num_embeddings\":3,"
     "\"embedding_dim\":40},{\"type\":\"relu\"}," LINEAR(64) "," LINEAR(3) "]}}",
     0},
};

/* What `joins` promises: of each row the bits that it has alone. */
START_TEST(rows_that_join_have_their_own_bits) {
  enum { ROWS = 131, COLUMNS = 4 };
  static const int counts[] = {1, 2, 15, 16, 17, 31, 33, ROWS};
  fixture f;
  ep_predictor *predictor;
  double x[ROWS * COLUMNS], *whole, *output;
  int64_t columns, joins;
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = i * 7 % 3;
  train(&f, networks[_i].spec);
  ck_assert_int_eq(ep_predictor_create(&predictor, NULL), EP_OK);
  ck_assert_int_eq(ep_predictor_hold(predictor, weights_of(f.folder), false, "", &joins, NULL),
                   EP_OK);
  ck_assert_int_eq(joins, networks[_i].joins);
  ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(f.folder), false, "", x, ROWS, COLUMNS,
                                       1, &whole, &columns, NULL),
                   EP_OK);
  for (size_t c = 0; joins && c < sizeof counts / sizeof *counts; c++)
    for (int first = 0; first + counts[c] <= ROWS; first += counts[c]) {
      ck_assert_int_eq(ep_predictor_answer(predictor, weights_of(f.folder), false, "",
                                           x + first * COLUMNS, counts[c], COLUMNS, 1, &output,
                                           &columns, NULL),
                       EP_OK);
      ck_assert_mem_eq(output, whole + first * columns,
                       (size_t)(counts[c] * columns) * sizeof *output);
      free(output);
    }
  free(whole);
  ep_predictor_destroy(predictor);
  fixture_close(&f);
}
END_TEST

EP_SUITE("inference") {
  TCase *tests = ep_suite_case(suite, "inference");
  tcase_add_checked_fixture(tests, backend_open, backend_close);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, answers_are_in_the_units_of_the_data, 0, 4);
  tcase_add_test(tests, a_classifier_answers_with_its_outputs);
  tcase_add_test(tests, a_row_of_another_width_is_refused);
  tcase_add_test(tests, more_numbers_than_a_frame_takes_are_refused);
  tcase_add_test(tests, weights_of_another_hash_give_no_answer);
  tcase_add_test(tests, without_weights_there_is_no_answer);
  tcase_add_test(tests, what_is_held_is_not_mixed_up);
  tcase_add_loop_test(tests, rows_that_join_have_their_own_bits, 0,
                      sizeof networks / sizeof *networks);
}
