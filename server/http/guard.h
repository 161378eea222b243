/* guard.h: requests that are refused before any route sees them: those that two programs could read
 * differently (request smuggling), those for another name (DNS rebinding), those that another site
 * made a browser send (CSRF). */
#ifndef EP_SERVER_HTTP_GUARD_H
#define EP_SERVER_HTTP_GUARD_H

#include "server/http/request.h"

typedef struct {
  const char *listen_host; /* without brackets */
  bool any_address;        /* listens on 0.0.0.0 or ::, so any address may be its own */
  const char *allow;       /* further names, comma-separated */
} ep_guard;

/* EP_MALFORMED: close the connection, where its next request begins is not certain. */
ep_status ep_guard_framing(const ep_request *request, ep_error *error);

/* EP_FORBIDDEN. */
ep_status ep_guard_origin(const ep_guard *guard, const ep_request *request, ep_error *error);

#endif
