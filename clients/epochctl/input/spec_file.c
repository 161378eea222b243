#include "clients/epochctl/input/spec_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/arguments/input.h"
#include "api/json/json.h"
#include "clients/epochctl/input/json_edit.h"

/* item: taken. */
static ep_status list_add(json_t *spec, const char *key, json_t *item, const char *text,
                          ep_error *error) {
  json_t *list = json_object_get(spec, key);
  if (!list && json_object_set_new(spec, key, json_array()) == 0) list = json_object_get(spec, key);
  bool added = item && json_is_array(list) && json_array_append(list, item) == 0;
  json_decref(item);
  if (added) return EP_OK;
  return ep_fail(error, EP_INVALID, "\"%.100s\" cannot be added to \"%s\"", text, key);
}

ep_status ep_spec_label(json_t *spec, const char *option, const char *value, ep_error *error) {
  if (strcmp(option, "name") == 0 && json_object_set_new(spec, "name", json_string(value)) != 0)
    return ep_fail(error, EP_INVALID, "--name is not UTF-8");
  if (strcmp(option, "tag") == 0) return list_add(spec, "tags", json_string(value), value, error);
  if (strcmp(option, "webhook") == 0)
    return list_add(spec, "webhooks", json_pack("{s:s}", "url", value), value, error);
  return EP_OK;
}

ep_status ep_spec_edit(json_t *spec, const ep_arguments *arguments, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < arguments->given_count && status == EP_OK; i++) {
    const char *option = arguments->given[i].option->name, *value = arguments->given[i].value;
    status = strcmp(option, "set") == 0 ? ep_json_edit(spec, value, error)
                                        : ep_spec_label(spec, option, value, error);
  }
  return status;
}

static bool has_edits(const ep_arguments *arguments) {
  return ep_arguments_has(arguments, "set") || ep_arguments_has(arguments, "name") ||
         ep_arguments_has(arguments, "tag") || ep_arguments_has(arguments, "webhook");
}

ep_status ep_spec_file_load(const char *path, json_t **out, char **text, size_t *bytes,
                            ep_error *error) {
  ep_error fault = {0};
  *out = NULL;
  ep_status status = ep_input_read(path, EP_LIMIT_SPEC_BYTES, text, bytes, error);
  if (status != EP_OK) return status;
  if (ep_json_load(*text, *bytes, EP_LIMIT_SPEC_BYTES, out, &fault) != EP_OK)
    status = ep_fail(error, EP_INVALID, "%.200s: %.300s", path, fault.message);
  else if (!json_is_object(*out))
    status = ep_fail(error, EP_INVALID, "%.300s is not a JSON object", path);
  if (status == EP_OK) return EP_OK;
  json_decref(*out);
  free(*text);
  *out = NULL, *text = NULL;
  return status;
}

ep_status ep_spec_format(const json_t *spec, char **text, size_t *bytes, ep_error *error) {
  *text = json_dumps(spec, JSON_COMPACT);
  *bytes = *text ? strlen(*text) : 0;
  return *text ? EP_OK : ep_fail_memory(error);
}

ep_status ep_spec_file_read(const ep_arguments *arguments, char **out, size_t *out_bytes,
                            ep_error *error) {
  json_t *spec;
  ep_status status = ep_spec_file_load(arguments->words[0], &spec, out, out_bytes, error);
  if (status == EP_OK && has_edits(arguments)) {
    free(*out);
    *out = NULL;
    status = ep_spec_edit(spec, arguments, error);
    if (status == EP_OK) status = ep_spec_format(spec, out, out_bytes, error);
  }
  json_decref(spec);
  return status;
}
