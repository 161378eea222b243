/* A sweep's request: what it means, what is refused, and where the pointer points. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec.h"
#include "api/sweep/sweep_spec.h"
#include "tests/suite.h"

#define JOB(extra)                                                                        \
  "\"job\":{\"data\":{\"generator\":\"disc\",\"rows\":100,\"validation\":0.2},\"model\":" \
  "{\"layers\":[{\"type\":\"linear\",\"out_features\":4},{\"type\":\"relu\"},{\"type\":"  \
  "\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_logits\",\"epochs\":8" extra "}"
#define LR "\"/optimizer/lr\":{\"log_uniform\":[0.001,0.1]}"
#define SWEEP(space, extra) "{" JOB("") ",\"space\":{" space "}" extra "}"

static ep_sweep_spec *sweep_parse(const char *text) {
  ep_problem problem = {0};
  ep_sweep_spec *sweep;
  ck_assert_msg(ep_sweep_spec_parse(text, strlen(text), &sweep, &problem) == EP_OK, "%s: %s %s",
                text, problem.errors[0].pointer, problem.detail);
  return sweep;
}

static ep_job_spec *trial_make(const ep_sweep_spec *sweep, const double *point, int part) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  ck_assert_msg(ep_sweep_trial_make(sweep, point, part, &spec, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  return spec;
}

/* Digits in quotes that were stored may be an index, in each trial. */
START_TEST(stored_targets_keep_their_meaning) {
  static const char text[] =
      "{\"job\":{\"data\":{\"dataset\":\"d\",\"target\":\"3\"},\"model\":{\"layers\":[{\"type\":"
      "\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":8},\"space\":{" LR
      "},\"metric\":\"train.loss\"}";
  double point[EP_LIMIT_SWEEP_AXES];
  for (int stored = 0; stored < 2; stored++) {
    ep_problem problem = {0};
    ep_sweep_spec *sweep;
    ck_assert_int_eq(stored ? ep_sweep_spec_load(text, &sweep, NULL)
                            : ep_sweep_spec_parse(text, sizeof text - 1, &sweep, &problem),
                     EP_OK);
    ep_sweep_first_point(sweep, point);
    ep_job_spec *trial = trial_make(sweep, point, 0);
    ep_target_by wanted = stored ? EP_TARGET_EITHER : EP_TARGET_NAME;
    ck_assert_int_eq(sweep->base->data.target_by, wanted);
    ck_assert_int_eq(trial->data.target_by, wanted);
    ep_job_spec_destroy(trial);
    ep_sweep_spec_destroy(sweep);
  }
}
END_TEST

