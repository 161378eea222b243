/* commands.h: the table of commands. Help, the manual page, docs/epochctl.md and the completions
 * are printed from it. */
#ifndef EP_CLIENTS_EPOCHCTL_COMMANDS_H
#define EP_CLIENTS_EPOCHCTL_COMMANDS_H

#include "api/arguments/arguments.h"
#include "clients/epochctl/session.h"

/* What the words of a command stand for: completion offers those. */
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

/* What a job's outcome is goes to session->outcome; a status says that the command itself failed.
 */
typedef ep_status (*ep_command_run)(ep_session *session, const ep_arguments *arguments,
                                    ep_error *error);

typedef struct {
  const char *name;    /* one word, or two: "data put"; NULL ends the table */
  const char *words;   /* "JOB [FILE]" */
  ep_word_kind kind;   /* of its words, for completion */
  const char *choices; /* of EP_WORD_CHOICE: "bash|zsh" */
  int least, most;     /* words; most < 0: as many as one likes */
  const ep_option *options;
  ep_command_run run;
  const char *summary;  /* one line, no full stop */
  const char *details;  /* paragraphs, with empty lines between */
  const char *examples; /* lines of a shell */
} ep_command;

extern const ep_command EP_COMMANDS[];
extern const ep_option EP_GLOBAL_OPTIONS[];

/* The command that argv[at…] names, and how many words its name took; NULL when there is none. */
const ep_command *ep_command_find(int argc, char *const *argv, int at, int *words);

/* One a command, in the file of its noun. */
ep_status ep_command_run_job(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_validate(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_watch(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_ls(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_show(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_cancel(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_rm(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_set(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_plot(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_compare(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_weights(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_predict(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_data_put(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_data_ls(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_data_show(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_data_rm(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_models_publish(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_models_ls(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_models_rm(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_devices(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_queue(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_example(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_completion(ep_session *, const ep_arguments *, ep_error *);
ep_status ep_command_help(ep_session *, const ep_arguments *, ep_error *);

#endif
