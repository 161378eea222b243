/* Answers: jobs, lists, devices, the queue, problems, predictions, curves. */
#include "api/responses/curve.h"
#include "api/responses/devices.h"
#include "api/responses/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/predict.h"
#include "api/responses/queue.h"
#include "api/responses/validation.h"
#include "api/wire/result.h"
#include "tests/suite.h"

/* Takes the text over, compares, frees. */
static void assert_text(char *text, const char *wanted) {
  ck_assert_ptr_nonnull(text);
  ck_assert_str_eq(text, wanted);
  free(text);
}

START_TEST(a_queued_job) {
  ep_job_view job = {.id = "job_1",
                     .name = "a",
                     .tags = "[\"b\",\"c\"]",
                     .priority = -3,
                     .state = EP_STATE_QUEUED,
                     .spec = "{\"x\":1}",
                     .epochs = 10,
                     .queue_position = 1,
                     .eta_seconds = NAN,
                     .parameters = 49,
                     .bytes = 21000,
                     .created_us = INT64_C(1795193527123456),
                     .seconds_cpu = 0.5,
                     .seconds_cuda = INFINITY,
                     .attempt = 0};
  assert_text(ep_job_format(&job),
              "{\"id\":\"job_1\",\"object\":\"job\",\"name\":\"a\",\"tags\":[\"b\",\"c\"],"
              "\"owner\":\"\",\"priority\":-3,\"pinned\":false,\"visibility\":\"public\","
              "\"status\":\"queued\","
              "\"device\":null,\"executor\":null,\"estimated_seconds\":{\"cpu\":0.5,\"cuda\":null},"
              "\"spec\":{\"x\":1},\"auto\":null,\"progress\":{\"epoch\":0,"
              "\"epochs\":10,\"fraction\":0},\"queue_position\":1,\"queue_reason\":null,"
              "\"warning\":null,\"eta_seconds\":"
              "null,\"timing\":"
              "{\"queued_seconds\":0,\"train_seconds\":null,\"test_seconds\":null,"
              "\"energy_joules\":null,\"epoch_microseconds\":null,\"samples_per_second\":null},"
              "\"model\":{\"parameters\":49,\"bytes\":21000},\"parallel\":null,\"ranks\":null,"
              "\"tried\":null,\"metrics\":null,\"weights\":null,"
              "\"stopped\":null,\"kept\":null,\"warnings\":[],"
              "\"error\":null,\"created_at\":\"2026-11-20T16:52:07.123Z\",\"started_at\":null,"
              "\"finished_at\":null,\"attempt\":0}");
}
END_TEST

