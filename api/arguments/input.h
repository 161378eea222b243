/* input.h: files that a command line names. */
#ifndef EP_API_ARGUMENTS_INPUT_H
#define EP_API_ARGUMENTS_INPUT_H

#include <stddef.h>

#include "api/status.h"

/* Reads all of a file, or of standard input for "-". *out ends in 0 and is the caller's (free);
 * NULL after a failure. EP_INVALID when the file cannot be read, EP_TOO_LARGE over max_bytes. */
ep_status ep_input_read(const char *path, size_t max_bytes, char **out, size_t *out_bytes,
                        ep_error *error);

#endif
