/* Tests of engine/first_model: what a job that says "auto" gets, from descriptions of data. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/engine/first_model/first_model_fixture.h"

START_TEST(words_are_classes) {
  const ep_column columns[] = {number_column("age", 1, 80, 7), category_column("port", "S C Q", 1),
                               category_column("survived", "no yes", 0)};
  json_t *job = filled(columns, COUNT(columns), 891, auto_job);
  ck_assert_str_eq(text_at(job, "loss"), "cross_entropy");
  ck_assert_int_eq(outputs(job), 2);
  ck_assert(json_is_true(at(job, "data.stratify")));
  ck_assert_double_eq(number_at(job, "data.test"), 0.2);
  ck_assert_double_eq(number_at(job, "data.validation"), 0.1);
  ck_assert(number_at(job, "epochs") > 1);
  ck_assert(number_at(job, "batch_size") < 891);
  ck_assert_int_eq((int)json_array_size(at(job, "data.standardize")), 0);
  ck_assert(json_is_object(at(job, "data.columns")));
  json_decref(job);
}
END_TEST

START_TEST(what_is_split_by_its_order_is_not_stratified) {
  static const char *const jobs[] = {
      "{\"data\": {\"dataset\": \"t\", \"time\": \"day\"}, \"model\": \"auto\"}",
      "{\"data\": {\"dataset\": \"t\", \"window\": {\"length\": 5}}, \"model\": \"auto\"}"};
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
    const ep_column columns[] = {number_column("day", 1, 80, 0), number_column("age", 1, 80, 0),
                                 category_column("survived", "no yes", 0)};
    json_t *job = filled(columns, COUNT(columns), 891, jobs[i]);
    ck_assert_double_eq(number_at(job, "data.test"), 0.2);
    ck_assert_ptr_null(at(job, "data.stratify"));
    json_decref(job);
  }
}
END_TEST

START_TEST(few_whole_numbers_are_classes) {
  const struct {
    double min, max;
    int64_t distinct, outputs;
    const char *loss;
  } targets[] = {
      {0, 2, 3, 3, "cross_entropy"}, {1, 5, 5, 6, "cross_entropy"},
      {3, 5, 3, 6, "cross_entropy"}, {0, 9, 10, 10, "cross_entropy"},
      {0, 10, 11, 1, "mse"},         {3, 9, 7, 1, "mse"},
      {-1, 1, 2, 1, "mse"},          {0, 40, 3, 1, "mse"},
  };
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    const ep_column columns[] = {
        whole_column("x", 5, 90, 50),
        whole_column("y", targets[i].min, targets[i].max, targets[i].distinct)};
    json_t *job = filled(columns, COUNT(columns), 500, auto_job);
    ck_assert_str_eq(text_at(job, "loss"), targets[i].loss);
    ck_assert_int_eq(outputs(job), targets[i].outputs);
    json_decref(job);
  }
}
END_TEST

START_TEST(numbers_are_scaled) {
  ep_column price = whole_column("price", 100, 9000, 400);
  price.integer = false;
  const ep_column columns[] = {whole_column("rooms", 2, 9, 8), price};
  json_t *job = filled(columns, COUNT(columns), 500, auto_job);
  ck_assert_str_eq(text_at(job, "loss"), "mse");
  ck_assert_str_eq(text_at(job, "data.standardize.0"), "y");
  ck_assert(json_is_object(at(job, "data.columns.*")));
  ck_assert_ptr_null(at(job, "data.stratify"));
  json_decref(job);
}
END_TEST

START_TEST(identifiers_are_left_out) {
  const ep_column columns[] = {whole_column("id", 1, 500, 500),
                               whole_column("year", 1900, 2399, 500),
                               number_column("kind", 5, 9, 0), number_column("y", 0, 1, 0)};
  json_t *job = filled(columns, COUNT(columns), 500, auto_job);
  ck_assert_int_eq((int)json_array_size(at(job, "data.exclude")), 1);
  ck_assert_str_eq(text_at(job, "data.exclude.0"), "id");
  json_decref(job);
  /* nothing else to learn from; or the user says which */
  const ep_column alone[] = {whole_column("id", 1, 500, 500), number_column("y", 0, 1, 0)};
  job = filled(alone, COUNT(alone), 500, auto_job);
  ck_assert_ptr_null(at(job, "data.exclude"));
  json_decref(job);
  job = filled(columns, COUNT(columns), 500,
               "{\"data\": {\"dataset\": \"t\", \"exclude\": [\"kind\"]}, \"model\": \"auto\"}");
  ck_assert_int_eq((int)json_array_size(at(job, "data.exclude")), 1);
  ck_assert_str_eq(text_at(job, "data.exclude.0"), "kind");
  json_decref(job);
}
END_TEST