START_TEST(a_failed_job) {
  int64_t confusion[4] = {5, 1, 2, 6};
  ep_job_result result = {.train_seconds = 0.5,
                          .test_seconds = 0.25,
                          .samples_per_second = 2,
                          .epoch_microseconds = 3,
                          .epochs_done = 5,
                          .kept = {4, 2, 0.29, 0.267, EP_METRIC_LOSS, 0.13},
                          .has_weights = true,
                          .weights_sha256 = "ab",
                          .weights_bytes = 7,
                          .remarks = "of the data"};
  ep_result_line_add(result.warnings, "first");
  ep_result_line_add(result.warnings, "");
  ep_result_line_add(result.warnings, "second");
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.test);
  result.train.rows = 4;
  result.train.loss = INFINITY;
  result.test.rows = 14;
  result.test.loss = NAN;
  result.test.classes = 2;
  result.test.confusion = confusion;
  ep_job_view job = {.id = "job_1",
                     .name = "",
                     .state = EP_STATE_FAILED,
                     .spec = "{}",
                     .device = "cpu",
                     .executor = "cpu/fused",
                     .epoch = 5,
                     .epochs = 10,
                     .queue_position = 0,
                     .result = &result,
                     .error_message = "diverged",
                     .error_pointer = "/optimizer/lr",
                     .error_status = EP_DIVERGED};
  char *text = ep_job_format(&job);
  ck_assert(text && strstr(text, "\"fraction\":0.5},\"queue_position\":null,"));
  ck_assert_ptr_nonnull(
      strstr(text, "\"train\":{\"loss\":\"Infinity\",\"mse\":null,\"rmse\":null,\"mae\":null,"
                   "\"r2\":null,\"accuracy\":null,\"precision\":null,\"recall\":null,\"f1\":null,"
                   "\"roc_auc\":null,\"error\":null,\"rows\":4,\"classes\":null,"
                   "\"confusion\":null},\"validation\":null,\"test\":{\"loss\":\"NaN\""));
  ck_assert(strstr(text, "\"classes\":2,\"confusion\":[[5,1],[2,6]]}"));
  ck_assert_ptr_nonnull(strstr(
      text, "\"weights\":{\"url\":\"/v1/jobs/job_1/weights\",\"sha256\":\"ab\",\"bytes\":7},"
            "\"stopped\":null,\"kept\":{\"epoch\":4,\"metric\":\"validation.loss\",\"value\":0.29,"
            "\"best_epoch\":2,\"best\":0.267,\"tolerance\":0.13,\"reason\":\"epoch 4 of 5, the "
            "last whose validation loss (0.29) is within 13% of the lowest, 0.267 at epoch 2: a "
            "smaller difference may be chance\"},\"warnings\":[\"of the data\",\"first\","
            "\"second\"],\"error\":{\"status\":\"diverged\",\"message\":\"diverged\","
            "\"pointer\":\"/optimizer/lr\"}"));
  free(text);
}
END_TEST

/* As it is planned, as it was, and the same after it was stored. */
START_TEST(a_job_of_several_ranks) {
  ep_parallel_view parallel = {.data = 1,
                               .model = 2,
                               .micro_batches = 8,
                               .stage = {{0, 1, 84, 0.75}, {2, 2, 7, 0.25}},
                               .bubble = 0.125};
  ep_job_result result = {.device = "cpu",
                          .executor = "cpu/ranks",
                          .ranks = {2, {{0, 0, 0, 64, 3, 0.5, 0.25}, {0, 1, 3, 32, 1, 0.5, 0.75}}}};
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.validation);
  ep_split_metrics_clear(&result.test);
  char *stored = ep_job_result_format(&result);
  ep_job_result read;
  ck_assert_int_eq(ep_job_result_parse(stored, &read, NULL), EP_OK);
  ck_assert_int_eq(read.ranks.count, 2);
  ep_job_view job = {.id = "job_1",
                     .name = "",
                     .state = EP_STATE_SUCCEEDED,
                     .spec = "{}",
                     .queue_position = 0,
                     .parallel = &parallel,
                     .result = &read};
  char *text = ep_job_format(&job);
  ck_assert_ptr_nonnull(strstr(
      text,
      "\"parallel\":{\"data\":1,\"model\":2,\"micro_batches\":8,\"stages\":["
      "{\"layers\":[0,1],\"parameters\":84,\"cost_share\":0.75},"
      "{\"layers\":[2,2],\"parameters\":7,\"cost_share\":0.25}],"
      "\"bubble\":0.125,\"note\":null},"
      "\"ranks\":[{\"rank\":0,\"data\":0,\"model\":0,\"device\":\"cpu\",\"node\":0,\"bytes\":64,"
      "\"compute_microseconds\":3,\"communication_microseconds\":0.5,"
      "\"idle_share\":0.25},{\"rank\":1,\"data\":0,\"model\":1,"
      "\"device\":\"cpu\",\"node\":3,\"bytes\":32,\"compute_microseconds\":1,"
      "\"communication_microseconds\":0.5,\"idle_share\":0.75}],"));
  free(text);
  free(stored);
  ep_job_result_deinit(&read);
}
END_TEST

