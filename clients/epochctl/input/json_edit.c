#include "clients/epochctl/input/json_edit.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"

enum { KEY_BYTES = 256 };

/* The next key of a pointer, with ~1 and ~0 decoded; false when it is too long or malformed. */
static bool key_take(const char **at, const char *end, char key[KEY_BYTES]) {
  size_t used = 0;
  const char *text = *at + 1; /* behind the slash */
  while (text < end && *text != '/') {
    char letter = *text++;
    if (letter == '~') {
      if (text >= end || (*text != '0' && *text != '1')) return false;
      letter = *text++ == '0' ? '~' : '/';
    }
    if (used + 1 >= KEY_BYTES) return false;
    key[used++] = letter;
  }
  key[used] = 0;
  *at = text;
  return true;
}

static bool index_read(const json_t *list, const char *key, size_t *out) {
  char *stop;
  if (strcmp(key, "-") == 0) {
    *out = json_array_size(list);
    return true;
  }
  if (*key < '0' || *key > '9' || (*key == '0' && key[1])) return false;
  *out = strtoul(key, &stop, 10);
  return *stop == 0 && *out <= json_array_size(list);
}

/* The value at `key`, created as an object when it is absent; a loan. */
static json_t *member_enter(json_t *at, const char *key) {
  size_t index;
  json_t *next = NULL;
  if (json_is_object(at)) {
    next = json_object_get(at, key);
    if (next) return next;
    next = json_object();
    return next && json_object_set_new(at, key, next) == 0 ? next : NULL;
  }
  if (!json_is_array(at) || !index_read(at, key, &index)) return NULL;
  if (index < json_array_size(at)) return json_array_get(at, index);
  next = json_object();
  return next && json_array_append_new(at, next) == 0 ? next : NULL;
}

/* Takes ownership of the value, also after a failure. */
static bool member_set(json_t *at, const char *key, json_t *value) {
  size_t index;
  if (json_is_object(at)) return json_object_set_new(at, key, value) == 0;
  if (json_is_array(at) && index_read(at, key, &index))
    return (index < json_array_size(at) ? json_array_set_new(at, index, value)
                                        : json_array_append_new(at, value)) == 0;
  json_decref(value);
  return false;
}

json_t *ep_json_value_read(const char *text, size_t bytes) {
  json_t *value = NULL;
  if (ep_json_load(text, bytes, EP_LIMIT_SPEC_BYTES, &value, NULL) == EP_OK) return value;
  return json_stringn(text, bytes);
}

ep_status ep_json_edit(json_t *root, const char *text, ep_error *error) {
  const char *equals = strchr(text, '='), *at = text;
  char key[KEY_BYTES];
  json_t *inner = root;
  if (*text != '/' || !equals)
    return ep_fail(error, EP_INVALID,
                   "--set takes /POINTER=VALUE, such as /optimizer/lr=0.1, not \"%.200s\"", text);
  for (;;) {
    if (!key_take(&at, equals, key))
      return ep_fail(error, EP_INVALID, "--set %.200s: not a JSON pointer", text);
    if (at >= equals) break;
    inner = member_enter(inner, key);
    if (!inner) break;
  }
  json_t *value = ep_json_value_read(equals + 1, strlen(equals + 1));
  if (!value) return ep_fail(error, EP_INVALID, "--set %.200s: the value is not valid UTF-8", text);
  if (!inner || !member_set(inner, key, value)) {
    if (!inner) json_decref(value);
    return ep_fail(error, EP_INVALID, "--set %.200s: no such field in the job", text);
  }
  return EP_OK;
}