START_TEST(splits_need_rows) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), number_column("y", 0, 1, 0)};
  const struct {
    int64_t rows;
    bool test, validation;
  } sizes[] = {{9, false, false}, {10, true, false}, {249, true, false}, {250, true, true}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    json_t *job = filled(columns, COUNT(columns), sizes[i].rows, auto_job);
    ck_assert_int_eq(at(job, "data.test") != NULL, sizes[i].test);
    ck_assert_int_eq(at(job, "data.validation") != NULL, sizes[i].validation);
    ck_assert_int_eq(at(job, "early_stopping") != NULL, sizes[i].validation);
    json_decref(job);
  }
  json_t *job = filled(columns, COUNT(columns), 250, auto_job); /* 25 validate */
  ck_assert_double_eq(number_at(job, "early_stopping.tolerance"), 0.2);
  json_decref(job);
  job = filled(columns, COUNT(columns), 4999, auto_job);
  ck_assert_double_eq(number_at(job, "early_stopping.tolerance"), 0.04);
  json_decref(job);
  job = filled(columns, COUNT(columns), 5000, auto_job);
  ck_assert_ptr_null(at(job, "early_stopping.tolerance"));
  json_decref(job);
}
END_TEST

/* Of groups, and of a series whose examples are long, a tenth of few rows may be no split. */
START_TEST(a_split_has_room_for_examples) {
  const struct {
    int64_t rows, example_rows;
    bool grouped, validation;
  } rows[] = {{300, 0, false, true},
              {4999, 0, true, false},
              {5000, 0, true, true},
              {300, 11, false, true},
              {300, 41, false, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const ep_model_facts facts = {.model = true,
                                  .rows = rows[i].rows,
                                  .features = 3,
                                  .row = {3, 1, 1},
                                  .target_columns = 1,
                                  .test = true,
                                  .validation = true,
                                  .example_rows = rows[i].example_rows,
                                  .grouped = rows[i].grouped};
    char *chosen = ep_first_model_choose(&facts);
    json_t *job = json_loads(chosen, 0, NULL);
    ck_assert_msg((at(job, "data.validation") != NULL) == rows[i].validation, "%zu", i);
    json_decref(job);
    free(chosen);
  }
}
END_TEST

/* The fewer the rows, the stronger the decay; and all are held back by dropout. */
START_TEST(small_tables_are_held_back) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), number_column("y", 0, 1, 0)};
  double decay = 0;
  const int64_t rows[] = {50000, 2000, 100};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    json_t *job = filled(columns, COUNT(columns), rows[i], auto_job);
    ck_assert(number_at(job, "optimizer.weight_decay") > decay);
    ck_assert_str_eq(text_at(job, "model.layers.2.type"), "dropout");
    decay = number_at(job, "optimizer.weight_decay");
    json_decref(job);
  }
}
END_TEST