/* Results of before there were ranks have none; what is no list of ranks is damaged. */
START_TEST(stored_ranks) {
  static const struct {
    const char *ranks;
    int count; /* -1 = damaged */
  } rows[] = {{"\"ranks\":null,", 0},
              {"", 0},
              {"\"ranks\":[],", 0},
              {"\"ranks\":7,", -1},
              {"\"ranks\":[{\"data\":0,\"model\":64}],", -1},
              {"\"ranks\":[7],", -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_job_result result = {.device = "cpu"}, read;
    ep_split_metrics_clear(&result.train);
    ep_split_metrics_clear(&result.validation);
    ep_split_metrics_clear(&result.test);
    char *stored = ep_job_result_format(&result), text[8192];
    char *at = strstr(stored, "\"ranks\":null,");
    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - stored), stored, rows[i].ranks,
             at + strlen("\"ranks\":null,"));
    ep_status status = ep_job_result_parse(text, &read, NULL);
    ck_assert_int_eq(status, rows[i].count < 0 ? EP_IO : EP_OK);
    if (status == EP_OK) ck_assert_int_eq(read.ranks.count, rows[i].count);
    ep_job_result_deinit(&read);
    free(stored);
  }
}
END_TEST

START_TEST(lists) {
  const char *items[] = {"{\"id\":1}", "{\"id\":2}"};
  assert_text(ep_list_format(items, 2, true, "job_2"),
              "{\"object\":\"list\",\"data\":[{\"id\":1},{\"id\":2}],\"has_more\":true,"
              "\"next\":\"job_2\"}");
  assert_text(ep_list_format(NULL, 0, false, NULL),
              "{\"object\":\"list\",\"data\":[],\"has_more\":false,\"next\":null}");
}
END_TEST

START_TEST(validations) {
  ep_layer_view add = {"1", "add", {"a", "0"}, 2, 6, 6, 84, {2, {2, 3}}, {3, {1, 2, 3}}};
  ep_estimate estimates[] = {{"cpu", "cpu/fused", 0.5, 0.25, 0.25, 1, true, false}};
  ep_validation_view view = {.spec = "{}",
                             .layers = &add,
                             .layers_count = 1,
                             .drawing = "<svg/>",
                             .parameters = 84,
                             .bytes = 1,
                             .operations = 2,
                             .train_rows = 3,
                             .validation_rows = 4,
                             .test_rows = 5,
                             .estimates = estimates,
                             .estimates_count = 1};
  assert_text(ep_validation_format(&view),
              "{\"object\":\"validation\",\"spec\":{},\"auto\":null,\"warnings\":[],\"layers\":[{"
              "\"name\":\"1\",\"type\":\"add\",\"input\":[\"a\",\"0\"],\"in_shape\":[2,3],"
              "\"out_shape\":[1,2,3],\"in_features\":6,\"out_features\":6,\"parameters\":84}],"
              "\"drawing\":\"<svg/>\",\"parameters\":84,\"bytes\":1,\"operations\":2,"
              "\"rows\":{\"train\":3,\"validation\":4,\"test\":5},\"parallel\":null,\"slurm\":null,"
              "\"kubernetes\":null,\"estimates\":[{\"device\":\"cpu\",\"executor\":\"cpu/fused\","
              "\"seconds\":0.5,\"start_seconds\":0.25,\"calibrated\":true,\"measured\":false}]}");
  ep_allocation_view slurm = {.partition = "gpu",
                              .account = "lab",
                              .qos = "",
                              .gres = "",
                              .constraint = "a&b",
                              .nodes = 2,
                              .gpus = 1,
                              .cores = 3,
                              .memory_bytes = 9,
                              .minutes = 30};
  view.slurm = &slurm;
  view.layers_count = view.estimates_count = 0;
  assert_text(
      ep_validation_format(&view),
      "{\"object\":\"validation\",\"spec\":{},\"auto\":null,\"warnings\":[],\"layers\":[],"
      "\"drawing\":\"<svg/>\",\"parameters\":84,"
      "\"bytes\":1,\"operations\":2,\"rows\":{\"train\":3,\"validation\":4,\"test\":5},"
      "\"parallel\":null,\"slurm\":{\"partition\":\"gpu\",\"nodes\":2,\"memory_bytes\":9,"
      "\"cores\":3,\"gpus\":1,\"minutes\":30,\"gres\":null,\"account\":\"lab\",\"qos\":null,"
      "\"constraint\":\"a&b\"},\"kubernetes\":null,\"estimates\":[]}");
  view.kubernetes = &slurm;
  view.slurm = NULL;
  assert_text(ep_validation_format(&view),
              "{\"object\":\"validation\",\"spec\":{},\"auto\":null,\"warnings\":[],\"layers\":[],"
              "\"drawing\":\"<svg/>\",\"parameters\":84,"
              "\"bytes\":1,\"operations\":2,\"rows\":{\"train\":3,\"validation\":4,\"test\":5},"
              "\"parallel\":null,\"slurm\":null,\"kubernetes\":{\"namespace\":\"gpu\","
              "\"memory_bytes\":9,\"cores\":3},\"estimates\":[]}");
}
END_TEST

