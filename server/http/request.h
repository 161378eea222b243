/* request.h: one HTTP request as the routes see it, without the HTTP library: method, decoded path,
 * query, headers, body. Every string is a copy that the request owns. */
#ifndef EP_SERVER_HTTP_REQUEST_H
#define EP_SERVER_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "server/http/upload.h"

enum {
  EP_REQUEST_TARGET_BYTES = 8192, /* path and query, as sent */
  EP_REQUEST_HEADERS = 64,        /* browsers send about 20 */
  EP_REQUEST_QUERY = 16,
  EP_REQUEST_ID_BYTES = EP_LIMIT_NAME_BYTES + 1
};

typedef struct {
  char *name, *value; /* owned */
} ep_pair;

typedef struct {
  char method[16]; /* "" for one that is longer or no token */
  bool http11;
  char *path;                      /* decoded, owned */
  char id[EP_REQUEST_ID_BYTES];    /* what {id} of the route's path matched */
  ep_pair query[EP_REQUEST_QUERY]; /* decoded */
  int query_count;
  ep_pair headers[EP_REQUEST_HEADERS];
  int headers_count;
  char *body; /* owned; ends in a 0 that body_bytes does not count */
  size_t body_bytes;
  ep_upload upload; /* a body on disk; its file is -1 when there is none */
} ep_request;

/* Reads method and target ("/v1/jobs?limit=2"). EP_MALFORMED for a target that is not a path, a bad
 * or cut percent escape, an encoded 0 or control character, invalid UTF-8. */
ep_status ep_request_start(ep_request *request, const char *method, const char *target,
                           ep_error *error);
/* EP_TOO_LARGE beyond the count. */
ep_status ep_request_add_header(ep_request *request, const char *name, const char *value,
                                ep_error *error);
/* Zero bytes and an upload without a file are a request that deinit takes: start from init. */
void ep_request_init(ep_request *request);
void ep_request_deinit(ep_request *request);

/* The first header of that name (any case), or NULL. */
const char *ep_request_header(const ep_request *request, const char *name);
int ep_request_header_count(const ep_request *request, const char *name);

/* True when a comma-separated header names the token (any case, parameters left out), such as a
 * media type in Accept. */
bool ep_request_names(const ep_request *request, const char *header, const char *token);

/* The query value, or NULL. */
const char *ep_request_query(const ep_request *request, const char *name);
/* All values of a parameter that may come several times, in their order; returns their count. */
int ep_request_queries(const ep_request *request, const char *name,
                       const char *values[EP_REQUEST_QUERY]);

/* A query value as an integer in [min, max]; `fallback` when it is not there. EP_MALFORMED. */
ep_status ep_request_integer(const ep_request *request, const char *name, int64_t min, int64_t max,
                             int64_t fallback, int64_t *out, ep_error *error);

/* Index into `words` (NULL-terminated) of a query value; `fallback` when it is not there. */
ep_status ep_request_word(const ep_request *request, const char *name, const char *const *words,
                          int fallback, int *out, ep_error *error);

/* True when If-None-Match names the entity tag (quotes included) or is "*". */
bool ep_request_matches(const ep_request *request, const char *etag);

#endif
