#include "api/responses/differences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"

/* The texts of stored specs; arrays up to a job's layers are walked; of longer values only that
 * they differ is shown. */
enum {
  SPEC_TEXT_LIMIT = 17 * EP_LIMIT_SPEC_BYTES,
  ITEMS_WALKED = EP_LIMIT_LAYERS,
  VALUES_SHOWN = 65 /* an array of 64 */
};

typedef struct {
  ep_differences *out;
  bool failed; /* memory was short */
  char pointer[EP_DIFFERENCE_POINTER_BYTES];
  size_t length;
} walk;

static bool values_equal(const json_t *a, const json_t *b) {
  if (!a || !b) return !a && !b;
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}

static bool all_equal(const json_t *const *values, int count) {
  for (int i = 1; i < count; i++)
    if (!values_equal(values[0], values[i])) return false;
  return true;
}

/* Whether all that are there are objects. */
static bool all_objects(const json_t *const *values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] && !json_is_object(values[i])) return false;
  return true;
}

/* Whether all are arrays of the same length, and not of too many items. */
static bool all_arrays(const json_t *const *values, int count) {
  for (int i = 0; i < count; i++)
    if (!json_is_array(values[i]) || json_array_size(values[i]) != json_array_size(values[0]))
      return false;
  return json_array_size(values[0]) <= ITEMS_WALKED;
}

static void difference_add(walk *w, const json_t *const *values) {
  ep_differences *out = w->out;
  if (out->count == EP_LIMIT_DIFFERENCES) {
    out->omitted++;
    return;
  }
  if (out->count == out->capacity) {
    int capacity = out->capacity ? out->capacity * 2 : 16;
    ep_difference *rows = realloc(out->rows, (size_t)capacity * sizeof *rows);
    if (!rows) {
      w->failed = true;
      return;
    }
    out->rows = rows;
    out->capacity = capacity;
  }
  ep_difference *row = &out->rows[out->count];
  *row = (ep_difference){.pointer = strdup(w->pointer)};
  if (!row->pointer) {
    w->failed = true;
    return;
  }
  memcpy(row->values, values, (size_t)out->specs_count * sizeof *values);
  out->count++;
}

/* Appends "/key", escaped; what does not fit is cut. */
static void pointer_append(walk *w, const char *key) {
  size_t at = w->length;
  if (at + 1 < sizeof w->pointer) w->pointer[at++] = '/';
  for (; *key && at + 2 < sizeof w->pointer; key++) {
    if (*key == '~' || *key == '/') w->pointer[at++] = '~';
    w->pointer[at++] = *key == '~' ? '0' : *key == '/' ? '1' : *key;
  }
  w->pointer[at] = 0;
  w->length = at;
}

static void pointer_cut(walk *w, size_t length) {
  w->pointer[length] = 0;
  w->length = length;
}

static void values_walk(walk *w, const json_t *const *values);

static void members_find(const json_t *const *values, int count, const char *key,
                         const json_t *members[]) {
  for (int i = 0; i < count; i++) {
    members[i] = json_object_get(values[i], key);
    if (json_is_null(members[i])) members[i] = NULL;
  }
}

/* Two names of one content mean the same, and that other contents have other hashes goes without
 * saying. */
static bool says_nothing(const json_t *const *values, int count, const char *key) {
  const json_t *members[EP_LIMIT_COMPARED_JOBS] = {NULL};
  bool name = strcmp(key, "dataset") == 0;
  if (!name && strcmp(key, "sha256") != 0) return false;
  members_find(values, count, name ? "sha256" : "dataset", members);
  return name ? members[0] && all_equal(members, count) : !all_equal(members, count);
}

/* The member `key` of each. */
static void member_walk(walk *w, const json_t *const *values, const char *key) {
  const json_t *members[EP_LIMIT_COMPARED_JOBS];
  size_t length = w->length;
  bool label = length == 0 &&
               (strcmp(key, "name") == 0 || strcmp(key, "tags") == 0 || strcmp(key, "notes") == 0 ||
                strcmp(key, "pinned") == 0 || strcmp(key, "visibility") == 0);
  if (label || says_nothing(values, w->out->specs_count, key)) return;
  members_find(values, w->out->specs_count, key, members);
  pointer_append(w, key);
  values_walk(w, members);
  pointer_cut(w, length);
}

/* Whether one of the first `count` has that member, so that it was walked. */
static bool member_seen(const json_t *const *values, int count, const char *key) {
  for (int i = 0; i < count; i++)
    if (json_object_get(values[i], key)) return true;
  return false;
}

