/* The files of predictions are written a window of rows at a time: tables of one window and of
 * several, and rows that are wider than a window, held against a plain loop. */
#include "engine/training/predictions.h"

#include "engine/files/verified.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static const struct {
  int64_t rows;
  int classes;
} sizes[] = {{1, 2}, {150001, 20}, {3, (1 << 20) + 7}};

static float output_of(int64_t place) {
  return (float)(place * 7919 % 100003 - 50000);
}

static int64_t guess_of(int64_t row, int classes) {
  int64_t guess = row * classes;
  for (int64_t i = guess; i < (row + 1) * classes; i++)
    if (output_of(i) > output_of(guess)) guess = i;
  return guess - row * classes;
}

static void predictions_make(int64_t rows, int classes) {
  ep_prepared prepared = {.rows = {[EP_SPLIT_TEST] = rows}, .target_columns = 1};
  ep_durable_group group = {0};
  ep_error error = {0};
  float *outputs = malloc((size_t)(rows * classes) * sizeof *outputs);
  int32_t *targets = malloc((size_t)rows * sizeof *targets);
  ck_assert(outputs != NULL && targets != NULL);
  for (int64_t i = 0; i < rows * classes; i++) outputs[i] = output_of(i);
  for (int64_t i = 0; i < rows; i++) targets[i] = (int32_t)(i % classes);
  prepared.classes[EP_SPLIT_TEST] = targets;
  char json[EP_SHA256_HEX_BYTES], csv[EP_SHA256_HEX_BYTES];
  ep_status status = ep_predictions_write(&group, scratch_root, &prepared, EP_LOSS_CROSS_ENTROPY,
                                          outputs, classes, json, csv, &error);
  if (status == EP_OK) status = ep_durable_group_commit(&group, &error);
  ck_assert_msg(status == EP_OK, "%s", error.message);
  ck_assert_int_eq(ep_verified_sha256_at(scratch_file("predictions.json"), json, NULL), EP_OK);
  ck_assert_int_eq(ep_verified_sha256_at(scratch_file("predictions.csv"), csv, NULL), EP_OK);
  free(outputs);
  free(targets);
}

static void file_check(const char *name, const char *expected, size_t bytes) {
  size_t count = 0;
  char *found = scratch_read(scratch_file(name), &count);
  ck_assert_uint_eq(count, bytes);
  ck_assert_int_eq(memcmp(found, expected, bytes), 0);
  free(found);
}

START_TEST(the_csv_has_each_row_once) {
  const int64_t rows = sizes[_i].rows;
  const int classes = sizes[_i].classes;
  char *text = NULL;
  size_t bytes = 0;
  FILE *expected = open_memstream(&text, &bytes);
  predictions_make(rows, classes);
  fputs("row,target,prediction", expected);
  for (int i = 0; i < classes; i++) fprintf(expected, ",output_%d", i);
  for (int64_t row = 0; row < rows; row++) {
    fprintf(expected, "\n%d,%d,%d", (int)row + 1, (int)(row % classes),
            (int)guess_of(row, classes));
    for (int i = 0; i < classes; i++) fprintf(expected, ",%d", (int)output_of(row * classes + i));
  }
  fputs("\n", expected);
  fclose(expected);
  file_check("predictions.csv", text, bytes);
  free(text);
}
END_TEST

START_TEST(the_json_has_each_row_once) {
  const int64_t rows = sizes[_i].rows;
  const int classes = sizes[_i].classes;
  char *text = NULL;
  size_t bytes = 0;
  FILE *expected = open_memstream(&text, &bytes);
  predictions_make(rows, classes);
  fprintf(expected, "{\"object\":\"predictions\",\"split\":\"test\",\"rows\":%d,\"target\":[",
          (int)rows);
  for (int64_t row = 0; row < rows; row++)
    fprintf(expected, "%s%d", row > 0 ? "," : "", (int)(row % classes));
  fputs("],\"prediction\":[", expected);
  for (int64_t row = 0; row < rows; row++)
    fprintf(expected, "%s%d", row > 0 ? "," : "", (int)guess_of(row, classes));
  fputs("],\"output\":[", expected);
  for (int64_t row = 0; row < rows; row++)
    for (int i = 0; i < classes; i++)
      fprintf(expected, "%s%d",
              i > 0     ? ","
              : row > 0 ? "],["
                        : "[",
              (int)output_of(row * classes + i));
  fputs("]]}\n", expected);
  fclose(expected);
  file_check("predictions.json", text, bytes);
  free(text);
}
END_TEST

EP_SUITE("predictions") {
  TCase *tests = ep_suite_case(suite, "predictions");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, the_csv_has_each_row_once, 0, sizeof sizes / sizeof *sizes);
  tcase_add_loop_test(tests, the_json_has_each_row_once, 0, sizeof sizes / sizeof *sizes);
}
