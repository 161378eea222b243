/* frame_decode.c: frames as they arrive; nothing in them is trusted. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/wire/frame.h"

ep_status ep_frame_header(const uint8_t header[EP_FRAME_HEADER_BYTES], ep_frame_kind *kind,
                          size_t *payload_bytes, ep_error *error) {
  uint32_t words[2];
  memcpy(words, header, sizeof words);
  if (words[1] < EP_FRAME_COMMAND || words[1] > EP_FRAME_RESULTS)
    return ep_fail(error, EP_MALFORMED, "a frame of unknown kind %u", words[1]);
  if (words[0] > EP_LIMIT_FRAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "a frame of %u bytes: the limit is %d", words[0],
                   EP_LIMIT_FRAME_BYTES);
  *kind = (ep_frame_kind)words[1];
  *payload_bytes = words[0];
  return EP_OK;
}

/* A job's id names a folder: letters, digits, '_' and '-' only. "" where none is meant. */
static bool job_is_good(const char *job) {
  return strspn(job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
         strlen(job);
}

/* The kind of that name at `key`, or -1. */
static int kind_read(const json_t *root, const char *key, int (*from_name)(const char *name)) {
  const char *name = json_string_value(json_object_get(root, key));
  return name ? from_name(name) : -1;
}

/* The head that commands and replies share. */
static bool head_read(const json_t *root, uint64_t *request, char job[EP_ID_BYTES], int *attempt) {
  int64_t number, tries;
  if (!ep_json_get_integer(root, "request", 0, INT64_MAX, &number) ||
      !ep_json_get_text(root, "job", job, EP_ID_BYTES) || !job_is_good(job) ||
      !ep_json_get_integer(root, "attempt", 0, INT_MAX, &tries))
    return false;
  *request = (uint64_t)number;
  *attempt = (int)tries;
  return true;
}

/* Splits a payload into its JSON and the values that may follow after a 0. */
static ep_status payload_load(const uint8_t *payload, size_t bytes, json_t **root,
                              const uint8_t **values, size_t *values_bytes, ep_error *error) {
  const uint8_t *zero = memchr(payload, 0, bytes);
  size_t json_bytes = zero ? (size_t)(zero - payload) : bytes;
  *values = zero ? zero + 1 : NULL;
  *values_bytes = zero ? bytes - json_bytes - 1 : 0;
  return ep_json_load((const char *)payload, json_bytes, EP_LIMIT_FRAME_BYTES, root, error);
}

/* Exactly rows × columns doubles must follow. *out is the caller's, NULL when there are none. */
static bool values_read(const json_t *root, const uint8_t *values, size_t values_bytes,
                        double **out, int64_t *rows, int64_t *columns) {
  int64_t count;
  size_t wanted;
  if (!ep_json_get_integer(root, "rows", 0, EP_LIMIT_ROWS, rows) ||
      !ep_json_get_integer(root, "columns", 0, EP_LIMIT_FEATURES, columns) ||
      __builtin_mul_overflow(*rows, *columns, &count) ||
      __builtin_mul_overflow((size_t)count, sizeof(double), &wanted) || wanted != values_bytes)
    return false;
  if (wanted == 0) return true;
  *out = malloc(wanted);
  if (!*out) return false;
  memcpy(*out, values, wanted);
  return true;
}

static bool thinning_read(const json_t *root, int *out) {
  int64_t thinning;
  if (!ep_json_get_integer(root, "thinning", 0, EP_LIMIT_THINNING, &thinning)) return false;
  *out = (int)thinning;
  return true;
}

/* At most EP_LIMIT_DEVICES numbers. */
static bool gpus_read(const json_t *root, int *gpus, int *count) {
  const json_t *array = json_object_get(root, "gpus"), *number;
  size_t i;
  if (!json_is_array(array) || json_array_size(array) > EP_LIMIT_DEVICES) return false;
  json_array_foreach(array, i, number) {
    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) >= EP_LIMIT_DEVICE_NUMBER)
      return false;
    gpus[i] = (int)json_integer_value(number);
  }
  *count = (int)json_array_size(array);
  return true;
}

static bool lease_read(const json_t *value, uint64_t *out) {
  if (!json_is_integer(value) || json_integer_value(value) <= 0) return false;
  *out = (uint64_t)json_integer_value(value);
  return true;
}

