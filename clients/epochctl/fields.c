#include "clients/epochctl/fields.h"

#include <math.h>
#include <string.h>

const json_t *ep_field(const json_t *root, const char *path) {
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

const char *ep_field_text(const json_t *root, const char *path) {
  const char *text = json_string_value(ep_field(root, path));
  return text ? text : "";
}

double ep_field_value(const json_t *value) {
  if (json_is_number(value)) return json_number_value(value);
  const char *text = json_string_value(value);
  if (text && strcmp(text, "Infinity") == 0) return INFINITY;
  return text && strcmp(text, "-Infinity") == 0 ? -INFINITY : NAN;
}

double ep_field_number(const json_t *root, const char *path) {
  return ep_field_value(ep_field(root, path));
}

int64_t ep_field_integer(const json_t *root, const char *path) {
  return (int64_t)json_integer_value(ep_field(root, path));
}
