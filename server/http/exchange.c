#include "server/http/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

void ep_exchange_discard_body(ep_exchange *exchange) {
  atomic_fetch_sub(&exchange->server->bodies_bytes, (long long)exchange->body_capacity);
  free(exchange->request.body);
  exchange->request.body = NULL;
  exchange->request.body_bytes = exchange->body_capacity = 0;
}

void ep_exchange_unwatch(ep_exchange *exchange) {
  if (!exchange->watches) return;
  ep_jobs_unwatch(exchange->server->jobs, exchange->watch_token);
  exchange->watches = false;
}

bool ep_exchange_is_admin(const ep_exchange *exchange) {
  return (exchange->caller.scopes & EP_SCOPE_ADMIN) != 0;
}

bool ep_exchange_is_abandoned(void *context) {
  return ep_waiter_is_abandoned(&((ep_exchange *)context)->waiter);
}

void ep_exchange_release(ep_exchange *exchange) {
  if (atomic_fetch_sub(&exchange->references, 1) != 1) return;
  ep_exchange_discard_body(exchange);
  ep_request_deinit(&exchange->request);
  ep_response_deinit(&exchange->response);
  free(exchange->result);
  free(exchange->target);
  free(exchange);
}

ep_route_result ep_exchange_fail(ep_exchange *exchange, const ep_error *error) {
  ep_response_error(&exchange->response, error, exchange->request.path);
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
  ep_response_problem(&exchange->response, problem, exchange->request.path);
  return EP_ROUTE_DONE;
}

ep_route_result ep_exchange_json(ep_exchange *exchange, char *text) {
  ep_response_take_text(&exchange->response, 200, "application/json", text);
  return EP_ROUTE_DONE;
}
