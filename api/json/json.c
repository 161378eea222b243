#include "api/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/memory.h"
#include "api/limits.h"

/* What jansson's nodes take of the heap, rounded up: of an object with its first buckets, of an
 * array with its first places, of a member's key without its letters, of the rest. */
enum {
  OBJECT_BYTES = 288,
  ARRAY_BYTES = 176,
  KEY_BYTES = 112,
  VALUE_BYTES = 64,
  STRING_BYTES = 112
};

/* Moves behind the string that begins at `i`. */
static size_t string_skip(const char *text, size_t bytes, size_t i) {
  for (i++; i < bytes && text[i] != '"'; i++)
    if (text[i] == '\\') i++;
  return i < bytes ? i : bytes;
}

ep_json_size ep_json_measure(const char *text, size_t bytes) {
  ep_json_size size = {0};
  int depth = 0;
  bool inside = false; /* a number or a word */
  for (size_t i = 0; i < bytes; i++) {
    const char c = text[i];
    const bool opens = c == '{' || c == '[';
    if (c == '"') {
      size_t end = string_skip(text, bytes, i);
      size.tree_bytes += STRING_BYTES + (int64_t)(end - i);
      i = end;
    } else if (opens) {
      size.tree_bytes += c == '{' ? OBJECT_BYTES : ARRAY_BYTES;
      if (++depth > size.depth) size.depth = depth;
    } else if (c == '}' || c == ']') {
      if (depth > 0) depth--;
    } else if (c == ':') {
      size.tree_bytes += KEY_BYTES - STRING_BYTES; /* the string before it was a key */
      size.values--;
    } else if (c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      inside = false;
      continue;
    } else if (inside) {
      continue;
    } else {
      size.tree_bytes += VALUE_BYTES;
    }
    const bool word = c != '"' && !opens && c != '}' && c != ']' && c != ':';
    size.values += word || opens || c == '"';
    inside = word;
  }
  return size;
}

ep_status ep_json_check(const char *text, size_t bytes, int64_t most_bytes, ep_error *error) {
  const ep_json_size size = ep_json_measure(text, bytes);
  if (size.depth > EP_LIMIT_JSON_DEPTH)
    return ep_fail(error, EP_INVALID, "the JSON is nested deeper than %d levels",
                   EP_LIMIT_JSON_DEPTH);
  if (size.tree_bytes > most_bytes)
    return ep_fail(error, EP_TOO_LARGE,
                   "the JSON has %lld values, which take %lld bytes of memory: the limit is %lld, "
                   "so use fewer values",
                   (long long)size.values, (long long)size.tree_bytes, (long long)most_bytes);
  return EP_OK;
}

/* jansson's error as ours: its own wording, with the place. */
static ep_status load_fail(const json_error_t *from, ep_error *error) {
  /* Where its memory ran out, jansson often says nothing at all. */
  if (!from->text[0]) return ep_fail_memory(error);
  switch (json_error_code(from)) {
  case json_error_out_of_memory: return ep_fail_memory(error);
  case json_error_numeric_overflow:
    return ep_fail(error, EP_INVALID, "line %d, column %d: the number is too large", from->line,
                   from->column);
  default:
    return ep_fail(error, EP_MALFORMED, "not JSON: line %d, column %d: %s", from->line,
                   from->column, from->text);
  }
}

int64_t ep_json_tree_most(size_t max_bytes) {
  return (int64_t)max_bytes * EP_LIMIT_JSON_TREE;
}

ep_status ep_json_load(const char *text, size_t bytes, size_t max_bytes, json_t **out,
                       ep_error *error) {
  *out = NULL;
  if (bytes > max_bytes)
    return ep_fail(error, EP_TOO_LARGE, "%zu bytes of JSON: the limit is %zu", bytes, max_bytes);
  if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, bytes -= 3; /* RFC 8259, 8.1 */
  ep_status status = ep_json_check(text, bytes, ep_json_tree_most(max_bytes), error);
  if (status != EP_OK) return status;
  json_error_t from;
  const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
  *out = ep_json_read(text, bytes, flags, &from);
  /* A whole number beyond 64 bits is a number all the same: its field says what is wrong with it.
   */
  if (!*out && from.text[0] && json_error_code(&from) == json_error_numeric_overflow)
    *out = ep_json_read(text, bytes, flags | JSON_DECODE_INT_AS_REAL, &from);
  return *out ? EP_OK : load_fail(&from, error);
}

bool ep_json_integer(const json_t *value, int64_t *out) {
  if (json_is_integer(value)) {
    *out = json_integer_value(value);
    return true;
  }
  if (!json_is_real(value)) return false;
  double real = json_real_value(value);
  if (!(fabs(real) <= 0x1p53) || real != floor(real)) return false;
  *out = (int64_t)real;
  return true;
}

bool ep_json_get_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                         int64_t *out) {
  int64_t value;
  if (!ep_json_integer(json_object_get(object, key), &value)) return false;
  if (value < min || value > max) return false;
  *out = value;
  return true;
}

bool ep_json_get_text(const json_t *object, const char *key, char *text, size_t text_bytes) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_string(value) || json_string_length(value) >= text_bytes) return false;
  memcpy(text, json_string_value(value), json_string_length(value) + 1);
  return true;
}

bool ep_json_cut_text(const json_t *object, const char *key, char *text, size_t text_bytes) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_string(value)) return false;
  snprintf(text, text_bytes, "%s", json_string_value(value));
  return true;
}

bool ep_json_get_number(const json_t *object, const char *key, double *out) {
  const json_t *value = json_object_get(object, key);
  if (json_is_number(value)) {
    *out = json_number_value(value);
    return true;
  }
  const char *word = json_is_null(value) ? "NaN" : json_string_value(value);
  if (!word) return false;
  if (strcmp(word, "NaN") == 0)
    *out = NAN;
  else if (strcmp(word, "Infinity") == 0)
    *out = INFINITY;
  else if (strcmp(word, "-Infinity") == 0)
    *out = -INFINITY;
  else
    return false;
  return true;
}

const char *ep_json_type_name(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_OBJECT: return "an object";
  case JSON_ARRAY: return "an array";
  case JSON_STRING: return "a string";
  case JSON_INTEGER:
  case JSON_REAL: return "a number";
  case JSON_TRUE: return "true";
  case JSON_FALSE: return "false";
  default: return "null";
  }
}
