#include "api/arguments/option.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ep_option *ep_option_find(const ep_option *table, const char *name) {
  for (; table && table->name; table++)
    if (strcmp(table->name, name) == 0) return table;
  return NULL;
}

static ep_status integer_read(const ep_option *option, const char *where, const char *text,
                              int64_t *out, ep_error *error) {
  char *stop;
  errno = 0;
  long long value = strtoll(text, &stop, 10);
  if (errno || stop == text || *stop || value < option->min || value > option->max)
    return ep_fail(error, EP_INVALID,
                   "%.400s must be a whole number from %lld to %lld, not \"%.64s\"", where,
                   (long long)option->min, (long long)option->max, text);
  *out = value;
  return EP_OK;
}

static ep_status choice_check(const ep_option *option, const char *where, const char *text,
                              ep_error *error) {
  size_t bytes = strlen(text);
  for (const char *choice = option->value; bytes > 0;) {
    size_t choice_bytes = strcspn(choice, "|");
    if (choice_bytes == bytes && memcmp(choice, text, bytes) == 0) return EP_OK;
    if (!choice[choice_bytes]) break;
    choice += choice_bytes + 1;
  }
  return ep_fail(error, EP_INVALID, "%.300s must be one of %s, not \"%.64s\"", where, option->value,
                 text);
}

ep_status ep_option_check(const ep_option *option, const char *where, const char *text,
                          ep_error *error) {
  int64_t value;
  switch (option->kind) {
  case EP_OPTION_INTEGER: return integer_read(option, where, text, &value, error);
  case EP_OPTION_CHOICE: return choice_check(option, where, text, error);
  default: return EP_OK;
  }
}

/* A list keeps what it has. */
static ep_status text_store(const ep_option *option, const char *where, const char *text,
                            char *member, ep_error *error) {
  const char *between = option->kind == EP_OPTION_ITEMS ? "," : ":";
  bool joins = option->kind == EP_OPTION_LIST || option->kind == EP_OPTION_ITEMS;
  size_t used = joins ? strlen(member) : 0;
  int bytes = snprintf(member + used, option->bytes - used, "%s%s", used > 0 ? between : "", text);
  if (bytes < 0 || (size_t)bytes >= option->bytes - used)
    return ep_fail(error, EP_INVALID, "%.400s is too long", where);
  return EP_OK;
}

ep_status ep_option_store(const ep_option *option, const char *where, const char *text,
                          void *settings, ep_error *error) {
  void *member = (char *)settings + option->offset;
  if (option->kind == EP_OPTION_SWITCH) {
    *(bool *)member = true;
    return EP_OK;
  }
  if (option->kind == EP_OPTION_INTEGER) return integer_read(option, where, text, member, error);
  ep_status status = ep_option_check(option, where, text, error);
  return status == EP_OK ? text_store(option, where, text, member, error) : status;
}
