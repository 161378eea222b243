#include "clients/epochctl/input/axis.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "clients/epochctl/input/json_edit.h"

/* The prefixes of ranges, and the kinds of axes that they stand for; the last one is no prefix. */
static const struct {
  const char *prefix, *kind;
} RANGES[] = {{"log:", "log_uniform"},
              {"int_log:", "int_log_uniform"},
              {"int:", "int_uniform"},
              {"", "uniform"}};

/* The number that all of text[0 … bytes) is, or NULL; the caller's. */
static json_t *number_read(const char *text, size_t bytes) {
  json_t *value = NULL;
  if (ep_json_load(text, bytes, EP_LIMIT_SPEC_BYTES, &value, NULL) != EP_OK) return NULL;
  if (json_is_number(value)) return value;
  json_decref(value);
  return NULL;
}

/* [low, high] of "low..high", or NULL; the caller's. */
static json_t *ends_read(const char *text) {
  const char *dots = strstr(text, "..");
  json_t *low = dots ? number_read(text, (size_t)(dots - text)) : NULL;
  json_t *high = low ? number_read(dots + 2, strlen(dots + 2)) : NULL;
  json_t *ends = high ? json_pack("[OO]", low, high) : NULL;
  json_decref(low);
  json_decref(high);
  return ends;
}

/* Bytes up to the next comma that stands outside of brackets and strings. */
static size_t item_bytes(const char *text) {
  bool quoted = false;
  int depth = 0;
  size_t at = 0;
  for (; text[at]; at++) {
    if (quoted && text[at] == '\\' && text[at + 1])
      at++;
    else if (text[at] == '"')
      quoted = !quoted;
    else if (!quoted && strchr("[{", text[at]))
      depth++;
    else if (!quoted && strchr("]}", text[at]))
      depth--;
    else if (!quoted && depth == 0 && text[at] == ',')
      break;
  }
  return at;
}

/* The values between commas; NULL for a single one. */
static json_t *list_read(const char *text) {
  size_t bytes = item_bytes(text);
  if (!text[bytes]) return NULL;
  json_t *list = json_array();
  for (;; bytes = item_bytes(text)) {
    if (json_array_append_new(list, ep_json_value_read(text, bytes)) != 0) {
      json_decref(list);
      return NULL;
    }
    if (!text[bytes]) return list;
    text += bytes + 1;
  }
}

/* Takes the reference to `value`, which may be NULL. */
static ep_status axis_make(const char *kind, json_t *value, json_t **out, ep_error *error) {
  *out = json_pack("{so}", kind, value);
  return *out ? EP_OK : ep_fail_memory(error);
}

ep_status ep_axis_read(const char *text, json_t **out, ep_error *error) {
  *out = NULL;
  for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
    size_t bytes = strlen(RANGES[i].prefix);
    if (strncmp(text, RANGES[i].prefix, bytes) != 0) continue;
    json_t *ends = ends_read(text + bytes);
    if (ends) return axis_make(RANGES[i].kind, ends, out, error);
    if (bytes > 0)
      return ep_fail(error, EP_INVALID, "\"%.100s\": %s takes a range, such as %s1..100", text,
                     RANGES[i].prefix, RANGES[i].prefix);
  }
  json_t *list = list_read(text);
  return list ? axis_make("values", list, out, error) : EP_OK;
}
