/* Tests of api/responses/differences.c and api/responses/compare.c: where specs differ, and jobs
 * beside each other. */
#include "api/responses/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"
#include "api/responses/differences.h"
#include "api/wire/result.h"
#include "tests/suite.h"

/* "pointer [value,value]" lines of what differs; the caller's. */
static char *differences_text(const char *const *specs, int count) {
  ep_differences differences;
  ep_error error = {0};
  ep_writer writer;
  ck_assert_msg(ep_differences_find(specs, count, &differences, &error) == EP_OK, "%s",
                error.message);
  ep_writer_init(&writer, 1 << 20);
  for (int i = 0; i < differences.count; i++) {
    const ep_difference *row = &differences.rows[i];
    ep_writer_bytes(&writer, row->pointer, strlen(row->pointer));
    ep_writer_bytes(&writer, " [", 2);
    for (int j = 0; j < count; j++) ep_spec_value_write(&writer, row->values[j]);
    ep_writer_bytes(&writer, "]\n", 2);
  }
  ep_differences_deinit(&differences);
  char *text = ep_writer_take(&writer);
  ck_assert_ptr_nonnull(text);
  return text;
}

static void assert_differ(const char *a, const char *b, const char *wanted) {
  char *text = differences_text((const char *const[]){a, b}, 2);
  ck_assert_str_eq(text, wanted);
  free(text);
}

START_TEST(finds_what_differs) {
  assert_differ("{\"a\":1}", "{\"a\":1}", "");
  assert_differ("{\"a\":1}", "{\"a\":1.0}", "");
  assert_differ("{\"a\":0.1}", "{\"a\":0.01}", "/a [0.1,0.01]\n");
  assert_differ("{\"a\":null}", "{}", "");
  assert_differ("{\"a\":\"x\"}", "{\"b\":true}", "/a [\"x\",null]\n/b [null,true]\n");
  assert_differ("{\"name\":\"x\",\"tags\":[1],\"d\":{\"name\":1}}",
                "{\"name\":\"y\",\"tags\":[],\"d\":{\"name\":2}}", "/d/name [1,2]\n");
  assert_differ("{\"o\":{\"lr\":1,\"m\":2}}", "{\"o\":{\"lr\":2,\"m\":2}}", "/o/lr [1,2]\n");
  assert_differ("{\"o\":null}", "{\"o\":{\"lr\":2,\"m\":null}}", "/o/lr [null,2]\n");
  assert_differ("{\"o\":\"mse\"}", "{\"o\":{\"lr\":2}}", "/o [\"mse\",{\"lr\":2}]\n");
  assert_differ("{\"l\":[{\"t\":\"a\"},{\"t\":\"b\"}]}", "{\"l\":[{\"t\":\"a\"},{\"t\":\"c\"}]}",
                "/l/1/t [\"b\",\"c\"]\n");
  assert_differ("{\"l\":[1,2]}", "{\"l\":[1,2,3]}", "/l [[1,2],[1,2,3]]\n");
  assert_differ("{\"l\":[1,2]}", "{}", "/l [[1,2],null]\n");
  assert_differ("{\"d\":{\"dataset\":\"a\",\"sha256\":\"1\"}}",
                "{\"d\":{\"dataset\":\"b\",\"sha256\":\"2\"}}", "/d/dataset [\"a\",\"b\"]\n");
  assert_differ("{\"d\":{\"dataset\":\"a\",\"sha256\":\"1\"}}",
                "{\"d\":{\"dataset\":\"b\",\"sha256\":\"1\"}}", "");
  assert_differ("{\"d\":{\"dataset\":\"a\",\"sha256\":\"1\"}}",
                "{\"d\":{\"dataset\":\"a\",\"sha256\":\"2\"}}", "/d/sha256 [\"1\",\"2\"]\n");
  assert_differ("{\"d\":{\"dataset\":\"a\",\"sha256\":null}}", "{\"d\":{\"dataset\":\"b\"}}",
                "/d/dataset [\"a\",\"b\"]\n");
  assert_differ("{\"a/b~c\":1}", "{}", "/a~1b~0c [1,null]\n");
}
END_TEST

START_TEST(walks_several) {
  static const char *const specs[] = {"{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":[1]}", "{\"a\":1}"};
  char *text = differences_text(specs, 3);
  ck_assert_str_eq(text, "/a [1,null,1]\n/b [2,2,null]\n/c [null,[1],null]\n");
  free(text);
  text = differences_text(specs, 1);
  ck_assert_str_eq(text, "");
  free(text);
}
END_TEST

