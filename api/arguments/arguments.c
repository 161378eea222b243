#include "api/arguments/arguments.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/nearest.h"

enum { ROWS_MAX = 64, FIRST_LONG = 256, WHERE_BYTES = 64 };

/* The tables as getopt_long takes them. A long option returns FIRST_LONG and its row's index, a
 * short one its letter. */
typedef struct {
  const ep_option *rows[ROWS_MAX];
  struct option long_options[ROWS_MAX + 1];
  char letters[2 + 2 * ROWS_MAX + 1];
  int count;
} grammar;

static void table_add(grammar *rules, const ep_option *table) {
  size_t used = strlen(rules->letters);
  for (; table && table->name; table++) {
    assert(rules->count < ROWS_MAX);
    bool takes_value = table->kind != EP_OPTION_SWITCH;
    rules->long_options[rules->count] =
        (struct option){table->name, takes_value ? required_argument : no_argument, NULL,
                        FIRST_LONG + rules->count};
    rules->rows[rules->count++] = table;
    if (!table->letter) continue;
    rules->letters[used++] = table->letter;
    if (takes_value) rules->letters[used++] = ':';
  }
}

/* The row of what getopt_long returned, or left in optopt; NULL when it is neither. */
static const ep_option *row_find(const grammar *rules, int code) {
  if (code >= FIRST_LONG) return rules->rows[code - FIRST_LONG];
  for (int i = 0; i < rules->count; i++)
    if (code && rules->rows[i]->letter == code) return rules->rows[i];
  return NULL;
}

/* Whether `text`, "--name" or "--name=value", has the whole name: getopt_long takes a start. */
static bool is_whole_name(const char *text, const ep_option *row) {
  size_t bytes = strlen(row->name);
  return strncmp(text + 2, row->name, bytes) == 0 && (!text[2 + bytes] || text[2 + bytes] == '=');
}

/* `meant`: the row that a start of a name stands for, or NULL. */
static ep_status unknown_refuse(const grammar *rules, const char *text, const ep_option *meant,
                                ep_error *error) {
  const char *names[ROWS_MAX], *near = meant ? meant->name : NULL;
  char name[WHERE_BYTES];
  if (text[1] != '-') return ep_fail(error, EP_INVALID, "unknown option -%c; see --help", optopt);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 2, "="), text + 2);
  for (int i = 0; i < rules->count; i++) names[i] = rules->rows[i]->name;
  if (!near) near = ep_nearest_name(name, names, rules->count);
  if (!near) return ep_fail(error, EP_INVALID, "unknown option --%s; see --help", name);
  return ep_fail(error, EP_INVALID, "unknown option --%s: did you mean --%s?", name, near);
}

static ep_status word_add(ep_arguments *arguments, const char *word, ep_error *error) {
  if (arguments->words_count == EP_LIMIT_ARGUMENTS)
    return ep_fail(error, EP_INVALID, "more than %d words", EP_LIMIT_ARGUMENTS);
  arguments->words[arguments->words_count++] = word;
  return EP_OK;
}

static ep_status option_add(ep_arguments *arguments, const ep_option *row, const char *value,
                            ep_error *error) {
  char where[WHERE_BYTES];
  snprintf(where, sizeof where, "--%s", row->name);
  if (arguments->given_count == EP_LIMIT_ARGUMENTS)
    return ep_fail(error, EP_INVALID, "more than %d options", EP_LIMIT_ARGUMENTS);
  arguments->given[arguments->given_count].option = row;
  arguments->given[arguments->given_count++].value = value;
  return value ? ep_option_check(row, where, value, error) : EP_OK;
}

/* What getopt_long returned for the element `text` of the command line. */
static ep_status element_add(ep_arguments *arguments, const grammar *rules, int code,
                             const char *text, ep_error *error) {
  if (code == 1) return word_add(arguments, optarg, error);
  const ep_option *row = row_find(rules, code == '?' || code == ':' ? optopt : code);
  bool is_long = text[1] == '-';
  if (!row || (is_long && !is_whole_name(text, row)))
    return unknown_refuse(rules, text, row, error);
  if (code == '?') return ep_fail(error, EP_INVALID, "--%s takes no value", row->name);
  if (code == ':')
    return ep_fail(error, EP_INVALID, "--%s needs a value: %s", row->name, row->value);
  return option_add(arguments, row, optarg, error);
}

ep_status ep_arguments_read(ep_arguments *arguments, int argc, char *const *argv, int from,
                            const ep_option *table, const ep_option *second, int *next,
                            ep_error *error) {
  /* '+' stops at the first word, '-' returns words as code 1; ':' returns a missing value as ':'.
   */
  grammar rules = {.letters = {next ? '+' : '-', ':'}};
  char *const *line = argv + from - 1; /* line[0] is passed over, as a program's name is */
  int count = argc - from + 1;
  ep_status status = EP_OK;
  table_add(&rules, table);
  table_add(&rules, second);
  opterr = 0;
  optind = 0; /* reads from line[1], whatever was read before */
  for (int at = 1; status == EP_OK; at = optind) {
    int code = getopt_long(count, line, rules.letters, rules.long_options, NULL);
    if (code == -1) break;
    status = element_add(arguments, &rules, code, line[at], error);
  }
  if (next)
    *next = optind + from - 1;
  else
    for (int i = optind; i < count && status == EP_OK; i++)
      status = word_add(arguments, line[i], error);
  return status;
}

static int last_find(const ep_arguments *arguments, const char *name) {
  for (int i = arguments->given_count - 1; i >= 0; i--)
    if (strcmp(arguments->given[i].option->name, name) == 0) return i;
  return -1;
}

bool ep_arguments_has(const ep_arguments *arguments, const char *name) {
  return last_find(arguments, name) >= 0;
}

const char *ep_arguments_value(const ep_arguments *arguments, const char *name) {
  int index = last_find(arguments, name);
  return index < 0 ? NULL : arguments->given[index].value;
}

int64_t ep_arguments_integer(const ep_arguments *arguments, const char *name, int64_t fallback) {
  const char *text = ep_arguments_value(arguments, name);
  return text ? strtoll(text, NULL, 10) : fallback;
}

ep_status ep_arguments_store(const ep_arguments *arguments, void *settings, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < arguments->given_count && status == EP_OK; i++) {
    const ep_option *option = arguments->given[i].option;
    char where[WHERE_BYTES];
    snprintf(where, sizeof where, "--%s", option->name);
    if (option->bytes > 0)
      status = ep_option_store(option, where, arguments->given[i].value, settings, error);
  }
  return status;
}
