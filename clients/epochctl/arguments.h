/* arguments.h: a command line, read by the table of a command's options. */
#ifndef EP_CLIENTS_EPOCHCTL_ARGUMENTS_H
#define EP_CLIENTS_EPOCHCTL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"

/* What a word stands for: completion and help ask. */
typedef enum {
  EP_WORD_TEXT,
  EP_WORD_FILE,
  EP_WORD_JOB,
  EP_WORD_DATASET,
  EP_WORD_MODEL,
  EP_WORD_EXAMPLE,
  EP_WORD_COMMAND,
  EP_WORD_CHOICE /* one of the words between bars: "bash|zsh" */
} ep_word_kind;

typedef struct {
  const char *name;  /* without its dashes; NULL ends a table */
  char letter;       /* "-o", or 0 */
  const char *value; /* "FILE", "json|csv"; NULL for a switch */
  ep_word_kind kind; /* of the value */
  const char *doc;
} ep_option;

enum { EP_OPTIONS_MAX = 64 };

/* Words and values are loans of argv. */
typedef struct {
  const char *words[EP_LIMIT_CLIENT_WORDS]; /* without options */
  int words_count;
  struct {
    const ep_option *option;
    const char *value; /* NULL of a switch */
  } given[EP_OPTIONS_MAX];
  int given_count;
} ep_arguments;

/* Adds words and options of argv[from…] that are in one of the two tables (the second may be NULL).
 * An option's value follows it, or stands behind "="; after "--" all are words; "-" is a word.
 * `stop_at_word`: returns at the first word, for what stands before a command. *next: the first
 * index that was not read. EP_INVALID for an option that is in neither. */
ep_status ep_arguments_read(ep_arguments *arguments, int argc, char *const *argv, int from,
                            const ep_option *table, const ep_option *second, bool stop_at_word,
                            int *next, ep_error *error);

bool ep_arguments_has(const ep_arguments *arguments, const char *name);
/* The last value given, or NULL. */
const char *ep_arguments_value(const ep_arguments *arguments, const char *name);
/* A whole number, or `fallback`. EP_INVALID outside min … max. */
ep_status ep_arguments_integer(const ep_arguments *arguments, const char *name, int64_t min,
                               int64_t max, int64_t fallback, int64_t *out, ep_error *error);
/* The value must be one of the option's choices, or not be given (*out NULL). */
ep_status ep_arguments_choice(const ep_arguments *arguments, const char *name, const char **out,
                              ep_error *error);

#endif
