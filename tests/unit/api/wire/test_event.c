/* Lines of the event log: written exactly, read back, torn ones refused. */
#include "api/wire/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "api/wire/result.h"
#include "tests/suite.h"

static const int64_t noon_us = INT64_C(1795193527123456);

static ep_event epoch_event(void) {
  return (ep_event){.seq = 412,
                    .job = "job_01k",
                    .type = EP_EVENT_EPOCH,
                    .time_us = noon_us,
                    .epochs = 40000,
                    .progress = {.epoch = 12000,
                                 .loss = 0.311793,
                                 .error = NAN,
                                 .validation_loss = NAN,
                                 .validation_error = NAN,
                                 .lr = 0.005,
                                 .elapsed_seconds = 0.013},
                    .eta_seconds = 0.03};
}

/* The line as a 0-terminated text, in a buffer that lasts until the next call. */
static const char *line(const ep_event *event) {
  static char buffer[EP_LIMIT_EVENT_BYTES + 1];
  size_t bytes = ep_event_format(event, buffer, EP_LIMIT_EVENT_BYTES);
  ck_assert_uint_gt(bytes, 0);
  buffer[bytes] = 0;
  return buffer;
}

START_TEST(an_epoch) {
  ep_event event = epoch_event();
  ck_assert_str_eq(line(&event),
                   "{\"seq\":412,\"job\":\"job_01k\",\"type\":\"epoch\",\"time\":"
                   "\"2026-11-20T16:52:07.123Z\",\"epoch\":12000,\"epochs\":40000,"
                   "\"loss\":0.311793,\"error\":null,\"validation\":null,\"lr\":0.005,"
                   "\"elapsed_seconds\":0.013,\"eta_seconds\":0.03,\"crc\":\"8f99ac60\"}\n");
}
END_TEST

START_TEST(an_epoch_of_a_classifier_that_diverges) {
  ep_event event = epoch_event();
  event.progress.loss = NAN;
  event.progress.error = 0.5;
  event.progress.validation_loss = INFINITY;
  event.progress.validation_error = 0.25;
  event.progress.metrics_given = 1 << EP_METRIC_F1 | 1 << EP_METRIC_ROC_AUC;
  event.progress.metrics[EP_METRIC_F1] = 0.75;
  event.progress.metrics[EP_METRIC_ROC_AUC] = NAN;
  event.eta_seconds = NAN;
  ck_assert_ptr_nonnull(
      strstr(line(&event), "\"loss\":\"NaN\",\"error\":0.5,\"validation\":{\"loss\":\"Infinity\","
                           "\"error\":0.25,\"f1\":0.75,\"roc_auc\":null},\"lr\":0.005,\"elapsed_"
                           "seconds\":0.013,\"eta_seconds\":null"));
}
END_TEST

START_TEST(other_types) {
  ep_event event = {.seq = 1, .job = "j", .type = EP_EVENT_QUEUED, .time_us = 0};
  ck_assert_str_eq(line(&event), "{\"seq\":1,\"job\":\"j\",\"type\":\"queued\",\"time\":"
                                 "\"1970-01-01T00:00:00.000Z\",\"crc\":\"66ffedc4\"}\n");
  event = (ep_event){.seq = 2,
                     .job = "j",
                     .type = EP_EVENT_STARTED,
                     .attempt = 1,
                     .epochs = 5,
                     .device = "cpu",
                     .executor = "cpu/fused"};
  ck_assert_ptr_nonnull(strstr(line(&event), ",\"attempt\":1,\"device\":\"cpu\",\"executor\":"
                                             "\"cpu/fused\",\"epochs\":5,\"crc\":"));
  event = (ep_event){.seq = 3,
                     .job = "j",
                     .type = EP_EVENT_RESTARTED,
                     .attempt = 2,
                     .message = "the worker\n\"died\""};
  ck_assert_ptr_nonnull(
      strstr(line(&event),
             ",\"attempt\":2,\"epoch\":0,\"message\":\"the worker\\n\\\"died\\\"\",\"crc\":"));
  event = (ep_event){.seq = 4, .job = "j", .type = EP_EVENT_WARNING, .message = "slow"};
  ck_assert_ptr_nonnull(strstr(line(&event), ",\"message\":\"slow\",\"crc\":"));
  event = (ep_event){.seq = 5, .job = "j", .type = EP_EVENT_END, .state = EP_STATE_CANCELLED};
  ck_assert_ptr_nonnull(strstr(line(&event), ",\"status\":\"cancelled\",\"epoch\":0,\"epochs\":0,"
                                             "\"metrics\":null,\"weights\":null,\"error\":null,"
                                             "\"timing\":null,\"crc\":"));
}
END_TEST

