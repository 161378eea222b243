#include "api/wire/calibration.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "api/executor_name.h"
#include "api/json/json.h"
#include "api/limits.h"

static void executor_write(ep_writer *writer, const ep_executor_cost *cost) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "executor", cost->executor);
  ep_writer_member_number(writer, "start_seconds", cost->start_seconds);
  ep_writer_member_number(writer, "again_seconds", cost->again_seconds);
  ep_writer_member_open(writer, "seconds", '[');
  for (int i = 0; i < EP_COST_TERMS; i++) ep_writer_number(writer, cost->seconds[i]);
  ep_writer_close(writer, ']');
  ep_writer_member_number(writer, "error", cost->error);
  ep_writer_member_integer(writer, "measured", cost->measured);
  ep_writer_close(writer, '}');
}

void ep_calibration_write(ep_writer *writer, const ep_calibration *calibration) {
  ep_writer_open(writer, '[');
  for (int i = 0; i < calibration->count; i++) executor_write(writer, &calibration->executors[i]);
  ep_writer_close(writer, ']');
}

/* A cost: finite and not negative. */
static bool is_cost(double value) {
  return isfinite(value) && value >= 0;
}

static bool seconds_read(const json_t *seconds, double out[EP_COST_TERMS]) {
  if (json_array_size(seconds) != EP_COST_TERMS) return false;
  for (size_t i = 0; i < EP_COST_TERMS; i++) {
    const json_t *value = json_array_get(seconds, i);
    if (!json_is_number(value) || !is_cost(json_number_value(value))) return false;
    out[i] = json_number_value(value);
  }
  return true;
}

static bool executor_read(const json_t *value, ep_executor_cost *out) {
  int64_t measured;
  if (!ep_json_get_text(value, "executor", out->executor, sizeof out->executor) ||
      !ep_json_get_number(value, "start_seconds", &out->start_seconds) ||
      !ep_json_get_number(value, "again_seconds", &out->again_seconds) ||
      !ep_json_get_number(value, "error", &out->error) ||
      !ep_json_get_integer(value, "measured", 0, INT_MAX, &measured))
    return false;
  out->measured = (int)measured;
  ep_executor_name_update(out->executor, sizeof out->executor);
  return is_cost(out->start_seconds) && is_cost(out->again_seconds) && is_cost(out->error) &&
         seconds_read(json_object_get(value, "seconds"), out->seconds);
}

bool ep_calibration_read(const json_t *executors, ep_calibration *out) {
  *out = (ep_calibration){0};
  if (!json_is_array(executors) || json_array_size(executors) > EP_COST_EXECUTORS) return false;
  for (size_t i = 0; i < json_array_size(executors); i++)
    if (!executor_read(json_array_get(executors, i), &out->executors[i])) return false;
  out->count = (int)json_array_size(executors);
  return true;
}

char *ep_calibration_format(const ep_calibration_key *key, const ep_calibration *calibration) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_CALIBRATION_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "calibration");
  ep_writer_member_integer(&writer, "costs", EP_COST_VERSION);
  ep_writer_member_string(&writer, "device", key->device);
  ep_writer_member_string(&writer, "name", key->name);
  ep_writer_member_string(&writer, "instruction_set", key->instruction_set);
  ep_writer_member_integer(&writer, "threads", key->threads);
  ep_writer_member_string(&writer, "driver", key->driver);
  ep_writer_member_string(&writer, "version", key->version);
  ep_writer_key(&writer, "executors");
  ep_calibration_write(&writer, calibration);
  ep_writer_close(&writer, '}');
  ep_writer_bytes(&writer, "\n", 1);
  return ep_writer_take(&writer);
}

static bool text_is(const json_t *root, const char *key, const char *wanted) {
  const char *text = json_string_value(json_object_get(root, key));
  return text && strcmp(text, wanted) == 0;
}

static bool integer_is(const json_t *root, const char *key, int64_t wanted) {
  int64_t value;
  return ep_json_get_integer(root, key, INT64_MIN, INT64_MAX, &value) && value == wanted;
}

static bool key_matches(const json_t *root, const ep_calibration_key *key) {
  return integer_is(root, "costs", EP_COST_VERSION) && text_is(root, "device", key->device) &&
         text_is(root, "name", key->name) &&
         text_is(root, "instruction_set", key->instruction_set) &&
         integer_is(root, "threads", key->threads) && text_is(root, "driver", key->driver) &&
         text_is(root, "version", key->version);
}

ep_status ep_calibration_parse(const char *text, size_t bytes, const ep_calibration_key *key,
                               ep_calibration *out, ep_error *error) {
  json_t *root;
  *out = (ep_calibration){0};
  ep_status status = ep_json_load(text, bytes, EP_LIMIT_CALIBRATION_BYTES, &root, error);
  if (status != EP_OK) return status;
  if (!text_is(root, "object", "calibration"))
    status = ep_fail(error, EP_INVALID, "invalid calibration");
  else if (!key_matches(root, key))
    status = ep_fail(error, EP_CONFLICT, "the calibration belongs to another device or program");
  else if (!ep_calibration_read(json_object_get(root, "executors"), out) || out->count == 0)
    status = ep_fail(error, EP_INVALID, "the calibration has invalid numbers");
  json_decref(root);
  return status;
}

const ep_executor_cost *ep_calibration_find(const ep_calibration *calibration,
                                            const char *executor) {
  for (int i = 0; i < calibration->count; i++)
    if (strcmp(calibration->executors[i].executor, executor) == 0)
      return &calibration->executors[i];
  return NULL;
}
