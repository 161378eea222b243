#include "api/wire/event_end.h"

#include <errno.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"

static bool weights_read(const json_t *weights, ep_job_result *out) {
  out->has_weights = json_is_object(weights);
  return json_is_null(weights) ||
         (ep_json_get_text(weights, "sha256", out->weights_sha256, sizeof out->weights_sha256) &&
          ep_json_get_integer(weights, "bytes", 0, INT64_MAX, &out->weights_bytes));
}

static bool timing_read(const json_t *timing, ep_job_result *out) {
  return ep_json_get_number(timing, "train_seconds", &out->train_seconds) &&
         ep_json_get_number(timing, "test_seconds", &out->test_seconds) &&
         ep_json_get_number(timing, "epoch_microseconds", &out->epoch_microseconds) &&
         ep_json_get_number(timing, "samples_per_second", &out->samples_per_second);
}

static bool result_read(const json_t *root, ep_job_result *out) {
  const json_t *metrics = json_object_get(root, "metrics"), *why = json_object_get(root, "error");
  return (json_is_null(why) ||
          ep_json_cut_text(root, "error", out->message, sizeof out->message)) &&
         ep_json_get_integer(root, "epoch", 0, EP_LIMIT_EPOCHS, &out->epochs_done) &&
         weights_read(json_object_get(root, "weights"), out) &&
         timing_read(json_object_get(root, "timing"), out) &&
         ep_split_metrics_read(json_object_get(metrics, "train"), &out->train) &&
         ep_split_metrics_read(json_object_get(metrics, "validation"), &out->validation) &&
         ep_split_metrics_read(json_object_get(metrics, "test"), &out->test) &&
         ep_baseline_read(json_object_get(metrics, "baseline"), &out->baseline) &&
         ep_class_names_read(metrics, out);
}

static bool end_read(const json_t *root, ep_event_end *out) {
  char type[16], state[16];
  if (!ep_json_get_text(root, "type", type, sizeof type) || strcmp(type, "end") != 0 ||
      !ep_json_get_text(root, "status", state, sizeof state))
    return false;
  int value = ep_state_from_name(state);
  if (value < 0 || !ep_state_has_ended((ep_state)value)) return false;
  out->state = (ep_state)value;
  out->has_result = json_is_object(json_object_get(root, "metrics"));
  out->result.status = out->state == EP_STATE_SUCCEEDED   ? EP_OK
                       : out->state == EP_STATE_CANCELLED ? EP_CANCELLED
                                                          : EP_INTERNAL;
  return !out->has_result || result_read(root, &out->result);
}

ep_status ep_event_parse_end(const char *line, size_t bytes, ep_event_end *out, ep_error *error) {
  json_t *root = NULL;
  *out = (ep_event_end){0};
  ep_status status = ep_json_load(line, bytes, EP_LIMIT_EVENT_BYTES, &root, NULL);
  errno = 0;
  bool good = status == EP_OK && end_read(root, out);
  if (!good && errno == ENOMEM) status = EP_NO_MEMORY; /* of a matrix */
  json_decref(root);
  if (good) return EP_OK;
  ep_job_result_deinit(&out->result);
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  return ep_fail(error, EP_IO, "the `end` line of an event log cannot be read");
}