START_TEST(devices) {
  const char *const jobs[] = {"job_1", "job_2"};
  ep_device_view device = {.info = {.name = "X",
                                    .id = "cpu",
                                    .instruction_set = "avx2",
                                    .memory_bytes = 8,
                                    .memory_free_bytes = 4,
                                    .threads = 2},
                           .state = "busy",
                           .jobs = jobs,
                           .jobs_count = 2,
                           .cores = 2,
                           .pid = 77,
                           .restarts = 1};
  assert_text(ep_devices_format(&device, 1),
              "{\"object\":\"list\",\"data\":[{\"id\":\"cpu\",\"object\":\"device\",\"name\":\"X\","
              "\"state\":\"busy\",\"job\":\"job_1\",\"jobs\":[\"job_1\",\"job_2\"],\"cores\":2,"
              "\"instruction_set\":\"avx2\",\"memory_bytes\":8,"
              "\"memory_free_bytes\":4,\"threads\":2,\"pid\":77,\"restarts\":1,"
              "\"partition\":null}]}");
  const ep_partition_view partition = {.up = true,
                                       .nodes = 3,
                                       .nodes_idle = 1,
                                       .nodes_unavailable = 2,
                                       .cpus = 4,
                                       .cpus_idle = 5,
                                       .gpus = 6,
                                       .gpus_idle = 7,
                                       .node_cpus = 8,
                                       .node_gpus = 9,
                                       .node_memory_bytes = 10,
                                       .max_minutes = 11,
                                       .default_minutes = 12};
  device.partition = &partition;
  char *text = ep_devices_format(&device, 1);
  ck_assert_ptr_nonnull(strstr(
      text, "\"partition\":{\"up\":true,\"nodes\":3,\"nodes_idle\":1,\"nodes_unavailable\":2,"
            "\"cores\":4,\"cores_idle\":5,\"gpus\":6,\"gpus_idle\":7,\"node_cores\":8,"
            "\"node_gpus\":9,\"node_memory_bytes\":10,\"max_minutes\":11,"
            "\"default_minutes\":12}"));
  free(text);
}
END_TEST

START_TEST(queues) {
  ep_queue_row queued[] = {{"job_2", "b", "ann", 5, 2.5}}, running[] = {{"job_1", "a", "", 0, 0}};
  assert_text(
      ep_queue_format(queued, 1, running, 1),
      "{\"object\":\"queue\",\"queued\":1,\"running\":1,\"jobs\":[{\"id\":\"job_1\","
      "\"position\":null,\"start_seconds\":null,\"priority\":0,\"owner\":\"\",\"name\":\"a\"},"
      "{\"id\":\"job_2\",\"position\":1,\"start_seconds\":2.5,\"priority\":5,"
      "\"owner\":\"ann\",\"name\":\"b\"}]}");
}
END_TEST