START_TEST(within_epochs) {
  ep_event event = {.seq = 3, .job = "j", .type = EP_EVENT_BATCH, .epochs = 5, .eta_seconds = 2};
  event.progress = (ep_progress_record){.kind = EP_PROGRESS_BATCH,
                                        .epoch = 2,
                                        .batch = 30,
                                        .batches = 100,
                                        .loss = 0.5,
                                        .lr = 0.1,
                                        .elapsed_seconds = 1.5};
  const char *text = line(&event);
  ck_assert_ptr_nonnull(strstr(text, "\"type\":\"batch\""));
  ck_assert_ptr_nonnull(
      strstr(text, "Z\",\"epoch\":2,\"batch\":30,\"batches\":100,\"epochs\":5,\"loss\":0.5,"
                   "\"lr\":0.1,\"elapsed_seconds\":1.5,\"eta_seconds\":2,\"crc\":"));
  ep_event back;
  ck_assert_int_eq(ep_event_parse(text, strlen(text) - 1, &back, NULL), EP_OK);
  ck_assert_int_eq(back.type, EP_EVENT_BATCH);
  ck_assert(back.progress.epoch == 2 && back.progress.batch == 30 && back.progress.batches == 100);
}
END_TEST

/* The longest line there may be fits. */
START_TEST(layers) {
  static ep_progress_record records[EP_LIMIT_REPORTED_LAYERS];
  for (int i = 0; i < EP_LIMIT_REPORTED_LAYERS; i++) {
    ep_layer_figures *layer = &records[i].layer;
    records[i].kind = EP_PROGRESS_LAYER;
    *layer = (ep_layer_figures){.number = i,
                                .count = EP_LIMIT_REPORTED_LAYERS,
                                .type = EP_LAYER_ADAPTIVE_AVG_POOL2D,
                                .units = 3,
                                .dead = 1,
                                .has_parameters = 1,
                                .grad_norm = -1.23456789e-300,
                                .weight_norm = -1.23456789e-300,
                                .low = -1.23456789e-300,
                                .high = -1.23456789e-300};
    memset(layer->name, '1', sizeof layer->name - 1);
    for (int bin = 0; bin < EP_LIMIT_HISTOGRAM_BINS; bin++) layer->bins[bin] = 4000000000;
  }
  ep_event event = {.seq = INT64_MAX, .job = "j", .type = EP_EVENT_LAYERS, .epochs = INT64_MAX};
  event.progress.epoch = INT64_MAX;
  event.layers = records;
  ck_assert_uint_gt(strlen(line(&event)), EP_LIMIT_EVENT_BYTES / 2);
  records[0].layer = (ep_layer_figures){.count = 1,
                                        .type = EP_LAYER_RELU,
                                        .units = 8,
                                        .dead = 2,
                                        .name = "1",
                                        .grad_norm = NAN,
                                        .weight_norm = NAN,
                                        .high = 0.123456789,
                                        .bins = {7}};
  ck_assert_ptr_nonnull(
      strstr(line(&event), "\"layers\":[{\"layer\":\"1\",\"type\":\"relu\",\"gradient_norm\":null,"
                           "\"weight_norm\":null,\"dead\":0.25,\"low\":0,\"high\":0.123457,"
                           "\"counts\":[7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}],\"crc\":"));
}
END_TEST

static ep_job_result regression_result(void) {
  ep_job_result result = {.epochs_done = 40000,
                          .train_seconds = 0.042,
                          .test_seconds = 0.0001,
                          .samples_per_second = 3e8,
                          .epoch_microseconds = 1.05,
                          .has_weights = true,
                          .weights_bytes = 600};
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.validation);
  ep_split_metrics_clear(&result.test);
  result.train.rows = 321;
  result.train.loss = 0.2965;
  result.test.rows = 93;
  result.test.loss = 0.31;
  result.test.mse = 48.6;
  snprintf(result.weights_sha256, sizeof result.weights_sha256, "ab12");
  return result;
}

