#include "engine/data/columns/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "engine/files/excerpt.h"

void ep_column_title(const ep_part *table, int64_t index, char out[EP_LIMIT_NAME_BYTES + 1]) {
  const char *name = table->column[index].name;
  if (name[0])
    memcpy(out, name, strlen(name) + 1);
  else
    snprintf(out, EP_LIMIT_NAME_BYTES + 1, "%lld", (long long)index);
}

static bool is_glob(const char *text) {
  return strpbrk(text, "*?");
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

static bool means(const char *text, const char *name) {
  return strcmp(text, name) == 0 || (is_glob(text) && ep_glob_matches(text, name));
}

const ep_column_rule *ep_column_rule_find(const ep_data_spec *data, const char *name) {
  const ep_column_rule *found = NULL;
  for (int i = 0; i < data->columns_count; i++) {
    const ep_column_rule *rule = &data->columns[i];
    if (strcmp(rule->name, name) == 0) return rule;
    if (!found && means(rule->name, name)) found = rule;
  }
  return found;
}

static bool list_has(const ep_column_names *names, const char *name) {
  for (int i = 0; i < names->count; i++)
    if (means(names->name[i], name)) return true;
  return false;
}

bool ep_column_chosen(const ep_data_spec *data, const char *name) {
  return (!data->features.name || list_has(&data->features, name)) &&
         !list_has(&data->exclude, name);
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
  bool is_target = false;
  for (int64_t i = 0; i < table->columns; i++) {
    ep_column_title(table, i, name);
    if (!means(text, name)) continue;
    if (i != target) return EP_OK;
    is_target = true;
  }
  ep_excerpt(shown, text, strlen(text));
  if (is_target)
    snprintf(message, sizeof message,
             "\"%s\" is the target, which is no feature: only its \"type\" can be set", shown);
  else
    snprintf(message, sizeof message, "no column of the data is called \"%s\"", shown);
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
  return strcmp(rule->name, name) == 0 && rule->type != EP_COLUMN_AS_IGNORE &&
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
