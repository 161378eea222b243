/* Frames between epochd and a worker: round trips, and payloads that lie. */
#include "api/wire/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/result.h"
#include "tests/suite.h"

/* Equal to the bit; NaN equals only NaN. */
static bool same(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return memcmp(&a, &b, sizeof a) == 0;
}

static const uint8_t *payload_of(const uint8_t *frame, size_t bytes, ep_frame_kind wanted,
                                 size_t *payload_bytes) {
  ep_frame_kind kind;
  ck_assert_ptr_nonnull(frame);
  ck_assert_int_eq(ep_frame_header(frame, &kind, payload_bytes, NULL), EP_OK);
  ck_assert(kind == wanted && *payload_bytes + EP_FRAME_HEADER_BYTES == bytes);
  return frame + EP_FRAME_HEADER_BYTES;
}

static void command_round_trip(const ep_command *command, ep_command *back) {
  size_t bytes, payload_bytes;
  uint8_t *frame = ep_command_encode(command, &bytes);
  const uint8_t *payload = payload_of(frame, bytes, EP_FRAME_COMMAND, &payload_bytes);
  ep_error error = {0};
  ck_assert_msg(ep_command_decode(payload, payload_bytes, back, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(back->kind, command->kind);
  ck_assert_uint_eq(back->request, command->request);
  ck_assert_str_eq(back->job, command->job);
  ck_assert_int_eq(back->attempt, command->attempt);
  free(frame);
}

START_TEST(train) {
  ep_command command = {.kind = EP_COMMAND_TRAIN,
                        .request = 1,
                        .job = "job_01k",
                        .attempt = 2,
                        .spec = (char *)"{\"name\":\"a \\\"b\\\"\"}",
                        .executor = "cpu/fused"};
  ep_command back;
  command_round_trip(&command, &back);
  ck_assert_str_eq(back.spec, command.spec);
  ck_assert_str_eq(back.executor, command.executor);
  ep_command_deinit(&back);
  ck_assert_ptr_null(back.spec);
}
END_TEST

START_TEST(cancel_and_probe) {
  ep_command back;
  ep_command cancel = {.kind = EP_COMMAND_CANCEL, .job = "job_01k"};
  ep_command probe = {.kind = EP_COMMAND_PROBE, .request = INT64_MAX};
  command_round_trip(&cancel, &back);
  ep_command_deinit(&back);
  command_round_trip(&probe, &back);
  ep_command_deinit(&back);
  ep_command calibrate = {.kind = EP_COMMAND_CALIBRATE, .request = 3};
  command_round_trip(&calibrate, &back);
  ep_command_deinit(&back);
}
END_TEST

START_TEST(predict) {
  double x[6] = {1, -0.0, 1e-300, NAN, INFINITY, -INFINITY};
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .request = 7,
                        .job = "job_01k",
                        .x = x,
                        .rows = 2,
                        .columns = 3,
                        .windows = 1};
  ep_command back;
  memset(command.weights_sha256, 'd', 64);
  ck_assert(!same(0.0, -0.0) && !same(NAN, 1) && !same(1, nextafter(1, 2))); /* canary */
  command_round_trip(&command, &back);
  ck_assert_int_eq(back.rows, 2);
  ck_assert_int_eq(back.columns, 3);
  ck_assert_int_eq(back.windows, 1);
  ck_assert_str_eq(back.weights_sha256, command.weights_sha256);
  for (int i = 0; i < 6; i++) ck_assert(same(back.x[i], x[i]));
  ep_command_deinit(&back);
}
END_TEST

static void reply_round_trip(const ep_reply *reply, ep_reply *back) {
  size_t bytes, payload_bytes;
  uint8_t *frame = ep_reply_encode(reply, &bytes);
  const uint8_t *payload = payload_of(frame, bytes, EP_FRAME_REPLY, &payload_bytes);
  ep_error error = {0};
  ck_assert_msg(ep_reply_decode(payload, payload_bytes, back, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(back->kind, reply->kind);
  ck_assert_uint_eq(back->request, reply->request);
  ck_assert_str_eq(back->job, reply->job);
  ck_assert_int_eq(back->attempt, reply->attempt);
  ck_assert_int_eq(back->error.status, reply->error.status);
  ck_assert_str_eq(back->error.pointer, reply->error.pointer);
  free(frame);
}

START_TEST(exports) {
  ep_command back, command = {.kind = EP_COMMAND_EXPORT,
                              .request = 9,
                              .job = "job_01k",
                              .quantize = true,
                              .file = "tmp/folder-1/weights.h"};
  memset(command.weights_sha256, 'e', 64);
  command_round_trip(&command, &back);
  ck_assert(back.quantize);
  ck_assert_str_eq(back.file, command.file);
  ck_assert_str_eq(back.weights_sha256, command.weights_sha256);
  ep_command_deinit(&back);
  ep_reply answer, reply = {.kind = EP_REPLY_EXPORTED,
                            .request = 9,
                            .error = {.status = EP_TOO_LARGE, .message = "too large"}};
  reply_round_trip(&reply, &answer);
  ep_reply_deinit(&answer);
}
END_TEST

START_TEST(plots) {
  const ep_plot_request plot = {"pr", "/epochd", "spam", "a",       "1", "é", true, 0.1,
                                NAN,  512,       100,    INT64_MAX, -1,  7,   true};
  ep_command back, command = {.kind = EP_COMMAND_PLOT, .job = "job_01k", .file = "a", .plot = plot};
  memset(command.weights_sha256, 'e', 64);
  command_round_trip(&command, &back);
  ck_assert(isnan(back.plot.cost_fn) && back.plot.normalize);
  back.plot.cost_fn = command.plot.cost_fn = 5;
  ck_assert_mem_eq(&back.plot, &command.plot, offsetof(ep_plot_request, normalize));
  ck_assert(back.plot.cost_fp == 0.1 && back.plot.size == 512 && back.plot.repeats == 100);
  ck_assert_int_eq(back.plot.seed, INT64_MAX);
  ck_assert(back.plot.epoch == EP_PLOT_NO_EPOCH && back.plot.count == 7 && back.plot.y_down);
  ck_assert_str_eq(back.file, command.file);
  ck_assert_str_eq(back.weights_sha256, command.weights_sha256);
  ep_command_deinit(&back);
  ep_reply answer, reply = {.kind = EP_REPLY_PLOTTED, .error = {EP_NOT_FOUND, .message = "none"}};
  reply_round_trip(&reply, &answer);
  ep_reply_deinit(&answer);
}
END_TEST

START_TEST(ready) {
  ep_reply reply = {.kind = EP_REPLY_READY,
                    .device = {.name = "Intel(R) \"Xeon\"",
                               .id = "cpu",
                               .instruction_set = "avx512",
                               .memory_bytes = INT64_C(1) << 40,
                               .memory_free_bytes = 5,
                               .threads = 16}};
  ep_reply back;
  reply_round_trip(&reply, &back);
  ck_assert_str_eq(back.device.name, reply.device.name);
  ck_assert_str_eq(back.device.id, "cpu");
  ck_assert_str_eq(back.device.instruction_set, "avx512");
  ck_assert_int_eq(back.device.memory_bytes, INT64_C(1) << 40);
  ck_assert_int_eq(back.device.memory_free_bytes, 5);
  ck_assert_int_eq(back.device.threads, 16);
  ep_reply_deinit(&back);
}
END_TEST

START_TEST(started) {
  ep_reply reply = {.kind = EP_REPLY_STARTED,
                    .job = "j",
                    .attempt = 1,
                    .executor = "cpu/fused",
                    .parameters = 49,
                    .bytes = 21000};
  ep_reply back;
  reply_round_trip(&reply, &back);
  ck_assert_str_eq(back.executor, "cpu/fused");
  ck_assert_int_eq(back.parameters, 49);
  ck_assert_int_eq(back.bytes, 21000);
  ep_reply_deinit(&back);
}
END_TEST

static bool metrics_same(const ep_split_metrics *a, const ep_split_metrics *b) {
  return a->rows == b->rows && a->classes == b->classes && same(a->loss, b->loss) &&
         same(a->mse, b->mse) && same(a->rmse, b->rmse) && same(a->mae, b->mae) &&
         same(a->r2, b->r2) && same(a->accuracy, b->accuracy) && same(a->precision, b->precision) &&
         same(a->recall, b->recall) && same(a->f1, b->f1) && same(a->roc_auc, b->roc_auc) &&
         same(a->error, b->error) && !a->confusion == !b->confusion &&
         (!a->confusion || memcmp(a->confusion, b->confusion,
                                  sizeof(int64_t) * (size_t)(a->classes * a->classes)) == 0);
}

static ep_job_result full_result(int64_t confusion[4]) {
  ep_job_result result = {.status = EP_DIVERGED,
                          .message = "the loss is not finite in epoch 3",
                          .pointer = "/optimizer/lr",
                          .executor = "cpu/fused",
                          .device = "cpu",
                          .epochs_done = 3,
                          .kept = {2, 1, -0.5, 0.25, EP_METRIC_R2, 0.125},
                          .train_seconds = 0.042,
                          .test_seconds = NAN,
                          .samples_per_second = INFINITY,
                          .epoch_microseconds = 1.05,
                          .parameters = 49,
                          .bytes = 21000,
                          .has_weights = true,
                          .weights_bytes = 600};
  memset(result.weights_sha256, 'a', 64);
  memset(result.predictions_json_sha256, 'b', 64);
  memset(result.predictions_csv_sha256, 'c', 64);
  result.stored = "{\"checkpoints\":[7],\"snapshots\":[0,5]}";
  ep_split_metrics_clear(&result.train);
  ep_split_metrics_clear(&result.validation);
  ep_split_metrics_clear(&result.test);
  result.train.rows = 2147483648;
  result.train.loss = NAN;
  result.train.r2 = -INFINITY;
  result.test = (ep_split_metrics){.rows = 93,
                                   .loss = 0.1,
                                   .mse = 1,
                                   .rmse = 2,
                                   .mae = 3,
                                   .r2 = 4,
                                   .accuracy = 0.5,
                                   .precision = 0.25,
                                   .recall = 0.125,
                                   .f1 = 1.0 / 3,
                                   .roc_auc = 0.75,
                                   .error = 0.5,
                                   .classes = 2,
                                   .confusion = confusion};
  return result;
}

START_TEST(finished) {
  int64_t confusion[4] = {1, 2, 3, INT64_MAX};
  ep_reply reply = {
      .kind = EP_REPLY_FINISHED, .job = "j", .attempt = 1, .result = full_result(confusion)};
  ep_reply back;
  char names[] = "[\"a \\\"b\\\"\",\"c\"]";
  reply.result.class_names = names;
  reply.result.baseline = ep_baseline_of_class("a \"b\"", 0, 0.625);
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(back.result.status, EP_DIVERGED);
  ck_assert_str_eq(back.result.class_names, names);
  ck_assert_str_eq(back.result.baseline.of, "always \"a \"b\"\"");
  ck_assert_str_eq(back.result.message, reply.result.message);
  ck_assert(strcmp(back.result.pointer, "/optimizer/lr") == 0 && isnan(back.result.baseline.mae));
  ck_assert_str_eq(back.result.executor, "cpu/fused");
  ck_assert(strcmp(back.result.device, "cpu") == 0 && back.result.epochs_done == 3);
  const ep_kept_epoch *kept = &back.result.kept;
  ck_assert(kept->epoch == 2 && kept->best_epoch == 1 && kept->metric == EP_METRIC_R2 &&
            kept->value == -0.5 && kept->best == 0.25 && kept->tolerance == 0.125);
  ck_assert(same(back.result.train_seconds, 0.042) && isnan(back.result.test_seconds));
  ck_assert(same(back.result.samples_per_second, INFINITY));
  ck_assert(same(back.result.epoch_microseconds, 1.05));
  ck_assert(back.result.parameters == 49 && back.result.bytes == 21000 && back.result.has_weights);
  ck_assert_str_eq(back.result.weights_sha256, reply.result.weights_sha256);
  ck_assert(back.result.weights_bytes == 600 && !strcmp(back.result.stored, reply.result.stored));
  ck_assert_str_eq(back.result.predictions_json_sha256, reply.result.predictions_json_sha256);
  ck_assert_str_eq(back.result.predictions_csv_sha256, reply.result.predictions_csv_sha256);
  ck_assert(!metrics_same(&back.result.train, &reply.result.test)); /* canary */
  ck_assert(metrics_same(&back.result.train, &reply.result.train));
  ck_assert(metrics_same(&back.result.validation, &reply.result.validation));
  ck_assert(metrics_same(&back.result.test, &reply.result.test));
  ep_reply_deinit(&back);
  ck_assert_ptr_null(back.result.test.confusion);
}
END_TEST

/* A message cut in the middle of a character must not cost the result. */
START_TEST(finished_with_a_torn_message) {
  ep_reply reply = {.kind = EP_REPLY_FINISHED, .job = "j"}, back;
  memset(reply.result.message, 'x', sizeof reply.result.message - 1);
  memcpy(reply.result.message + sizeof reply.result.message - 3, "\xE2\x82", 2);
  memset(reply.error.message, '\xFF', sizeof reply.error.message - 1);
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(strncmp(back.result.message, reply.result.message, 500), 0);
  ep_reply_deinit(&back);
}
END_TEST

START_TEST(predicted) {
  double output[4] = {0.25, NAN, -INFINITY, 3};
  ep_reply reply = {.kind = EP_REPLY_PREDICTED,
                    .request = 12,
                    .output = output,
                    .rows = 4,
                    .columns = 1},
           back;
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(back.rows, 4);
  for (int i = 0; i < 4; i++) ck_assert(same(back.output[i], output[i]));
  ep_reply_deinit(&back);
  reply = (ep_reply){.kind = EP_REPLY_PREDICTED,
                     .request = 13,
                     .error = {.status = EP_INVALID, .pointer = "/x", .message = "too wide"}};
  reply_round_trip(&reply, &back);
  ck_assert_str_eq(back.error.message, "too wide");
  ck_assert_ptr_null(back.output);
  ep_reply_deinit(&back);
}
END_TEST

START_TEST(probed) {
  ep_reply reply = {.kind = EP_REPLY_PROBED,
                    .request = 4,
                    .error = {.status = EP_DEVICE, .message = "lost"}},
           back;
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(back.error.status, EP_DEVICE);
  ep_reply_deinit(&back);
}
END_TEST

START_TEST(calibrated) {
  ep_reply reply = {.kind = EP_REPLY_CALIBRATED, .request = 5, .calibration.count = 1}, back;
  ep_executor_cost *cost = &reply.calibration.executors[0];
  *cost = (ep_executor_cost){.executor = "cuda/grid",
                             .start_seconds = 0.25,
                             .seconds = {1e-6, 0, 1.0 / 3},
                             .error = 0.125,
                             .measured = 4};
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(back.calibration.count, 1);
  ck_assert_mem_eq(&back.calibration.executors[0], cost, sizeof *cost);
  ep_reply_deinit(&back);
  reply = (ep_reply){.kind = EP_REPLY_CALIBRATED, .error = {EP_BUSY, "", "a job"}};
  reply_round_trip(&reply, &back);
  ck_assert_int_eq(back.error.status, EP_BUSY);
  ck_assert_int_eq(back.calibration.count, 0);
}
END_TEST

/* A cost is a number, finite, and not below 0. */
START_TEST(costs_that_are_none) {
  static const double bad[] = {-1e-9, NAN, INFINITY};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ep_reply reply = {.kind = EP_REPLY_CALIBRATED, .calibration.count = 1}, back;
    size_t bytes, payload_bytes;
    snprintf(reply.calibration.executors[0].executor, 8, "x");
    reply.calibration.executors[0].seconds[3] = bad[i];
    uint8_t *frame = ep_reply_encode(&reply, &bytes);
    const uint8_t *payload = payload_of(frame, bytes, EP_FRAME_REPLY, &payload_bytes);
    ck_assert_int_eq(ep_reply_decode(payload, payload_bytes, &back, NULL), EP_MALFORMED);
    free(frame);
  }
}
END_TEST

START_TEST(progress) {
  ep_progress_record records[3] = {
      {.epoch = 1, .loss = 0.5, .error = NAN, .validation_loss = NAN, .lr = 0.1},
      {.epoch = 2, .loss = NAN, .validation_loss = INFINITY, .metrics_given = 2, .metrics = {0, 7}},
      {.epoch = 3, .loss = 0.25}};
  ep_progress sent = {.job = "job_01k", .attempt = 5, .count = 3, .records = records}, back;
  size_t bytes, payload_bytes;
  uint8_t *frame = ep_progress_encode(&sent, &bytes);
  const uint8_t *payload = payload_of(frame, bytes, EP_FRAME_PROGRESS, &payload_bytes);
  ck_assert_int_eq(ep_progress_decode(payload, payload_bytes, &back, NULL), EP_OK);
  ck_assert_str_eq(back.job, "job_01k");
  ck_assert_int_eq(back.attempt, 5);
  ck_assert_uint_eq(back.count, 3);
  ck_assert_mem_eq(back.records, records, sizeof records);
  /* One byte more or less, and a count that lies. */
  ck_assert_int_eq(ep_progress_decode(payload, payload_bytes - 1, &back, NULL), EP_MALFORMED);
  ck_assert_int_eq(ep_progress_decode(payload, 47, &back, NULL), EP_MALFORMED);
  uint32_t lie = 4;
  memcpy(frame + EP_FRAME_HEADER_BYTES + 44, &lie, sizeof lie);
  ck_assert_int_eq(ep_progress_decode(payload, payload_bytes, &back, NULL), EP_MALFORMED);
  lie = 3;
  memcpy(frame + EP_FRAME_HEADER_BYTES + 44, &lie, sizeof lie);
  memset(frame + EP_FRAME_HEADER_BYTES, 'a', 40); /* a name without an end */
  ck_assert_int_eq(ep_progress_decode(payload, payload_bytes, &back, NULL), EP_MALFORMED);
  free(frame);
}
END_TEST

START_TEST(trials) {
  ep_trial_record records[2] = {
      {.number = 7, .trial = 3, .part = 1, .metric = NAN, .point = {1, 2}},
      {.number = 8, .trial = 4, .status = EP_DIVERGED}};
  ep_progress sent = {.job = "job_01k", .attempt = 2, .count = 2, .trials = records}, back;
  size_t bytes, payload_bytes;
  uint8_t *frame = ep_progress_encode(&sent, &bytes);
  const uint8_t *payload = payload_of(frame, bytes, EP_FRAME_TRIALS, &payload_bytes);
  ck_assert_int_eq(ep_trials_decode(payload, payload_bytes, &back, NULL), EP_OK);
  ck_assert_uint_eq(back.count, 2);
  ck_assert_ptr_null(back.records);
  ck_assert_mem_eq(back.trials, records, sizeof records);
  ck_assert_int_eq(ep_trials_decode(payload, payload_bytes - 8, &back, NULL), EP_MALFORMED);
  ck_assert_int_eq(ep_progress_decode(payload, payload_bytes, &back, NULL), EP_MALFORMED);
  free(frame);
}
END_TEST

START_TEST(headers) {
  ep_frame_kind kind;
  size_t bytes;
  const uint32_t most = EP_LIMIT_FRAME_BYTES;
  const struct {
    uint32_t bytes, kind;
    ep_status status;
  } rows[] = {{0, 1, EP_OK},
              {most, 3, EP_OK},
              {most + 1, 1, EP_TOO_LARGE},
              {UINT32_MAX, 2, EP_TOO_LARGE},
              {5, 0, EP_MALFORMED},
              {5, EP_FRAME_RESULTS + 1, EP_MALFORMED}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint8_t header[EP_FRAME_HEADER_BYTES];
    memcpy(header, &rows[i].bytes, 4);
    memcpy(header + 4, &rows[i].kind, 4);
    ck_assert_int_eq(ep_frame_header(header, &kind, &bytes, NULL), rows[i].status);
  }
}
END_TEST

START_TEST(frames_have_a_limit) {
  size_t bytes;
  int64_t rows = EP_LIMIT_FRAME_BYTES / 8;
  double *x = calloc((size_t)rows, sizeof *x);
  ck_assert_ptr_nonnull(x);
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .job = "j",
                        .x = x,
                        .rows = rows - 64,
                        .columns = 1,
                        .windows = 1};
  uint8_t *frame = ep_command_encode(&command, &bytes);
  ck_assert_ptr_nonnull(frame);
  free(frame);
  command.rows = rows;
  ck_assert_ptr_null(ep_command_encode(&command, &bytes));
  command.rows = command.columns = INT64_MAX;
  ck_assert_ptr_null(ep_command_encode(&command, &bytes));
  free(x);
}
END_TEST

#define HEAD "\"request\":1,\"job\":\"j\",\"attempt\":1"
static const char *const bad_commands[] = {
    "",
    "null",
    "[1]",
    "{}",
    "{\"command\":\"train\"}",
    "{\"command\":\"stop\"," HEAD "}",
    "{\"command\":\"train\"," HEAD "}",
    "{\"command\":\"train\"," HEAD ",\"spec\":{}}",
    "{\"command\":\"cancel\",\"request\":1,\"job\":\"\",\"attempt\":1}",
    "{\"command\":\"cancel\",\"request\":1,\"job\":\"../x\",\"attempt\":1}",
    "{\"command\":\"cancel\",\"request\":-1,\"job\":\"j\",\"attempt\":1}",
    "{\"command\":\"cancel\",\"request\":1,\"job\":\"j\",\"attempt\":3000000000}",
    "{\"command\":\"cancel\",\"request\":1,\"attempt\":1,\"job\":"
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
    "{\"command\":\"predict\"," HEAD "}",
    "{\"command\":\"predict\"," HEAD
    ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,\"rows\":0,\"columns\":0}",
    "{\"command\":\"predict\"," HEAD
    ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,\"rows\":1,\"columns\":1}",
    "{\"command\":\"predict\"," HEAD
    ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,\"rows\":-1,\"columns\":-1}",
    "{\"command\":\"predict\"," HEAD ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,"
    "\"rows\":2147483648,\"columns\":16777216}",
    "{\"command\":\"predict\"," HEAD ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,"
    "\"rows\":9223372036854775807,\"columns\":2}",
};

START_TEST(bad_commands_are_refused) {
  ep_command back;
  const char *text = bad_commands[_i];
  ck_assert_int_eq(ep_command_decode((const uint8_t *)text, strlen(text), &back, NULL),
                   EP_MALFORMED);
  ck_assert_ptr_null(back.spec);
  ck_assert_ptr_null(back.x);
}
END_TEST

START_TEST(values_must_be_exactly_there) {
  static const char json[] =
      "{\"command\":\"predict\"," HEAD
      ",\"checkpoint\":0,\"weights_sha256\":\"\",\"windows\":1,\"rows\":1,\"columns\":2}";
  uint8_t payload[256] = {0};
  ep_command back;
  memcpy(payload, json, sizeof json); /* with its 0 */
  for (size_t extra = 0; extra <= 24; extra++) {
    ep_status status = ep_command_decode(payload, sizeof json + extra, &back, NULL);
    ck_assert_int_eq(status, extra == 16 ? EP_OK : EP_MALFORMED);
    ep_command_deinit(&back);
  }
}
END_TEST

#define OKAY "\"error\":{\"status\":\"ok\",\"pointer\":\"\",\"message\":\"\"}"
static const char *const bad_replies[] = {
    "{}",
    "{\"reply\":\"probed\"," HEAD "}",
    "{\"reply\":\"probe\"," HEAD "," OKAY "}",
    "{\"reply\":\"ready\"," HEAD "," OKAY "}",
    "{\"reply\":\"ready\"," HEAD "," OKAY ",\"device\":{\"name\":1}}",
    "{\"reply\":\"started\"," HEAD "," OKAY "}",
    "{\"reply\":\"started\"," HEAD "," OKAY ",\"executor\":"
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"parameters\":1,\"bytes\":1}",
    "{\"reply\":\"finished\"," HEAD "," OKAY "}",
    "{\"reply\":\"finished\"," HEAD "," OKAY ",\"result\":{\"status\":\"ok\"}}",
    "{\"reply\":\"predicted\"," HEAD "," OKAY "}",
    "{\"reply\":\"predicted\"," HEAD "," OKAY ",\"rows\":0,\"columns\":0}",
};

START_TEST(bad_replies_are_refused) {
  ep_reply back;
  const char *text = bad_replies[_i];
  ck_assert_int_eq(ep_reply_decode((const uint8_t *)text, strlen(text), &back, NULL), EP_MALFORMED);
}
END_TEST

/* Every field of a result is needed, and a matrix must have the size that it claims. */
START_TEST(results_are_checked) {
  int64_t confusion[4] = {1, 2, 3, 4};
  ep_job_result result = full_result(confusion), back;
  char *text = ep_job_result_format(&result);
  ck_assert_ptr_nonnull(text);
  ck_assert_int_eq(ep_job_result_parse(text, &back, NULL), EP_OK);
  ep_job_result_deinit(&back);
  static const char *const keys[] = {"\"status\"",
                                     "\"message\"",
                                     "\"pointer\"",
                                     "\"executor\"",
                                     "\"device\"",
                                     "\"epochs_done\"",
                                     "\"train\"",
                                     "\"validation\"",
                                     "\"test\"",
                                     "\"loss\"",
                                     "\"mse\"",
                                     "\"roc_auc\"",
                                     "\"rows\"",
                                     "\"train_seconds\"",
                                     "\"test_seconds\"",
                                     "\"samples_per_second\"",
                                     "\"epoch_microseconds\"",
                                     "\"parameters\"",
                                     "\"bytes\"",
                                     "\"weights_bytes\"",
                                     "\"weights_sha256\"",
                                     "\"predictions_csv_sha256\""};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    char *at = strstr(text, keys[i]);
    ck_assert_ptr_nonnull(at);
    at[1] ^= 1;
    ck_assert_msg(ep_job_result_parse(text, &back, NULL) == EP_IO, "%s", keys[i]);
    at[1] ^= 1;
  }
  char sha256[EP_SHA256_HEX_BYTES], *weights = strstr(text, "\"weights_sha256\"");
  ep_job_result_weights_sha256(text, sha256);
  ck_assert_str_eq(sha256, result.weights_sha256);
  weights[1] ^= 1;
  ep_job_result_weights_sha256(text, sha256);
  ck_assert_str_eq(sha256, "");
  weights[1] ^= 1;
  char *classes = strstr(text, "\"classes\":2");
  ck_assert_ptr_nonnull(classes);
  classes[10] = '3';
  ck_assert_int_eq(ep_job_result_parse(text, &back, NULL), EP_IO);
  free(text);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

EP_SUITE("api/frame") {
  TCase *tests = ep_suite_case(suite, "frame");
  tcase_add_test(tests, train);
  tcase_add_test(tests, cancel_and_probe);
  tcase_add_test(tests, predict);
  tcase_add_test(tests, exports);
  tcase_add_test(tests, plots);
  tcase_add_test(tests, ready);
  tcase_add_test(tests, started);
  tcase_add_test(tests, finished);
  tcase_add_test(tests, finished_with_a_torn_message);
  tcase_add_test(tests, predicted);
  tcase_add_test(tests, probed);
  tcase_add_test(tests, calibrated);
  tcase_add_test(tests, costs_that_are_none);
  tcase_add_test(tests, progress);
  tcase_add_test(tests, trials);
  tcase_add_test(tests, headers);
  tcase_add_test(tests, frames_have_a_limit);
  tcase_add_loop_test(tests, bad_commands_are_refused, 0, ROWS(bad_commands));
  tcase_add_test(tests, values_must_be_exactly_there);
  tcase_add_loop_test(tests, bad_replies_are_refused, 0, ROWS(bad_replies));
  tcase_add_test(tests, results_are_checked);
}
