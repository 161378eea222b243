#include "api/wire/result.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base_path.h"
#include "api/executor_name.h"
#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/json/scanner.h"
#include "api/limits.h"

/* Three matrices and their metrics; a result goes through a frame. Names of classes are left out of
 * an event where they would take more than a part of its line. */
enum { RESULT_TEXT_LIMIT = EP_LIMIT_FRAME_BYTES, EVENT_NAMES_BYTES = EP_LIMIT_EVENT_BYTES / 8 };

static bool is_binary(const ep_job_result *result) {
  return result->train.classes == 2 || result->validation.classes == 2 || result->test.classes == 2;
}

/* The word of class 1 of two, of which precision, recall and f1 are. */
static void positive_write(ep_writer *writer, const ep_job_result *result) {
  const char *word = "1";
  json_t *names = NULL;
  if (!is_binary(result)) return;
  if (result->class_names) {
    names = ep_json_read(result->class_names, strlen(result->class_names), 0, NULL);
    word = json_string_value(json_array_get(names, 1));
  }
  ep_writer_member_string(writer, "positive", word);
  json_decref(names);
}

void ep_metrics_write_members(ep_writer *writer, const ep_job_result *result, int max_classes,
                              bool test_only) {
  ep_writer_key(writer, "train");
  ep_split_metrics_write(writer, &result->train, test_only ? 0 : max_classes);
  ep_writer_key(writer, "validation");
  ep_split_metrics_write(writer, &result->validation, test_only ? 0 : max_classes);
  ep_writer_key(writer, "test");
  ep_split_metrics_write(writer, &result->test, max_classes);
  ep_writer_key(writer, "baseline");
  ep_baseline_write(writer, &result->baseline);
  if (result->class_names && (!test_only || strlen(result->class_names) <= EVENT_NAMES_BYTES))
    ep_writer_member_raw(writer, "class_names", result->class_names);
  positive_write(writer, result);
}

void ep_metrics_write(ep_writer *writer, const ep_job_result *result, int max_classes,
                      bool test_only) {
  ep_writer_open(writer, '{');
  ep_metrics_write_members(writer, result, max_classes, test_only);
  ep_writer_close(writer, '}');
}

void ep_metrics_write_scalars(ep_writer *writer, const ep_job_result *result) {
  ep_writer_open(writer, '{');
  ep_writer_key(writer, "train");
  ep_split_metrics_write_scalars(writer, &result->train, true);
  ep_writer_key(writer, "validation");
  ep_split_metrics_write_scalars(writer, &result->validation, true);
  ep_writer_key(writer, "test");
  ep_split_metrics_write_scalars(writer, &result->test, false);
  ep_writer_key(writer, "baseline");
  ep_baseline_write(writer, &result->baseline);
  positive_write(writer, result);
  ep_writer_close(writer, '}');
}

void ep_weights_write_reference(ep_writer *writer, const ep_job_result *result, const char *job) {
  if (!result || !result->has_weights) {
    ep_writer_null(writer);
    return;
  }
  char url[EP_BASE_PATH_BYTES + 96];
  snprintf(url, sizeof url, "%s/v1/jobs/%.64s/weights", ep_base_path(), job ? job : "");
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "url", url);
  ep_writer_member_string(writer, "sha256", result->weights_sha256);
  ep_writer_member_integer(writer, "bytes", result->weights_bytes);
  ep_writer_close(writer, '}');
}

static void kept_format(const ep_job_result *result, char out[EP_MESSAGE_BYTES]) {
  const ep_kept_epoch *kept = &result->kept;
  const char *most = ep_metric_is_maximized(kept->metric) ? "highest" : "lowest",
             *name = ep_metric_name((int)kept->metric);
  if (kept->epoch == kept->best_epoch)
    snprintf(out, EP_MESSAGE_BYTES,
             "epoch %" PRId64 " of %" PRId64 ", whose validation %s (%.4g) is the %s", kept->epoch,
             result->epochs_done, name, kept->value, most);
  else
    snprintf(out, EP_MESSAGE_BYTES,
             "epoch %" PRId64 " of %" PRId64
             ", the last whose validation %s (%.4g) is within %.2g%% of the %s, %.4g at epoch "
             "%" PRId64 ": a smaller difference may be chance",
             kept->epoch, result->epochs_done, name, kept->value, 100 * kept->tolerance, most,
             kept->best, kept->best_epoch);
}

void ep_kept_write(ep_writer *writer, const ep_job_result *result) {
  char text[EP_MESSAGE_BYTES];
  if (result->kept.epoch == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "epoch", result->kept.epoch);
  snprintf(text, sizeof text, "validation.%s", ep_metric_name((int)result->kept.metric));
  ep_writer_member_string(writer, "metric", text);
  ep_writer_member_number(writer, "value", result->kept.value);
  ep_writer_member_integer(writer, "best_epoch", result->kept.best_epoch);
  ep_writer_member_number(writer, "best", result->kept.best);
  ep_writer_member_number(writer, "tolerance", result->kept.tolerance);
  kept_format(result, text);
  ep_writer_member_string(writer, "reason", text);
  ep_writer_close(writer, '}');
}

