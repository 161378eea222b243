/* option.h: a row of a table of options. Command lines, files of settings, help texts, manual pages
 * and completions come from the same table. */
#ifndef EP_API_ARGUMENTS_OPTION_H
#define EP_API_ARGUMENTS_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* The value of an option, and the type of the member that stores it. */
typedef enum {
  EP_OPTION_SWITCH, /* no value; bool */
  EP_OPTION_TEXT,   /* char [bytes] */
  EP_OPTION_FILE,   /* a text that shells complete as a path */
  EP_OPTION_LIST,   /* texts, joined by ':' when the option is given again */
  EP_OPTION_ITEMS,  /* the same, joined by ',' */
  EP_OPTION_CHOICE, /* a text: one of the words between the bars of `value` */
  EP_OPTION_INTEGER /* int64_t, min … max */
} ep_option_kind;

/* A row; every member that is not named is 0. */
typedef struct {
  const char *name; /* without its dashes; NULL ends a table */
  char letter;      /* 'o' for -o, or 0 */
  ep_option_kind kind;
  const char *value; /* "FILE", "json|csv"; NULL for a switch */
  int64_t min, max;
  size_t offset, bytes; /* EP_OPTION_MEMBER; bytes is 0 for an option that is not stored */
  const char *doc;
  const char *group; /* of the options from here on, in help; NULL: that of the one before */
} ep_option;

/* Where ep_option_store puts the value: a member of the struct `type`. */
#define EP_OPTION_MEMBER(type, member) \
  .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* The row of that name, or NULL. `table` may be NULL. */
const ep_option *ep_option_find(const ep_option *table, const char *name);

/* EP_INVALID for a number out of range and for a word that is none of the choices. `where` names
 * the option in the message: "--listen", or the file and its key. */
ep_status ep_option_check(const ep_option *option, const char *where, const char *text,
                          ep_error *error);

/* Checks the value and copies it into its member of `settings`; a switch becomes true. EP_INVALID
 * for a text that is too long. */
ep_status ep_option_store(const ep_option *option, const char *where, const char *text,
                          void *settings, ep_error *error);

#endif