static const struct {
  const char *text, *pointer, *detail; /* detail: a part of it */
} refused[] = {
    {"{}", "/job", "required"},
    {"[]", "", "a sweep is a JSON object, not an array"},
    {"{" JOB("") "}", "/space", "required"},
    {"{\"job\":3,\"space\":{" LR "}}", "/job", "must be a job, not a number"},
    {"{" JOB(",\"epoch\":3") ",\"space\":{" LR "}}", "/job/epoch", "did you mean \"epochs\"?"},
    {SWEEP("\"/foo~\":{\"values\":[1]}", ""), "/space/~1foo~0", "is not a JSON pointer"},
    {SWEEP("\"/data\":{\"values\":[{\"generator\":\"xor\"}]}", ""), "/space/~1data",
     "the same data"},
    {SWEEP("\"/optimizer/momentun\":{\"values\":[0.9]}", ""), "/space/~1optimizer~1momentun",
     "did you mean \"momentum\"?"},
    {SWEEP("\"optimizer/lr\":{\"values\":[1]}", ""), "/space/optimizer~1lr", "not a JSON pointer"},
    {SWEEP("\"/model/layers/7/out_features\":{\"values\":[1]}", ""),
     "/space/~1model~1layers~17~1out_features", "no such field"},
    {SWEEP("\"/optimizer/lr\":{\"log_uniform\":[0.1,0.001]}", ""),
     "/space/~1optimizer~1lr/log_uniform", "reversed"},
    {SWEEP("\"/optimizer/lr\":{\"uniform\":[0.1,0.1]}", ""), "/space/~1optimizer~1lr/uniform",
     "empty"},
    {SWEEP("\"/optimizer/lr\":{\"log_uniform\":[0,0.1]}", ""), "/space/~1optimizer~1lr/log_uniform",
     "above 0"},
    {SWEEP("\"/epochs\":{\"int_uniform\":[1.5,3]}", ""), "/space/~1epochs/int_uniform", "whole"},
    {SWEEP("\"/optimizer/lr\":{\"values\":[]}", ""), "/space/~1optimizer~1lr/values",
     "at least one"},
    {SWEEP("\"/optimizer/lr\":{\"value\":[1]}", ""), "/space/~1optimizer~1lr", "log_uniform"},
    {SWEEP("\"/optimizer/lr\":{\"values\":[0.1,-1]}", ""), "/space/~1optimizer~1lr/values/1",
     "/optimizer/lr"},
    {SWEEP("\"/epochs\":{\"int_uniform\":[1,1e12]}", ""), "/space/~1epochs/int_uniform/1",
     "/epochs"},
    {SWEEP("\"/epochs\":{\"uniform\":[1,3]}", ""), "/space/~1epochs/uniform",
     "int_uniform draws whole numbers"},
    {SWEEP("\"/batch_size\":{\"log_uniform\":[1,64]}", ""), "/space/~1batch_size/log_uniform",
     "int_log_uniform draws whole numbers"},
    {SWEEP("\"/data/dataset\":{\"values\":[\"a\"]}", ""), "/space/~1data~1dataset", "same data"},
    {SWEEP("\"/optimizer\":{\"values\":[{\"lr\":1}]}," LR, ""), "/space/~1optimizer~1lr",
     "varies together"},
    {SWEEP(LR, ",\"metric\":\"validation.speed\""), "/metric", "a split and one of its metrics"},
    {SWEEP(LR, ",\"metric\":\"test.loss\""), "/metric", "allow_test_metric"},
    {SWEEP(LR, ",\"mode\":\"least\""), "/mode", "\"min\" or \"max\""},
    {SWEEP(LR, ",\"search\":\"bayes\""), "/search", "search"},
    {SWEEP(LR, ",\"max_trials\":0"), "/max_trials", "from 1"},
    {SWEEP(LR, ",\"folds\":5"), "/folds", "validation"},
    {SWEEP(LR, ",\"stratify\":true"), "/stratify", "folds"},
    {SWEEP(LR, ",\"repeats\":0"), "/repeats", "from 1"},
    {SWEEP(LR, ",\"repeats\":{\"seeds\":[]}"), "/repeats/seeds", "at least one seed"},
    {SWEEP("\"/seed\":{\"values\":[1,2]}", ",\"repeats\":2"), "/repeats", "varies"},
    {SWEEP("\"/epochs\":{\"values\":[1,2]}", ",\"search\":\"asha\""), "/search", "epochs itself"},
    {SWEEP(LR, ",\"zip\":[[\"/optimizer/lr\",\"/seed\"]]"), "/zip/0/1", "in \"space\""},
    {SWEEP("\"/seed\":{\"values\":[1,2]},\"/epochs\":{\"values\":[1]}",
           ",\"zip\":[[\"/seed\",\"/epochs\"]]"),
     "/zip/0/1", "has 1 values, /seed has 2"},
    {SWEEP(LR, ",\"trials\":5"), "/trials", "unknown field"},
};

