#include "clients/epochctl/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const ep_option *find(const ep_option *table, const char *name, size_t bytes, char letter) {
  for (; table && table->name; table++)
    if (letter ? table->letter == letter
               : strlen(table->name) == bytes && memcmp(table->name, name, bytes) == 0)
      return table;
  return NULL;
}

static ep_status word_add(ep_arguments *arguments, const char *word, ep_error *error) {
  if (arguments->words_count == EP_LIMIT_CLIENT_WORDS)
    return ep_fail(error, EP_INVALID, "more than %d words", EP_LIMIT_CLIENT_WORDS);
  arguments->words[arguments->words_count++] = word;
  return EP_OK;
}

/* argv[*at] is an option; *at goes to the last word that belongs to it. */
static ep_status option_add(ep_arguments *arguments, int argc, char *const *argv, int *at,
                            const ep_option *table, const ep_option *second, ep_error *error) {
  const char *text = argv[*at], *value = NULL;
  bool is_long = text[1] == '-';
  const char *name = text + (is_long ? 2 : 1);
  size_t bytes = is_long ? strcspn(name, "=") : 1;
  char letter = is_long ? 0 : *name;
  const ep_option *option = find(table, name, bytes, letter);
  if (!option) option = find(second, name, bytes, letter);
  if (!option)
    return ep_fail(error, EP_INVALID, "there is no option %.*s here",
                   (int)(name - text + (long)bytes), text);
  if (is_long && name[bytes] == '=') value = name + bytes + 1;
  if (!is_long && name[1]) value = name + 1; /* -oFILE */
  if (!option->value && value)
    return ep_fail(error, EP_INVALID, "--%s takes no value", option->name);
  if (option->value && !value) {
    if (*at + 1 >= argc)
      return ep_fail(error, EP_INVALID, "--%s needs a value: %s", option->name, option->value);
    value = argv[++*at];
  }
  if (arguments->given_count == EP_OPTIONS_MAX)
    return ep_fail(error, EP_INVALID, "more than %d options", EP_OPTIONS_MAX);
  arguments->given[arguments->given_count].option = option;
  arguments->given[arguments->given_count++].value = value;
  return EP_OK;
}

ep_status ep_arguments_read(ep_arguments *arguments, int argc, char *const *argv, int from,
                            const ep_option *table, const ep_option *second, bool stop_at_word,
                            int *next, ep_error *error) {
  bool words_only = false;
  ep_status status = EP_OK;
  int at = from;
  for (; at < argc && !status; at++) {
    const char *text = argv[at];
    if (!words_only && strcmp(text, "--") == 0) {
      words_only = true;
    } else if (!words_only && text[0] == '-' && text[1]) {
      status = option_add(arguments, argc, argv, &at, table, second, error);
    } else {
      if (stop_at_word) break;
      status = word_add(arguments, text, error);
    }
  }
  *next = at;
  return status;
}

static int last(const ep_arguments *arguments, const char *name) {
  for (int i = arguments->given_count - 1; i >= 0; i--)
    if (strcmp(arguments->given[i].option->name, name) == 0) return i;
  return -1;
}

bool ep_arguments_has(const ep_arguments *arguments, const char *name) {
  return last(arguments, name) >= 0;
}

const char *ep_arguments_value(const ep_arguments *arguments, const char *name) {
  int index = last(arguments, name);
  return index < 0 ? NULL : arguments->given[index].value;
}

ep_status ep_arguments_integer(const ep_arguments *arguments, const char *name, int64_t min,
                               int64_t max, int64_t fallback, int64_t *out, ep_error *error) {
  const char *text = ep_arguments_value(arguments, name);
  char *stop = NULL;
  *out = fallback;
  if (!text) return EP_OK;
  errno = 0;
  long long value = strtoll(text, &stop, 10);
  if (errno || stop == text || *stop || value < min || value > max)
    return ep_fail(error, EP_INVALID,
                   "--%s must be a whole number from %lld to %lld, not \"%.64s\"", name,
                   (long long)min, (long long)max, text);
  *out = value;
  return EP_OK;
}

ep_status ep_arguments_choice(const ep_arguments *arguments, const char *name, const char **out,
                              ep_error *error) {
  int index = last(arguments, name);
  *out = index < 0 ? NULL : arguments->given[index].value;
  if (!*out) return EP_OK;
  const char *choices = arguments->given[index].option->value;
  size_t bytes = strlen(*out);
  for (const char *at = choices; bytes > 0; at += strcspn(at, "|") + 1) {
    if (strcspn(at, "|") == bytes && memcmp(at, *out, bytes) == 0) return EP_OK;
    if (!at[strcspn(at, "|")]) break;
  }
  return ep_fail(error, EP_INVALID, "--%s must be one of %s, not \"%.64s\"", name, choices, *out);
}
