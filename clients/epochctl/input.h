/* input.h: files that a command line names. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_H
#define EP_CLIENTS_EPOCHCTL_INPUT_H

#include <stddef.h>

#include "api/status.h"

/* All of a file ("-" is standard input), at most max_bytes, ending in 0; the caller's (free).
 * EP_INVALID when it cannot be read, EP_TOO_LARGE. */
ep_status ep_input_read(const char *path, size_t max_bytes, char **out, size_t *out_bytes,
                        ep_error *error);

#endif