static bool leases_read(const json_t *root, uint64_t *leases, int *count) {
  const json_t *array = json_object_get(root, "leases"), *lease;
  size_t i;
  if (!json_is_array(array) || json_array_size(array) > EP_LIMIT_SWEEP_WORKERS) return false;
  json_array_foreach(array, i, lease) if (!lease_read(lease, &leases[i])) return false;
  *count = (int)json_array_size(array);
  return true;
}

static bool command_read(const json_t *root, const uint8_t *values, size_t values_bytes,
                         ep_command *out) {
  int kind = kind_read(root, "command", ep_command_kind_from_name);
  if (kind < 0 || !head_read(root, &out->request, out->job, &out->attempt)) return false;
  out->kind = (ep_command_kind)kind;
  bool of_job = out->kind != EP_COMMAND_PROBE && out->kind != EP_COMMAND_CALIBRATE;
  if (of_job && !out->job[0]) return false;
  if (out->kind == EP_COMMAND_PREDICT)
    return ep_json_get_integer(root, "checkpoint", 0, INT64_MAX, &out->checkpoint) &&
           ep_json_get_text(root, "weights_sha256", out->weights_sha256,
                            sizeof out->weights_sha256) &&
           ep_json_get_integer(root, "windows", 1, EP_LIMIT_PREDICT_ROWS, &out->windows) &&
           values_read(root, values, values_bytes, &out->x, &out->rows, &out->columns) && out->x;
  if (values) return false;
  if (out->kind == EP_COMMAND_EXPORT) {
    out->quantize = json_is_true(json_object_get(root, "quantize"));
    return ep_json_get_text(root, "weights_sha256", out->weights_sha256,
                            sizeof out->weights_sha256) &&
           ep_json_get_text(root, "file", out->file, sizeof out->file);
  }
  if (out->kind == EP_COMMAND_PLOT)
    return ep_json_get_integer(root, "checkpoint", 0, INT64_MAX, &out->checkpoint) &&
           ep_json_get_text(root, "weights_sha256", out->weights_sha256,
                            sizeof out->weights_sha256) &&
           ep_json_get_text(root, "file", out->file, sizeof out->file) &&
           ep_plot_request_read(root, &out->plot);
  if (out->kind == EP_COMMAND_HELPERS) return leases_read(root, out->leases, &out->leases_count);
  if (out->kind == EP_COMMAND_HELP || out->kind == EP_COMMAND_RELEASE)
    if (!lease_read(json_object_get(root, "lease"), &out->lease)) return false;
  if (out->kind != EP_COMMAND_TRAIN && out->kind != EP_COMMAND_HELP) return true;
  const char *spec = json_string_value(json_object_get(root, "spec"));
  out->spec = spec ? strdup(spec) : NULL;
  if (out->kind == EP_COMMAND_HELP) return out->spec != NULL;
  return out->spec != NULL &&
         ep_json_get_text(root, "executor", out->executor, sizeof out->executor) &&
         ep_json_get_integer(root, "epochs_logged", 0, EP_LIMIT_EPOCHS, &out->epochs_logged) &&
         thinning_read(root, &out->thinning) && gpus_read(root, out->gpus, &out->gpus_count);
}

ep_status ep_command_decode(const uint8_t *payload, size_t bytes, ep_command *out,
                            ep_error *error) {
  *out = (ep_command){0};
  json_t *root;
  const uint8_t *values;
  size_t values_bytes;
  ep_status status = payload_load(payload, bytes, &root, &values, &values_bytes, error);
  if (status != EP_OK) return status;
  if (!command_read(root, values, values_bytes, out)) {
    ep_command_deinit(out);
    status = ep_fail(error, EP_MALFORMED, "a command has a field missing or of the wrong kind");
  }
  json_decref(root);
  return status;
}

static bool error_read(const json_t *root, ep_error *out) {
  char status[32];
  const json_t *error = json_object_get(root, "error");
  if (!ep_json_get_text(error, "status", status, sizeof status) ||
      !ep_json_cut_text(error, "pointer", out->pointer, sizeof out->pointer) ||
      !ep_json_cut_text(error, "message", out->message, sizeof out->message))
    return false;
  out->status = ep_status_from_name(status);
  return true;
}

