/* arguments.h: a command line, read by tables of options (getopt_long(3)). */
#ifndef EP_API_ARGUMENTS_ARGUMENTS_H
#define EP_API_ARGUMENTS_ARGUMENTS_H

#include <stdbool.h>

#include "api/arguments/option.h"
#include "api/limits.h"

/* From {0}. Words and values are loans of argv. */
typedef struct {
  const char *words[EP_LIMIT_ARGUMENTS]; /* [words_count]: what is neither an option nor a value */
  int words_count;
  struct {
    const ep_option *option;
    const char *value;         /* NULL of a switch */
  } given[EP_LIMIT_ARGUMENTS]; /* [given_count], in the order of the command line */
  int given_count;
} ep_arguments;

/* Adds the words and options of argv[from …], from >= 1, that are in one of the two tables (the
 * second may be NULL), and checks each value (ep_option_check). An option's value follows it or
 * stands behind "="; switches of one letter may stand together; after "--" all are words; "-" is a
 * word; names are not abbreviated. With `next` the reading stops at the first word: *next is its
 * index, or argc. EP_INVALID for an option that is in neither table, with the nearest that is.
 * For the main thread: getopt_long(3) keeps its place in global variables. */
ep_status ep_arguments_read(ep_arguments *arguments, int argc, char *const *argv, int from,
                            const ep_option *table, const ep_option *second, int *next,
                            ep_error *error);

bool ep_arguments_has(const ep_arguments *arguments, const char *name);
/* The last value given, or NULL. */
const char *ep_arguments_value(const ep_arguments *arguments, const char *name);
/* The last value given of an EP_OPTION_INTEGER, or `fallback`. */
int64_t ep_arguments_integer(const ep_arguments *arguments, const char *name, int64_t fallback);

/* ep_option_store of each option that has a member, in the order of the command line. */
ep_status ep_arguments_store(const ep_arguments *arguments, void *settings, ep_error *error);

#endif
