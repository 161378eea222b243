/* request.h: one request and its response (libcurl). Every byte to and from a server passes here.
 */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_REQUEST_H
#define EP_CLIENTS_EPOCHCTL_HTTP_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "clients/epochctl/http/session.h"

/* Takes bytes of a 2xx response as they arrive; false ends the transfer. */
typedef bool (*ep_http_take)(void *context, const char *bytes, size_t count);
/* Called at least once a second during a transfer, with the bytes so far and in all (0 while that
 * is not known); false ends it. */
typedef bool (*ep_http_tick)(void *context, int64_t sent, int64_t to_send, int64_t received,
                             int64_t to_receive);

/* From {.method = …, .path = …}. Everything is a loan for the call. */
typedef struct {
  const char *method, *path; /* the path with its query: path.h */
  const char *accept;        /* NULL: JSON */
  const char *body, *content_type;
  size_t body_bytes;
  const char *key;      /* Idempotency-Key */
  FILE *upload;         /* sent as the body, instead of `body` */
  int64_t upload_bytes; /* its bytes; -1 when they are not known */
  int64_t from;         /* > 0: the rest of the content, from this byte */
  const char *if_range; /* with `from`: only if the content still has this ETag */
  ep_http_take take;    /* NULL: the body is stored in the response */
  ep_http_tick tick;
  void *context;     /* of take and tick */
  bool long_lasting; /* a stream or a transfer: it ends after a silence, not after a time */
} ep_http_request;

enum { EP_ETAG_BYTES = 128, EP_WARNINGS_BYTES = 512 };

typedef struct {
  long code;
  char *text; /* the body, ending in 0, owned; NULL when it was taken or is empty */
  size_t bytes;
  char etag[EP_ETAG_BYTES];         /* "" for none */
  char warnings[EP_WARNINGS_BYTES]; /* of a body that has no place for them; "" for none */
} ep_http_response;

/* Sends the request and waits for the response, which the caller ends with ep_http_response_deinit,
 * also after a failure. EP_UNAVAILABLE without a response, EP_INTERNAL for one over
 * EP_LIMIT_CLIENT_RESPONSE_BYTES, EP_CANCELLED when take or tick returned false, EP_IO for a
 * transfer that was cut. For 4xx and 5xx the status of that code; the problem's details go to
 * session->problem. */
ep_status ep_http_send(ep_session *session, const ep_http_request *request,
                       ep_http_response *response, ep_error *error);
void ep_http_response_deinit(ep_http_response *response);

/* The body as JSON; *out is the caller's (json_decref). EP_INTERNAL when it is none. */
ep_status ep_http_response_parse(const ep_session *session, const ep_http_response *response,
                                 json_t **out, ep_error *error);

/* Sends a GET and parses its response. *out is the caller's (json_decref). */
ep_status ep_http_get(ep_session *session, const char *path, json_t **out, ep_error *error);

#endif
