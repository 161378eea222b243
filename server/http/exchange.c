#include "server/http/exchange.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base_path.h"
#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/reserve.h"
#include "engine/files/gunzip.h"
#include "server/http/routes.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"

ep_exchange *ep_exchange_create(ep_server *server) {
  ep_exchange *exchange = calloc(1, sizeof *exchange);
  if (!exchange) return NULL;
  exchange->server = server;
  atomic_init(&exchange->references, 1);
  ep_request_init(&exchange->request);
  ep_response_init(&exchange->response);
  return exchange;
}

void ep_exchange_retain(ep_exchange *exchange) {
  atomic_fetch_add(&exchange->references, 1);
}

ep_status ep_exchange_gunzip_open(ep_exchange *exchange, ep_error *error) {
  ep_budget *held = &exchange->server->held;
  ep_status status = ep_budget_take(held, EP_GUNZIP_BYTES, error);
  if (status != EP_OK) return status;
  status = ep_gunzip_create(&exchange->gunzip, error);
  if (status != EP_OK) ep_budget_give(held, EP_GUNZIP_BYTES);
  return status;
}

void ep_exchange_gunzip_close(ep_exchange *exchange) {
  if (!exchange->gunzip) return;
  ep_gunzip_destroy(exchange->gunzip);
  exchange->gunzip = NULL;
  ep_budget_give(&exchange->server->held, EP_GUNZIP_BYTES);
}

void ep_exchange_discard_body(ep_exchange *exchange) {
  ep_exchange_gunzip_close(exchange);
  ep_budget_give(&exchange->server->held, (int64_t)exchange->body_capacity);
  free(exchange->request.body);
  json_decref(exchange->json);
  exchange->json = NULL;
  exchange->request.body = NULL;
  exchange->request.body_bytes = exchange->body_capacity = 0;
}

ep_status ep_exchange_hold(ep_exchange *exchange, int64_t bytes, ep_error *error) {
  ep_status status = ep_budget_take(&exchange->server->held, bytes, error);
  if (status == EP_OK) exchange->working_bytes += bytes;
  return status;
}

ep_status ep_exchange_hold_rows(ep_exchange *exchange, bool named, ep_error *error) {
  const ep_request *request = &exchange->request;
  int64_t bytes = (int64_t)(request->body_bytes * sizeof(double) / 2); /* "1," is one */
  if (bytes > EP_LIMIT_PREDICT_BYTES) bytes = EP_LIMIT_PREDICT_BYTES;
  const int64_t tree_bytes =
      named ? ep_json_measure(request->body, request->body_bytes).tree_bytes : 0;
  ep_status status = ep_exchange_hold(exchange, bytes + tree_bytes, error);
  if (status == EP_OK) ep_json_memory_foresee(tree_bytes);
  return status;
}

/* Gives the work's memory back: to the system too within a second (server/idle/idle.h), and where
 * there is little at once after much of it. */
void ep_exchange_give(ep_exchange *exchange) {
  ep_budget_give(&exchange->server->held, exchange->working_bytes);
  if (exchange->working_bytes >= EP_LIMIT_TRIM_BYTES &&
      exchange->server->memory.total_bytes <= EP_LIMIT_LITTLE_MEMORY_BYTES)
    malloc_trim(0);
  exchange->working_bytes = exchange->tree_bytes = 0;
}

/* Whether the request only asks, so that it can be refused at any time. */
static bool request_asks(const ep_exchange *exchange) {
  ep_body body = exchange->route->body;
  return strcmp(exchange->request.method, "GET") == 0 ||
         strcmp(exchange->request.method, "HEAD") == 0 || body == EP_BODY_ROWS ||
         body == EP_BODY_TENSORS;
}

ep_status ep_exchange_hold_tree(ep_exchange *exchange, ep_error *error) {
  const ep_route *route = exchange->route;
  if (route->body != EP_BODY_JSON) return EP_OK;
  const ep_request *request = &exchange->request;
  int64_t bytes = ep_json_measure(request->body, request->body_bytes).tree_bytes;
  if (bytes > ep_json_tree_most((size_t)route->limit_bytes)) return EP_OK;
  ep_status status = ep_exchange_hold(exchange, bytes, error);
  if (status == EP_OK) exchange->tree_bytes = bytes;
  return status;
}

