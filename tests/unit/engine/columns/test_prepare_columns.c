/* Tables of words, dates and gaps, from the description to rows. The suite stands in for
 * ep_dataset_meta_read. */
#include <math.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/positive_class.h"
#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/shape.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"
#include "tests/unit/engine/scratch.h"

enum { COLUMNS = 5, ROWS = 20, TARGET = 3 };

/* Which description the next reader gets. */
typedef struct {
  bool target_words, target_third;
  int64_t target_missing;
  bool numbers; /* all columns are numbers without gaps */
} description;
static description described;

ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);

/* age with gaps, city, since, y (numbers, or words), id. */
ep_status __wrap_ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error) {
  (void)folder, (void)error;
  *out = (ep_dataset_meta){0};
  ep_column plain[] = {number_column("age", 0, 50, 0), number_column("city", 0, 2, 0),
                       number_column("since", 0, 1e9, 0), number_column("y", 0, 1, 0),
                       number_column("id", 0, 0, 0)};
  ep_part *table = &out->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  if (described.numbers) {
    *table = table_make(plain, COLUMNS, ROWS);
    return EP_OK;
  }
  ep_column columns[] = {
      number_column("age", 0, 50, 4), category_column("city", "Oslo Rome Bern", 0),
      date_column("since", 0, 1e9, 0),
      described.target_words
          ? category_column("y", described.target_third ? "no yes perhaps" : "no yes",
                            described.target_missing)
          : number_column("y", 0, 1, described.target_missing),
      text_column("id")};
  *table = table_make(columns, COLUMNS, ROWS);
  return EP_OK;
}

static void table_fill(double cells[ROWS][COLUMNS]) {
  for (int i = 0; i < ROWS; i++) {
    cells[i][0] = i % 5 == 0 && !described.numbers ? NAN : i * 2.5;
    cells[i][1] = i % 3;
    cells[i][2] = i * 5e7;
    cells[i][3] = i % 2;
    cells[i][4] = 0;
  }
}

static void table_write(double cells[ROWS][COLUMNS]) {
  table_save(scratch_file("train.table.npy"), cells[0], ROWS, COLUMNS);
}

static ep_data_spec spec_make(void) {
  return (ep_data_spec){.source = EP_DATA_DATASET,
                        .test = 0.25,
                        .validation = 0.2,
                        .split_seed = 3,
                        .target_by = EP_TARGET_NAME,
                        .target = "y"};
}

static void prepare(const ep_data_spec *data, ep_loss_type loss, ep_prepared *out) {
  ep_error error = {0};
  ck_assert_msg(ep_prepare(data, loss, scratch_root, out, &error) == EP_OK, "%s: %s", error.pointer,
                error.message);
}

static void setup(void) {
  scratch_setup();
  described = (description){0};
}

START_TEST(rows_are_encoded_as_the_plan_says) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  ep_data_shape shape;
  ep_problem problem = {0};
  ep_dataset_meta meta;
  ep_prepared prepared;
  table_fill(cells);
  table_write(cells);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ck_assert_msg(ep_data_shape_find(&data, &meta, &shape, &problem) == EP_OK, "%s", problem.detail);
  prepare(&data, EP_LOSS_MSE, &prepared);
  const ep_encoding *encoding = prepared.scaling.encoding;
  ck_assert_int_eq(shape.features, 2 + 4 + 9);
  ck_assert_int_eq(prepared.features, shape.features);
  ck_assert_int_eq(prepared.row.channels, shape.row.channels);
  ck_assert_int_eq(prepared.rows[EP_SPLIT_TRAIN], shape.train_rows);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < prepared.rows[split]; i++) {
      const float *x = (const float *)prepared.x[split] + i * prepared.features;
      double raw[COLUMNS - 1], wanted[32];
      int row = 0; /* of the table: by the date, which only it has */
      while (row < ROWS) {
        for (int j = 0; j < COLUMNS; j++)
          if (j != TARGET) raw[j < TARGET ? j : j - 1] = cells[row][j];
        ep_encoding_apply(encoding, raw, wanted);
        bool same = true;
        for (int64_t j = 0; j < prepared.features; j++) same = same && x[j] == (float)wanted[j];
        if (same) break;
        row++;
      }
      ck_assert_int_lt(row, ROWS);
      ck_assert_float_eq(prepared.y[split][i], (float)cells[row][TARGET]);
    }
  ep_prepared_deinit(&prepared);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Which rows train is not known here: a changed row either changes a figure, and then it trains, or
 * it does not, and then nothing of the training rows changes. Both kinds must be met. */
