#include "api/wire/result.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/executor_name.h"
#include "api/json/json.h"
#include "api/limits.h"
#include "api/wire/result_fields.h"

/* Three matrices and their figures; a result goes through a frame. */
enum { RESULT_TEXT_LIMIT = EP_LIMIT_FRAME_BYTES };

/* The figures of a split, in the order they are written. `plain`: NaN is a value, not absence. */
static const struct {
  const char *key;
  size_t offset;
  bool plain;
} figures[] = {
#define FIGURE(member, plain) \
  { #member, offsetof(ep_split_metrics, member), plain }
    FIGURE(loss, true), FIGURE(mse, false),      FIGURE(rmse, false),      FIGURE(mae, false),
    FIGURE(r2, false),  FIGURE(accuracy, false), FIGURE(precision, false), FIGURE(recall, false),
    FIGURE(f1, false),  FIGURE(roc_auc, false),  FIGURE(error, false),
#undef FIGURE
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

void ep_split_metrics_clear(ep_split_metrics *metrics) {
  *metrics = (ep_split_metrics){0};
  for (int i = 0; i < FIGURES; i++) *(double *)((char *)metrics + figures[i].offset) = NAN;
}

static void confusion_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes) {
  if (!metrics->confusion || metrics->classes < 1 || metrics->classes > max_classes) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < metrics->classes; i++) {
    ep_writer_open(writer, '[');
    for (int j = 0; j < metrics->classes; j++)
      ep_writer_integer(writer,
                        metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j]);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
}

const char *ep_split_figure_name(int figure) {
  return figure < FIGURES ? figures[figure].key : NULL;
}

double ep_split_figure(const ep_split_metrics *metrics, int figure) {
  return *(const double *)((const char *)metrics + figures[figure].offset);
}

/* The first `count` figures. */
static void figures_write(ep_writer *writer, const ep_split_metrics *metrics, int count) {
  for (int i = 0; i < count; i++) {
    ep_writer_key(writer, figures[i].key);
    if (figures[i].plain)
      ep_writer_number(writer, ep_split_figure(metrics, i));
    else
      ep_writer_number_or_null(writer, ep_split_figure(metrics, i));
  }
}

static void counts_write(ep_writer *writer, const ep_split_metrics *metrics) {
  ep_writer_key(writer, "rows");
  ep_writer_integer(writer, metrics->rows);
  ep_writer_key(writer, "classes");
  if (metrics->classes > 0)
    ep_writer_integer(writer, metrics->classes);
  else
    ep_writer_null(writer);
}