/* An ep_reserve_call. What is stored already is described whatever that takes: an upload, and the
 * text of a response to a request that changed something; so is the daemon itself (/metrics). */
static ep_status memory_reserve(void *context, int64_t bytes, ep_error *error) {
  ep_exchange *exchange = context;
  const bool waives = exchange->route->body == EP_BODY_UPLOAD ||
                      exchange->route->runs == EP_RUNS_METRICS ||
                      (!error && !request_asks(exchange));
  if (bytes < 0 || waives) {
    ep_budget_force(&exchange->server->held, bytes);
    exchange->working_bytes += bytes;
    return EP_OK;
  }
  ep_error refusal = {0};
  ep_status status = ep_exchange_hold(exchange, bytes, &refusal);
  if (status == EP_OK) return EP_OK;
  exchange->refusal = refusal;
  if (error) *error = refusal;
  return status;
}

ep_route_result ep_exchange_call(ep_exchange *exchange) {
  ep_reserve_begin(memory_reserve, exchange);
  ep_json_memory_foresee(exchange->tree_bytes);
  const ep_route_result called = exchange->route->call(exchange);
  ep_json_memory_foresee(0);
  ep_reserve_begin(NULL, NULL);
  ep_budget_give(&exchange->server->held, exchange->tree_bytes);
  exchange->working_bytes -= exchange->tree_bytes;
  exchange->tree_bytes = 0;
  return called;
}

bool ep_exchange_admit(ep_exchange *exchange) {
  ep_error error = {0};
  if (request_asks(exchange)) return true; /* ep_exchange_settle looks at the response */
  if (ep_budget_take(&exchange->server->held, 0, &error) == EP_OK) return true;
  ep_exchange_fail(exchange, &error);
  return false;
}

/* What a request did is told, and what the daemon itself is like, whatever memory that takes. */
static bool response_waives(const ep_exchange *exchange) {
  return exchange->response.text_bytes <= EP_LIMIT_SMALL_RESPONSE_BYTES ||
         exchange->route->runs == EP_RUNS_METRICS || !request_asks(exchange);
}

void ep_exchange_settle(ep_exchange *exchange) {
  ep_budget *held = &exchange->server->held;
  ep_response *response = &exchange->response;
  if (exchange->refusal.status != EP_OK && response->status == ep_status_http(EP_NO_MEMORY))
    ep_exchange_fail(exchange, &exchange->refusal);
  int64_t bytes = response->text ? (int64_t)response->text_bytes : 0;
  ep_error error = {0};
  /* After a time-out the call may still come back, with what it holds until then. */
  if (!exchange->timed_out || atomic_load(&exchange->called_back)) ep_exchange_give(exchange);
  if (bytes > 0 && response_waives(exchange)) {
    ep_budget_force(held, bytes);
  } else if (bytes > 0 && ep_budget_take(held, bytes, &error) != EP_OK) {
    ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "the response: %.400s", error.message);
    bytes = 0;
  }
  exchange->response_bytes = bytes;
  atomic_fetch_add(&exchange->server->response_bytes, bytes);
}

void ep_exchange_unwatch(ep_exchange *exchange) {
  if (!exchange->watches) return;
  ep_jobs_unwatch(exchange->server->jobs, exchange->watch_token);
  exchange->watches = false;
}

bool ep_exchange_is_admin(const ep_exchange *exchange) {
  return (exchange->caller.scopes & EP_SCOPE_ADMIN) != 0;
}

ep_viewer ep_exchange_viewer(const ep_exchange *exchange) {
  return (ep_viewer){exchange->caller.owner, !ep_exchange_is_admin(exchange)};
}

bool ep_exchange_is_abandoned(void *context) {
  return ep_waiter_is_abandoned(&((ep_exchange *)context)->waiter);
}

