#include "clients/epochctl/http/json_at.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const json_t *ep_json_at(const json_t *root, const char *path) {
  char key[64];
  while (root && *path) {
    size_t bytes = strcspn(path, ".");
    if (bytes >= sizeof key) return NULL;
    memcpy(key, path, bytes);
    key[bytes] = 0;
    root = json_object_get(root, key);
    path += bytes + (path[bytes] == '.');
  }
  return root;
}

const char *ep_json_text_at(const json_t *root, const char *path) {
  const char *text = json_string_value(ep_json_at(root, path));
  return text ? text : "";
}

double ep_json_number(const json_t *value) {
  if (json_is_number(value)) return json_number_value(value);
  const char *text = json_string_value(value);
  if (text && strcmp(text, "Infinity") == 0) return INFINITY;
  return text && strcmp(text, "-Infinity") == 0 ? -INFINITY : NAN;
}

double ep_json_number_at(const json_t *root, const char *path) {
  return ep_json_number(ep_json_at(root, path));
}

int64_t ep_json_integer_at(const json_t *root, const char *path) {
  return (int64_t)json_integer_value(ep_json_at(root, path));
}

void ep_json_integers_join(const json_t *list, const char *between, char *text, size_t bytes) {
  enum { INTEGER_BYTES = 24 };
  const json_t *value;
  size_t index, used = 0;
  *text = 0;
  json_array_foreach(list, index, value) {
    if (used + strlen(between) + INTEGER_BYTES > bytes) return;
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", used > 0 ? between : "",
                             (long long)json_integer_value(value));
  }
}

void ep_json_line(const json_t *value, char *text, size_t bytes) {
  bool plain = !value || json_is_null(value) || json_is_string(value);
  char *dump =
      plain ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
  const char *shown = dump ? dump : json_string_value(value);
  snprintf(text, bytes, "%s", shown ? shown : "-");
  free(dump);
}
