#include "api/inference/slice.h"

#include <string.h>

#include "api/json/json.h"

ep_status ep_slice_take(ep_scanner *scanner, const char *what, ep_slice *out, ep_error *error) {
  ep_scan_peek(scanner);
  out->at = scanner->at;
  if (!ep_scan_skip(scanner))
    return ep_fail(error, EP_MALFORMED, "not JSON, or nested deeper than %d levels, in %s",
                   EP_LIMIT_JSON_DEPTH, what);
  out->bytes = (size_t)(scanner->at - out->at);
  return EP_OK;
}

static bool at_end(ep_scanner *scanner) {
  ep_scan_peek(scanner);
  return scanner->at == scanner->end;
}

static int key_find(const char *const *keys, int count, const char *key) {
  for (int i = 0; i < count; i++)
    if (strcmp(keys[i], key) == 0) return i;
  return -1;
}

static bool is_null(ep_slice value) {
  return value.bytes == 4 && memcmp(value.at, "null", 4) == 0;
}

ep_status ep_slice_cut(ep_slice text, const char *what, const char *const *keys, int count,
                       ep_slice *values, ep_error *error) {
  ep_scanner scanner = {text.at, text.at + text.bytes};
  char key[32];
  if (!ep_scan_token(&scanner, '{'))
    return ep_fail(error, EP_MALFORMED, "%s must be a JSON object", what);
  if (!ep_scan_token(&scanner, '}')) {
    do {
      ep_slice value;
      if (!ep_scan_string(&scanner, key, sizeof key) || !ep_scan_token(&scanner, ':'))
        return ep_fail(error, EP_MALFORMED, "%s is not a JSON object", what);
      ep_status status = ep_slice_take(&scanner, what, &value, error);
      if (status != EP_OK) return status;
      int index = key_find(keys, count, key);
      if (index < 0 || is_null(value)) continue;
      if (values[index].at) return ep_fail(error, EP_MALFORMED, "%s has \"%s\" twice", what, key);
      values[index] = value;
    } while (ep_scan_token(&scanner, ','));
    if (!ep_scan_token(&scanner, '}'))
      return ep_fail(error, EP_MALFORMED, "%s is not a JSON object", what);
  }
  if (!at_end(&scanner)) return ep_fail(error, EP_MALFORMED, "trailing data after %s", what);
  return EP_OK;
}

ep_status ep_slice_load(ep_slice value, const char *what, json_t **out, ep_error *error) {
  ep_error inner = {0};
  ep_status status = ep_json_load(value.at, value.bytes, EP_LIMIT_INFERENCE_BYTES, out, &inner);
  if (status == EP_OK) return EP_OK;
  return ep_fail(error, status == EP_INVALID ? EP_MALFORMED : status, "%s: %.400s", what,
                 inner.message);
}
