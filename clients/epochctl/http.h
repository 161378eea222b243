/* http.h: one request and its answer. The only door to the network, but for stream.h, which goes
 * through it. */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_H
#define EP_CLIENTS_EPOCHCTL_HTTP_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "clients/epochctl/session.h"

enum { EP_PATH_MAX_BYTES = 4096 };

/* Gets the bytes of a good answer as they come; false ends the transfer. */
typedef bool (*ep_call_take)(void *context, const char *bytes, size_t count);
/* Called at least once a second while a transfer goes on, with the bytes so far and in all (0 while
 * that is not known); false ends it. */
typedef bool (*ep_call_tick)(void *context, int64_t sent, int64_t to_send, int64_t received,
                             int64_t to_receive);

/* Everything is a loan for the call. From {.method = …, .path = …}. */
typedef struct {
  const char *method, *path; /* the path with its query, percent-encoded: ep_path_make */
  const char *accept;        /* NULL: JSON */
  const char *body, *content_type;
  size_t body_bytes;
  const char *key;      /* Idempotency-Key */
  FILE *upload;         /* sent as the body, instead of `body` */
  int64_t upload_bytes; /* its bytes; -1 when they are not known */
  int64_t from;         /* > 0: the rest of the content, from this byte */
  const char *if_range; /* with it: only if the content still has this ETag */
  ep_call_take take;    /* NULL: the answer is kept */
  ep_call_tick tick;
  void *context;     /* of take and tick */
  bool long_lasting; /* a stream or a transfer: what counts is that bytes come, not how long */
} ep_call;

typedef struct {
  long code;
  char *text; /* the body, ending in 0, owned; NULL when it was taken or is empty */
  size_t bytes;
  char etag[128];
} ep_answer;

/* Sends, waits, and fills *answer, which the caller ends with ep_answer_deinit whatever comes back.
 * EP_UNAVAILABLE when there is no answer (with what to do about it), EP_INTERNAL for one over
 * EP_LIMIT_CLIENT_ANSWER_BYTES, EP_CANCELLED when take or tick said no, EP_IO when the transfer was
 * cut; of 4xx and 5xx the status that fits, the problem's details in session->problem. */
ep_status ep_call_send(ep_session *session, const ep_call *call, ep_answer *answer,
                       ep_error *error);
void ep_answer_deinit(ep_answer *answer);

/* Sends; then, with --json, prints the answer as it came and leaves *out NULL; else *out is the
 * parsed answer, the caller's (json_decref). */
ep_status ep_call_ask(ep_session *session, const ep_call *call, json_t **out, ep_error *error);
/* The same, of a GET. */
ep_status ep_get_ask(ep_session *session, const char *path, json_t **out, ep_error *error);
/* A GET for the program itself: parsed whatever --json says. */
ep_status ep_get_json(ep_session *session, const char *path, json_t **out, ep_error *error);

/* "/v1/jobs/" + name (percent-encoded) + "/events". What does not fit makes the path "", which no
 * server knows; the same holds for ep_path_query. */
void ep_path_make(char path[EP_PATH_MAX_BYTES], const char *before, const char *name,
                  const char *after);
/* "?name=value", or "&name=value" where there is a query already. */
void ep_path_query(char path[EP_PATH_MAX_BYTES], const char *name, const char *value);

#endif