static bool device_read(const json_t *root, ep_device_info *out) {
  const json_t *device = json_object_get(root, "device");
  int64_t threads;
  if (!ep_json_cut_text(device, "name", out->name, sizeof out->name) ||
      !ep_json_get_text(device, "id", out->id, sizeof out->id) ||
      !ep_json_get_text(device, "instruction_set", out->instruction_set,
                        sizeof out->instruction_set) ||
      !ep_json_get_text(device, "driver", out->driver, sizeof out->driver) ||
      !ep_json_get_integer(device, "memory_bytes", 0, INT64_MAX, &out->memory_bytes) ||
      !ep_json_get_integer(device, "memory_free_bytes", 0, INT64_MAX, &out->memory_free_bytes) ||
      !ep_json_get_integer(device, "threads", 0, INT_MAX, &threads))
    return false;
  out->threads = (int)threads;
  return true;
}

static bool helpers_read(const json_t *root, int *out) {
  int64_t helpers;
  if (!ep_json_get_integer(root, "helpers", 0, EP_LIMIT_SWEEP_WORKERS, &helpers)) return false;
  *out = (int)helpers;
  return true;
}

static bool reply_read(const json_t *root, const uint8_t *values, size_t values_bytes,
                       ep_reply *out, ep_error *error) {
  int kind = kind_read(root, "reply", ep_reply_kind_from_name);
  if (kind < 0 || !head_read(root, &out->request, out->job, &out->attempt) ||
      !error_read(root, &out->error))
    return false;
  out->kind = (ep_reply_kind)kind;
  if (out->kind == EP_REPLY_PREDICTED)
    return values_read(root, values, values_bytes, &out->output, &out->rows, &out->columns) &&
           (out->output || out->error.status != EP_OK);
  if (values) return false;
  switch (out->kind) {
  case EP_REPLY_READY: return device_read(root, &out->device);
  case EP_REPLY_STARTED:
    return out->job[0] && ep_json_get_text(root, "executor", out->executor, sizeof out->executor) &&
           ep_json_get_integer(root, "parameters", 0, INT64_MAX, &out->parameters) &&
           ep_json_get_integer(root, "bytes", 0, INT64_MAX, &out->bytes) &&
           ep_json_get_integer(root, "epoch", 0, EP_LIMIT_EPOCHS, &out->epoch) &&
           ep_json_cut_text(root, "note", out->note, sizeof out->note) &&
           ep_json_cut_text(root, "remarks", out->remarks, sizeof out->remarks);
  case EP_REPLY_CHECKPOINTED:
    return out->job[0] && ep_json_get_integer(root, "step", 0, INT64_MAX, &out->step) &&
           ep_json_get_integer(root, "epoch", 0, EP_LIMIT_EPOCHS, &out->epoch) &&
           ep_json_get_integer(root, "bytes", 0, INT64_MAX, &out->bytes);
  case EP_REPLY_WAITING: return out->job[0] && out->error.status != EP_OK;
  case EP_REPLY_FINISHED:
    return out->job[0] &&
           ep_job_result_read(json_object_get(root, "result"), &out->result, error) == EP_OK;
  case EP_REPLY_WANTS: return out->job[0] && helpers_read(root, &out->helpers);
  case EP_REPLY_HELPED:
    return out->job[0] && lease_read(json_object_get(root, "lease"), &out->lease);
  case EP_REPLY_CALIBRATED:
    return ep_calibration_read(json_object_get(root, "executors"), &out->calibration);
  default: return true;
  }
}

ep_status ep_reply_decode(const uint8_t *payload, size_t bytes, ep_reply *out, ep_error *error) {
  *out = (ep_reply){0};
  json_t *root;
  const uint8_t *values;
  size_t values_bytes;
  ep_status status = payload_load(payload, bytes, &root, &values, &values_bytes, error);
  if (status != EP_OK) return status;
  if (!reply_read(root, values, values_bytes, out, error)) {
    ep_reply_deinit(out);
    status = ep_fail(error, EP_MALFORMED, "a reply has a field missing or of the wrong kind");
  }
  json_decref(root);
  return status;
}

/* *records: [out->count] of so many bytes each, within the payload. */
static ep_status records_decode(const uint8_t *payload, size_t bytes, size_t record_bytes,
                                ep_progress *out, const void **records, ep_error *error) {
  *out = (ep_progress){0};
  ep_progress_prefix prefix;
  if (bytes < sizeof prefix || (uintptr_t)payload % _Alignof(int64_t) != 0)
    return ep_fail(error, EP_MALFORMED, "progress of %zu bytes", bytes);
  memcpy(&prefix, payload, sizeof prefix);
  size_t count = (bytes - sizeof prefix) / record_bytes;
  if ((bytes - sizeof prefix) % record_bytes != 0 || count != prefix.count)
    return ep_fail(error, EP_MALFORMED, "progress of %u records in %zu bytes", prefix.count, bytes);
  if (!memchr(prefix.job, 0, sizeof prefix.job) || !prefix.job[0] || !job_is_good(prefix.job) ||
      prefix.attempt < 0)
    return ep_fail(error, EP_MALFORMED, "progress without a job");
  memcpy(out->job, prefix.job, sizeof out->job);
  out->attempt = prefix.attempt;
  out->count = prefix.count;
  *records = payload + sizeof prefix;
  return EP_OK;
}