/* An array of `count` times the number. */
static char *array_spec(int count, int number) {
  ep_writer writer;
  ep_writer_init(&writer, 1 << 20);
  ep_writer_open(&writer, '{');
  ep_writer_key(&writer, "x");
  ep_writer_open(&writer, '[');
  for (int i = 0; i < count; i++) ep_writer_integer(&writer, number);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

START_TEST(long_arrays_are_described) {
  char *a = array_spec(EP_LIMIT_LAYERS, 1), *b = array_spec(EP_LIMIT_LAYERS, 2);
  char *text = differences_text((const char *const[]){a, b}, 2);
  ck_assert_ptr_nonnull(strstr(text, "/x/255 [1,2]\n")); /* still item by item */
  free(text), free(a), free(b);
  a = array_spec(EP_LIMIT_LAYERS + 1, 1), b = array_spec(EP_LIMIT_LAYERS + 1, 2);
  assert_differ(a, b,
                "/x [\"an array of 257, too long to show\",\"an array of 257, too long to "
                "show\"]\n");
  free(a), free(b);
  a = array_spec(64, 1), b = array_spec(65, 1);
  text = differences_text((const char *const[]){a, b}, 2);
  ck_assert_ptr_nonnull(strstr(text, "/x [[1,1,"));
  ck_assert_ptr_nonnull(strstr(text, "\"an array of 65, too long to show\""));
  free(text), free(a), free(b);
}
END_TEST

START_TEST(no_more_than_the_limit) {
  ep_writer writers[2];
  char *specs[2];
  ep_differences differences;
  for (int i = 0; i < 2; i++) {
    ep_writer_init(&writers[i], 1 << 20);
    ep_writer_open(&writers[i], '{');
    for (int key = 0; key < EP_LIMIT_DIFFERENCES + 7; key++) {
      char name[16];
      snprintf(name, sizeof name, "k%d", key);
      ep_writer_key(&writers[i], name);
      ep_writer_integer(&writers[i], i);
    }
    ep_writer_close(&writers[i], '}');
    specs[i] = ep_writer_take(&writers[i]);
  }
  ck_assert_int_eq(ep_differences_find((const char *const *)specs, 2, &differences, NULL), EP_OK);
  ck_assert_int_eq(differences.count, EP_LIMIT_DIFFERENCES);
  ck_assert_int_eq(differences.omitted, 7);
  ep_differences_deinit(&differences);
  free(specs[0]);
  free(specs[1]);
  const char *const torn[] = {"{}", "{"};
  ck_assert_int_eq(ep_differences_find(torn, 2, &differences, NULL), EP_INTERNAL);
}
END_TEST

static ep_job_result result = {.train_seconds = 0.5, .test_seconds = 0.25, .epoch_microseconds = 3};
static const ep_curve_point points[] = {{.epoch = 1,
                                         .loss = 0.5,
                                         .error = NAN,
                                         .validation_loss = NAN,
                                         .validation_error = NAN,
                                         .elapsed_seconds = 0.25}};
static ep_job_view views[2];
static const ep_compared_job compared[] = {{&views[0], points, 1}, {&views[1], NULL, 0}};

static void views_make(const char *name, const char *spec) {
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.validation);
  ep_split_metrics_clear(&result.test);
  result.test.rows = 4;
  result.test.loss = INFINITY;
  result.test.mse = -0.5;
  views[0] = (ep_job_view){.id = "job_1",
                           .name = name,
                           .tags = "[\"t\"]",
                           .state = EP_STATE_SUCCEEDED,
                           .device = "cpu",
                           .executor = "cpu/fused",
                           .spec = spec,
                           .parameters = 17,
                           .queued_seconds = NAN,
                           .result = &result};
  views[1] = views[0];
  views[1].id = "job_2";
  views[1].name = "";
  views[1].state = EP_STATE_QUEUED;
  views[1].device = views[1].executor = NULL;
  views[1].result = NULL;
  views[1].spec = "{\"lr\":-1,\"loss\":\"mse\",\"on\":true}";
}