START_TEST(problems) {
  ep_problem problem = {0};
  ck_assert_int_eq(ep_problem_add(&problem, EP_INVALID, "/a~1b", "must be \"%s\"", "x"),
                   EP_INVALID);
  ep_problem_add(&problem, EP_INVALID, "/c", "two");
  assert_text(ep_problem_format(&problem, "/v1/jobs"),
              "{\"type\":\"urn:epochd:problem:invalid\",\"title\":\"validation failed\","
              "\"status\":422,\"detail\":\"must be \\\"x\\\"\",\"instance\":\"/v1/jobs\","
              "\"errors\":[{\"pointer\":\"/a~1b\",\"detail\":\"must be \\\"x\\\"\"},"
              "{\"pointer\":\"/c\",\"detail\":\"two\"}]}");
  ep_problem empty = {0};
  ep_error error = {.status = EP_NOT_FOUND, .message = "no job"};
  ck_assert_int_eq(ep_problem_from_error(&empty, &error), EP_NOT_FOUND);
  ck_assert_int_eq(empty.errors_count, 0);
  ck_assert_str_eq(empty.detail, "no job");
  snprintf(error.pointer, sizeof error.pointer, "/id");
  ep_problem pointed = {0};
  ep_problem_from_error(&pointed, &error);
  ck_assert_str_eq(pointed.errors[0].pointer, "/id");
}
END_TEST

START_TEST(problems_stop_at_the_limit) {
  ep_problem problem = {0};
  for (int i = 0; i < EP_LIMIT_PROBLEM_ERRORS + 5; i++)
    ep_problem_add(&problem, EP_INVALID, "/a", "%d", i);
  ck_assert_int_eq(problem.errors_count, EP_LIMIT_PROBLEM_ERRORS);
  ck_assert_str_eq(problem.detail, "0");
  char *text = ep_problem_format(&problem, NULL);
  ck_assert_ptr_nonnull(text);
  ck_assert_ptr_null(strstr(text, "instance"));
  free(text);
}
END_TEST

START_TEST(predictions) {
  const double output[] = {0.5, NAN, -1, INFINITY};
  const ep_output_meaning numbers = {.loss = EP_LOSS_MSE};
  assert_text(ep_predict_format("job_1", &numbers, NULL, NULL, NULL, NULL, output, 2, 2),
              "{\"object\":\"predictions\",\"job\":\"job_1\",\"rows\":2,"
              "\"predictions\":[[0.5,\"NaN\"],[-1,\"Infinity\"]]}");
  char *const names[] = {"a/1.png", "b \"2\".png"};
  assert_text(ep_predict_format("j", &numbers, names, NULL, NULL, NULL, output, 2, 1),
              "{\"object\":\"predictions\",\"job\":\"j\",\"rows\":2,\"names\":[\"a/1.png\",\"b "
              "\\\"2\\\".png\"],\"predictions\":[[0.5],[\"NaN\"]]}");
}
END_TEST

/* A network may have more outputs than there are names. */
START_TEST(classes_have_names_and_probabilities) {
  char *names[] = {"a cat", "dog"};
  const double logits[] = {1, 1, -1e4, 0, 0, 4e4}, log_probabilities[] = {-0.5, 0, -1e9};
  ep_output_meaning meaning = {.loss = EP_LOSS_CROSS_ENTROPY, .class_name = names, .classes = 2};
  assert_text(ep_predict_format("j", &meaning, NULL, NULL, NULL, NULL, logits, 2, 3),
              "{\"object\":\"predictions\",\"job\":\"j\",\"rows\":2,"
              "\"predictions\":[[1,1,-10000],[0,0,40000]],\"classes\":[\"a cat\",2],"
              "\"probabilities\":[[0.5,0.5,0],[0,0,1]],\"class_names\":[\"a cat\",\"dog\"]}");
  meaning.loss = EP_LOSS_NLL;
  char *text = ep_predict_format("j", &meaning, NULL, NULL, NULL, NULL, log_probabilities, 1, 3);
  ck_assert_ptr_nonnull(strstr(text, "\"classes\":[\"dog\"],\"probabilities\":[[0.3775"));
  free(text);
}
END_TEST

