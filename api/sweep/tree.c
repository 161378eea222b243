#include <string.h>

#include "api/sweep/sweep_json.h"

static void object_write(ep_writer *writer, const json_t *object) {
  const char *key;
  json_t *value;
  ep_writer_open(writer, '{');
  json_object_foreach((json_t *)object, key, value) {
    ep_writer_string(writer, key);
    ep_writer_bytes(writer, ":", 1);
    ep_tree_write(writer, value);
  }
  ep_writer_close(writer, '}');
}

static void array_write(ep_writer *writer, const json_t *array) {
  size_t i;
  json_t *value;
  ep_writer_open(writer, '[');
  json_array_foreach(array, i, value) ep_tree_write(writer, value);
  ep_writer_close(writer, ']');
}

void ep_tree_write(ep_writer *writer, const json_t *tree) {
  if (json_is_object(tree))
    object_write(writer, tree);
  else if (json_is_array(tree))
    array_write(writer, tree);
  else if (json_is_string(tree))
    ep_writer_string(writer, json_string_value(tree));
  else if (json_is_integer(tree))
    ep_writer_integer(writer, json_integer_value(tree));
  else if (json_is_real(tree))
    ep_writer_number(writer, json_real_value(tree));
  else if (json_is_boolean(tree))
    ep_writer_boolean(writer, json_is_true(tree));
  else
    ep_writer_null(writer);
}

/* Whether one of two pointers leads through the other. */
bool ep_pointers_overlap(const char *a, const char *b) {
  size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
  const char *longer = strlen(a) < strlen(b) ? b : a;
  return strncmp(a, b, length) == 0 && (longer[length] == 0 || longer[length] == '/');
}

bool ep_sweep_field_varies(const ep_sweep_spec *sweep, const char *field) {
  for (int i = 0; i < sweep->axes_count; i++)
    for (int p = 0; p < sweep->axes[i].pointers_count; p++)
      if (ep_pointers_overlap(field, sweep->axes[i].pointers[p])) return true;
  return false;
}
