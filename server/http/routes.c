#include "server/http/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether it is safe in a path and in the name of a file: no traversal, nothing hidden. */
static bool is_id(const char *text, size_t bytes) {
  static const char OTHERS[] = "_.-";
  if (bytes == 0 || bytes > EP_LIMIT_NAME_BYTES || *text == '.') return false;
  for (size_t i = 0; i < bytes; i++) {
    char byte = text[i];
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (!letter && !(byte >= '0' && byte <= '9') && !memchr(OTHERS, byte, sizeof OTHERS - 1))
      return false;
  }
  return true;
}

enum { SEGMENTS = 2 }; /* {…} of a path, at most */

/* The segment as the word for a job or a sweep, which may be any name: %2F is a slash, and %25 a
 * percent sign. False: no name is as long. */
static bool word_take(const char *text, size_t bytes, char out[EP_REQUEST_ID_BYTES]) {
  size_t length = 0;
  for (size_t i = 0; i < bytes; i++) {
    if (length == EP_REQUEST_ID_BYTES - 1) return false;
    bool escape = text[i] == '%' && i + 2 < bytes;
    out[length++] = !escape ? text[i] : text[i + 2] == '5' ? '%' : '/';
    if (escape) i += 2;
  }
  out[length] = 0;
  return length > 0;
}

/* Whether `path` matches the route's; the segments for {…} are copied. */
static bool path_fits(const ep_route *route, const char *path,
                      char segments[SEGMENTS][EP_REQUEST_ID_BYTES]) {
  int found = 0;
  for (const char *pattern = route->path; *pattern; pattern++) {
    if (*pattern != '{') {
      if (*path++ != *pattern) return false;
      continue;
    }
    size_t bytes = strcspn(path, "/");
    if (found == SEGMENTS) return false;
    if (found == 0 && route->of) {
      if (!word_take(path, bytes, segments[0])) return false;
    } else {
      if (!is_id(path, bytes)) return false;
      memcpy(segments[found], path, bytes);
      segments[found][bytes] = 0;
    }
    found++;
    path += bytes;
    pattern = strchr(pattern, '}');
  }
  return *path == 0;
}

/* A path that no route has; where only a name in it is at fault, what a name may be. */
static ep_status path_fail(const char *path, ep_error *error) {
  static const char *const NAMED[] = {"/v1/datasets/", "/v1/models/"};
  for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
    const char *name = path + strlen(NAMED[i]);
    if (strncmp(path, NAMED[i], strlen(NAMED[i])) != 0) continue;
    size_t bytes = strcspn(name, "/");
    if (is_id(name, bytes)) continue;
    return ep_fail(error, EP_NOT_FOUND,
                   "invalid name \"%.*s\": a name has 1 to %d letters (a to z), digits, _, . and "
                   "-, and does not begin with .",
                   (int)(bytes < 100 ? bytes : 100), name, EP_LIMIT_NAME_BYTES);
  }
  return ep_fail(error, EP_NOT_FOUND, "%.300s not found; see /openapi.json", path);
}

/* The route's entry for a parameter, or NULL. */
static const char *query_find(const ep_route *route, const char *name) {
  for (int q = 0; q < EP_ROUTE_QUERY && route->query[q]; q++) {
    size_t bytes = strcspn(route->query[q], "*");
    if (strlen(name) == bytes && strncmp(route->query[q], name, bytes) == 0) return route->query[q];
  }
  return NULL;
}

static ep_status query_fail(const ep_route *route, const char *name, ep_error *error) {
  char known[128] = "none";
  for (int q = 0; q < EP_ROUTE_QUERY && route->query[q]; q++) {
    size_t used = q ? strlen(known) : 0;
    snprintf(known + used, sizeof known - used, "%s%.*s", q ? ", " : "",
             (int)strcspn(route->query[q], "*"), route->query[q]);
  }
  return ep_fail(error, EP_MALFORMED, "unknown query parameter \"%.64s\"; known: %s", name, known);
}

static ep_status query_check(const ep_request *request, const ep_route *route, ep_error *error) {
  for (int i = 0; i < request->query_count; i++) {
    const char *name = request->query[i].name;
    const char *found = query_find(route, name);
    if (!found) return query_fail(route, name, error);
    if (!strchr(found, '*') && ep_request_query(request, name) != request->query[i].value)
      return ep_fail(error, EP_MALFORMED, "query parameter \"%.64s\" is given more than once",
                     name);
  }
  return EP_OK;
}