void ep_exchange_release(ep_exchange *exchange) {
  if (atomic_fetch_sub(&exchange->references, 1) != 1) return;
  ep_exchange_discard_body(exchange);
  ep_exchange_give(exchange);
  ep_budget_give(&exchange->server->held, exchange->response_bytes);
  atomic_fetch_sub(&exchange->server->response_bytes, exchange->response_bytes);
  ep_request_deinit(&exchange->request);
  ep_response_deinit(&exchange->response);
  free(exchange->result);
  free(exchange->target);
  free(exchange);
}

/* The base path, or that of the proxy. */
static const char *base_find(const ep_exchange *exchange) {
  const char *base = ep_base_path();
  const char *forwarded = ep_request_header(&exchange->request, "X-Forwarded-Prefix");
  return !*base && forwarded && ep_base_path_valid(forwarded) ? forwarded : base;
}

void ep_exchange_locate(ep_exchange *exchange, const char *format, ...) {
  char path[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(path, sizeof path, format, arguments);
  va_end(arguments);
  ep_response_header_add(&exchange->response, "Location", "%s%s", base_find(exchange), path);
}

bool ep_exchange_content_location(const ep_exchange *exchange, char *out, size_t bytes) {
  const ep_request *request = &exchange->request;
  if (!exchange->named) return false;
  size_t before = strcspn(exchange->route->path, "{"); /* bytes, which the path begins with too */
  const char *word = request->path + before;
  int length = snprintf(out, bytes, "%s%.*s%s%s", base_find(exchange), (int)before, request->path,
                        request->id, word + strcspn(word, "/"));
  return length > 0 && (size_t)length < bytes;
}

/* Whether it may be of the job's files, which go with it. */
static bool is_of_files(const ep_exchange *exchange, const ep_error *error) {
  bool missing = error->status == EP_NOT_FOUND &&
                 strstr(error->message, exchange->server->config->data_dir) != NULL;
  return missing || error->status == EP_IO || error->status == EP_DAMAGED ||
         error->status == EP_INTERNAL;
}

void ep_exchange_explain(const ep_exchange *exchange, const char *id, ep_error *error) {
  if (ep_id_valid(id) && request_asks(exchange) && is_of_files(exchange, error))
    ep_jobs_deleted_explain(exchange->server->jobs, id, error);
  ep_data_dir_shorten(exchange->server->config->data_dir, error->message);
}

ep_route_result ep_exchange_fail(ep_exchange *exchange, const ep_error *error) {
  ep_error explained = *error;
  bool of_job = exchange->route && exchange->route->of;
  ep_exchange_explain(exchange, of_job ? exchange->request.id : "", &explained);
  ep_response_error(&exchange->response, &explained, exchange->request.path);
  return EP_ROUTE_DONE;
}

ep_route_result ep_exchange_fail_with(ep_exchange *exchange, ep_status status, const char *format,
                                      ...) {
  ep_error error = {.status = status};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error.message, sizeof error.message, format, arguments);
  va_end(arguments);
  return ep_exchange_fail(exchange, &error);
}

ep_route_result ep_exchange_fail_memory(ep_exchange *exchange) {
  return ep_exchange_fail_with(exchange, EP_NO_MEMORY, "%s", ep_status_text(EP_NO_MEMORY));
}

ep_route_result ep_exchange_problem(ep_exchange *exchange, const ep_problem *problem) {
  ep_error error = {.status = problem->status};
  ep_problem explained = *problem;
  memcpy(error.message, problem->detail, sizeof error.message);
  if (problem->errors_count == 0 && is_of_files(exchange, &error))
    return ep_exchange_fail(exchange, &error);
  ep_data_dir_shorten(exchange->server->config->data_dir, explained.detail);
  ep_response_problem(&exchange->response, &explained, exchange->request.path);
  return EP_ROUTE_DONE;
}

ep_route_result ep_exchange_json(ep_exchange *exchange, char *text) {
  ep_response_take_text(&exchange->response, 200, "application/json", text);
  return EP_ROUTE_DONE;
}