/* A label of two or three classes says little; up to 1, 2 and 3, say, which make four outputs. */
START_TEST(few_classes_are_held_back_more) {
  const struct {
    double min, max;
    int64_t distinct;
    bool few;
  } targets[] = {{0, 1, 2, true}, {1, 3, 3, true}, {0, 3, 4, false}, {100, 900, 3, false}};
  const int64_t rows[] = {100, 2000};
  for (size_t i = 0; i < 2 * sizeof targets / sizeof targets[0]; i++) {
    const ep_column columns[] = {
        number_column("x", 0, 90, 0),
        whole_column("y", targets[i / 2].min, targets[i / 2].max, targets[i / 2].distinct)};
    json_t *job = filled(columns, COUNT(columns), rows[i % 2], auto_job);
    double p = number_at(job, "model.layers.2.p");
    ck_assert_msg((p > 0.3) == targets[i / 2].few, "target %zu has dropout %g", i / 2, p);
    json_decref(job);
  }
  /* many rows say enough */
  const ep_column columns[] = {number_column("x", 0, 90, 0), whole_column("y", 0, 1, 2)};
  json_t *job = filled(columns, COUNT(columns), 50000, auto_job);
  ck_assert(number_at(job, "model.layers.2.p") < 0.3);
  json_decref(job);
}
END_TEST

START_TEST(larger_tables_have_larger_batches) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), number_column("y", 0, 1, 0)};
  double batch = 0;
  const int64_t rows[] = {1000, 50000, 1000000, 2000000000};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    json_t *job = filled(columns, COUNT(columns), rows[i], auto_job);
    ck_assert(number_at(job, "batch_size") >= batch);
    ck_assert(number_at(job, "epochs") >= 20);
    batch = number_at(job, "batch_size");
    json_decref(job);
  }
  ck_assert_double_eq(batch, 1024);
}
END_TEST

/* What R and pandas write before the rows, and what is called an id, though rows were left out. */
START_TEST(row_names_are_left_out) {
  const ep_column columns[] = {
      whole_column("", 3, 900, 500),         whole_column("PassengerId", 10, 2000, 500),
      whole_column("kind_id", 0, 7, 8),      whole_column("grid", 10, 2000, 500),
      whole_column("income", 10, 2000, 500), number_column("y", 0, 1, 0)};
  json_t *job = filled(columns, COUNT(columns), 500, auto_job);
  ck_assert_int_eq((int)json_array_size(at(job, "data.exclude")), 2);
  ck_assert_str_eq(text_at(job, "data.exclude.0"), "0");
  ck_assert_str_eq(text_at(job, "data.exclude.1"), "PassengerId");
  json_decref(job);
  /* where no column has a name, the first is a column as any other */
  const ep_column nameless[] = {whole_column("", 3, 900, 500), number_column("", 0, 90, 0),
                                number_column("", 0, 1, 0)};
  job = filled(nameless, COUNT(nameless), 500, auto_job);
  ck_assert_ptr_null(at(job, "data.exclude"));
  json_decref(job);
  /* the names of a few rows are names, too */
  const ep_column few[] = {category_column("", "Fiat Honda Merc", 0), number_column("x", 0, 90, 0),
                           number_column("y", 0, 1, 0)};
  job = filled(few, COUNT(few), 3, auto_job);
  ck_assert_str_eq(text_at(job, "data.exclude.0"), "0");
  json_decref(job);
}
END_TEST

/* What the user says stays. */
START_TEST(given_fields_stay) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), number_column("y", 0, 1, 0)};
  json_t *job = filled(columns, COUNT(columns), 1000,
                       "{\"data\": {\"dataset\": \"t\", \"test\": 0.5, \"validation\": 0}, "
                       "\"model\": \"auto\", \"loss\": \"bce_with_logits\", \"epochs\": 7, "
                       "\"optimizer\": \"sgd\", \"batch_size\": \"full\"}");
  ck_assert_str_eq(text_at(job, "loss"), "bce_with_logits");
  ck_assert_int_eq(outputs(job), 1);
  ck_assert_double_eq(number_at(job, "epochs"), 7);
  ck_assert_str_eq(text_at(job, "optimizer"), "sgd");
  ck_assert_str_eq(text_at(job, "batch_size"), "full");
  ck_assert_double_eq(number_at(job, "data.test"), 0.5);
  ck_assert_double_eq(number_at(job, "data.validation"), 0);
  ck_assert_ptr_null(at(job, "early_stopping"));
  json_decref(job);
}
END_TEST