/* Older rows have none. */
static bool kept_read(const json_t *kept, ep_kept_epoch *out) {
  char name[64];
  if (!json_is_object(kept)) return true;
  if (!ep_json_get_text(kept, "metric", name, sizeof name)) return false;
  int metric = ep_metric_from_name(name + strcspn(name, ".") + (strchr(name, '.') != NULL));
  out->metric = (ep_metric)(metric < 0 ? 0 : metric);
  return metric >= 0 && ep_json_get_integer(kept, "epoch", 1, EP_LIMIT_EPOCHS, &out->epoch) &&
         ep_json_get_integer(kept, "best_epoch", 1, EP_LIMIT_EPOCHS, &out->best_epoch) &&
         ep_json_get_number(kept, "value", &out->value) &&
         ep_json_get_number(kept, "best", &out->best) &&
         ep_json_get_number(kept, "tolerance", &out->tolerance);
}

void ep_job_result_write(ep_writer *writer, const ep_job_result *result) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "status", ep_status_name(result->status));
  ep_writer_member_string(writer, "message", result->message);
  ep_writer_member_string(writer, "pointer", result->pointer);
  ep_writer_member_string(writer, "executor", result->executor);
  ep_writer_member_string(writer, "device", result->device);
  ep_writer_member_integer(writer, "epochs_done", result->epochs_done);
  ep_writer_key(writer, "metrics");
  ep_metrics_write(writer, result, INT_MAX, false);
  ep_writer_member_number(writer, "train_seconds", result->train_seconds);
  ep_writer_member_number(writer, "test_seconds", result->test_seconds);
  ep_writer_member_number(writer, "samples_per_second", result->samples_per_second);
  ep_writer_member_number(writer, "epoch_microseconds", result->epoch_microseconds);
  ep_writer_member_integer(writer, "parameters", result->parameters);
  ep_writer_member_integer(writer, "bytes", result->bytes);
  ep_writer_key(writer, "ranks");
  ep_ranks_write(writer, &result->ranks, result->device);
  ep_writer_key(writer, "tried");
  ep_tried_write(writer, &result->tried);
  ep_writer_key(writer, "found");
  ep_found_lr_write(writer, &result->found);
  ep_writer_member_string(writer, "stopped", result->stopped[0] ? result->stopped : NULL);
  ep_writer_key(writer, "kept");
  ep_kept_write(writer, result);
  ep_writer_member_string(writer, "remarks", result->remarks);
  ep_writer_member_string(writer, "warnings", result->warnings);
  ep_writer_member_string(writer, "weights_sha256",
                          result->has_weights ? result->weights_sha256 : NULL);
  ep_writer_member_integer(writer, "weights_bytes", result->weights_bytes);
  ep_writer_member_string(writer, "predictions_json_sha256", result->predictions_json_sha256);
  ep_writer_member_string(writer, "predictions_csv_sha256", result->predictions_csv_sha256);
  if (result->stored) ep_writer_member_raw(writer, "stored", result->stored);
  ep_writer_close(writer, '}');
}

char *ep_job_result_format(const ep_job_result *result) {
  ep_writer writer;
  ep_writer_init(&writer, RESULT_TEXT_LIMIT);
  ep_job_result_write(&writer, result);
  return ep_writer_take(&writer);
}

/* A result of before there were hashes of predictions has none. */
static bool predictions_read(const json_t *object, ep_job_result *out) {
  return !json_object_get(object, "predictions_json_sha256") ||
         (ep_json_get_text(object, "predictions_json_sha256", out->predictions_json_sha256,
                           sizeof out->predictions_json_sha256) &&
          ep_json_get_text(object, "predictions_csv_sha256", out->predictions_csv_sha256,
                           sizeof out->predictions_csv_sha256));
}

bool ep_class_names_read(const json_t *metrics, ep_job_result *out) {
  const json_t *names = json_object_get(metrics, "class_names");
  if (!names) return true;
  out->class_names = json_is_array(names) ? ep_json_write(names, JSON_COMPACT) : NULL;
  return out->class_names;
}

/* Older rows have none. */
static bool stored_read(const json_t *stored, ep_job_result *out) {
  if (!stored) return true;
  out->stored = json_is_object(stored) ? ep_json_write(stored, JSON_COMPACT) : NULL;
  return out->stored;
}

