/* A table of words and gaps, from rows to weights to predictions. The suite stands in for
 * ep_dataset_meta_read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/weights/stored_model.h"
#include "engine/worker/inference.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"
#include "tests/unit/engine/training/training_fixture.h"

enum { COLUMNS = 3, ROWS = 60, CITIES = 3 };

static ep_backend *backend;

ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);

/* city, age with gaps, and what follows from the city. */
ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error) {
  (void)folder, (void)error;
  *out = (ep_dataset_meta){0};
  ep_column columns[] = {category_column("city", "Oslo Rome Bern", 0),
                         number_column("age", 0, 59, 10), category_column("drinks", "tea wine", 0)};
  out->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = table_make(columns, COLUMNS, ROWS);
  return EP_OK;
}

static void setup(void) {
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void teardown(void) {
  ep_backend_cpu()->close(backend);
}

static void train(fixture *f, ep_job_result *result) {
  static const char spec[] =
      "{\"data\":{\"dataset\":\"a\",\"target\":\"drinks\",\"test\":0.2},\"model\":{\"layers\":[{"
      "\"type\":\"linear\",\"out_features\":2}]},\"loss\":\"cross_entropy\",\"optimizer\":{"
      "\"type\":"
      "\"adam\",\"lr\":0.1},\"epochs\":300}";
  double cells[ROWS][COLUMNS];
  char path[128];
  for (int i = 0; i < ROWS; i++) {
    cells[i][0] = i % CITIES;
    cells[i][1] = i % 6 == 5 ? NAN : i;
    cells[i][2] = i % CITIES == 1;
  }
  fixture_open(f, spec, ep_backend_cpu(), backend);
  snprintf(path, sizeof path, "%s/train.table.npy", f->folder);
  table_save(path, cells[0], ROWS, COLUMNS);
  f->training.dataset_folder = f->folder;
  *result = fixture_train(f);
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_msg(result->status == EP_OK, "%s", result->message);
  ck_assert_double_eq(result->test.accuracy, 1);
}

START_TEST(weights_carry_the_encoding) {
  fixture f;
  char path[128];
  ep_job_result result;
  ep_stored_model stored;
  ep_error error = {0};
  train(&f, &result);
  snprintf(path, sizeof path, "%s/weights.safetensors", f.folder);
  ck_assert_msg(ep_stored_model_open(path, &stored, &error) == EP_OK, "%s", error.message);
  const ep_encoding *encoding = stored.encoding;
  ck_assert_ptr_nonnull(encoding);
  char *json = fixture_read(&f, "predictions.json"), *csv = fixture_read(&f, "predictions.csv");
  ck_assert_ptr_nonnull(strstr(json, "\"tea\",\"wine\""));
  ck_assert(strstr(csv, ",tea,tea,") && strstr(csv, ",wine,wine,"));
  free(json);
  free(csv);
  ck_assert_str_eq(result.class_names, "[\"tea\",\"wine\"]");
  ck_assert_int_eq(encoding->features, CITIES + 1 + 2);
  ck_assert_str_eq(encoding->column[0].words.word[1], "Rome");
  ck_assert_str_eq(encoding->classes.word[1], "wine");
  ck_assert_str_eq(encoding->target, "drinks");
  ep_stored_model_close(&stored);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

START_TEST(predictions_take_raw_rows) {
  fixture f;
  char path[128];
  ep_job_result result;
  ep_predictor *predictor;
  double *output;
  int64_t columns;
  ep_error error = {0};
  const double x[] = {0, 30, 1, 30, 2, 30, 1, NAN, 1, 12};
  train(&f, &result);
  snprintf(path, sizeof path, "%s/weights.safetensors", f.folder);
  ck_assert_int_eq(ep_predictor_create(&predictor, &error), EP_OK);
  ck_assert_msg(ep_predictor_answer(predictor, path, false, "", x, 5, 2, 1, &output, &columns,
                                    &error) == EP_OK,
                "%s", error.message);
  ck_assert_int_eq(columns, 2);
  for (int i = 0; i < 5; i++) ck_assert_int_eq(output[2 * i + 1] > output[2 * i], x[2 * i] == 1);
  free(output);
  ck_assert_int_eq(
      ep_predictor_answer(predictor, path, false, "", x, 1, 6, 1, &output, &columns, &error),
      EP_INVALID); /* a row as it is encoded has six */
  ck_assert_ptr_nonnull(strstr(error.message, "expects 2 values per row"));
  ep_predictor_destroy(predictor);
  ep_job_result_deinit(&result);
  fixture_close(&f);
}
END_TEST

EP_SUITE("train_columns") {
  TCase *all = ep_suite_case(suite, "train_columns");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, weights_carry_the_encoding);
  tcase_add_test(all, predictions_take_raw_rows);
}