START_TEST(folds_stand_for_a_validation_split) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), number_column("y", 0, 1, 0)};
  json_t *job = filled(columns, COUNT(columns), 1000,
                       "{\"data\": {\"dataset\": \"t\", \"folds\": 5, \"fold\": 1}, \"model\": "
                       "\"auto\"}");
  ck_assert_ptr_null(at(job, "data.validation"));
  ck_assert_ptr_nonnull(at(job, "early_stopping"));
  json_decref(job);
  job = filled(columns, COUNT(columns), 1000,
               "{\"data\": {\"dataset\": \"t\"}, \"folds\": 5, \"model\": \"auto\"}");
  ck_assert_ptr_null(at(job, "data.validation"));
  ck_assert_ptr_null(at(job, "early_stopping"));
  json_decref(job);
}
END_TEST

/* A given model gets its loss by its target and its last layer. */
START_TEST(a_model_gets_its_loss) {
  const struct {
    const char *layer, *loss;
  } ends[] = {
      {"{\"type\": \"linear\", \"out_features\": 1}", "bce_with_logits"},
      {"{\"type\": \"linear\", \"out_features\": 2}", "cross_entropy"},
      {"{\"type\": \"log_softmax\"}", "nll"},
      {"{\"type\": \"sigmoid\"}", "bce"},
  };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    const ep_column columns[] = {number_column("x", 0, 90, 0), category_column("y", "no yes", 0)};
    char request[256];
    snprintf(request, sizeof request,
             "{\"data\": {\"dataset\": \"t\"}, \"model\": {\"layers\": [%s]}, \"loss\": \"auto\", "
             "\"epochs\": 1}",
             ends[i].layer);
    json_t *job = filled(columns, COUNT(columns), 100, request);
    ck_assert_str_eq(text_at(job, "loss"), ends[i].loss);
    ck_assert_ptr_null(at(job, "optimizer"));
    json_decref(job);
  }
}
END_TEST

START_TEST(a_target_of_one_value_is_refused) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), whole_column("y", 3, 3, 1)};
  ep_model_facts facts;
  ep_automatic_job job;
  ep_problem problem = {0};
  ck_assert_int_eq(facts_of(columns, COUNT(columns), 100, auto_job, &facts, &job, &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/target");
  json_decref(job.job);
  ep_automatic_deinit(&job);
}
END_TEST

/* The facts of images, which come apart from their classes. */
static json_t *image_choice(ep_shape row, int64_t rows, double least, double most) {
  ep_model_facts facts = {.model = true,
                          .loss = true,
                          .rows = rows,
                          .row = row,
                          .features = ep_shape_count(row),
                          .target_columns = 1,
                          .classes = 10,
                          .pixels = true,
                          .least = least,
                          .most = most,
                          .columns = true,
                          .test = true,
                          .validation = true};
  char *chosen = ep_first_model_choose(&facts);
  json_t *root = json_loads(chosen, 0, NULL);
  ck_assert_ptr_nonnull(root);
  free(chosen);
  return root;
}

START_TEST(images_get_convolutions) {
  json_t *job = image_choice((ep_shape){1, 28, 28}, 60000, 0, 0);
  ck_assert_str_eq(text_at(job, "model.layers.0.type"), "conv2d");
  ck_assert_int_eq(outputs(job), 10);
  ck_assert_double_eq(json_number_value(at(job, "data.normalize.mean")), 0.5);
  ck_assert_ptr_null(at(job, "data.scale"));
  json_decref(job);
  job = image_choice((ep_shape){1, 4, 4}, 1000, 0, 0);
  ck_assert_str_eq(text_at(job, "model.layers.0.type"), "flatten");
  json_decref(job);
}
END_TEST

/* From the least to the most of 16 bits is as far as from 0 to 255 of bytes: from -2 to 2. */
START_TEST(sixteen_bits_are_scaled_by_their_range) {
  static const double ranges[][2] = {{274, 326}, {0, 255}, {0, 65535}, {1, 2}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    json_t *job = image_choice((ep_shape){1, 28, 28}, 1000, ranges[i][0], ranges[i][1]);
    double scale = json_number_value(at(job, "data.scale"));
    double mean = json_number_value(at(job, "data.normalize.mean"));
    double std = json_number_value(at(job, "data.normalize.std"));
    for (int end = 0; end < 2; end++)
      ck_assert_double_eq_tol((ranges[i][end] * scale - mean) / std, end ? 2 : -2, 1e-9);
    json_decref(job);
  }
}
END_TEST

/* What leaves nothing open is not looked at. */
START_TEST(other_requests_ask_for_nothing) {
  const char *const requests[] = {
      "{\"device\": \"auto\", \"data\": 3}", "[\"auto\"]", "{}",
      "{\"data\": {\"dataset\": \"t\"}, \"model\": {}, \"name\": \"auto\"}"};
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    ep_automatic_job job;
    ep_problem problem = {0};
    bool asked = true;
    json_t *request = json_loads(requests[i], 0, NULL);
    ck_assert_int_eq(ep_automatic_read(request, NULL, &asked, &job, &problem), EP_OK);
    ck_assert(!asked);
    json_decref(request);
  }
}
END_TEST

