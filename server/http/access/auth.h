/* auth.h: bearer tokens from a file. Memory holds their hashes alone, and two hashes are compared
 * in a time that does not depend on where they differ. */
#ifndef EP_SERVER_HTTP_ACCESS_AUTH_H
#define EP_SERVER_HTTP_ACCESS_AUTH_H

#include <stdbool.h>

#include "api/status.h"

enum { EP_AUTH_TOKENS = 64, EP_AUTH_HASH_BYTES = 32, EP_AUTH_TOKEN_LEAST_BYTES = 16 };

typedef struct {
  int count; /* 0: no token is needed */
  unsigned char hashes[EP_AUTH_TOKENS][EP_AUTH_HASH_BYTES];
} ep_auth;

/* Reads one token a line; empty lines and lines that begin with # are skipped. EP_INVALID: there is
 * no token, or one is shorter than 16 characters or has a space. */
ep_status ep_auth_read(ep_auth *auth, const char *path, ep_error *error);

/* `authorization`: the header's value or NULL. */
bool ep_auth_accepts(const ep_auth *auth, const char *authorization);

#endif
