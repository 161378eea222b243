/* Tests of what an automatic job is told of its choice, and of the task that it may set. */
#include "engine/first_model/explanation.h"

#include <check.h>
#include <string.h>

#include "engine/data/prepare/shape.h"
#include "tests/suite.h"
#include "tests/unit/engine/first_model/first_model_fixture.h"

/* The object that a job shows, of a table whose last column is the target. */
static json_t *explained(const ep_column *columns, int64_t count, int64_t rows,
                         const char *request) {
  ep_dataset_meta meta = {0};
  ep_model_facts facts;
  ep_automatic_job job;
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_data_shape shape;
  char *text = NULL;
  ck_assert_int_eq(facts_of(columns, count, rows, request, &facts, &job, &problem), EP_OK);
  char *chosen = ep_first_model_choose(&facts);
  ck_assert_int_eq(ep_automatic_fill(&job, chosen, &problem), EP_OK);
  ck_assert_int_eq(ep_job_request_read(job.job, false, &spec, &problem), EP_OK);
  meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = table_make(columns, count, rows);
  ck_assert_int_eq(ep_data_shape_find(&spec->data, &meta, &shape, &problem), EP_OK);
  const ep_explained of = {.facts = &facts, .spec = spec, .meta = &meta, .shape = &shape};
  ep_error error = {0};
  ck_assert_int_eq(ep_first_model_explain(&of, &text, &error), EP_OK);
  json_t *root = json_loads(text, 0, NULL);
  ck_assert_ptr_nonnull(root);
  free(text);
  free(chosen);
  table_free(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE]);
  ep_job_spec_destroy(spec);
  ep_model_facts_deinit(&facts);
  json_decref(job.job);
  ep_automatic_deinit(&job);
  return root;
}

START_TEST(the_choice_is_explained) {
  ep_column id = whole_column("Id", 1, 1460, 1460), one = number_column("one", 3, 3, 0);
  one.distinct = 1;
  const ep_column columns[] = {id, number_column("area", 20, 300, 0), one,
                               whole_column("price", 1e4, 1e6, 1200)};
  json_t *said = explained(columns, COUNT(columns), 1460, auto_job);
  ck_assert_str_eq(text_at(said, "task"), "regression");
  ck_assert_str_eq(text_at(said, "target"), "price");
  ck_assert_int_eq(json_integer_value(at(said, "rows")), 1460);
  ck_assert_uint_eq(json_array_size(at(said, "columns")), 1);
  ck_assert_str_eq(text_at(said, "columns.0"), "area");
  ck_assert_str_eq(text_at(said, "left_out.0.name"), "Id");
  ck_assert_str_eq(text_at(said, "left_out.0.reason"), "an id of each row");
  ck_assert_str_eq(text_at(said, "left_out.1.reason"), "constant");
  ck_assert_str_eq(text_at(said, "baseline.metric"), "r2");
  ck_assert_ptr_nonnull(
      strstr(text_at(said, "summary"), "Predicts \"price\", a number, from 1 column: 1,"));
  ck_assert_ptr_nonnull(strstr(text_at(said, "summary"), "\"Id\" (an id of each row)"));
  ck_assert(json_is_null(at(said, "hint")) && json_is_null(at(said, "classes")));
  json_decref(said);
}
END_TEST

/* Few whole numbers may be classes or amounts; two, many, and fractions are clear. */
START_TEST(an_unsure_target_asks_for_the_task) {
  ep_column fraction = whole_column("y", 0, 1, 8);
  fraction.integer = false;
  const struct {
    ep_column target;
    const char *task;
    bool asks;
  } targets[] = {{whole_column("y", 0, 1, 2), "classification", false},
                 {whole_column("y", 1, 5, 5), "classification", true},
                 {whole_column("y", 3, 25, 20), "regression", true},
                 {whole_column("y", 0, 900, 600), "regression", false},
                 {fraction, "regression", false}};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    const ep_column columns[] = {number_column("x", 0, 90, 0), targets[i].target};
    json_t *said = explained(columns, COUNT(columns), 900, auto_job);
    ck_assert_str_eq(text_at(said, "task"), targets[i].task);
    ck_assert_msg(json_is_string(at(said, "hint")) == targets[i].asks, "%zu", i);
    if (targets[i].asks) {
      bool classes = strcmp(targets[i].task, "classification") == 0;
      ck_assert_ptr_nonnull(
          strstr(text_at(said, "hint"), classes ? "--task regression" : "--task classification"));
      ck_assert_ptr_nonnull(strstr(text_at(said, "summary"), text_at(said, "hint")));
    }
    json_decref(said);
  }
}
END_TEST

/* data.task goes before what the numbers look like. */
START_TEST(the_task_decides) {
  const ep_column columns[] = {number_column("x", 0, 90, 0), whole_column("y", 1, 5, 5)};
  const struct {
    const char *task, *loss;
    int64_t outputs;
  } tasks[] = {{"auto", "cross_entropy", 6},
               {"classification", "cross_entropy", 6},
               {"regression", "mse", 1}};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    char request[128];
    snprintf(request, sizeof request,
             "{\"data\": {\"dataset\": \"t\", \"task\": \"%s\"}, \"model\": \"auto\"}",
             tasks[i].task);
    json_t *job = filled(columns, COUNT(columns), 100, request);
    ck_assert_str_eq(text_at(job, "loss"), tasks[i].loss);
    ck_assert_int_eq(outputs(job), tasks[i].outputs);
    json_decref(job);
    job = explained(columns, COUNT(columns), 100, request);
    ck_assert(json_is_string(at(job, "hint")) == (i == 0));
    json_decref(job);
  }
}
END_TEST

/* A loss of classes, or the task, on a number is at fault, not the layer that nobody wrote. */
START_TEST(classes_of_a_number_are_refused) {
  ep_column price = whole_column("price", 10, 5e6, 900);
  price.integer = false;
  const ep_column columns[] = {number_column("x", 0, 90, 0), price};
  static const char *const faults[][2] = {
      {"{\"data\": {\"dataset\": \"t\"}, \"model\": \"auto\", \"loss\": \"cross_entropy\"}",
       "/loss"},
      {"{\"data\": {\"dataset\": \"t\", \"task\": \"classification\"}, \"model\": \"auto\"}",
       "/data/task"}};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    ep_model_facts facts;
    ep_automatic_job job;
    ep_problem problem = {0};
    ck_assert_int_eq(facts_of(columns, COUNT(columns), 1000, faults[i][0], &facts, &job, &problem),
                     EP_INVALID);
    ck_assert_str_eq(problem.errors[0].pointer, faults[i][1]);
    ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "the target \"price\""));
    json_decref(job.job);
    ep_automatic_deinit(&job);
  }
}
END_TEST

EP_SUITE("engine/explanation") {
  TCase *all = ep_suite_case(suite, "explanation");
  tcase_add_test(all, the_choice_is_explained);
  tcase_add_test(all, an_unsure_target_asks_for_the_task);
  tcase_add_test(all, the_task_decides);
  tcase_add_test(all, classes_of_a_number_are_refused);
}