START_TEST(an_end) {
  ep_job_result result = regression_result();
  ep_event event = {.seq = 9,
                    .job = "job_1",
                    .type = EP_EVENT_END,
                    .state = EP_STATE_SUCCEEDED,
                    .epochs = 40000,
                    .result = &result};
  const char *text = line(&event);
  ck_assert_ptr_nonnull(strstr(text, "\"status\":\"succeeded\",\"epoch\":40000,\"epochs\":40000,"
                                     "\"metrics\":{\"train\":{\"loss\":0.2965,\"mse\":null"));
  ck_assert_ptr_nonnull(strstr(text, "\"validation\":null,\"test\":{\"loss\":0.31,\"mse\":48.6"));
  ck_assert_ptr_nonnull(strstr(text, "\"weights\":{\"url\":\"/v1/jobs/job_1/weights\",\"sha256\":"
                                     "\"ab12\",\"bytes\":600},\"error\":null,\"timing\":{"
                                     "\"train_seconds\":0.042,\"test_seconds\":0.0001,"
                                     "\"epoch_microseconds\":1.05,\"samples_per_second\":300000000"
                                     "},\"crc\":"));
}
END_TEST

START_TEST(an_end_that_failed_says_why) {
  ep_job_result result = regression_result();
  ep_event event = {
      .seq = 9, .job = "job_1", .type = EP_EVENT_END, .state = EP_STATE_FAILED, .result = &result};
  snprintf(result.message, sizeof result.message, "the loss is not finite");
  ck_assert_ptr_nonnull(strstr(line(&event), "\"error\":\"the loss is not finite\""));
  event.message = "the worker died";
  ck_assert_ptr_nonnull(strstr(line(&event), "\"error\":\"the worker died\""));
}
END_TEST

/* The test's matrix up to 64 classes is there, beyond it is not, and both fit. */
static size_t end_bytes(int classes, int64_t count, bool *has_matrix) {
  static char buffer[EP_LIMIT_EVENT_BYTES];
  ep_job_result result = regression_result();
  int64_t *confusion = malloc((size_t)classes * (size_t)classes * sizeof *confusion);
  ck_assert_ptr_nonnull(confusion);
  for (int i = 0; i < classes * classes; i++) confusion[i] = count;
  result.test.classes = classes;
  result.test.confusion = confusion;
  ep_event event = {.seq = 9, .job = "job_1", .type = EP_EVENT_END, .result = &result};
  memset(result.message, 1, sizeof result.message - 1); /* six bytes each in JSON */
  size_t bytes = ep_event_format(&event, buffer, sizeof buffer);
  *has_matrix = bytes && memmem(buffer, bytes, "\"confusion\":[[", 14) != NULL;
  free(confusion);
  return bytes;
}

START_TEST(an_end_always_fits) {
  bool has_matrix;
  ck_assert_uint_gt(end_bytes(64, EP_LIMIT_ROWS, &has_matrix), 0);
  ck_assert(has_matrix);
  ck_assert_uint_gt(end_bytes(64, INT64_MAX, &has_matrix), 0);
  ck_assert(!has_matrix);
  ck_assert_uint_gt(end_bytes(65, 1, &has_matrix), 0);
  ck_assert(!has_matrix);
}
END_TEST

START_TEST(a_buffer_that_is_too_small) {
  ep_event event = epoch_event();
  char buffer[512];
  size_t needed = ep_event_format(&event, buffer, sizeof buffer);
  ck_assert_uint_gt(needed, 0);
  for (size_t capacity = 0; capacity < needed; capacity++) {
    memset(buffer, '#', sizeof buffer);
    ck_assert_uint_eq(ep_event_format(&event, buffer, capacity), 0);
    for (size_t i = capacity; i < sizeof buffer; i++) ck_assert_int_eq(buffer[i], '#');
  }
  ck_assert_uint_eq(ep_event_format(&event, buffer, needed), needed);
}
END_TEST

/* Equal to the bit; NaN equals only NaN. */
static bool same(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return memcmp(&a, &b, sizeof a) == 0;
}

START_TEST(an_epoch_reads_back) {
  ck_assert(!same(NAN, 0) && !same(0, NAN) && !same(1, nextafter(1, 2))); /* canary */
  const double values[] = {0.1, 1e-300, NAN, INFINITY, -INFINITY, 12345678.9, 0, 1.0 / 3};
  const int count = sizeof values / sizeof values[0];
  for (int i = 0; i < count; i++) {
    ep_event event = epoch_event(), back;
    ep_error error = {0};
    event.progress.loss = values[i];
    event.progress.error = i % 2 ? 0.125 : NAN;
    event.progress.validation_loss = values[(i + 3) % count];
    event.progress.validation_error = isnan(event.progress.validation_loss) ? NAN : 0.5;
    const char *text = line(&event);
    ck_assert_int_eq(ep_event_parse(text, strlen(text), &back, &error), EP_OK);
    ck_assert_int_eq(back.seq, 412);
    ck_assert_int_eq(back.type, EP_EVENT_EPOCH);
    ck_assert_int_eq(back.epochs, 40000);
    ck_assert_int_eq(back.progress.epoch, 12000);
    ck_assert(same(back.progress.loss, event.progress.loss));
    ck_assert(same(back.progress.error, event.progress.error));
    ck_assert(same(back.progress.validation_loss, event.progress.validation_loss));
    ck_assert(same(back.progress.validation_error, event.progress.validation_error));
    ck_assert(same(back.progress.lr, event.progress.lr));
    ck_assert(same(back.progress.elapsed_seconds, event.progress.elapsed_seconds));
    ck_assert(same(back.eta_seconds, event.eta_seconds));
  }
}
END_TEST

