/* framing.h: where a request begins and ends in the bytes of a connection (RFC 9112), read strictly
 * and before libmicrohttpd reads the same bytes: it joins folded lines to a header's name, takes
 * "chunked " for no coding, and passes zero bytes, bare CR and bare LF. What this reader accepts,
 * the library, a proxy and this reader frame in the same way.
 *
 * Refused are: a folded line, a name that is no token, a control character, a line that does not
 * end in CR LF, Content-Length that is not one number, a Transfer-Encoding that is not "chunked",
 * both of them, none or two of Host, two of Authorization, another version than HTTP/1.0 and 1.1,
 * chunk extensions, trailers, and a head over its ceilings: of bytes, of headers, and of both with
 * its query parameters and cookies, for each of which the library takes memory of its pool. */
#ifndef EP_SERVER_HTTP_FRAMING_FRAMING_H
#define EP_SERVER_HTTP_FRAMING_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

enum { EP_FRAMING_NAME_BYTES = 20, EP_FRAMING_VALUE_BYTES = 32 };

/* One for each connection, all zero at first. Its fields are framing.c's. */
typedef struct {
  int state;
  int head_bytes, headers_count;
  int fields;                             /* headers, query parameters, cookies */
  int digits;                             /* of a version, or of a chunk's size */
  char name[EP_FRAMING_NAME_BYTES + 1];   /* of the header, in lower case, cut off */
  char value[EP_FRAMING_VALUE_BYTES + 1]; /* of one that frames, cut off */
  int name_bytes, value_bytes;            /* not cut off */
  bool http10, has_length, has_encoding, has_host, has_authorization; /* of the head */
  int64_t left_bytes; /* of the body, or of its chunk */
} ep_framing;

/* Reads `count` bytes that follow those of earlier calls. *whole_bytes: so many of them make whole
 * requests, and are to be answered also when the rest is refused. Errors: EP_MALFORMED,
 * EP_HEAD_TOO_LARGE: the connection must end, since its next request may begin anywhere; no further
 * call then. */
ep_status ep_framing_read(ep_framing *framing, const char *bytes, size_t count, size_t *whole_bytes,
                          ep_error *error);

#endif
