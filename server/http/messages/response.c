#include "server/http/messages/response.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/inference/inference.h"

static const char NO_MEMORY[] =
    "{\"type\":\"about:blank\",\"title\":\"Insufficient Storage\",\"status\":507,"
    "\"detail\":\"not enough memory\",\"errors\":[]}\n";

void ep_response_init(ep_response *response) {
  *response = (ep_response){.file = -1};
}

void ep_response_deinit(ep_response *response) {
  free(response->text);
  if (response->file >= 0) close(response->file);
  ep_watcher_destroy(response->watcher);
  ep_response_init(response);
}

void ep_response_header_add(ep_response *response, const char *name, const char *format, ...) {
  if (response->headers_count == EP_RESPONSE_HEADERS) return;
  ep_response_header *header = &response->headers[response->headers_count++];
  header->name = name;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(header->value, sizeof header->value, format, arguments);
  va_end(arguments);
}

void ep_response_take_text(ep_response *response, int status, const char *type, char *text) {
  ep_response_take_bytes(response, status, type, text, text ? strlen(text) : 0);
}

void ep_response_take_bytes(ep_response *response, int status, const char *type, void *bytes,
                            size_t count) {
  if (!bytes) {
    ep_response_constant(response, 507, "application/problem+json", NO_MEMORY,
                         sizeof NO_MEMORY - 1);
    return;
  }
  free(response->text);
  response->status = status;
  response->type = type;
  response->text = bytes;
  response->text_bytes = count;
}

void ep_response_constant(ep_response *response, int status, const char *type, const char *text,
                          size_t bytes) {
  response->status = status;
  response->type = type;
  response->constant = text;
  response->text_bytes = bytes;
}

void ep_response_empty(ep_response *response, int status) {
  response->status = status;
  response->type = NULL;
}

/* Whether the path is of the protocol whose errors have a form of their own. */
static bool is_inference(const char *path) {
  return strncmp(path, "/v2", 3) == 0 && (path[3] == 0 || path[3] == '/');
}

void ep_response_problem(ep_response *response, const ep_problem *problem, const char *path) {
  ep_response_deinit(response);
  int status = ep_status_http(problem->status);
  if (status == 429 || status == 503)
    ep_response_header_add(response, "Retry-After", "%d",
                           problem->retry_seconds > 0 ? problem->retry_seconds : 1);
  response->unknown = problem->status == EP_UNKNOWN;
  if (status == 401)
    ep_response_header_add(response, "WWW-Authenticate", "Bearer realm=\"epochd\"");
  if (path && is_inference(path))
    ep_response_take_text(response, status, "application/json",
                          ep_inference_error_format(problem->detail));
  else
    ep_response_take_text(response, status, "application/problem+json",
                          ep_problem_format(problem, path));
}

void ep_response_error(ep_response *response, const ep_error *error, const char *path) {
  ep_problem problem = {0};
  ep_problem_from_error(&problem, error);
  ep_response_problem(response, &problem, path);
}