ep_status ep_route_find(const ep_routes *routes, ep_request *request, const ep_route **out,
                        char allow[EP_ROUTE_ALLOW_BYTES], ep_error *error) {
  const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
  char segments[SEGMENTS][EP_REQUEST_ID_BYTES] = {"", ""};
  size_t used = 0;
  allow[0] = 0;
  for (int i = 0; i < routes->count; i++) {
    const ep_route *route = &routes->rows[i];
    if (!path_fits(route, request->path, segments)) continue;
    if (strcmp(route->method, method) == 0) {
      memcpy(request->id, segments[0], sizeof request->id);
      memcpy(request->part, segments[1], sizeof request->part);
      *out = route;
      return query_check(request, route, error);
    }
    used += (size_t)snprintf(allow + used, EP_ROUTE_ALLOW_BYTES - used, "%s%s%s", used ? ", " : "",
                             route->method, strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
  }
  if (used == 0) return path_fail(request->path, error);
  return ep_fail(error, EP_METHOD, "%.300s takes %s", request->path, allow);
}

/* Clients of the inference protocol often name no media type. A page of another site could send
 * such a request too, but its browser marks it (guard.c), and an inference changes nothing. */
static bool may_be_tensors(const ep_request *request) {
  return !ep_request_header(request, "Content-Type") ||
         ep_request_has_type(request, "application/json") ||
         ep_request_has_type(request, "application/octet-stream");
}

/* What rows to predict may come as. */
static bool may_be_rows(const ep_request *request) {
  static const char *const types[] = {
      "application/json", "text/csv",   "text/tab-separated-values", "application/x-ndjson",
      "image/png",        "image/jpeg", "application/zip",           "application/x-tar"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (ep_request_has_type(request, types[i])) return true;
  return false;
}

static ep_status body_check(const ep_exchange *exchange, ep_error *error) {
  const ep_route *route = exchange->route;
  const char *length = ep_request_header(&exchange->request, "Content-Length");
  bool chunked = ep_request_header(&exchange->request, "Transfer-Encoding") != NULL;
  bool in_memory = ep_body_in_memory(route->body);
  bool patch = strcmp(route->method, "PATCH") == 0; /* RFC 7396 */
  if (route->body == EP_BODY_JSON && !ep_request_has_type(&exchange->request, "application/json") &&
      !(patch && ep_request_has_type(&exchange->request, "application/merge-patch+json")))
    return ep_fail(error, EP_MEDIA_TYPE, "the body must be JSON: Content-Type: application/json");
  if (route->body == EP_BODY_TENSORS && !may_be_tensors(&exchange->request))
    return ep_fail(error, EP_MEDIA_TYPE,
                   "the body must be JSON (Content-Type: application/json), or JSON followed by "
                   "bytes (application/octet-stream)");
  if (route->body == EP_BODY_ROWS && !may_be_rows(&exchange->request))
    return ep_fail(error, EP_MEDIA_TYPE,
                   "the body must be JSON (Content-Type: application/json), a table (text/csv, "
                   "text/tab-separated-values, application/x-ndjson), a picture (image/png, "
                   "image/jpeg) or several (application/zip, application/x-tar)");
  if (in_memory && length &&
      (strlen(length) > 15 || strtoll(length, NULL, 10) > route->limit_bytes))
    return ep_fail(error, EP_TOO_LARGE, "the body can have at most %lld bytes",
                   (long long)route->limit_bytes);
  if (route->body != EP_BODY_NONE && !length && !chunked)
    return ep_fail(error, EP_MALFORMED, "a body is required, with Content-Length or chunked");
  return EP_OK;
}

/* Sets *accepted to the codings that are, where the body has another one. */
static ep_status coding_check(const ep_exchange *exchange, const char **accepted, ep_error *error) {
  const ep_request *request = &exchange->request;
  if (exchange->route->body == EP_BODY_NONE || ep_request_coding(request) != EP_CODING_UNKNOWN)
    return EP_OK;
  *accepted = "gzip, identity";
  return ep_fail(error, EP_MEDIA_TYPE,
                 "Content-Encoding %.100s is not supported: send the body gzipped or uncompressed",
                 ep_request_header(request, "Content-Encoding"));
}

ep_status ep_route_require(const ep_exchange *exchange, unsigned scope, ep_error *error) {
  char missing[EP_SCOPES_BYTES];
  const ep_caller *caller = &exchange->caller;
  if ((caller->scopes & scope) == scope) return EP_OK;
  ep_scopes_format(scope & ~caller->scopes, missing);
  return ep_fail(error, EP_FORBIDDEN, "the token %s does not have the required scope \"%s\"",
                 caller->token, missing);
}

/* Puts the id of the job or sweep that the path calls by another word in the place of that. */
static ep_status job_find(ep_exchange *exchange, ep_error *error) {
  const ep_route *route = exchange->route;
  ep_request *request = &exchange->request;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  ep_job_found found;
  if (!route->of) return EP_OK;
  /* a model has its job's last weights, and no checkpoint */
  bool models = route->owned == EP_OWNED_MODEL_OR_JOB && !ep_request_query(request, "checkpoint");
  ep_status status =
      ep_jobs_find(exchange->server->jobs, &viewer, route->of, models, request->id, &found, error);
  if (status != EP_OK) return status;
  exchange->named = strcmp(request->id, found.id) != 0;
  snprintf(request->id, sizeof request->id, "%s", found.id);
  if (models) exchange->model = found.model;
  return EP_OK;
}

/* Whether the request takes another name where this one is taken. */
static bool is_beside(const ep_request *request) {
  const char *replace = ep_request_query(request, "replace");
  return replace && strcmp(replace, "false") == 0;
}

/* Only its owner changes a thing, or an admin, and they alone see a private one: for others it and
 * what does not exist are the same, told here. A name that is taken cannot be given. */
static ep_status owner_check(const ep_exchange *exchange, ep_error *error) {
  ep_ownership of;
  const ep_route *route = exchange->route;
  if (route->owned == EP_OWNED_NONE || ep_exchange_is_admin(exchange)) return EP_OK;
  ep_owned kind = route->owned;
  const char *id = exchange->request.id;
  if (exchange->model.name[0]) /* whoever sees that predicts by it, as at /v2 */
    kind = EP_OWNED_MODEL, id = exchange->model.name;
  else if (kind == EP_OWNED_MODEL_OR_JOB)
    kind = EP_OWNED_JOB;
  ep_status status = ep_jobs_owner(exchange->server->jobs, kind, id, &of, error);
  bool gives = strcmp(exchange->request.method, "PUT") == 0;
  if (gives && (status == EP_NOT_FOUND || is_beside(&exchange->request))) return EP_OK;
  if (status != EP_OK || strcmp(of.owner, exchange->caller.owner) == 0) return status;
  if (of.private && gives)
    return ep_fail(error, EP_CONFLICT, "the name \"%s\" is taken: choose another", id);
  if (of.private) return ep_owned_missing(kind, id, error);
  if (route->scope & EP_SCOPE_READ) return EP_OK;
  return ep_fail(error, EP_FORBIDDEN,
                 "%s belongs to %s: only a token of that owner, or one with the scope \"admin\", "
                 "can change it",
                 id, of.owner[0] ? of.owner : "nobody");
}

/* The request's route, for a caller who may use it. */
static ep_status route_admit(ep_exchange *exchange, char allow[EP_ROUTE_ALLOW_BYTES],
                             ep_error *error) {
  ep_server *server = exchange->server;
  ep_request *request = &exchange->request;
  ep_error found_error = {0};
  const char *authorization = ep_request_header(request, "Authorization");
  ep_caller *caller = &exchange->caller;
  ep_status status = ep_route_find(server->routes, request, &exchange->route, allow, &found_error);
  /* Without a token even a path that does not exist gets 401; a few routes are open to all. */
  bool open = exchange->route && exchange->route->scope == 0;
  ep_status known =
      open ? EP_OK : ep_auth_check(&server->auth, authorization, exchange->address, caller, error);
  if (known != EP_OK) return known;
  if (status != EP_OK) {
    *error = found_error;
    return status;
  }
  if (open) return EP_OK;
  status = ep_route_require(exchange, exchange->route->scope, error);
  if (status == EP_OK) status = job_find(exchange, error);
  return status == EP_OK ? owner_check(exchange, error) : status;
}

ep_status ep_route_admit(ep_exchange *exchange) {
  ep_error error = {0};
  char allow[EP_ROUTE_ALLOW_BYTES] = "";
  ep_status status = ep_guard_origin(&exchange->server->guard, &exchange->request, &error);
  if (status == EP_OK) status = route_admit(exchange, allow, &error);
  const char *codings = NULL;
  if (status == EP_OK) status = body_check(exchange, &error);
  if (status == EP_OK) status = coding_check(exchange, &codings, &error);
  if (status == EP_OK) return EP_OK;
  ep_exchange_fail(exchange, &error);
  if (codings) ep_response_header_add(&exchange->response, "Accept-Encoding", "%s", codings);
  if (status == EP_METHOD) ep_response_header_add(&exchange->response, "Allow", "%s", allow);
  return status;
}