START_TEST(escapes_are_read) {
  ep_automatic_job job;
  ep_problem problem = {0};
  bool asked = false;
  json_t *request = NULL;
  static const char text[] =
      "{\"d\\u0061ta\": {\"d\\u0061taset\": \"t\"}, \"mod\\u0065l\": \"\\u0061uto\"}";
  ck_assert_int_eq(ep_spec_request_parse(text, sizeof text - 1, &request, &problem), EP_OK);
  ck_assert_int_eq(ep_automatic_read(request, NULL, &asked, &job, &problem), EP_OK);
  ck_assert(asked && job.model);
  ck_assert_str_eq(job.spec->data.dataset, "t");
  ep_automatic_deinit(&job);
  json_decref(request);
}
END_TEST

START_TEST(faults_of_data_are_told) {
  const struct {
    const char *request, *member, *pointer;
  } faults[] = {
      {"{\"model\": \"auto\"}", NULL, "/data"},
      {"{\"data\": {\"dataset\": \"t\", \"tset\": 0.2}, \"model\": \"auto\"}", NULL, "/data/tset"},
      {"{\"job\": {\"data\": {\"dataset\": \"t\", \"test\": 2}, \"model\": \"auto\"}}", "job",
       "/job/data/test"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    ep_automatic_job job;
    ep_problem problem = {0};
    bool asked;
    json_t *request = json_loads(faults[i].request, 0, NULL);
    ck_assert_int_eq(ep_automatic_read(request, faults[i].member, &asked, &job, &problem),
                     EP_INVALID);
    json_decref(request);
    ck_assert_str_eq(problem.errors[0].pointer, faults[i].pointer);
  }
}
END_TEST

EP_SUITE("engine/first_model") {
  TCase *all = ep_suite_case(suite, "first model");
  tcase_add_test(all, words_are_classes);
  tcase_add_test(all, what_is_split_by_its_order_is_not_stratified);
  tcase_add_test(all, few_whole_numbers_are_classes);
  tcase_add_test(all, numbers_are_scaled);
  tcase_add_test(all, identifiers_are_left_out);
  tcase_add_test(all, splits_need_rows);
  tcase_add_test(all, a_split_has_room_for_examples);
  tcase_add_test(all, small_tables_are_held_back);
  tcase_add_test(all, few_classes_are_held_back_more);
  tcase_add_test(all, row_names_are_left_out);
  tcase_add_test(all, larger_tables_have_larger_batches);
  tcase_add_test(all, given_fields_stay);
  tcase_add_test(all, folds_stand_for_a_validation_split);
  tcase_add_test(all, a_model_gets_its_loss);
  tcase_add_test(all, a_target_of_one_value_is_refused);
  tcase_add_test(all, images_get_convolutions);
  tcase_add_test(all, sixteen_bits_are_scaled_by_their_range);
  tcase_add_test(all, other_requests_ask_for_nothing);
  tcase_add_test(all, escapes_are_read);
  tcase_add_test(all, faults_of_data_are_told);
}