START_TEST(only_training_rows_teach) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  ep_prepared before, after;
  int taught = 0, silent = 0;
  table_fill(cells);
  table_write(cells);
  prepare(&data, EP_LOSS_MSE, &before);
  size_t bytes = (size_t)before.rows[EP_SPLIT_TRAIN] * (size_t)before.features * sizeof(float);
  for (int row = 0; row < ROWS; row++) {
    table_fill(cells);
    cells[row][0] = 1e6;
    cells[row][2] = 9e8 + row;
    table_write(cells);
    prepare(&data, EP_LOSS_MSE, &after);
    bool same = memcmp(before.x[EP_SPLIT_TRAIN], after.x[EP_SPLIT_TRAIN], bytes) == 0;
    bool figures =
        after.scaling.encoding->column[0].shift == before.scaling.encoding->column[0].shift;
    ck_assert_int_eq(same, figures);
    taught += !same;
    silent += same;
    ep_prepared_deinit(&after);
  }
  ck_assert_int_eq(taught, before.rows[EP_SPLIT_TRAIN]);
  ck_assert_int_eq(silent, before.rows[EP_SPLIT_TEST] + before.rows[EP_SPLIT_VALIDATION]);
  ep_prepared_deinit(&before);
}
END_TEST

START_TEST(words_are_classes) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  ep_prepared prepared;
  described.target_words = true;
  table_fill(cells);
  table_write(cells);
  data.stratify = true;
  prepare(&data, EP_LOSS_CROSS_ENTROPY, &prepared);
  int64_t ones = 0;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < prepared.rows[split]; i++) ones += prepared.classes[split][i];
  ck_assert_int_eq(ones, ROWS / 2);
  ck_assert_int_eq(prepared.scaling.encoding->classes.count, 2);
  ck_assert_str_eq(prepared.scaling.encoding->classes.word[1], "yes");
  ep_prepared_deinit(&prepared);
  prepare(&data, EP_LOSS_BCE_WITH_LOGITS, &prepared);
  ck_assert(prepared.y[EP_SPLIT_TRAIN][0] == 0 || prepared.y[EP_SPLIT_TRAIN][0] == 1);
  ep_prepared_deinit(&prepared);
}
END_TEST