/* Times to the millisecond, leap years and the turns of centuries among them. */
START_TEST(a_time_reads_back) {
  static const int64_t seconds[] = {0,          1,          951782399,  951782400,  951868800,
                                    1709164800, 1709251200, 1735689599, 4107542400, 253402300799};
  for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
    ep_event event = {.seq = 1, .job = "j", .type = EP_EVENT_QUEUED}, back;
    event.time_us = seconds[i] * 1000000 + (int64_t)i * 111000;
    const char *text = line(&event);
    ck_assert_int_eq(ep_event_parse(text, strlen(text), &back, NULL), EP_OK);
    ck_assert_int_eq(back.time_us, event.time_us);
  }
  static const char odd[] = "{\"seq\":1,\"type\":\"queued\",\"time\":\"2026-11-20 16:52:07.123Z\"}";
  ep_event back;
  ck_assert_int_eq(ep_event_parse(odd, sizeof odd - 1, &back, NULL), EP_OK);
  ck_assert_int_eq(back.time_us, 0);
}
END_TEST

START_TEST(an_end_reads_back) {
  ep_job_result result = regression_result();
  ep_event event = {.seq = 77,
                    .job = "job_1",
                    .type = EP_EVENT_END,
                    .state = EP_STATE_FAILED,
                    .result = &result,
                    .message = "a \"quoted\" \\ reason"};
  ep_event back;
  const char *text = line(&event);
  ck_assert_int_eq(ep_event_parse(text, strlen(text), &back, NULL), EP_OK);
  ck_assert_int_eq(back.seq, 77);
  ck_assert_int_eq(back.type, EP_EVENT_END);
  ck_assert_int_eq(back.state, EP_STATE_FAILED);
  event = (ep_event){.seq = 2, .job = "j", .type = EP_EVENT_STARTED, .attempt = 3};
  text = line(&event);
  ck_assert_int_eq(ep_event_parse(text, strlen(text), &back, NULL), EP_OK);
  ck_assert_int_eq(back.attempt, 3);
}
END_TEST

/* Every line ever written is JSON for others too. */
START_TEST(lines_are_json) {
  ep_job_result result = regression_result();
  const ep_trial_record trial = {.number = 1, .metric = NAN};
  const ep_progress_record layer = {.layer = {.count = 1, .units = 1, .name = "0"}};
  ep_event event = {.seq = 9,
                    .job = "job_1",
                    .type = EP_EVENT_END,
                    .result = &result,
                    .trial = &trial,
                    .layers = &layer,
                    .values = "{}"};
  for (int type = 0; type < EP_EVENT_COUNT; type++) {
    event.type = (ep_event_type)type;
    const char *text = line(&event);
    json_t *root;
    ck_assert_int_eq(ep_json_load(text, strlen(text), EP_LIMIT_EVENT_BYTES, &root, NULL), EP_OK);
    ck_assert_str_eq(json_string_value(json_object_get(root, "type")), ep_event_type_name(type));
    json_decref(root);
  }
}
END_TEST

START_TEST(every_torn_line_is_refused) {
  ep_event event = epoch_event(), back;
  event.progress.validation_loss = 1;
  char text[512];
  size_t bytes = ep_event_format(&event, text, sizeof text);
  for (size_t cut = 0; cut + 1 < bytes; cut++)
    ck_assert_int_eq(ep_event_parse(text, cut, &back, NULL), EP_IO);
  ck_assert_int_eq(ep_event_parse(text, bytes - 1, &back, NULL), EP_OK); /* without '\n' */
}
END_TEST

