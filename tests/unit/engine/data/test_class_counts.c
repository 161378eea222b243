/* The rows of each class, counted without mapping: of tables, of x and y apart, of paths, of rows
 * in the spec, of generators. */
#include "engine/data/sources/class_counts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/prepare/shape.h"
#include "engine/data/sources/allowed_paths.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static int64_t rows[EP_LIMIT_CLASSES];

static void counted(const ep_data_spec *data, const char *folder, const int64_t *wanted,
                    int classes) {
  ep_error error = {0};
  ck_assert_msg(ep_class_counts_read(data, folder, rows, &error) == EP_OK, "%s", error.message);
  for (int i = 0; i < EP_LIMIT_CLASSES; i++) ck_assert_int_eq(rows[i], i < classes ? wanted[i] : 0);
}

static void ingest(const char *text) {
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_msg(scratch_ingest(text, strlen(text), NULL, &meta, &error) == EP_OK, "%s",
                error.message);
  ep_dataset_meta_deinit(&meta);
}

/* More than one read of the file: 100,000 rows of 24 bytes. */
START_TEST(a_column_of_a_table) {
  enum { ROWS = 100000 };
  char *text = malloc(ROWS * 16 + 16), *end = text;
  end += sprintf(end, "a,y,b\n");
  for (int i = 0; i < ROWS; i++) end += sprintf(end, "%d,%d,0.5\n", i, i % 7 == 0);
  ingest(text);
  free(text);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .target_by = EP_TARGET_NAME, .target = "y"};
  counted(&spec, scratch_folder, (int64_t[]){85714, 14286}, 2);
  ep_error error = {0};
  spec.target_by = EP_TARGET_LAST; /* the last: 0.5 */
  ck_assert_int_eq(ep_class_counts_read(&spec, scratch_folder, rows, &error), EP_DATA);
  ck_assert_str_eq(error.pointer, "/loss");
  char path[256];
  snprintf(path, sizeof path, "%s/train.table.npy", scratch_folder);
  ck_assert_int_eq(truncate(path, 128 + 240), 0);
  spec.target_by = EP_TARGET_NAME;
  ck_assert_int_ne(ep_class_counts_read(&spec, scratch_folder, rows, &error), EP_OK);
  unlink(path);
  ck_assert_int_eq(ep_class_counts_read(&spec, scratch_folder, rows, &error), EP_IO);
}
END_TEST

START_TEST(targets_of_their_own) {
  ep_data_spec spec = {.source = EP_DATA_DATASET};
  ingest("{\"m\":4,\"n\":1,\"x\":[1,3,5,7],\"y\":[2,0,2,1],\"m_test\":1,\"x_test\":[5],\"y_test\":["
         "3]}");
  counted(&spec, scratch_folder, (int64_t[]){1, 1, 2}, 3); /* the test set is not counted */
}
END_TEST

START_TEST(rows_in_the_spec) {
  double x[4] = {0}, y[4] = {0, 1023, 1, 1}, one_hot[8] = {1, 0, 0, 1, 0, 1, 0, 1};
  ep_data_spec spec = {.source = EP_DATA_INLINE,
                       .inline_x = x,
                       .inline_y = y,
                       .inline_rows = 4,
                       .inline_columns = 1,
                       .inline_targets = 1};
  ep_error error = {0};
  ck_assert_int_eq(ep_class_counts_read(&spec, NULL, rows, &error), EP_OK);
  ck_assert(rows[0] == 1 && rows[1] == 2 && rows[1023] == 1);
  const double wrong[] = {1024, -1, 0.5, NAN};
  for (int i = 0; i < 4; i++) {
    y[3] = wrong[i];
    ck_assert_int_eq(ep_class_counts_read(&spec, NULL, rows, &error), EP_DATA);
  }
  spec.inline_y = one_hot;
  spec.inline_targets = 2;
  counted(&spec, NULL, (int64_t[]){1, 3}, 2);
}
END_TEST

START_TEST(generators) {
  ep_data_spec spec = {.source = EP_DATA_GENERATOR, .generator = EP_GENERATOR_XOR};
  counted(&spec, NULL, (int64_t[]){2, 2}, 2);
  spec.generator = EP_GENERATOR_DISC;
  spec.rows = 1001;
  ep_error error = {0};
  ck_assert_int_eq(ep_class_counts_read(&spec, NULL, rows, &error), EP_OK);
  ck_assert(rows[0] > 800 && rows[1] > 80 && rows[0] + rows[1] == 1001);
}
END_TEST

START_TEST(a_path) {
  ep_data_spec spec = {.source = EP_DATA_PATH, .path = "train.table.npy"};
  ep_error error = {0};
  ingest("a,y\n1,0\n2,1\n3,0\n");
  ck_assert_int_eq(ep_allowed_paths_add(scratch_folder, &error), EP_OK);
  counted(&spec, NULL, (int64_t[]){2, 1}, 2);
  snprintf(spec.path, sizeof spec.path, "none.npy");
  ck_assert_int_eq(ep_class_counts_read(&spec, NULL, rows, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/path");
  ep_allowed_paths_clear();
}
END_TEST

/* What a submission is refused for. */
START_TEST(rare_classes_are_found_before_training) {
  ep_data_spec spec = {.source = EP_DATA_DATASET, .folds = 2, .stratify = true, .split_seed = 1};
  ep_data_shape shape = {.test_rows = 0};
  ep_error error = {0};
  ingest("a,y\n1,0\n2,1\n3,0\n4,0\n5,0\n6,0\n");
  ck_assert_int_eq(ep_data_classes_check(&spec, scratch_folder, &shape, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/folds");
  ck_assert_ptr_nonnull(strstr(error.message, "class 1 has 1 row, fewer than 2 folds"));
  spec.stratify = false; /* nothing is read */
  ck_assert_int_eq(ep_data_classes_check(&spec, "/nowhere", &shape, &error), EP_OK);
  spec.stratify = true;
  spec.folds = 0;
  ck_assert_int_eq(ep_data_classes_check(&spec, "/nowhere", &shape, &error), EP_OK);
  spec.folds = 2;
  ingest("a,y\n1,0\n2,1\n3,0\n4,0\n5,0\n6,1\n");
  ck_assert_int_eq(ep_data_classes_check(&spec, scratch_folder, &shape, &error), EP_OK);
  shape.test_rows = 3; /* a test set of the data's own … */
  ck_assert_int_eq(ep_data_classes_check(&spec, scratch_folder, &shape, &error), EP_OK);
  spec.test = 0.5; /* … and one that is taken from these rows */
  ck_assert_int_eq(ep_data_classes_check(&spec, scratch_folder, &shape, &error), EP_INVALID);
}
END_TEST

EP_SUITE("class_counts") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, a_column_of_a_table);
  tcase_add_test(all, targets_of_their_own);
  tcase_add_test(all, rows_in_the_spec);
  tcase_add_test(all, generators);
  tcase_add_test(all, a_path);
  tcase_add_test(all, rare_classes_are_found_before_training);
}