START_TEST(writes_csv) {
  static const struct {
    const char *name, *cell;
  } names[] = {
      {"plain", "plain"},     {"a,b", "\"a,b\""},
      {"a\"b", "\"a\"\"b\""}, {"=1+1", "'=1+1"},
      {"+1", "'+1"},          {"-1", "'-1"},
      {"@x", "'@x"},          {"=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""},
      {"1=2", "1=2"}};
  char *text = NULL, wanted[1024];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    views_make(names[i].name, "{\"lr\":0.5,\"loss\":\"=x\",\"on\":[1,2]}");
    ck_assert_int_eq(ep_comparison_format_csv(compared, 2, &text, NULL), EP_OK);
    snprintf(
        wanted, sizeof wanted,
        "id,name,status,device,executor,parameters,train_seconds,test_seconds,"
        "epoch_microseconds,samples_per_second,test_loss,test_mse,test_rmse,test_mae,test_r2,"
        "test_accuracy,test_precision,test_recall,test_f1,test_roc_auc,test_error,/lr,/loss,"
        "/on\n"
        "job_1,%s,succeeded,cpu,cpu/fused,17,0.5,0.25,3,0,inf,-0.5,,,,,,,,,,0.5,'=x,\"[1,2]\"\n"
        "job_2,,queued,,,17,,,,,,,,,,,,,,,,-1,mse,true\n",
        names[i].cell);
    ck_assert_str_eq(text, wanted);
    free(text);
  }
}
END_TEST

START_TEST(writes_json) {
  char *text = NULL;
  views_make("n", "{\"lr\":0.5,\"loss\":\"mse\",\"on\":true}");
  ck_assert_int_eq(ep_comparison_format_json(compared, 2, &text, NULL), EP_OK);
  ck_assert_ptr_nonnull(strstr(text, "{\"object\":\"comparison\",\"jobs\":[{\"id\":\"job_1\","
                                     "\"name\":\"n\",\"tags\":[\"t\"],\"status\":\"succeeded\","));
  ck_assert_ptr_nonnull(strstr(text, "\"metrics\":{\"train\":null,\"validation\":null,\"test\":{"
                                     "\"loss\":\"Infinity\",\"mse\":-0.5,\"rmse\":null,"));
  ck_assert_ptr_nonnull(strstr(text, "\"rows\":4,\"classes\":null},\"baseline\":null}"));
  ck_assert_ptr_nonnull(strstr(
      text,
      "\"differences\":[{\"pointer\":\"/lr\",\"values\":[0.5,-1]}],"
      "\"differences_omitted\":0,\"warnings\":[],\"curves\":[{\"job\":\"job_1\",\"epoch\":[1],"
      "\"loss\":[0.5],\"error\":null,\"validation_loss\":null,"
      "\"validation_error\":null,\"elapsed_seconds\":[0.25]},{\"job\":\"job_2\","));
  free(text);
}
END_TEST

/* What the comparison warns of, where the second job has this data and the first one names "a". */
static const char *warning_of(const char *data) {
  static char warning[400];
  char *text = NULL;
  views_make("n", "{}");
  views[1].spec = data;
  views[0].spec = "{\"data\":{\"target\":\"a\",\"dataset\":\"d\"}}";
  ck_assert_int_eq(ep_comparison_format_json(compared, 2, &text, NULL), EP_OK);
  const char *start = strstr(text, "\"warnings\":");
  ck_assert_ptr_nonnull(start);
  snprintf(warning, sizeof warning, "%.*s", (int)(strchr(start, ']') - start - 11), start + 11);
  free(text);
  return warning;
}

START_TEST(warns_of_other_targets) {
  ck_assert_str_eq(warning_of("{\"data\":{\"target\":\"a\",\"dataset\":\"d\"}}"), "[");
  ck_assert_str_eq(
      warning_of("{\"data\":{\"target\":\"b\",\"dataset\":\"d\"}}"),
      "[\"the jobs predict different columns, so their metrics are not comparable: a, b\"");
  ck_assert_str_eq(warning_of("{\"data\":{\"target\":null,\"dataset\":\"d\"}}"), "[");
  ck_assert_str_eq(
      warning_of("{\"data\":{\"target\":\"a\",\"dataset\":\"e\"}}"),
      "[\"the jobs train on different data, so their metrics may not be comparable: d, e\"");
  ck_assert_str_eq(
      warning_of("{\"data\":{\"target\":1,\"dataset\":\"d\"}}"),
      "[\"the jobs predict different columns, so their metrics are not comparable: a, 1\"");
  ck_assert_str_eq(warning_of("{\"data\":{\"target\":\"a\",\"dataset\":\"d\",\"sha256\":\"0a\"}}"),
                   "[\"the jobs train on different rows under one name, so their metrics may not "
                   "be comparable\"");
}
END_TEST

EP_SUITE("compare") {
  TCase *tests = ep_suite_case(suite, "compare");
  tcase_add_test(tests, finds_what_differs);
  tcase_add_test(tests, walks_several);
  tcase_add_test(tests, long_arrays_are_described);
  tcase_add_test(tests, no_more_than_the_limit);
  tcase_add_test(tests, writes_csv);
  tcase_add_test(tests, writes_json);
  tcase_add_test(tests, warns_of_other_targets);
}