/* The layers of a line come together, numbered, before the end of the payload. */
static bool layers_valid(const ep_progress_record *records, uint32_t count) {
  const ep_layer_figures *first = &records->layer;
  if (first->count < 1 || first->count > EP_LIMIT_REPORTED_LAYERS || (uint32_t)first->count > count)
    return false;
  for (int i = 0; i < first->count; i++) {
    const ep_layer_figures *layer = &records[i].layer;
    if (records[i].kind != EP_PROGRESS_LAYER || records[i].epoch != records->epoch ||
        layer->number != i || layer->count != first->count || layer->type < 0 ||
        layer->type >= EP_LAYER_COUNT || layer->units < 1 || layer->dead > layer->units ||
        !memchr(layer->name, 0, sizeof layer->name))
      return false;
  }
  return true;
}

static bool progress_valid(const ep_progress_record *records, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const ep_progress_record *record = &records[i];
    switch (record->kind) {
    case EP_PROGRESS_EPOCH: break;
    case EP_PROGRESS_BATCH:
      if (record->epoch < 1 || record->batch < 1 || record->batch >= record->batches) return false;
      break;
    case EP_PROGRESS_LAYER:
      if (!layers_valid(record, count - i)) return false;
      i += (uint32_t)record->layer.count - 1;
      break;
    default: return false;
    }
  }
  return true;
}

ep_status ep_progress_decode(const uint8_t *payload, size_t bytes, ep_progress *out,
                             ep_error *error) {
  const void *records = NULL;
  ep_status status =
      records_decode(payload, bytes, sizeof(ep_progress_record), out, &records, error);
  if (status == EP_OK && !progress_valid(records, out->count))
    return ep_fail(error, EP_MALFORMED, "progress of an unknown kind");
  out->records = records;
  return status;
}

ep_status ep_trials_decode(const uint8_t *payload, size_t bytes, ep_progress *out,
                           ep_error *error) {
  const void *records = NULL;
  ep_status status = records_decode(payload, bytes, sizeof(ep_trial_record), out, &records, error);
  out->trials = records;
  return status;
}

ep_status ep_points_decode(ep_frame_kind kind, const uint8_t *payload, size_t bytes, ep_points *out,
                           ep_error *error) {
  const bool results = kind == EP_FRAME_RESULTS;
  const size_t each = results ? sizeof(ep_trial_record) : sizeof(ep_trial_point);
  ep_points_prefix prefix;
  *out = (ep_points){0};
  if (bytes < sizeof prefix || (uintptr_t)payload % _Alignof(int64_t) != 0)
    return ep_fail(error, EP_MALFORMED, "points of %zu bytes", bytes);
  memcpy(&prefix, payload, sizeof prefix);
  if ((bytes - sizeof prefix) % each != 0 || (bytes - sizeof prefix) / each != prefix.count)
    return ep_fail(error, EP_MALFORMED, "%u points in %zu bytes", prefix.count, bytes);
  if (!memchr(prefix.job, 0, sizeof prefix.job) || !prefix.job[0] || !job_is_good(prefix.job) ||
      prefix.attempt < 0 || prefix.lease == 0 || prefix.slots < 0)
    return ep_fail(error, EP_MALFORMED, "points without a sweep");
  memcpy(out->job, prefix.job, sizeof out->job);
  out->attempt = prefix.attempt;
  out->lease = prefix.lease;
  out->count = prefix.count;
  out->slots = prefix.slots;
  out->together = prefix.together != 0;
  const void *records = payload + sizeof prefix;
  if (results) out->results = records;
  if (!results) out->points = records;
  return EP_OK;
}

void ep_command_deinit(ep_command *command) {
  free(command->spec);
  free(command->x);
  *command = (ep_command){0};
}

void ep_reply_deinit(ep_reply *reply) {
  ep_job_result_deinit(&reply->result);
  free(reply->output);
  *reply = (ep_reply){0};
}
