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