/* One output is a yes or a no: two classes. */
START_TEST(one_output_has_two_classes) {
  const double logits[] = {0, -800, 800}, probabilities[] = {0.5, 0.25, 1};
  const ep_output_meaning logit = {.loss = EP_LOSS_BCE_WITH_LOGITS};
  assert_text(ep_predict_format("j", &logit, NULL, NULL, NULL, NULL, logits, 3, 1),
              "{\"object\":\"predictions\",\"job\":\"j\",\"rows\":3,"
              "\"predictions\":[[0],[-800],[800]],\"classes\":[0,0,1],"
              "\"probabilities\":[[0.5,0.5],[1,0],[0,1]]}");
  const ep_output_meaning half = {.loss = EP_LOSS_BCE};
  assert_text(ep_predict_format("j", &half, NULL, NULL, NULL, NULL, probabilities, 3, 1),
              "{\"object\":\"predictions\",\"job\":\"j\",\"rows\":3,"
              "\"predictions\":[[0.5],[0.25],[1]],\"classes\":[0,0,1],"
              "\"probabilities\":[[0.5,0.5],[0.75,0.25],[0,1]]}");
  char *several = ep_predict_format("j", &logit, NULL, NULL, NULL, NULL, logits, 1, 3);
  ck_assert_ptr_null(strstr(several, "classes"));
  free(several);
}
END_TEST

START_TEST(rows_may_begin_with_a_byte_order_mark) {
  static const char numbers[] = "\xEF\xBB\xBF{\"x\":[[7]]}", named[] = "\xEF\xBB\xBF{\"rows\":[]}",
                    torn[] = "\xEF\xBB{\"x\":[[7]]}";
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  ck_assert(ep_predict_has_rows(named, sizeof named - 1));
  ck_assert(!ep_predict_has_rows(numbers, sizeof numbers - 1));
  ck_assert_int_eq(
      ep_predict_parse(numbers, sizeof numbers - 1, &x, &rows, &columns, &threshold, &problem),
      EP_OK);
  ck_assert(rows == 1 && columns == 1 && x[0] == 7);
  free(x);
  ck_assert_int_eq(
      ep_predict_parse(torn, sizeof torn - 1, &x, &rows, &columns, &threshold, &problem),
      EP_MALFORMED);
}
END_TEST

START_TEST(rows_to_predict) {
  static const char text[] = " {\"x\" : [ [1, 2.5e0] ,\n[-3,0.1] ] } ";
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  ck_assert_int_eq(
      ep_predict_parse(text, sizeof text - 1, &x, &rows, &columns, &threshold, &problem), EP_OK);
  ck_assert_int_eq(rows, 2);
  ck_assert_int_eq(columns, 2);
  ck_assert_double_eq(x[0], 1);
  ck_assert_double_eq(x[1], 2.5);
  ck_assert_double_eq(x[2], -3);
  ck_assert_double_eq(x[3], 0.1);
  free(x);
}
END_TEST