static bool result_read(const json_t *object, ep_job_result *out) {
  char status[32];
  const json_t *metrics = json_object_get(object, "metrics");
  const json_t *sha256 = json_object_get(object, "weights_sha256");
  if (!ep_json_get_text(object, "status", status, sizeof status)) return false;
  out->status = ep_status_from_name(status);
  out->has_weights = json_is_string(sha256);
  ep_json_get_text(object, "stopped", out->stopped, sizeof out->stopped); /* older rows have none */
  ep_json_cut_text(object, "remarks", out->remarks, sizeof out->remarks);
  ep_json_cut_text(object, "warnings", out->warnings, sizeof out->warnings);
  return ep_json_cut_text(object, "message", out->message, sizeof out->message) &&
         ep_json_cut_text(object, "pointer", out->pointer, sizeof out->pointer) &&
         ep_json_get_text(object, "executor", out->executor, sizeof out->executor) &&
         ep_json_get_text(object, "device", out->device, sizeof out->device) &&
         ep_json_get_integer(object, "epochs_done", 0, EP_LIMIT_EPOCHS, &out->epochs_done) &&
         ep_split_metrics_read(json_object_get(metrics, "train"), &out->train) &&
         ep_split_metrics_read(json_object_get(metrics, "validation"), &out->validation) &&
         ep_split_metrics_read(json_object_get(metrics, "test"), &out->test) &&
         ep_baseline_read(json_object_get(metrics, "baseline"), &out->baseline) &&
         ep_class_names_read(metrics, out) &&
         ep_json_get_number(object, "train_seconds", &out->train_seconds) &&
         ep_json_get_number(object, "test_seconds", &out->test_seconds) &&
         ep_json_get_number(object, "samples_per_second", &out->samples_per_second) &&
         ep_json_get_number(object, "epoch_microseconds", &out->epoch_microseconds) &&
         ep_json_get_integer(object, "parameters", 0, INT64_MAX, &out->parameters) &&
         ep_json_get_integer(object, "bytes", 0, INT64_MAX, &out->bytes) &&
         ep_json_get_integer(object, "weights_bytes", 0, INT64_MAX, &out->weights_bytes) &&
         predictions_read(object, out) && stored_read(json_object_get(object, "stored"), out) &&
         kept_read(json_object_get(object, "kept"), &out->kept) &&
         ep_ranks_read(json_object_get(object, "ranks"), &out->ranks) &&
         ep_tried_read(json_object_get(object, "tried"), &out->tried) &&
         ep_found_lr_read(json_object_get(object, "found"), &out->found) &&
         (json_is_null(sha256) || ep_json_get_text(object, "weights_sha256", out->weights_sha256,
                                                   sizeof out->weights_sha256));
}

ep_status ep_job_result_read(const json_t *object, ep_job_result *out, ep_error *error) {
  *out = (ep_job_result){0};
  errno = 0;
  if (!result_read(object, out)) {
    ep_job_result_deinit(out);
    if (errno == ENOMEM) return ep_fail_memory(error); /* of a matrix */
    return ep_fail(error, EP_MALFORMED, "a job's result has a field missing or of the wrong kind");
  }
  ep_executor_name_update(out->executor, sizeof out->executor);
  return EP_OK;
}

ep_status ep_job_result_parse(const char *text, ep_job_result *out, ep_error *error) {
  *out = (ep_job_result){0};
  json_t *root = NULL;
  ep_error why = {0};
  ep_status status = ep_json_load(text, strlen(text), RESULT_TEXT_LIMIT, &root, &why);
  if (status == EP_OK) status = ep_job_result_read(root, out, &why);
  json_decref(root);
  if (status == EP_OK) return EP_OK;
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  return ep_fail(error, EP_IO, "a stored result is damaged: %.400s", why.message);
}

void ep_result_line_add(char lines[EP_RESULT_LINES_BYTES], const char *sentence) {
  size_t used = strlen(lines), bytes = strlen(sentence);
  if (bytes == 0 || used + 1 + bytes >= EP_RESULT_LINES_BYTES) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, sentence, bytes + 1);
}

const char *ep_result_line_next(const char *lines, char out[EP_MESSAGE_BYTES]) {
  size_t bytes = strcspn(lines, "\n");
  if (bytes == 0) return NULL;
  snprintf(out, EP_MESSAGE_BYTES, "%.*s", (int)bytes, lines);
  return lines + bytes + (lines[bytes] != 0);
}

void ep_job_result_weights_sha256(const char *text, char sha256[EP_SHA256_HEX_BYTES]) {
  ep_scanner result = {text, text + strlen(text)};
  if (!ep_scan_member(&result, "weights_sha256") ||
      !ep_scan_string(&result, sha256, EP_SHA256_HEX_BYTES))
    sha256[0] = 0;
}

void ep_job_result_deinit(ep_job_result *result) {
  free(result->train.confusion);
  free(result->validation.confusion);
  free(result->test.confusion);
  free(result->class_names);
  free(result->stored);
  *result = (ep_job_result){0};
}
