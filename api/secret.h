/* secret.h: random numbers of the system, as text: what nobody guesses. */
#ifndef EP_API_SECRET_H
#define EP_API_SECRET_H

#include <stddef.h>

#include "api/status.h"

/* Of what lets somebody in. With its NULL it has the bytes of a SHA-256 in hex. */
enum { EP_SECRET_RANDOM_BYTES = 32, EP_SECRET_TEXT_BYTES = 2 * EP_SECRET_RANDOM_BYTES + 1 };

/* text: [2 * bytes + 1], in hex; bytes: 1 to EP_SECRET_RANDOM_BYTES. EP_IO: the system gives none.
 * Any thread. */
ep_status ep_secret_make(char *text, size_t bytes, ep_error *error);

#endif