/* … as if the table had no such rows: what they hold is not learnt from either. */
START_TEST(rows_without_a_target_are_left_out) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  ep_prepared prepared;
  ep_dataset_meta meta;
  ep_data_shape shape;
  ep_problem problem = {0};
  described.target_missing = 4;
  described.target_words = true;
  data.stratify = true;
  table_fill(cells);
  const int gaps[] = {1, 4, 11, 19};
  for (int i = 0; i < 4; i++) {
    cells[gaps[i]][TARGET] = NAN;
    cells[gaps[i]][0] = 1e6;
  }
  table_write(cells);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(&data, &meta, &shape, &problem), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ck_assert_int_eq(shape.train_rows + shape.validation_rows + shape.test_rows, ROWS - 4);
  prepare(&data, EP_LOSS_CROSS_ENTROPY, &prepared);
  ck_assert_int_eq(prepared.rows[EP_SPLIT_TRAIN], shape.train_rows);
  ck_assert_int_eq(prepared.rows[EP_SPLIT_TEST], shape.test_rows);
  const ep_column_encoding *age = &prepared.scaling.encoding->column[0];
  ck_assert(age->shift < 100 && age->scale < 100);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < prepared.rows[split]; i++) {
      ck_assert(prepared.classes[split][i] == 0 || prepared.classes[split][i] == 1);
      ck_assert(((const float *)prepared.x[split])[i * prepared.features] < 100);
    }
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(a_table_without_any_target_is_refused) {
  ep_data_spec data = spec_make();
  ep_dataset_meta meta;
  ep_data_shape shape;
  ep_problem problem = {0};
  described.target_missing = ROWS;
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(&data, &meta, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/target");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Numbers alone are what they were: not encoded, bit by bit; a word of the spec changes that. */
START_TEST(plain_tables_stay_as_they_are) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  ep_column_rule rule = {.name = "*", .scale = EP_COLUMN_SCALE_NONE, .indicator = -1};
  ep_prepared plain, encoded;
  described.numbers = true;
  table_fill(cells);
  table_write(cells);
  prepare(&data, EP_LOSS_MSE, &plain);
  ck_assert_ptr_null(plain.scaling.encoding);
  ck_assert_int_eq(plain.features, COLUMNS - 1);
  data.columns = &rule;
  data.columns_count = 1;
  prepare(&data, EP_LOSS_MSE, &encoded);
  ck_assert_ptr_nonnull(encoded.scaling.encoding);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    ck_assert_mem_eq(plain.x[split], encoded.x[split],
                     (size_t)(plain.rows[split] * plain.features) * sizeof(float));
  ep_prepared_deinit(&plain);
  ep_prepared_deinit(&encoded);
}
END_TEST

START_TEST(what_contradicts_the_encoding_is_refused) {
  static const struct {
    ep_data_spec data;
    const char *pointer;
  } rows[] = {{{.standardize_x = true}, "/data/standardize"},
              {{.normalize = true}, "/data/normalize"},
              {{.scale = 2}, "/data/scale"},
              {{.shape = {1, 3, 5}}, "/data/shape"},
              {{.augment_flip = true}, "/data/augment"}};
  ep_dataset_meta meta;
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_data_spec data = rows[i].data;
    ep_data_shape shape;
    ep_problem problem = {0};
    data.source = EP_DATA_DATASET;
    ck_assert_int_eq(ep_data_shape_find(&data, &meta, &shape, &problem), EP_INVALID);
    ck_assert_str_eq(problem.errors[0].pointer, rows[i].pointer);
  }
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* x and y that come apart are numbers, and have no columns to choose. */
START_TEST(pairs_take_numbers_alone) {
  ep_dataset_meta meta = {0};
  ep_column y = number_column("y", 0, 1, 0);
  ep_column_rule rule = {.name = "*", .indicator = -1};
  ep_data_spec plain = {.source = EP_DATA_DATASET};
  ep_data_spec said = {.source = EP_DATA_DATASET, .columns = &rule, .columns_count = 1};
  ep_data_shape shape;
  ep_problem problem = {0};
  ep_part *x = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_X];
  meta.part[EP_SPLIT_TRAIN][EP_ROLE_Y] = table_make(&y, 1, ROWS);
  ep_column column = number_column("x", 0, 1, 0);
  *x = table_make(&column, 1, ROWS);
  ck_assert_int_eq(ep_data_shape_find(&plain, &meta, &shape, &problem), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(&said, &meta, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/columns");
  x->column[0].missing = 1;
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_data_shape_find(&plain, &meta, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/dataset");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static void planned(const char *loss, int outputs, const char *pointer, const char *message) {
  char text[512];
  ep_job_spec *spec;
  ep_plan *plan = NULL;
  ep_data_shape shape;
  ep_dataset_meta meta;
  ep_problem problem = {0};
  snprintf(text, sizeof text,
           "{\"data\":{\"dataset\":\"a\",\"target\":\"y\",\"test\":0.25},\"model\":{\"layers\":[{"
           "\"type\":\"linear\",\"out_features\":%d}]},\"loss\":\"%s\",\"epochs\":1}",
           outputs, loss);
  ck_assert_msg(ep_job_spec_parse(text, strlen(text), &spec, &problem) == EP_OK, "%s",
                problem.detail);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(&spec->data, &meta, &shape, &problem), EP_OK);
  ep_status status = ep_plan_create(spec, &shape, &plan, &problem);
  ck_assert_msg((status == EP_OK) == !pointer, "%s: %s", loss, problem.detail);
  if (pointer) ck_assert_str_eq(problem.errors[0].pointer, pointer);
  if (pointer) ck_assert_msg(strstr(problem.errors[0].detail, message), "%s", problem.detail);
  ep_plan_destroy(plan);
  ep_dataset_meta_deinit(&meta);
  ep_job_spec_destroy(spec);
}

START_TEST(losses_meet_words) {
  described.target_words = true;
  planned("cross_entropy", 2, NULL, NULL);
  planned("cross_entropy", 1, "/model/layers/0/out_features", "at least 2");
  planned("bce_with_logits", 1, NULL, NULL);
  planned("mse", 1, "/loss", "use cross_entropy, with out_features 2 in the last layer");
  described.target_third = true;
  planned("cross_entropy", 3, NULL, NULL);
  planned("bce_with_logits", 1, "/loss", "category of 3 words, bce_with_logits expects two");
}
END_TEST

/* Resolves data->positive as a submission does. */
static ep_status resolve(ep_data_spec *data, ep_loss_type loss, ep_problem *problem) {
  ep_dataset_meta meta;
  ep_data_shape shape;
  *problem = (ep_problem){0};
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, NULL), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(data, &meta, &shape, problem), EP_OK);
  ep_status status = ep_positive_class_resolve(data, loss, &meta, &shape, problem);
  ep_dataset_meta_deinit(&meta);
  return status;
}

