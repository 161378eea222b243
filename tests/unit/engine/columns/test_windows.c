/* Windows of series: which rows an example has, what is learnt of which, what is refused. The suite
 * stands in for ep_dataset_meta_read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/shape.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"
#include "tests/unit/engine/scratch.h"

enum { COLUMNS = 4, SERIES = 2, LENGTHS = 60, ROWS = SERIES * LENGTHS, TARGET = 2 };

static int64_t temp_missing, site_missing;

ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);

/* hour, site, temp, wind. */
ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error) {
  (void)error;
  *out = (ep_dataset_meta){0};
  snprintf(out->folder, sizeof out->folder, "%s", folder);
  ep_column columns[] = {
      number_column("hour", 0, LENGTHS - 1, 0), category_column("site", "Oslo Rome", site_missing),
      number_column("temp", 0, 9999, temp_missing), number_column("wind", 0, 9999, 0)};
  for (int i = 0; i < SERIES; i++) columns[1].words.rows[i] = LENGTHS;
  out->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = table_make(columns, COLUMNS, ROWS);
  return EP_OK;
}

/* A cell says which it is: site and hour of it. */
static double temp_of(int site, int hour) {
  return 1000 * site + hour;
}

/* The table has the latest rows first, and the two series alternate. */
static void table_write(double test_temp) {
  double cells[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; i++) {
    int hour = LENGTHS - 1 - i / SERIES, site = i % SERIES;
    cells[i][0] = hour;
    cells[i][1] = site;
    cells[i][2] = hour >= LENGTHS - 15 ? temp_of(site, hour) + test_temp : temp_of(site, hour);
    cells[i][3] = -temp_of(site, hour);
  }
  table_save(scratch_file("train.table.npy"), cells[0], ROWS, COLUMNS);
}

static ep_column_rule plain[] = {{.name = "*", .indicator = 0, .scale = EP_COLUMN_SCALE_NONE}};

/* Cells as they are: 36 rows of a series train, 9 validate, 15 test. */
static ep_data_spec spec_make(void) {
  return (ep_data_spec){.source = EP_DATA_DATASET,
                        .test = 0.25,
                        .validation = 0.15,
                        .target_by = EP_TARGET_NAME,
                        .target = "temp",
                        .time = "hour",
                        .columns = plain,
                        .columns_count = 1,
                        .window = {.length = 5, .horizon = 2, .stride = 3, .group = "site"}};
}

static void setup(void) {
  scratch_setup();
  temp_missing = site_missing = 0;
  table_write(0);
}

static void prepare(const ep_data_spec *data, ep_prepared *out) {
  ep_error error = {0};
  ck_assert_msg(ep_prepare(data, EP_LOSS_MSE, scratch_root, out, &error) == EP_OK, "%s: %s",
                error.pointer, error.message);
}

static ep_status shape_find(const ep_data_spec *data, ep_data_shape *out, ep_problem *problem) {
  ep_dataset_meta meta;
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ep_status status = ep_data_shape_find(data, &meta, out, problem);
  table_free(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE]);
  return status;
}

/* x: [2, 5]: past temperatures, then winds, the oldest first. Returns the hour of the first row. */
static int example_check(const float *x, float y, int *site) {
  *site = x[0] >= 1000;
  int first = (int)x[0] - 1000 * *site;
  for (int t = 0; t < 5; t++) {
    ck_assert_float_eq(x[t], (float)temp_of(*site, first + t));
    ck_assert_float_eq(x[5 + t], (float)-temp_of(*site, first + t));
  }
  ck_assert_float_eq(y, (float)temp_of(*site, first + 4 + 2));
  return first;
}

