/* response.h: one HTTP response without the HTTP library: a status, headers, and a body that is a
 * text, a part of a file, or the lines of a job's log as they come. */
#ifndef EP_SERVER_HTTP_MESSAGES_RESPONSE_H
#define EP_SERVER_HTTP_MESSAGES_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/problem.h"
#include "server/http/streams/watcher.h"

enum { EP_RESPONSE_HEADERS = 10 };

typedef struct {
  const char *name; /* a literal */
  char value[256];
} ep_response_header;

typedef struct {
  int status;       /* HTTP; 0 until it is set */
  bool unknown;     /* a problem: EP_UNKNOWN, it may have been done */
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

void ep_response_init(ep_response *response);
void ep_response_deinit(ep_response *response);

void ep_response_header_add(ep_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes `text`; NULL: memory was short, which gives 507. */
void ep_response_take_text(ep_response *response, int status, const char *type, char *text);
/* Takes `count` bytes that are not a text; NULL as above. */
void ep_response_take_bytes(ep_response *response, int status, const char *type, void *bytes,
                            size_t count);
void ep_response_constant(ep_response *response, int status, const char *type, const char *text,
                          size_t bytes);
/* A status without a body: 204, 304. */
void ep_response_empty(ep_response *response, int status);

/* Errors as application/problem+json; below /v2 in that protocol's form. What the response held is
 * dropped. 429 and 503 get Retry-After. path: the problem's instance. */
void ep_response_problem(ep_response *response, const ep_problem *problem, const char *path);
void ep_response_error(ep_response *response, const ep_error *error, const char *path);

#endif
