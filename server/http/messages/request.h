/* request.h: one HTTP request without the HTTP library: method, decoded path, query, headers, body.
 * The request owns copies of all its strings. */
#ifndef EP_SERVER_HTTP_MESSAGES_REQUEST_H
#define EP_SERVER_HTTP_MESSAGES_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"
#include "server/http/messages/upload.h"

enum {
  EP_REQUEST_TARGET_BYTES = 8192, /* path and query, as sent */
  EP_REQUEST_HEADERS = EP_LIMIT_HEADERS,
  EP_REQUEST_QUERY = 16,
  EP_REQUEST_ID_BYTES = EP_LIMIT_NAME_BYTES + sizeof EP_MODEL_WORD
};

typedef struct {
  char *name, *value; /* owned */
} ep_pair;

typedef struct {
  char method[16];                    /* "": longer than that, or not a token */
  char *path;                         /* decoded, but for %2F and %25, owned, below the base path */
  bool bare;                          /* it was the base path itself, without a slash behind it */
  char id[EP_REQUEST_ID_BYTES];       /* the segment that {id} of the route's path matched; of a job
                                         its id, whatever the path calls it by */
  char part[EP_LIMIT_NAME_BYTES + 1]; /* the segment that a second {…} matched */
  ep_pair query[EP_REQUEST_QUERY];    /* decoded */
  int query_count;
  ep_pair headers[EP_REQUEST_HEADERS];
  int headers_count;
  char *body; /* owned; ends in a 0 that body_bytes does not count */
  size_t body_bytes;
  ep_upload upload; /* a body on disk; its file is -1 where there is none */
} ep_request;

/* An empty request, which deinit takes. */
void ep_request_init(ep_request *request);
void ep_request_deinit(ep_request *request);

/* Reads method and target ("/v1/jobs?limit=2"). EP_MALFORMED: the target is not a path, or has a
 * bad percent escape, an encoded 0 or control character, or invalid UTF-8. */
ep_status ep_request_start(ep_request *request, const char *method, const char *target,
                           ep_error *error);
/* Takes `base` from the front of the path; a path that does not begin with it stays: a proxy may
 * have taken it already. base: of ep_base_path, or "". */
void ep_request_strip(ep_request *request, const char *base);
/* EP_MALFORMED: too many headers, or the name is not a token. */
ep_status ep_request_add_header(ep_request *request, const char *name, const char *value,
                                ep_error *error);

/* The first header of that name (any case), or NULL. */
const char *ep_request_header(const ep_request *request, const char *name);
int ep_request_header_count(const ep_request *request, const char *name);

/* Whether there is one Content-Type and it is this one (any case, parameters left out). */
bool ep_request_has_type(const ep_request *request, const char *type);

/* How the body is packed (Content-Encoding). */
typedef enum { EP_CODING_IDENTITY, EP_CODING_GZIP, EP_CODING_UNKNOWN } ep_coding;
ep_coding ep_request_coding(const ep_request *request);

/* The index of the media type, of `types` (ended by NULL), that Accept prefers (RFC 9110, 12.5.1):
 * of those that it names the one with the highest q, of equals the first; `fallback` where it names
 * none with a q above 0, or wildcards have a higher one. */
int ep_request_accepts(const ep_request *request, const char *const *types, int fallback);

/* The value of a query parameter, or NULL. */
const char *ep_request_query(const ep_request *request, const char *name);
/* All values of a repeated parameter, in order; returns their count. */
int ep_request_queries(const ep_request *request, const char *name,
                       const char *values[EP_REQUEST_QUERY]);

/* A query value as an integer in [min, max]; `fallback` without one. EP_MALFORMED. */
ep_status ep_request_integer(const ep_request *request, const char *name, int64_t min, int64_t max,
                             int64_t fallback, int64_t *out, ep_error *error);

/* The index of a query value in `words` (ended by NULL); `fallback` without one. EP_MALFORMED. */
ep_status ep_request_word(const ep_request *request, const char *name, const char *const *words,
                          int fallback, int *out, ep_error *error);

/* Whether If-None-Match names the entity tag (quotes included) or is "*". */
bool ep_request_matches(const ep_request *request, const char *etag);

#endif