START_TEST(faults_are_named) {
  ep_problem problem = {0};
  ep_sweep_spec *sweep;
  const char *text = refused[_i].text;
  ck_assert_int_eq(ep_sweep_spec_parse(text, strlen(text), &sweep, &problem), EP_INVALID);
  ck_assert_ptr_null(sweep);
  ck_assert_msg(strcmp(problem.errors[0].pointer, refused[_i].pointer) == 0, "%s: at %s: %s", text,
                problem.errors[0].pointer, problem.errors[0].detail);
  ck_assert_msg(strstr(problem.errors[0].detail, refused[_i].detail) != NULL, "%s: %s", text,
                problem.errors[0].detail);
}
END_TEST

START_TEST(a_trial_is_the_job_with_its_values) {
  ep_sweep_spec *sweep =
      sweep_parse(SWEEP(LR ",\"/model/layers/0/out_features\":{\"int_log_uniform\":[2,64]},"
                           "\"/loss\":{\"values\":[\"bce_with_logits\",\"mse\"]}",
                        ""));
  ck_assert_int_eq(sweep->axes_count, 3);
  ck_assert_int_eq(sweep->search, EP_SEARCH_RANDOM);
  ck_assert_int_eq(sweep->max_trials, 100);
  ck_assert_str_eq(sweep->metric, "validation.loss");
  ck_assert(!sweep->maximize);
  const double point[] = {0.05, 17, 1};
  ep_job_spec *spec = trial_make(sweep, point, 0);
  ck_assert_double_eq(spec->optimizer.lr, 0.05);
  ck_assert_int_eq(spec->layers[0].out_features, 17);
  ck_assert_int_eq(spec->loss, EP_LOSS_MSE);
  ck_assert_int_eq(spec->epochs, 8);
  ck_assert_int_eq(spec->seed, 1);
  ep_job_spec_destroy(spec);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(fields_of_a_zip_move_together) {
  ep_sweep_spec *sweep =
      sweep_parse(SWEEP("\"/seed\":{\"values\":[5,6]},\"/batch_size\":{\"values\":[10,20]}," LR,
                        ",\"zip\":[[\"/seed\",\"/batch_size\"]],\"metric\":\"train.accuracy\""));
  ck_assert_int_eq(sweep->axes_count, 2);
  ck_assert_int_eq(sweep->axes[0].pointers_count, 2);
  ck_assert(sweep->maximize);
  const double point[] = {1, 0.01};
  ep_job_spec *spec = trial_make(sweep, point, -1);
  ck_assert_int_eq(spec->seed, 6);
  ck_assert_int_eq(spec->batch_size, 20);
  ck_assert_double_eq(spec->optimizer.lr, 0.01);
  ep_job_spec_destroy(spec);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(parts_are_folds_and_seeds) {
  static const char text[] =
      "{\"job\":{\"data\":{\"generator\":\"disc\",\"rows\":100},\"model\":{\"layers\":[{\"type\":"
      "\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_logits\",\"epochs\":1,\"seed\":9},"
      "\"space\":{" LR "},\"folds\":3,\"stratify\":true,\"repeats\":2}";
  ep_sweep_spec *sweep = sweep_parse(text);
  ck_assert_int_eq(ep_sweep_parts(sweep), 6);
  const double point[] = {0.01};
  for (int part = 0; part < 6; part++) {
    ep_job_spec *spec = trial_make(sweep, point, part);
    ck_assert_int_eq(spec->data.folds, 3);
    ck_assert_int_eq(spec->data.fold, part % 3);
    ck_assert(spec->data.stratify);
    ck_assert_int_eq(spec->seed, 9 + part / 3);
    ep_job_spec_destroy(spec);
  }
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(what_is_written_reads_the_same) {
  ep_sweep_spec *sweep = sweep_parse(
      SWEEP("\"/seed\":{\"values\":[5,6]},\"/batch_size\":{\"values\":[10,\"full\"]}," LR,
            ",\"zip\":[[\"/seed\",\"/batch_size\"]],\"name\":\"a\",\"tags\":[\"b\"],\"search\":"
            "\"asha\",\"max_seconds\":3,\"asha\":{\"factor\":2},\"max_parallel\":7"));
  char *once = ep_sweep_spec_format(sweep);
  ck_assert_ptr_nonnull(once);
  ck_assert_ptr_nonnull(strstr(once, "\"name\":\"a\""));
  ck_assert_ptr_nonnull(strstr(once, "\"min_epochs\":1"));
  ep_sweep_spec *again = sweep_parse(once);
  char *twice = ep_sweep_spec_format(again);
  ck_assert_str_eq(once, twice);
  free(once);
  free(twice);
  ep_sweep_spec_destroy(again);
  ep_sweep_spec_destroy(sweep);
}
END_TEST

START_TEST(a_metric_needs_its_split_and_its_loss) {
  ep_sweep_spec *sweep = sweep_parse(SWEEP(LR, ",\"metric\":\"validation.r2\""));
  ep_problem problem = {0};
  ck_assert_int_eq(ep_sweep_metric_check(sweep, true, false, &problem), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(problem.detail, "no metric \"r2\""));
  ep_sweep_spec_destroy(sweep);
  sweep = sweep_parse(SWEEP(LR, ""));
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_sweep_metric_check(sweep, true, false, &problem), EP_OK);
  ck_assert_int_eq(ep_sweep_metric_check(sweep, false, true, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/metric");
  ep_sweep_spec_destroy(sweep);
}
END_TEST

/* NULL: memory or a fault. */
static char *filled(const char *request) {
  ep_problem problem = {0};
  json_t *root = json_loads(request, 0, NULL);
  char *text = NULL;
  ck_assert_ptr_nonnull(root);
  if (ep_sweep_space_fill(root, &problem) == EP_OK)
    text = json_dumps(json_object_get(root, "space"),
                      JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
  json_decref(root);
  return text;
}

/* What varies is there: of a layer that is the last one, or a decay of 0, nothing does. */
START_TEST(a_space_is_made_of_the_job) {
  static const struct {
    const char *request, *space;
  } cases[] = {
      {"{\"space\": \"auto\", \"job\": {\"optimizer\": {\"lr\": 0.003, \"weight_decay\": 0.3}, "
       "\"model\": {\"layers\": ["
       "{\"type\": \"flatten\"}, {\"type\": \"linear\", \"out_features\": 64}, {\"type\": "
       "\"relu\"}, {\"type\": \"dropout\", \"p\": 0.2}, "
       "{\"type\": \"linear\", \"out_features\": 8}, {\"type\": \"linear\", \"out_features\": "
       "1}]}}}",
       "{\"/optimizer/lr\":{\"log_uniform\":[0.0003,0.03]},\"/optimizer/"
       "weight_decay\":{\"log_uniform\":[0.03,3.0]},"
       "\"/model/layers/1/out_features\":{\"int_log_uniform\":[16,256]},\"/model/layers/3/"
       "p\":{\"uniform\":[0.0,0.5]}}"},
      {"{\"space\": \"auto\", \"job\": {\"optimizer\": {\"lr\": 1}, \"model\": {\"layers\": ["
       "{\"type\": \"linear\", \"out_features\": 2048}, {\"type\": \"dropout\", \"p\": 0.375}, "
       "{\"type\": \"linear\", \"out_features\": 1}]}}}",
       "{\"/optimizer/lr\":{\"log_uniform\":[0.1,10.0]},\"/model/layers/0/"
       "out_features\":{\"int_log_uniform\":[512,8192]},\"/model/layers/1/"
       "p\":{\"uniform\":[0.0,0.75]}}"},
      {"{\"space\": \"auto\", \"job\": {\"optimizer\": {\"lr\": 1}, \"model\": {\"layers\": ["
       "{\"type\": \"linear\", \"out_features\": 2}, {\"type\": \"linear\", \"out_features\": "
       "1}]}}}",
       "{\"/optimizer/lr\":{\"log_uniform\":[0.1,10.0]},\"/model/layers/0/"
       "out_features\":{\"int_log_uniform\":[1,8]}}"},
      {"{\"space\": \"auto\", \"job\": {\"optimizer\": {\"lr\": 1, \"weight_decay\": 0}, "
       "\"model\": {\"layers\": [{\"type\": \"linear\", \"out_features\": 1}]}}}",
       "{\"/optimizer/lr\":{\"log_uniform\":[0.1,10.0]}}"},
      {"{\"space\": \"auto\", \"job\": {\"optimizer\": {\"lr\": 1e308, \"weight_decay\": 1e308}}}",
       "{\"/optimizer/lr\":{\"log_uniform\":[0.0003,0.03]}}"},
      {"{\"space\": \"auto\", \"job\": 3}", "{\"/optimizer/lr\":{\"log_uniform\":[0.0003,0.03]}}"},
      {"{\"space\": {\"/seed\": 1}, \"job\": {}}", "{\"/seed\":1}"},
      {"{\"space\": \"all\", \"job\": {}}", "\"all\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *space = filled(cases[i].request);
    ck_assert_ptr_nonnull(space);
    ck_assert_str_eq(space, cases[i].space);
    free(space);
  }
}
END_TEST

START_TEST(a_best_value_at_the_end_of_its_range_asks_for_more) {
  const struct {
    const char *space;
    double value;
    const char *end; /* NULL: it is within */
  } rows[] = {
      {LR, 0.0999,
       "the best /optimizer/lr, 0.0999, is at the upper end of its range, 0.001 to 0.1"},
      {LR, 0.00101, "lower end"},
      {LR, 0.01, NULL},
      {LR, 0.08, NULL},
      {"\"/optimizer/lr\":{\"values\":[0.1,0.001,0.01]}", 0, "upper end"},
      {"\"/optimizer/lr\":{\"values\":[0.1,0.001,0.01]}", 1, "lower end"},
      {"\"/optimizer/lr\":{\"values\":[0.1,0.001,0.01]}", 2, NULL},
      {"\"/optimizer/lr\":{\"values\":[0.1,0.001]}", 0, NULL}, /* one of two is at an end anyway */
      {"\"/optimizer/momentum\":{\"uniform\":[0,0.5]}", 0.001, NULL}, /* below 0 there is none */
      {"\"/optimizer/momentum\":{\"uniform\":[0,0.5]}", 0.499, "upper end"},
      {"\"/epochs\":{\"int_uniform\":[1,50]}", 50, "upper end"},
      {"\"/loss\":{\"values\":[\"mse\",\"mae\",\"huber\"]}", 2, NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512], said[256] = "";
    snprintf(text, sizeof text, "{" JOB("") ",\"space\":{%s}}", rows[i].space);
    ep_sweep_spec *sweep = sweep_parse(text);
    bool at_end = ep_sweep_edge_format(&sweep->axes[0], rows[i].value, said, sizeof said);
    ck_assert_msg(at_end == (rows[i].end != NULL), "%s: %s", rows[i].space, said);
    if (at_end) ck_assert_msg(strstr(said, rows[i].end) && strstr(said, "widen it"), "%s", said);
    ep_sweep_spec_destroy(sweep);
  }
}
END_TEST

EP_SUITE("api/sweep") {
  TCase *tests = ep_suite_case(suite, "sweep");
  tcase_add_test(tests, a_space_is_made_of_the_job);
  tcase_add_test(tests, stored_targets_keep_their_meaning);
  tcase_add_loop_test(tests, faults_are_named, 0, (int)(sizeof refused / sizeof *refused));
  tcase_add_test(tests, a_trial_is_the_job_with_its_values);
  tcase_add_test(tests, fields_of_a_zip_move_together);
  tcase_add_test(tests, parts_are_folds_and_seeds);
  tcase_add_test(tests, what_is_written_reads_the_same);
  tcase_add_test(tests, a_metric_needs_its_split_and_its_loss);
  tcase_add_test(tests, a_best_value_at_the_end_of_its_range_asks_for_more);
}