START_TEST(an_example_has_rows_of_one_series_and_one_split) {
  static const int begin[] = {0, 36, 45, 60}, examples[] = {10, 1, 3};
  ep_data_spec data = spec_make();
  ep_data_shape shape;
  ep_problem problem = {0};
  ep_prepared prepared;
  ck_assert_msg(shape_find(&data, &shape, &problem) == EP_OK, "%s", problem.detail);
  prepare(&data, &prepared);
  ck_assert_int_eq(shape.features, 2 * 5);
  ck_assert_int_eq(prepared.features, shape.features);
  ck_assert_int_eq(shape.train_rows, prepared.rows[EP_SPLIT_TRAIN]);
  ck_assert_int_eq(shape.validation_rows, prepared.rows[EP_SPLIT_VALIDATION]);
  ck_assert_int_eq(shape.test_rows, prepared.rows[EP_SPLIT_TEST]);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    ck_assert_int_eq(prepared.rows[split], SERIES * examples[split]);
    for (int i = 0; i < SERIES * examples[split]; i++) {
      int site, first = example_check((const float *)prepared.x[split] + i * prepared.features,
                                      prepared.y[split][i], &site);
      ck_assert_int_eq(site, i / examples[split]);
      ck_assert_int_eq(first, begin[split] + 3 * (i % examples[split]));
      ck_assert_int_le(first + 6, begin[split + 1] - 1);
    }
  }
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(without_time_and_group_the_file_is_the_series) {
  ep_data_spec data = spec_make();
  ep_prepared prepared;
  data.time[0] = data.window.group[0] = 0;
  data.window = (ep_window_spec){.length = 2, .horizon = 1, .stride = 1};
  prepare(&data, &prepared);
  ck_assert_int_eq(prepared.features, 2 * (1 + 3 + 2)); /* hour; words and others; temp, wind */
  ck_assert_int_eq(prepared.rows[EP_SPLIT_TRAIN], 72 - 2);
  ck_assert_int_eq(prepared.rows[EP_SPLIT_TEST], 30 - 2);
  const float *x = prepared.x[EP_SPLIT_TEST], *y = prepared.y[EP_SPLIT_TEST];
  ck_assert_float_eq(x[0], 14); /* the last quarter of the file */
  ck_assert_float_eq(x[8], 14);
  ck_assert_float_eq(x[9], 1014);
  ck_assert_float_eq(y[0], 13);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(only_training_rows_teach) {
  ep_data_spec data = spec_make();
  ep_prepared before, after;
  data.columns_count = 0;
  data.standardize_y = true;
  prepare(&data, &before);
  table_write(5000);
  prepare(&data, &after);
  size_t bytes = (size_t)before.rows[EP_SPLIT_TRAIN] * (size_t)before.features * sizeof(float);
  ck_assert_mem_eq(before.x[EP_SPLIT_TRAIN], after.x[EP_SPLIT_TRAIN], bytes);
  ck_assert_double_eq(before.scaling.y_mean[0], after.scaling.y_mean[0]);
  ck_assert_float_ne(((const float *)before.x[EP_SPLIT_TEST])[4],
                     ((const float *)after.x[EP_SPLIT_TEST])[4]);
  double mean = 0; /* of the 36 oldest rows of each series */
  for (int i = 0; i < 36; i++) mean += (temp_of(0, i) + temp_of(1, i)) / 72;
  ck_assert_double_eq_tol(before.scaling.encoding->column[TARGET].shift, mean, 1e-9);
  ck_assert_double_eq_tol(before.scaling.y_mean[0], mean, 1e-9);
  ep_prepared_deinit(&before);
  ep_prepared_deinit(&after);
}
END_TEST

START_TEST(columns_are_chosen) {
  static char wind[1][EP_LIMIT_NAME_BYTES + 1] = {"wind"},
                                            temp[1][EP_LIMIT_NAME_BYTES + 1] = {"temp"},
                                            hours[2][EP_LIMIT_NAME_BYTES + 1] = {"hour", "temp"};
  ep_data_spec data = spec_make();
  ep_prepared prepared;
  data.features = (ep_column_names){temp, 1};
  prepare(&data, &prepared);
  ck_assert_int_eq(prepared.features, 5);
  ck_assert_float_eq(((const float *)prepared.x[EP_SPLIT_TRAIN])[4], 4);
  ep_prepared_deinit(&prepared);
  data.features = (ep_column_names){wind, 1}; /* without the past of the target */
  prepare(&data, &prepared);
  ck_assert_float_eq(((const float *)prepared.x[EP_SPLIT_TRAIN])[4], -4);
  ep_prepared_deinit(&prepared);
  data.features = (ep_column_names){hours, 2};
  prepare(&data, &prepared);
  ck_assert_int_eq(prepared.features, 10);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(a_shape_makes_channels_of_columns) {
  ep_data_spec data = spec_make();
  ep_data_shape shape;
  ep_problem problem = {0};
  memcpy(data.shape, (int64_t[]){2, 1, 5}, sizeof data.shape);
  ck_assert_msg(shape_find(&data, &shape, &problem) == EP_OK, "%s", problem.detail);
  ck_assert_int_eq(shape.row.channels, 2);
  ck_assert_int_eq(shape.row.width, 5);
}
END_TEST

static void refused(const ep_data_spec *data, const char *pointer, const char *message) {
  ep_data_shape shape;
  ep_problem problem = {0};
  ck_assert_int_eq(shape_find(data, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
  ck_assert_msg(strstr(problem.errors[0].detail, message), "%s", problem.errors[0].detail);
}

START_TEST(what_makes_no_series_is_refused) {
  ep_data_spec data = spec_make();
  data.window.length = 35;
  refused(&data, "/data/window/length",
          "take 37 successive rows, and no series has as many training");
  data = spec_make();
  data.window.length = 14;
  data.validation = 0;
  refused(&data, "/data/test", "take 16 successive rows, and no series has as many test");
  data.window.length = 13; /* 15 rows are enough */
  ep_data_shape shape;
  ep_problem problem = {0};
  ck_assert_msg(shape_find(&data, &shape, &problem) == EP_OK, "%s", problem.detail);
  ck_assert_int_eq(shape.test_rows, SERIES);
  data = spec_make();
  data.window.length = 8;
  refused(&data, "/data/validation", "as many validation rows");
  data = spec_make();
  data.stratify = true;
  refused(&data, "/data/stratify", "split by its order");
  data = spec_make();
  data.folds = 3;
  refused(&data, "/data/folds", "split by its order");
  data = spec_make();
  strcpy(data.group, "site");
  refused(&data, "/data/group", "within \"window\"");
  data = spec_make();
  strcpy(data.window.group, "wind");
  refused(&data, "/data/window/group", "words of a category");
  strcpy(data.window.group, "sight");
  refused(&data, "/data/window/group", "no column named \"sight\"");
  data = spec_make();
  strcpy(data.time, "site");
  refused(&data, "/data/time", "of words");
  strcpy(data.time, data.target);
  refused(&data, "/data/time", "the time column");
  data = spec_make();
  data.standardize_x = true;
  refused(&data, "/data/standardize", "already scaled");
  data = spec_make();
  memcpy(data.shape, (int64_t[]){5, 1, 1}, sizeof data.shape);
  refused(&data, "/data/shape", "not the number of columns");
  data = spec_make();
  data.window.length = EP_LIMIT_FEATURES;
  refused(&data, "/data/window/length", "the limit is 1");
  data = spec_make();
  temp_missing = 2;
  refused(&data, "/data/window", "2 rows have no target");
  temp_missing = 0;
  site_missing = 1;
  refused(&data, "/data/window/group", "1 rows have no cell");
}
END_TEST

EP_SUITE("windows") {
  TCase *all = ep_suite_case(suite, "windows");
  tcase_add_checked_fixture(all, setup, scratch_teardown);
  tcase_add_test(all, an_example_has_rows_of_one_series_and_one_split);
  tcase_add_test(all, without_time_and_group_the_file_is_the_series);
  tcase_add_test(all, only_training_rows_teach);
  tcase_add_test(all, columns_are_chosen);
  tcase_add_test(all, a_shape_makes_channels_of_columns);
  tcase_add_test(all, what_makes_no_series_is_refused);
}
