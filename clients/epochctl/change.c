#include "clients/epochctl/change.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"

enum { PART_BYTES = 256 };

/* The next part of a pointer, with ~1 and ~0 undone; false when it is too long or wrong. */
static bool part_take(const char **at, const char *end, char part[PART_BYTES]) {
  size_t used = 0;
  const char *text = *at + 1; /* behind the slash */
  while (text < end && *text != '/') {
    char letter = *text++;
    if (letter == '~') {
      if (text >= end || (*text != '0' && *text != '1')) return false;
      letter = *text++ == '0' ? '~' : '/';
    }
    if (used + 1 >= PART_BYTES) return false;
    part[used++] = letter;
  }
  part[used] = 0;
  *at = text;
  return true;
}

static bool index_read(const json_t *list, const char *part, size_t *out) {
  char *stop;
  if (strcmp(part, "-") == 0) {
    *out = json_array_size(list);
    return true;
  }
  if (*part < '0' || *part > '9' || (*part == '0' && part[1])) return false;
  *out = strtoul(part, &stop, 10);
  return *stop == 0 && *out <= json_array_size(list);
}

/* The value under `part`, made as an object when it is not there; a loan. */
static json_t *descend(json_t *at, const char *part) {
  size_t index;
  json_t *next = NULL;
  if (json_is_object(at)) {
    next = json_object_get(at, part);
    if (next) return next;
    next = json_object();
    return next && json_object_set_new(at, part, next) == 0 ? next : NULL;
  }
  if (!json_is_array(at) || !index_read(at, part, &index)) return NULL;
  if (index < json_array_size(at)) return json_array_get(at, index);
  next = json_object();
  return next && json_array_append_new(at, next) == 0 ? next : NULL;
}

/* Takes the value, whatever comes of it. */
static bool put(json_t *at, const char *part, json_t *value) {
  size_t index;
  if (json_is_object(at)) return json_object_set_new(at, part, value) == 0;
  if (json_is_array(at) && index_read(at, part, &index))
    return (index < json_array_size(at) ? json_array_set_new(at, index, value)
                                        : json_array_append_new(at, value)) == 0;
  json_decref(value);
  return false;
}

ep_status ep_change_apply(json_t *root, const char *text, ep_error *error) {
  const char *equals = strchr(text, '='), *at = text;
  char part[PART_BYTES];
  json_t *value = NULL, *inner = root;
  if (*text != '/' || !equals)
    return ep_fail(error, EP_INVALID,
                   "--set takes /POINTER=VALUE, as /optimizer/lr=0.1, not \"%.200s\"", text);
  for (;;) {
    if (!part_take(&at, equals, part))
      return ep_fail(error, EP_INVALID, "--set %.200s: this is no JSON pointer", text);
    if (at >= equals) break;
    inner = descend(inner, part);
    if (!inner) break;
  }
  if (ep_json_load(equals + 1, strlen(equals + 1), EP_LIMIT_SPEC_BYTES, &value, NULL))
    value = json_string(equals + 1);
  if (!value) return ep_fail(error, EP_INVALID, "--set %.200s: the value is no text", text);
  if (!inner || !put(inner, part, value)) {
    if (!inner) json_decref(value);
    return ep_fail(error, EP_INVALID, "--set %.200s: the job has no such place", text);
  }
  return EP_OK;
}
