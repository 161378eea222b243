/* child.h: a scheduler's command as a child: its input, its output with a ceiling, its end. */
#ifndef EP_SERVER_SLURM_CHILD_H
#define EP_SERVER_SLURM_CHILD_H

#include <stddef.h>

#include "api/status.h"

typedef struct {
  char *output; /* standard output, ended by 0; the caller's: free */
  size_t output_bytes;
  char words[EP_MESSAGE_BYTES / 2]; /* of standard error: its end, in one line */
  int exit_code;
} ep_slurm_child;

/* Runs arguments[0] of the PATH, with `input` (at most EP_LIMIT_SLURM_INPUT_BYTES; NULL = none) on
 * its standard input, and waits for its end. EP_OK whatever its exit code is; EP_UNAVAILABLE: it is
 * absent, or took longer than timeout_ms and was killed; EP_TOO_LARGE: it printed more than
 * EP_LIMIT_SLURM_OUTPUT_BYTES. */
ep_status ep_slurm_child_run(const char *const *arguments, const char *input, int timeout_ms,
                             ep_slurm_child *out, ep_error *error);
/* The error of a child that ended with another exit code than 0, in its own words: "squeue: error:
 * …". EP_UNAVAILABLE where they have one of `unreachable`, which ends with NULL; else EP_INVALID.
 */
ep_status ep_slurm_child_refused(const char *command, const ep_slurm_child *child,
                                 const char *const *unreachable, ep_error *error);
void ep_slurm_child_deinit(ep_slurm_child *child);

#endif
