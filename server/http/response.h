/* response.h: what a route answers, without the HTTP library: a status, headers, and a body that is
 * a text, part of a file, or the lines of a job's log as they come. */
#ifndef EP_SERVER_HTTP_RESPONSE_H
#define EP_SERVER_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/problem.h"
#include "server/http/watcher.h"

enum { EP_RESPONSE_HEADERS = 10 };

typedef struct {
  const char *name; /* a literal */
  char value[256];
} ep_response_header;

typedef struct {
  int status;       /* HTTP; 0 while nothing was answered */
  const char *type; /* a literal; NULL = no body */
  ep_response_header headers[EP_RESPONSE_HEADERS];
  int headers_count;
  /* At most one of these bodies. */
  char *text; /* owned */
  size_t text_bytes;
  const char *constant; /* of text_bytes, lives as long as the program */
  int file;             /* -1 = none; owned */
  int64_t file_offset, file_bytes;
  ep_watcher *watcher; /* owned */
} ep_response;

void ep_response_init(ep_response *answer);
void ep_response_deinit(ep_response *answer);

void ep_response_header_add(ep_response *answer, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes `text` (which may be NULL: memory was short). */
void ep_response_take_text(ep_response *answer, int status, const char *type, char *text);
/* The same of `count` bytes that are no text. */
void ep_response_take_bytes(ep_response *answer, int status, const char *type, void *bytes,
                            size_t count);
void ep_response_constant(ep_response *answer, int status, const char *type, const char *text,
                          size_t bytes);
/* A status without a body: 204, 304. */
void ep_response_empty(ep_response *answer, int status);

/* Errors as application/problem+json, or, below /v2, in that protocol's form; whatever was answered
 * before is dropped. Retry-After comes with 429 and 503. `path` is the instance. */
void ep_response_problem(ep_response *answer, const ep_problem *problem, const char *path);
void ep_response_error(ep_response *answer, const ep_error *error, const char *path);

#endif
