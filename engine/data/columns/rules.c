#include "engine/data/columns/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "engine/data/cells/unicode.h"
#include "engine/files/excerpt.h"

void ep_column_title(const ep_part *table, int64_t index, char out[EP_LIMIT_NAME_BYTES + 1]) {
  const char *name = table->column[index].name;
  if (name[0])
    memcpy(out, name, strlen(name) + 1);
  else
    snprintf(out, EP_LIMIT_NAME_BYTES + 1, "%lld", (long long)index);
}

ep_status ep_column_named(const ep_part *table, const char *name, const char *pointer,
                          const char *remedy, int64_t *out, ep_error *error) {
  char title[EP_LIMIT_NAME_BYTES + 1], shown[EP_EXCERPT_BYTES];
  int64_t unnamed = -1;
  *out = -1;
  for (int64_t i = 0; i < table->columns; i++) {
    bool is_named = table->column[i].name[0];
    ep_column_title(table, i, title);
    if (!ep_text_equals(title, name)) continue;
    if (!is_named) unnamed = i;
    if (is_named && *out >= 0)
      return ep_fail_at(error, EP_INVALID, pointer,
                        "columns %lld and %lld are both named \"%s\": %s", (long long)*out,
                        (long long)i, ep_excerpt(shown, name, strlen(name)), remedy);
    if (is_named) *out = i;
  }
  if (*out < 0) *out = unnamed;
  return *out < 0 ? ep_fail(error, EP_NOT_FOUND, "no column with that name") : EP_OK;
}

/* A star that took too few bytes takes one more; only the last one has to. */
bool ep_glob_matches(const char *glob, const char *name) {
  const char *star = NULL, *taken = NULL;
  while (*name) {
    if (*glob == '*') {
      star = glob++;
      taken = name;
    } else if (*glob == '?' || *glob == *name) {
      glob++;
      name++;
    } else if (star) {
      glob = star + 1;
      name = ++taken;
    } else {
      return false;
    }
  }
  while (*glob == '*') glob++;
  return !*glob;
}

static bool is_title(const ep_part *table, const char *text) {
  char title[EP_LIMIT_NAME_BYTES + 1];
  for (int64_t i = 0; i < table->columns; i++) {
    ep_column_title(table, i, title);
    if (ep_text_equals(title, text)) return true;
  }
  return false;
}

static bool is_glob(const ep_part *table, const char *text) {
  return strpbrk(text, "*?") && !is_title(table, text);
}

ep_status ep_column_matcher_init(const ep_data_spec *data, const ep_part *table,
                                 ep_column_matcher *out, ep_error *error) {
  const ep_column_names *lists[] = {&data->features, &data->exclude};
  *out = (ep_column_matcher){.data = data};
  out->globs =
      calloc((size_t)(data->columns_count + data->features.count + data->exclude.count) + 1,
             sizeof *out->globs);
  if (!out->globs) return ep_fail_memory(error);
  bool *glob = out->globs;
  for (int i = 0; i < data->columns_count; i++) *glob++ = is_glob(table, data->columns[i].name);
  for (int list = 0; list < 2; list++)
    for (int i = 0; i < lists[list]->count; i++) *glob++ = is_glob(table, lists[list]->name[i]);
  return EP_OK;
}

void ep_column_matcher_deinit(ep_column_matcher *matcher) {
  free(matcher->globs);
  *matcher = (ep_column_matcher){0};
}

static bool means(const char *text, bool glob, const char *name) {
  return glob ? ep_glob_matches(text, name) : ep_text_equals(text, name);
}

const ep_column_rule *ep_column_rule_find(const ep_column_matcher *matcher, const char *name) {
  const ep_column_rule *found = NULL;
  for (int i = 0; i < matcher->data->columns_count; i++) {
    const ep_column_rule *rule = &matcher->data->columns[i];
    bool glob = matcher->globs[i];
    if ((found && glob) || !means(rule->name, glob, name)) continue;
    if (!glob) return rule;
    found = rule;
  }
  return found;
}

/* globs: [names->count] */
static bool list_has(const ep_column_names *names, const bool *globs, const char *name) {
  for (int i = 0; i < names->count; i++)
    if (means(names->name[i], globs[i], name)) return true;
  return false;
}

bool ep_column_chosen(const ep_column_matcher *matcher, const char *name) {
  const ep_data_spec *data = matcher->data;
  const bool *features = matcher->globs + data->columns_count;
  return (!data->features.name || list_has(&data->features, features, name)) &&
         !list_has(&data->exclude, features + data->features.count, name);
}

static ep_status pointer_fail(const char *const steps[4], ep_error *error, const char *message) {
  ep_field_reader reader = {0};
  for (int i = 0; i < 4 && steps[i]; i++) ep_field_reader_enter(&reader, steps[i]);
  return ep_fail_at(error, EP_INVALID, reader.pointer, "%s", message);
}

ep_status ep_column_rule_fail(const ep_column_rule *rule, const char *field, ep_error *error,
                              const char *format, ...) {
  char message[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return pointer_fail((const char *const[4]){"data", "columns", rule->name, field}, error, message);
}

/* One name or glob; list: "features", say; step: its place there. */
static ep_status name_check(const char *text, const char *list, const char *step,
                            const ep_part *table, int64_t target, ep_error *error) {
  char name[EP_LIMIT_NAME_BYTES + 1], shown[EP_EXCERPT_BYTES], message[EP_MESSAGE_BYTES];
  bool is_target = false, glob = is_glob(table, text);
  for (int64_t i = 0; i < table->columns; i++) {
    ep_column_title(table, i, name);
    if (!means(text, glob, name)) continue;
    if (i != target) return EP_OK;
    is_target = true;
  }
  ep_excerpt(shown, text, strlen(text));
  if (is_target)
    snprintf(message, sizeof message,
             "\"%s\" is the target, not a feature: only its \"type\" can be set", shown);
  else
    snprintf(message, sizeof message, "no column named \"%s\"", shown);
  return pointer_fail((const char *const[4]){"data", list, step, NULL}, error, message);
}

static ep_status names_check(const ep_column_names *names, const char *list, const ep_part *table,
                             int64_t target, ep_error *error) {
  ep_status status = EP_OK;
  char step[16];
  for (int i = 0; i < names->count && status == EP_OK; i++) {
    snprintf(step, sizeof step, "%d", i);
    status = name_check(names->name[i], list, step, table, target, error);
  }
  return status;
}

/* Whether it is the target's and sets the type, and nothing that is of features. */
static bool types_target(const ep_column_rule *rule, const ep_part *table, int64_t target) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  if (target < 0) return false;
  ep_column_title(table, target, name);
  return ep_text_equals(rule->name, name) && rule->type != EP_COLUMN_AS_IGNORE &&
         rule->missing == EP_FILL_AUTO && !rule->has_value && rule->indicator < 0 &&
         rule->encode == EP_CATEGORY_AUTO && rule->min_count <= 1 &&
         rule->unknown == EP_UNKNOWN_WORD_OTHER && rule->scale == EP_COLUMN_SCALE_STANDARD;
}

ep_status ep_column_rules_check(const ep_data_spec *data, const ep_part *table, int64_t target,
                                ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < data->columns_count && status == EP_OK; i++) {
    const char *name = data->columns[i].name;
    if (!types_target(&data->columns[i], table, target))
      status = name_check(name, "columns", name, table, target, error);
  }
  if (status == EP_OK) status = names_check(&data->features, "features", table, target, error);
  if (status == EP_OK) status = names_check(&data->exclude, "exclude", table, target, error);
  return status;
}
