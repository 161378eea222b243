/* auth.h: who sends a request: bearer tokens from a file (api/tokens/tokens.h). Two hashes are
 * compared in a time that does not depend on where they differ. An address that sent many wrong
 * tokens is refused for a while, but for tokens that were last taken from there.
 *
 * Thread-safe, once initialized. */
#ifndef EP_SERVER_HTTP_ACCESS_AUTH_H
#define EP_SERVER_HTTP_ACCESS_AUTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/status.h"
#include "api/tokens/tokens.h"
#include "server/http/access/throttle.h"

/* Whom a request comes from. Without a token file: nobody, who may do everything. */
typedef struct {
  char token[EP_OWNER_BYTES]; /* its name; "" = none was needed */
  char owner[EP_OWNER_BYTES];
  unsigned scopes; /* of ep_scope */
} ep_caller;

typedef struct {
  const char *path;      /* lent; NULL = no token is needed */
  pthread_rwlock_t lock; /* guards the two below */
  ep_token_list list;
  atomic_ullong *origins; /* [list.count]: ep_address_key of each token's last request; owned */
  ep_throttle throttle;
} ep_auth;

/* Without tokens until ep_auth_read has succeeded. */
void ep_auth_init(ep_auth *auth);
void ep_auth_deinit(ep_auth *auth);

/* Reads the tokens of `path`, which is lent, in place of those that it had; after a failure these
 * stay. EP_INVALID: a line is wrong, or there is no token; EP_FORBIDDEN: others may read the file.
 */
ep_status ep_auth_read(ep_auth *auth, const char *path, ep_error *error);

/* `authorization`: the header's value or NULL; `address`: the client's, as text. EP_UNAUTHORIZED;
 * EP_BUSY: too many wrong tokens came from there. Wrong tokens are logged and counted. */
ep_status ep_auth_check(ep_auth *auth, const char *authorization, const char *address,
                        ep_caller *out, ep_error *error);

#endif
