#include "api/arguments/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/arguments/input.h"
#include "api/json/json.h"
#include "api/json/nearest.h"
#include "api/limits.h"

enum { NAME_BYTES = 64, NAMES_MAX = 64 };

/* The option's name for a key of the file, or the key for an option's name. */
static void dashes_swap(const char *from, char old, char new, char name[NAME_BYTES]) {
  snprintf(name, NAME_BYTES, "%s", from);
  for (char *at = name; *at; at++)
    if (*at == old) *at = new;
}

static ep_status unknown_refuse(const char *path, const ep_option *table, const char *key,
                                const char *name, ep_error *error) {
  const char *names[NAMES_MAX];
  char near_key[NAME_BYTES];
  int count = 0;
  for (; table->name && count < NAMES_MAX; table++)
    if (table->kind != EP_OPTION_SWITCH) names[count++] = table->name;
  const char *near = ep_nearest_name(name, names, count);
  if (!near)
    return ep_fail(error, EP_INVALID,
                   "%.300s: unknown setting \"%.64s\"; --help lists them, with - for _", path, key);
  dashes_swap(near, '-', '_', near_key);
  return ep_fail(error, EP_INVALID, "%.300s: unknown setting \"%.64s\": did you mean \"%s\"?", path,
                 key, near_key);
}

static bool has_control(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f) return true;
  return false;
}

static ep_status member_store(const char *path, const ep_option *table, const char *key,
                              const json_t *value, void *settings, ep_error *error) {
  char name[NAME_BYTES], where[EP_MESSAGE_BYTES], digits[32];
  dashes_swap(key, '_', '-', name);
  const ep_option *option = ep_option_find(table, name);
  if (!option || option->kind == EP_OPTION_SWITCH)
    return unknown_refuse(path, table, key, name, error);
  snprintf(where, sizeof where, "%.300s: \"%s\"", path, key);
  const char *text = json_string_value(value);
  if (option->kind == EP_OPTION_INTEGER) {
    int64_t number;
    if (!ep_json_integer(value, &number))
      return ep_fail(error, EP_INVALID, "%.400s must be a whole number", where);
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    text = digits;
  } else if (!text || has_control(text)) {
    return ep_fail(error, EP_INVALID, "%.400s must be a string without control characters", where);
  }
  return ep_option_store(option, where, text, settings, error);
}

ep_status ep_settings_read(const char *path, const ep_option *table, void *settings,
                           ep_error *error) {
  char *text = NULL;
  size_t bytes = 0;
  json_t *root = NULL, *value;
  const char *key;
  ep_error fault = {0};
  ep_status status = ep_input_read(path, EP_LIMIT_SETTINGS_BYTES, &text, &bytes, error);
  if (status != EP_OK) return status;
  status = ep_json_load(text, bytes, EP_LIMIT_SETTINGS_BYTES, &root, &fault);
  free(text);
  if (status != EP_OK) return ep_fail(error, status, "%.200s: %.300s", path, fault.message);
  if (!json_is_object(root))
    status = ep_fail(error, EP_INVALID, "%.400s is not a JSON object", path);
  json_object_foreach(root, key, value) {
    if (status != EP_OK) break;
    status = member_store(path, table, key, value, settings, error);
  }
  json_decref(root);
  return status;
}
