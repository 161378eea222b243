#include "server/http/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A name that can stand in a path and in a file's: no traversal, nothing hidden. */
static bool is_id(const char *text, size_t bytes) {
  static const char OTHERS[] = "_.-";
  if (bytes == 0 || bytes >= EP_REQUEST_ID_BYTES || *text == '.') return false;
  for (size_t i = 0; i < bytes; i++) {
    char byte = text[i];
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (!letter && !(byte >= '0' && byte <= '9') && !memchr(OTHERS, byte, sizeof OTHERS - 1))
      return false;
  }
  return true;
}

/* Whether `path` is of the form `pattern`; the segment for {id} goes to id: [EP_REQUEST_ID_BYTES].
 */
static bool fits(const char *pattern, const char *path, char *id) {
  for (; *pattern; pattern++) {
    if (*pattern != '{') {
      if (*path++ != *pattern) return false;
      continue;
    }
    size_t bytes = strcspn(path, "/");
    if (!is_id(path, bytes)) return false;
    memcpy(id, path, bytes);
    id[bytes] = 0;
    path += bytes;
    pattern = strchr(pattern, '}');
  }
  return *path == 0;
}

/* The route's entry for that parameter; NULL = there is none. */
static const char *find_query(const ep_route *route, const char *name) {
  for (int q = 0; q < EP_ROUTE_QUERY && route->query[q]; q++) {
    size_t bytes = strcspn(route->query[q], "*");
    if (strlen(name) == bytes && strncmp(route->query[q], name, bytes) == 0) return route->query[q];
  }
  return NULL;
}

static ep_status fail_query(const ep_route *route, const char *name, ep_error *error) {
  char known[128] = "none";
  for (int q = 0; q < EP_ROUTE_QUERY && route->query[q]; q++) {
    size_t used = q ? strlen(known) : 0;
    snprintf(known + used, sizeof known - used, "%s%.*s", q ? ", " : "",
             (int)strcspn(route->query[q], "*"), route->query[q]);
  }
  return ep_fail(error, EP_MALFORMED, "there is no query parameter \"%.64s\" here; known: %s", name,
                 known);
}

static ep_status check_query(const ep_request *request, const ep_route *route, ep_error *error) {
  for (int i = 0; i < request->query_count; i++) {
    const char *name = request->query[i].name;
    const char *found = find_query(route, name);
    if (!found) return fail_query(route, name, error);
    if (!strchr(found, '*') && ep_request_query(request, name) != request->query[i].value)
      return ep_fail(error, EP_MALFORMED, "the query has \"%.64s\" more than once", name);
  }
  return EP_OK;
}

ep_status ep_route_find(const ep_routes *routes, ep_request *request, const ep_route **out,
                        char allow[64], ep_error *error) {
  const char *wanted = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
  char id[EP_REQUEST_ID_BYTES] = "";
  size_t used = 0;
  allow[0] = 0;
  for (int i = 0; i < routes->count; i++) {
    const ep_route *route = &routes->rows[i];
    if (!fits(route->path, request->path, id)) continue;
    if (strcmp(route->method, wanted) == 0) {
      snprintf(request->id, sizeof request->id, "%s", id);
      *out = route;
      return check_query(request, route, error);
    }
    used += (size_t)snprintf(allow + used, 64 - used, "%s%s%s", used ? ", " : "", route->method,
                             strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
  }
  if (used == 0)
    return ep_fail(error, EP_NOT_FOUND, "there is no %.300s here; /openapi.json says what there is",
                   request->path);
  return ep_fail(error, EP_METHOD, "%.300s takes %s", request->path, allow);
}

/* The protocol's clients often name no media type at all. A page of another site could send that
 * too, but its browser says so (guard.c), and an inference changes nothing. */
static bool may_be_tensors(const ep_request *request) {
  return !ep_request_header(request, "Content-Type") ||
         ep_request_names(request, "Content-Type", "application/json") ||
         ep_request_names(request, "Content-Type", "application/octet-stream");
}

static ep_status check_body(const ep_exchange *exchange, ep_error *error) {
  const ep_route *route = exchange->route;
  const char *length = ep_request_header(&exchange->request, "Content-Length");
  bool chunked = ep_request_header(&exchange->request, "Transfer-Encoding") != NULL;
  bool kept = route->body == EP_BODY_JSON || route->body == EP_BODY_TENSORS;
  bool patch = strcmp(route->method, "PATCH") == 0; /* RFC 7396 */
  if (route->body == EP_BODY_JSON &&
      !ep_request_names(&exchange->request, "Content-Type", "application/json") &&
      !(patch &&
        ep_request_names(&exchange->request, "Content-Type", "application/merge-patch+json")))
    return ep_fail(error, EP_MEDIA_TYPE, "the body must be JSON: Content-Type: application/json");
  if (route->body == EP_BODY_TENSORS && !may_be_tensors(&exchange->request))
    return ep_fail(error, EP_MEDIA_TYPE,
                   "the body must be JSON (Content-Type: application/json), or JSON and bytes "
                   "behind it (application/octet-stream)");
  if (kept && length && (strlen(length) > 15 || strtoll(length, NULL, 10) > route->limit_bytes))
    return ep_fail(error, EP_TOO_LARGE, "a body here has at most %lld bytes",
                   (long long)route->limit_bytes);
  if (route->body != EP_BODY_NONE && !length && !chunked)
    return ep_fail(error, EP_MALFORMED, "a body is needed here, with Content-Length or chunked");
  const char *encoding = ep_request_header(&exchange->request, "Content-Encoding");
  if (kept && encoding && strcasecmp(encoding, "identity") != 0)
    return ep_fail(error, EP_MEDIA_TYPE, "a body is not taken compressed here");
  return EP_OK;
}

ep_status ep_route_admit(ep_exchange *exchange, bool *close) {
  ep_server *server = exchange->server;
  ep_request *request = &exchange->request;
  ep_error error = {0};
  char allow[64] = "";
  *close = false;
  ep_status status = ep_guard_framing(request, &error);
  if (status != EP_OK) *close = true;
  if (status == EP_OK) status = ep_guard_origin(&server->guard, request, &error);
  /* Without a token nothing is told, not even which paths there are; a few are open to all. */
  bool known = ep_auth_accepts(&server->auth, ep_request_header(request, "Authorization"));
  ep_error route_error = {0};
  ep_status route_status = status != EP_OK ? status
                                           : ep_route_find(exchange->server->routes, request,
                                                           &exchange->route, allow, &route_error);
  if (status == EP_OK && !known && !(exchange->route && exchange->route->open))
    status =
        ep_fail(&error, EP_UNAUTHORIZED,
                ep_request_header(request, "Authorization")
                    ? "that is none of the tokens in the daemon's token file"
                    : "a token is needed: Authorization: Bearer …, from the daemon's token file");
  if (status == EP_OK && route_status != EP_OK) {
    status = route_status;
    error = route_error;
  }
  if (status == EP_OK) status = check_body(exchange, &error);
  if (status == EP_OK) return EP_OK;
  ep_exchange_fail(exchange, &error);
  if (status == EP_METHOD) ep_response_header_add(&exchange->answer, "Allow", "%s", allow);
  if (*close) ep_response_header_add(&exchange->answer, "Connection", "close");
  return status;
}

void ep_route_leave(ep_exchange *exchange) {
  if (!exchange->watches) return;
  ep_jobs_unwatch(exchange->server->jobs, exchange->watch_token);
  exchange->watches = false;
}