static const struct {
  const char *text, *pointer;
  ep_status status;
} refused[] = {
    {"", NULL, EP_MALFORMED},
    {"{\"x\":[[1]]", NULL, EP_MALFORMED},
    {"{\"x\":[[1,]]}", NULL, EP_MALFORMED},
    {"{\"x\":[[01]]}", NULL, EP_MALFORMED},
    {"{\"x\":[[1]]} 2", NULL, EP_MALFORMED},
    {"{\"x\":[[1]],\"x\":[[1]]}", NULL, EP_MALFORMED},
    {"{\"x\":[[1]],}", NULL, EP_MALFORMED},
    {"{\"x\":[[NaN]]}", NULL, EP_MALFORMED},
    {"[]", "", EP_INVALID},
    {"{}", "/x", EP_INVALID},
    {"{\"y\":1}", "/y", EP_INVALID},
    {"{\"a/b~c\":1}", "/a~1b~0c", EP_INVALID},
    {"{\"x\":5}", "/x", EP_INVALID},
    {"{\"x\":[]}", "/x", EP_INVALID},
    {"{\"x\":[[]]}", "/x/0", EP_INVALID},
    {"{\"x\":[1]}", "/x/0", EP_INVALID},
    {"{\"x\":[[1],[\"a\"]]}", "/x/1/0", EP_INVALID},
    {"{\"x\":[[1,null]]}", "/x/0/1", EP_INVALID},
    {"{\"x\":[[1,1e999]]}", "/x/0/1", EP_INVALID},
    {"{\"x\":[[1,2],[3]]}", "/x/1", EP_INVALID},
    {"{\"x\":[[1,2],[3,4,5]]}", "/x/1", EP_INVALID},
    {"{\"x\":[[1]],\"threshold\":-0.001}", "/threshold", EP_INVALID},
    {"{\"x\":[[1]],\"threshold\":1.001}", "/threshold", EP_INVALID},
    {"{\"threshold\":true,\"x\":[[1]]}", "/threshold", EP_INVALID},
    {"{\"threshold\":[0.5],\"x\":[[1]]}", "/threshold", EP_INVALID},
    {"{\"threshold\":\"fp:1\",\"x\":[[1]]}", "/threshold", EP_INVALID},
    {"{\"threshold\":0.5}", "/x", EP_INVALID},
    {"{\"threshold\":0.5,\"x\":[[1]],\"threshold\":0.5}", NULL, EP_MALFORMED},
    {"{\"x\":[[1]],\"threshold\":}", NULL, EP_MALFORMED},
};

START_TEST(thresholds_beside_rows) {
  static const struct {
    const char *text;
    ep_threshold_kind kind;
    double probability;
  } CASES[] = {{"{\"x\":[[1]]}", EP_THRESHOLD_NONE, 0},
               {"{\"x\":[[1]],\"threshold\":null}", EP_THRESHOLD_NONE, 0},
               {"{\"x\":[[1]], \"threshold\" : 0.25}", EP_THRESHOLD_NUMBER, 0.25},
               {"{\"threshold\":0,\"x\":[[1]]}", EP_THRESHOLD_NUMBER, 0},
               {"{\"threshold\":1,\"x\":[[1]]}", EP_THRESHOLD_NUMBER, 1},
               {"{\"threshold\":\"f1\",\"x\":[[1]]}", EP_THRESHOLD_F1, 0},
               {"{\"threshold\":\"fp:1,fn:5\",\"x\":[[1]]}", EP_THRESHOLD_COST, 0}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    double *x;
    int64_t rows, columns;
    ep_threshold threshold;
    ep_problem problem = {0};
    const char *text = CASES[i].text;
    ck_assert_msg(ep_predict_parse(text, strlen(text), &x, &rows, &columns, &threshold, &problem) ==
                      EP_OK,
                  "%s: %s", text, problem.detail);
    ck_assert_int_eq(threshold.kind, CASES[i].kind);
    if (CASES[i].kind == EP_THRESHOLD_NUMBER)
      ck_assert_double_eq(threshold.probability, CASES[i].probability);
    ck_assert_int_eq(rows, 1);
    free(x);
  }
}
END_TEST

START_TEST(bad_rows_are_refused) {
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  const char *text = refused[_i].text;
  ck_assert_msg(ep_predict_parse(text, strlen(text), &x, &rows, &columns, &threshold, &problem) ==
                    refused[_i].status,
                "%s: %s", text, problem.detail);
  ck_assert_int_eq(problem.status, refused[_i].status);
  ck_assert_ptr_null(x);
  ck_assert_int_eq(problem.errors_count, refused[_i].pointer ? 1 : 0);
  if (refused[_i].pointer) ck_assert_str_eq(problem.errors[0].pointer, refused[_i].pointer);
}
END_TEST

/* {"x":[[0],[0],…]} of that many rows. */
static ep_status parse_rows(int64_t count) {
  static const char start[] = "{\"x\":[[0]";
  char *text = malloc(4 * (size_t)count + sizeof start + 8);
  ck_assert_ptr_nonnull(text);
  memcpy(text, start, sizeof start - 1);
  size_t used = sizeof start - 1;
  for (int64_t i = 1; i < count; i++, used += 4) memcpy(text + used, ",[0]", 4);
  memcpy(text + used, "]}", 2);
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  ep_status status = ep_predict_parse(text, used + 2, &x, &rows, &columns, &threshold, &problem);
  free(x);
  free(text);
  return status;
}

