/* subcommand.h: a subcommand of epochctl, and the table of them. The command line is parsed by the
 * table; help, the manual page, docs/epochctl.md and the completions are printed from it. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_SUBCOMMAND_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_SUBCOMMAND_H

#include "api/arguments/arguments.h"
#include "clients/epochctl/client/client.h"

/* The words of a subcommand: a shell completes them. */
typedef enum {
  EP_WORD_TEXT,
  EP_WORD_FILE,
  EP_WORD_JOB,
  EP_WORD_SWEEP,
  EP_WORD_SUBMISSION, /* a job or a sweep */
  EP_WORD_DATASET,
  EP_WORD_MODEL,
  EP_WORD_EXAMPLE,
  EP_WORD_SUBCOMMAND,
  EP_WORD_CHOICE /* one of the words between the bars of `words`: "bash|zsh" */
} ep_word_kind;

typedef struct {
  const char *name;         /* one word, or two: "data put" */
  const char *words;        /* "JOB [FILE]"; "" for none */
  ep_word_kind kind;        /* of the words, */
  ep_word_kind then;        /* and, unless it is 0, of those after the first */
  const char *choices;      /* of EP_WORD_CHOICE in `then`: "roc|pr" */
  int least, most;          /* count of the words; most < 0: no limit but EP_LIMIT_ARGUMENTS */
  const ep_option *options; /* NULL for none */
  /* Sets client->outcome to the job's; the status is that of the subcommand itself. */
  ep_status (*run)(ep_client *client, const ep_arguments *arguments, ep_error *error);
  const char *summary;  /* one line, no full stop */
  const char *details;  /* paragraphs, with empty lines between; NULL for none */
  const char *examples; /* lines of a shell; NULL for none */
} ep_subcommand;

/* The rows from `first` on, in help. */
typedef struct {
  const ep_subcommand *first;
  const char *title;
} ep_subcommand_group;

typedef struct ep_subcommand_table {
  const ep_subcommand *const *rows;  /* in the order of help; ends in NULL */
  const ep_subcommand_group *groups; /* in that order; ends in NULL */
  const ep_option *options;          /* those of every subcommand */
} ep_subcommand_table;

/* The subcommand whose name starts at argv[at]; *words: the words of the name. NULL for none. */
const ep_subcommand *ep_subcommand_find(const ep_subcommand_table *table, int argc,
                                        const char *const *argv, int at, int *words);

#endif