static const char *const malformed[] = {
    "{}",
    "[]",
    "{\"seq\":1}",
    "{\"type\":\"end\"}",
    "{\"seq\":0,\"type\":\"end\"}",
    "{\"seq\":-1,\"type\":\"end\"}",
    "{\"seq\":1.5,\"type\":\"end\"}",
    "{\"seq\":1e300,\"type\":\"end\"}",
    "{\"seq\":\"1\",\"type\":\"end\"}",
    "{\"seq\":1,\"type\":\"ended\"}",
    "{\"seq\":1,\"type\":\"epoch\"}",
    "{\"seq\":1,\"type\":\"epoch\",\"epoch\":1}",
    "{\"seq\":1,\"type\":\"end\"} x",
    "{\"seq\":1,\"type\":\"end\",}",
    "{\"seq\":01,\"type\":\"end\"}",
    "{\"seq\":1,\"type\":\"end\",\"loss\":.5}",
    "{\"seq\":1,\"type\":\"end\",\"loss\":1.}",
    "{\"seq\":1,\"type\":\"end\",\"loss\":1e}",
    "{\"seq\":1,\"type\":\"end\",\"loss\":-}",
    "{\"seq\":1,\"type\":\"end\",\"x\":tru}",
    "{\"seq\":1,\"type\":\"end\",\"x\":\"a\nb\"}",
    "{\"seq\":1,\"type\":\"end\",\"x\":[1,]}",
    "{\"seq\":1,\"type\":\"end\",\"x\":{\"a\" 1}}",
    "{\"seq\":1,\"type\":\"end\",\"status\":\"done\"}",
    "{\"seq\":1,\"type\":\"end\",\"attempt\":-1}",
};

START_TEST(malformed_lines_are_refused) {
  ep_event back;
  ep_error error = {0};
  ck_assert_int_eq(ep_event_parse(malformed[_i], strlen(malformed[_i]), &back, &error), EP_IO);
  ck_assert_int_ne(error.message[0], 0);
}
END_TEST

START_TEST(a_trial) {
  ep_trial_record record = {.number = 12,
                            .trial = 5,
                            .part = 1,
                            .status = EP_DIVERGED,
                            .epochs_done = 40,
                            .metric = NAN,
                            .metrics = {{0.5}, {NAN}, {NAN}},
                            .seconds = 0.25};
  ep_event event = {.seq = 3,
                    .job = "job_1",
                    .type = EP_EVENT_TRIAL,
                    .epochs = 100,
                    .progress = {.epoch = 12},
                    .trial = &record,
                    .values = "{\"/optimizer/lr\":0.1}",
                    .eta_seconds = NAN};
  ep_event back;
  char line[1024];
  size_t bytes = ep_event_format(&event, line, sizeof line);
  ck_assert_uint_gt(bytes, 0);
  line[bytes] = 0;
  ck_assert_ptr_nonnull(strstr(line, "\"number\":12,\"numbers\":100,\"trial\":5,\"part\":1,"
                                     "\"outcome\":\"diverged\",\"metric\":null,\"values\":{"
                                     "\"/optimizer/lr\":0.1},\"trial_epochs\":40"));
  ck_assert_int_eq(ep_event_parse(line, bytes - 1, &back, NULL), EP_OK);
  ck_assert_int_eq(back.type, EP_EVENT_TRIAL);
  ck_assert_int_eq(back.progress.epoch, 12);
}
END_TEST

START_TEST(nesting_has_a_limit) {
  ep_event back;
  for (int depth = 31; depth <= 34; depth++) {
    char brackets[2 * 34 + 1] = "", text[256];
    memset(brackets, '[', (size_t)depth);
    memset(brackets + depth, ']', (size_t)depth);
    snprintf(text, sizeof text, "{\"seq\":1,\"type\":\"end\",\"x\":%s}", brackets);
    ep_status wanted = depth <= EP_LIMIT_JSON_DEPTH ? EP_OK : EP_IO;
    ck_assert_int_eq(ep_event_parse(text, strlen(text), &back, NULL), wanted);
  }
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

EP_SUITE("api/event") {
  TCase *tests = ep_suite_case(suite, "event");
  tcase_add_test(tests, an_epoch);
  tcase_add_test(tests, an_epoch_of_a_classifier_that_diverges);
  tcase_add_test(tests, other_types);
  tcase_add_test(tests, within_epochs);
  tcase_add_test(tests, layers);
  tcase_add_test(tests, an_end);
  tcase_add_test(tests, an_end_that_failed_says_why);
  tcase_add_test(tests, an_end_always_fits);
  tcase_add_test(tests, a_buffer_that_is_too_small);
  tcase_add_test(tests, an_epoch_reads_back);
  tcase_add_test(tests, a_time_reads_back);
  tcase_add_test(tests, an_end_reads_back);
  tcase_add_test(tests, lines_are_json);
  tcase_add_test(tests, every_torn_line_is_refused);
  tcase_add_loop_test(tests, malformed_lines_are_refused, 0, ROWS(malformed));
  tcase_add_test(tests, nesting_has_a_limit);
  tcase_add_test(tests, a_trial);
}