static void objects_walk(walk *w, const json_t *const *values) {
  for (int i = 0; i < w->out->specs_count; i++) {
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)values[i], key, member) if (!member_seen(values, i, key))
        member_walk(w, values, key);
  }
}

static void arrays_walk(walk *w, const json_t *const *values) {
  for (size_t item = 0; item < json_array_size(values[0]); item++) {
    const json_t *items[EP_LIMIT_COMPARED_JOBS];
    size_t length = w->length;
    char index[24];
    for (int i = 0; i < w->out->specs_count; i++) {
      items[i] = json_array_get(values[i], item);
      if (json_is_null(items[i])) items[i] = NULL;
    }
    snprintf(index, sizeof index, "%zu", item);
    pointer_append(w, index);
    values_walk(w, items);
    pointer_cut(w, length);
  }
}

/* values: [specs_count], NULL for null. The depth is the specs', which their reading limits. */
static void values_walk(walk *w, const json_t *const *values) {
  int count = w->out->specs_count;
  if (w->failed || all_equal(values, count)) return;
  if (all_objects(values, count))
    objects_walk(w, values);
  else if (all_arrays(values, count))
    arrays_walk(w, values);
  else
    difference_add(w, values);
}

ep_status ep_differences_find(const char *const *texts, int count, ep_differences *out,
                              ep_error *error) {
  ep_error why = {0};
  *out = (ep_differences){0};
  for (int i = 0; i < count; i++) {
    ep_status status =
        ep_json_load(texts[i], strlen(texts[i]), SPEC_TEXT_LIMIT, &out->specs[i], &why);
    if (status != EP_OK) {
      ep_differences_deinit(out);
      return ep_fail(error, status == EP_NO_MEMORY ? status : EP_INTERNAL, "a stored spec: %s",
                     why.message);
    }
    out->specs_count++;
  }
  walk w = {.out = out};
  values_walk(&w, (const json_t *const *)out->specs);
  if (!w.failed) return EP_OK;
  ep_differences_deinit(out);
  return ep_fail_memory(error);
}

void ep_differences_deinit(ep_differences *differences) {
  for (int i = 0; i < differences->count; i++) free(differences->rows[i].pointer);
  free(differences->rows);
  for (int i = 0; i < differences->specs_count; i++) json_decref(differences->specs[i]);
  *differences = (ep_differences){0};
}

/* How many values are in it, itself counted; stops beyond VALUES_SHOWN. */
static size_t values_count(const json_t *value) {
  size_t count = 1, index;
  const char *key;
  json_t *item;
  json_array_foreach((json_t *)value, index, item) {
    if (count > VALUES_SHOWN) return count;
    count += values_count(item);
  }
  json_object_foreach((json_t *)value, key, item) {
    if (count > VALUES_SHOWN) return count;
    count += values_count(item);
  }
  return count;
}

static void value_write(ep_writer *writer, const json_t *value) {
  size_t index;
  const char *key;
  json_t *item;
  switch (json_typeof(value)) {
  case JSON_OBJECT:
    ep_writer_open(writer, '{');
    json_object_foreach((json_t *)value, key, item) {
      ep_writer_key(writer, key);
      value_write(writer, item);
    }
    ep_writer_close(writer, '}');
    break;
  case JSON_ARRAY:
    ep_writer_open(writer, '[');
    json_array_foreach((json_t *)value, index, item) value_write(writer, item);
    ep_writer_close(writer, ']');
    break;
  case JSON_STRING: ep_writer_string(writer, json_string_value(value)); break;
  case JSON_INTEGER: ep_writer_integer(writer, json_integer_value(value)); break;
  case JSON_REAL: ep_writer_number(writer, json_real_value(value)); break;
  case JSON_TRUE: ep_writer_boolean(writer, true); break;
  case JSON_FALSE: ep_writer_boolean(writer, false); break;
  case JSON_NULL: ep_writer_null(writer); break;
  }
}

void ep_spec_value_write(ep_writer *writer, const json_t *value) {
  char text[64];
  if (!value) {
    ep_writer_null(writer);
  } else if (values_count(value) <= VALUES_SHOWN) {
    value_write(writer, value);
  } else {
    bool array = json_is_array(value);
    snprintf(text, sizeof text, "%s of %zu, too long to show", array ? "an array" : "an object",
             array ? json_array_size(value) : json_object_size(value));
    ep_writer_string(writer, text);
  }
}