static const struct {
  const char *asked, *found, *fault;
  bool numbers, third;
  ep_loss_type loss;
} positives[] = {
    {"", "yes", NULL, false, false, EP_LOSS_CROSS_ENTROPY},
    {"", "yes", NULL, false, false, EP_LOSS_BCE},
    {"NO", "no", NULL, false, false, EP_LOSS_CROSS_ENTROPY},
    {"true", "yes", NULL, false, false, EP_LOSS_CROSS_ENTROPY},
    {"", "", NULL, true, false, EP_LOSS_CROSS_ENTROPY},
    {"0.0", "0", NULL, true, false, EP_LOSS_CROSS_ENTROPY},
    {"", "", NULL, true, false, EP_LOSS_MSE},
    {"", "", NULL, false, true, EP_LOSS_CROSS_ENTROPY},
    {"perhaps", NULL, "its classes are \"no\" and \"yes\"", false, false, EP_LOSS_BCE},
    {"2", NULL, "its classes are \"0\" and \"1\"", true, false, EP_LOSS_BCE},
    {"no", NULL, "this one has 3", false, true, EP_LOSS_CROSS_ENTROPY},
    {"1", NULL, "the loss \"mse\" predicts numbers", true, false, EP_LOSS_MSE},
};

START_TEST(the_positive_class_is_found) {
  ep_data_spec data = spec_make();
  ep_problem problem;
  described = (description){
      .target_words = true, .target_third = positives[_i].third, .numbers = positives[_i].numbers};
  snprintf(data.positive, sizeof data.positive, "%s", positives[_i].asked);
  ep_status status = resolve(&data, positives[_i].loss, &problem);
  ck_assert_int_eq(status, positives[_i].fault ? EP_INVALID : EP_OK);
  if (!positives[_i].fault) {
    ck_assert_str_eq(data.positive, positives[_i].found);
    return;
  }
  ck_assert_str_eq(problem.errors[0].pointer, "/data/positive");
  ck_assert_msg(strstr(problem.errors[0].detail, positives[_i].fault), "%s",
                problem.errors[0].detail);
}
END_TEST

/* Of words, and of numbers: with the first class positive each row has the other class. */
START_TEST(the_positive_class_is_class_1) {
  double cells[ROWS][COLUMNS];
  ep_data_spec data = spec_make();
  described = (description){.target_words = true, .numbers = _i == 1};
  table_fill(cells);
  table_write(cells);
  for (int k = 0; k < 2; k++) {
    const ep_loss_type loss = k ? EP_LOSS_BCE : EP_LOSS_CROSS_ENTROPY;
    ep_prepared before, after;
    data.positive[0] = 0;
    prepare(&data, loss, &before);
    snprintf(data.positive, sizeof data.positive, _i == 1 ? "0" : "no");
    prepare(&data, loss, &after);
    const ep_words *classes = ep_scaling_classes(&after.scaling);
    ck_assert_ptr_nonnull(classes);
    ck_assert_str_eq(classes->word[0], _i == 1 ? "1" : "yes");
    ck_assert_str_eq(classes->word[1], data.positive);
    for (int split = 0; split < EP_SPLIT_COUNT; split++)
      for (int64_t i = 0; i < before.rows[split]; i++)
        if (loss == EP_LOSS_BCE)
          ck_assert_float_eq(after.y[split][i], 1 - before.y[split][i]);
        else
          ck_assert_int_eq(after.classes[split][i], 1 - before.classes[split][i]);
    ep_prepared_deinit(&before);
    ep_prepared_deinit(&after);
  }
}
END_TEST

EP_SUITE("prepare_columns") {
  TCase *all = ep_suite_case(suite, "prepare_columns");
  tcase_add_checked_fixture(all, setup, scratch_teardown);
  tcase_add_test(all, rows_are_encoded_as_the_plan_says);
  tcase_add_test(all, only_training_rows_teach);
  tcase_add_test(all, words_are_classes);
  tcase_add_test(all, rows_without_a_target_are_left_out);
  tcase_add_test(all, a_table_without_any_target_is_refused);
  tcase_add_test(all, plain_tables_stay_as_they_are);
  tcase_add_test(all, what_contradicts_the_encoding_is_refused);
  tcase_add_test(all, pairs_take_numbers_alone);
  tcase_add_test(all, losses_meet_words);
  tcase_add_loop_test(all, the_positive_class_is_found, 0, sizeof positives / sizeof *positives);
  tcase_add_loop_test(all, the_positive_class_is_class_1, 0, 2);
}