START_TEST(rows_have_a_limit) {
  ck_assert_int_eq(parse_rows(EP_LIMIT_PREDICT_ROWS), EP_OK);
  ck_assert_int_eq(parse_rows(EP_LIMIT_PREDICT_ROWS + 1), EP_TOO_LARGE);
}
END_TEST

START_TEST(bytes_have_a_limit) {
  char *text = malloc(EP_LIMIT_PREDICT_BYTES + 1);
  ck_assert_ptr_nonnull(text);
  memset(text, ' ', EP_LIMIT_PREDICT_BYTES + 1);
  memcpy(text, "{\"x\":[[0]]}", 11);
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  ck_assert_int_eq(
      ep_predict_parse(text, EP_LIMIT_PREDICT_BYTES, &x, &rows, &columns, &threshold, &problem),
      EP_OK);
  free(x);
  ck_assert_int_eq(
      ep_predict_parse(text, EP_LIMIT_PREDICT_BYTES + 1, &x, &rows, &columns, &threshold, &problem),
      EP_TOO_LARGE);
  free(text);
}
END_TEST

static const ep_curve_point points[] = {
    {1000, 0.5, NAN, 0.75, NAN, 0.25, NAN},
    {2000, INFINITY, NAN, NAN, NAN, 0.5, NAN},
    {3000, NAN, NAN, -INFINITY, NAN, 1, NAN},
};

START_TEST(curves) {
  assert_text(ep_curve_format_json("job_1", points, 3),
              "{\"object\":\"curve\",\"job\":\"job_1\",\"points\":3,\"epoch\":[1000,2000,3000],"
              "\"loss\":[0.5,\"Infinity\",\"NaN\"],\"error\":null,"
              "\"validation_loss\":[0.75,null,\"-Infinity\"],\"validation_error\":null,"
              "\"elapsed_seconds\":[0.25,0.5,1]}");
  assert_text(ep_curve_format_csv(points, 3),
              "epoch,loss,error,validation_loss,validation_error,elapsed_seconds\n"
              "1000,0.5,,0.75,,0.25\n2000,inf,,,,0.5\n3000,,,-inf,,1\n");
  assert_text(ep_curve_format_json("j", NULL, 0),
              "{\"object\":\"curve\",\"job\":\"j\",\"points\":0,\"epoch\":[],\"loss\":[],"
              "\"error\":null,\"validation_loss\":null,\"validation_error\":null,"
              "\"elapsed_seconds\":[]}");
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

EP_SUITE("api/job") {
  TCase *tests = ep_suite_case(suite, "job");
  tcase_add_test(tests, a_queued_job);
  tcase_add_test(tests, a_failed_job);
  tcase_add_test(tests, a_job_of_several_ranks);
  tcase_add_test(tests, stored_ranks);
  tcase_add_test(tests, lists);
  tcase_add_test(tests, validations);
  tcase_add_test(tests, devices);
  tcase_add_test(tests, queues);
  tcase_add_test(tests, problems);
  tcase_add_test(tests, problems_stop_at_the_limit);
  tcase_add_test(tests, predictions);
  tcase_add_test(tests, classes_have_names_and_probabilities);
  tcase_add_test(tests, one_output_has_two_classes);
  tcase_add_test(tests, rows_to_predict);
  tcase_add_test(tests, rows_may_begin_with_a_byte_order_mark);
  tcase_add_test(tests, thresholds_beside_rows);
  tcase_add_loop_test(tests, bad_rows_are_refused, 0, ROWS(refused));
  tcase_add_test(tests, rows_have_a_limit);
  tcase_add_test(tests, bytes_have_a_limit);
  tcase_add_test(tests, curves);
}