void ep_split_metrics_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes) {
  if (metrics->rows == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  figures_write(writer, metrics, FIGURES);
  counts_write(writer, metrics);
  ep_writer_key(writer, "confusion");
  confusion_write(writer, metrics, max_classes);
  ep_writer_close(writer, '}');
}

void ep_metrics_write(ep_writer *writer, const ep_job_result *result, int max_classes,
                      bool test_only) {
  ep_writer_open(writer, '{');
  ep_writer_key(writer, "train");
  ep_split_metrics_write(writer, &result->train, test_only ? 0 : max_classes);
  ep_writer_key(writer, "validation");
  ep_split_metrics_write(writer, &result->validation, test_only ? 0 : max_classes);
  ep_writer_key(writer, "test");
  ep_split_metrics_write(writer, &result->test, max_classes);
  ep_writer_close(writer, '}');
}

/* The first `count` figures of a split; counts: its rows and classes too. */
static void scalars_write(ep_writer *writer, const char *key, const ep_split_metrics *metrics,
                          int count, bool counts) {
  ep_writer_key(writer, key);
  if (metrics->rows == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  figures_write(writer, metrics, count);
  if (counts) counts_write(writer, metrics);
  ep_writer_close(writer, '}');
}

void ep_metrics_write_scalars(ep_writer *writer, const ep_job_result *result) {
  ep_writer_open(writer, '{');
  scalars_write(writer, "train", &result->train, 1, false); /* the loss is the first */
  scalars_write(writer, "validation", &result->validation, 1, false);
  scalars_write(writer, "test", &result->test, FIGURES, true);
  ep_writer_close(writer, '}');
}

void ep_weights_write_reference(ep_writer *writer, const ep_job_result *result, const char *job) {
  if (!result || !result->has_weights) {
    ep_writer_null(writer);
    return;
  }
  char url[96];
  snprintf(url, sizeof url, "/v1/jobs/%.64s/weights", job ? job : "");
  ep_writer_open(writer, '{');
  ep_writer_key(writer, "url");
  ep_writer_string(writer, url);
  ep_writer_key(writer, "sha256");
  ep_writer_string(writer, result->weights_sha256);
  ep_writer_key(writer, "bytes");
  ep_writer_integer(writer, result->weights_bytes);
  ep_writer_close(writer, '}');
}

void ep_job_result_write(ep_writer *writer, const ep_job_result *result) {
  ep_writer_open(writer, '{');
  ep_writer_key(writer, "status");
  ep_writer_string(writer, ep_status_name(result->status));
  ep_writer_key(writer, "message");
  ep_writer_string(writer, result->message);
  ep_writer_key(writer, "pointer");
  ep_writer_string(writer, result->pointer);
  ep_writer_key(writer, "executor");
  ep_writer_string(writer, result->executor);
  ep_writer_key(writer, "device");
  ep_writer_string(writer, result->device);
  ep_writer_key(writer, "epochs_done");
  ep_writer_integer(writer, result->epochs_done);
  ep_writer_key(writer, "metrics");
  ep_metrics_write(writer, result, INT_MAX, false);
  ep_writer_key(writer, "train_seconds");
  ep_writer_number(writer, result->train_seconds);
  ep_writer_key(writer, "test_seconds");
  ep_writer_number(writer, result->test_seconds);
  ep_writer_key(writer, "samples_per_second");
  ep_writer_number(writer, result->samples_per_second);
  ep_writer_key(writer, "epoch_microseconds");
  ep_writer_number(writer, result->epoch_microseconds);
  ep_writer_key(writer, "parameters");
  ep_writer_integer(writer, result->parameters);
  ep_writer_key(writer, "bytes");
  ep_writer_integer(writer, result->bytes);
  ep_writer_key(writer, "weights_sha256");
  ep_writer_string(writer, result->has_weights ? result->weights_sha256 : NULL);
  ep_writer_key(writer, "weights_bytes");
  ep_writer_integer(writer, result->weights_bytes);
  ep_writer_close(writer, '}');
}

char *ep_job_result_format(const ep_job_result *result) {
  ep_writer writer;
  ep_writer_init(&writer, RESULT_TEXT_LIMIT);
  ep_job_result_write(&writer, result);
  return ep_writer_take(&writer);
}

/* [classes, classes] counts, or null: then the matrix stays NULL. */
static bool confusion_read(const json_t *value, ep_split_metrics *out) {
  if (!value || json_is_null(value)) return true;
  size_t classes = (size_t)out->classes, values, bytes;
  if (json_array_size(value) != classes || classes == 0) return false;
  /* Every row must be there before a matrix of that size is allocated. */
  for (size_t i = 0; i < classes; i++)
    if (json_array_size(json_array_get(value, i)) != classes) return false;
  if (__builtin_mul_overflow(classes, classes, &values) ||
      __builtin_mul_overflow(values, sizeof *out->confusion, &bytes))
    return false;
  out->confusion = malloc(bytes);
  if (!out->confusion) return false;
  for (size_t i = 0; i < classes; i++) {
    for (size_t j = 0; j < classes; j++) {
      const json_t *count = json_array_get(json_array_get(value, i), j);
      if (!json_is_integer(count) || json_integer_value(count) < 0) return false;
      out->confusion[i * classes + j] = json_integer_value(count);
    }
  }
  return true;
}

static bool split_read(const json_t *metrics, const char *key, ep_split_metrics *out) {
  ep_split_metrics_clear(out);
  const json_t *split = json_object_get(metrics, key);
  if (json_is_null(split)) return true;
  if (!json_is_object(split)) return false;
  if (!ep_json_get_integer(split, "rows", 1, EP_LIMIT_ROWS, &out->rows)) return false;
  for (int i = 0; i < FIGURES; i++)
    if (!ep_json_get_number(split, figures[i].key, (double *)((char *)out + figures[i].offset)))
      return false;
  int64_t classes = 0;
  if (!json_is_null(json_object_get(split, "classes")) &&
      !ep_json_get_integer(split, "classes", 1, EP_LIMIT_FEATURES, &classes))
    return false;
  out->classes = (int)classes;
  return confusion_read(json_object_get(split, "confusion"), out);
}

static bool result_read(const json_t *object, ep_job_result *out) {
  char status[32];
  const json_t *metrics = json_object_get(object, "metrics");
  const json_t *sha256 = json_object_get(object, "weights_sha256");
  if (!ep_json_get_text(object, "status", status, sizeof status)) return false;
  out->status = ep_status_from_name(status);
  out->has_weights = json_is_string(sha256);
  return ep_json_cut_text(object, "message", out->message, sizeof out->message) &&
         ep_json_cut_text(object, "pointer", out->pointer, sizeof out->pointer) &&
         ep_json_get_text(object, "executor", out->executor, sizeof out->executor) &&
         ep_json_get_text(object, "device", out->device, sizeof out->device) &&
         ep_json_get_integer(object, "epochs_done", 0, EP_LIMIT_EPOCHS, &out->epochs_done) &&
         split_read(metrics, "train", &out->train) &&
         split_read(metrics, "validation", &out->validation) &&
         split_read(metrics, "test", &out->test) &&
         ep_json_get_number(object, "train_seconds", &out->train_seconds) &&
         ep_json_get_number(object, "test_seconds", &out->test_seconds) &&
         ep_json_get_number(object, "samples_per_second", &out->samples_per_second) &&
         ep_json_get_number(object, "epoch_microseconds", &out->epoch_microseconds) &&
         ep_json_get_integer(object, "parameters", 0, INT64_MAX, &out->parameters) &&
         ep_json_get_integer(object, "bytes", 0, INT64_MAX, &out->bytes) &&
         ep_json_get_integer(object, "weights_bytes", 0, INT64_MAX, &out->weights_bytes) &&
         (json_is_null(sha256) || ep_json_get_text(object, "weights_sha256", out->weights_sha256,
                                                   sizeof out->weights_sha256));
}

ep_status ep_job_result_read(const json_t *object, ep_job_result *out, ep_error *error) {
  *out = (ep_job_result){0};
  if (!result_read(object, out)) {
    ep_job_result_deinit(out);
    return ep_fail(error, EP_MALFORMED, "a job's result has a field missing or of the wrong kind");
  }
  ep_executor_name_update(out->executor, sizeof out->executor);
  return EP_OK;
}

ep_status ep_job_result_parse(const char *text, ep_job_result *out, ep_error *error) {
  *out = (ep_job_result){0};
  json_t *root;
  ep_status status = ep_json_load(text, strlen(text), RESULT_TEXT_LIMIT, &root, error);
  if (status != EP_OK) return status;
  status = ep_job_result_read(root, out, error);
  json_decref(root);
  return status;
}

void ep_job_result_deinit(ep_job_result *result) {
  free(result->train.confusion);
  free(result->validation.confusion);
  free(result->test.confusion);
  *result = (ep_job_result){0};
}
