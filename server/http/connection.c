#include "server/http/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/base_path.h"
#include "api/json/json.h"
#include "engine/files/gunzip.h"
#include "server/http/access_log.h"
#include "server/http/framing/received.h"
#include "server/http/response_send.h"
#include "server/http/routes.h"
#include "server/process/clock.h"

enum {
  HEAD_SECONDS = 15, /* of a new connection, to the end of its first head */
  IDLE_SECONDS = 75, /* from a response to the end of the next head */
  BODY_SECONDS = 30, /* and one more for each SLOWEST_BYTES */
  SLOWEST_BYTES = 16 << 10,
  DRAIN_BYTES = 16 << 20,      /* a body that was refused is read to its end up to this size … */
  DRAIN_MOST_BYTES = 64 << 20, /* … and one of unknown size up to this */
  FIRST_BODY_BYTES = 4096,
  WORK_SECONDS = 86400
};

typedef enum { PHASE_HEAD, PHASE_BODY, PHASE_ROUTE, PHASE_WAITS, PHASE_WORKS, PHASE_SENT } phase;

void ep_connection_log(void *transport, const char *format, va_list arguments) {
  (void)transport;
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  text[strcspn(text, "\n")] = 0;
  ep_log(EP_LOG_DEBUG, "http: %s", text);
}

/* From here on its bytes are framed, and decrypted where there is TLS. */
static ep_status connection_open(ep_server *server, struct MHD_Connection *connection, int socket,
                                 ep_error *error) {
  ep_tls_identity *tls = NULL;
  if (server->config->tls_certificate[0]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    ep_status status =
        ep_tls_session_start(&server->tls, info ? info->tls_session : NULL, &tls, error);
    if (status != EP_OK) return status;
  }
  return ep_received_open(socket, tls, error);
}

void ep_connection_notify(void *transport, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
  ep_transport *self = transport;
  ep_error error = {0};
  const int socket = ep_connection_socket(connection);
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    ep_deadline_remove(*socket_context);
    ep_received_close(socket);
    *socket_context = NULL;
    return;
  }
  if (connection_open(self->server, connection, socket, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "http: a connection is closed: %s", error.message);
    shutdown(socket, SHUT_RDWR);
    *socket_context = NULL;
    return;
  }
  *socket_context = ep_deadline_add(self->deadlines, socket);
  ep_deadline_rest(*socket_context, HEAD_SECONDS * 1000000LL);
  ep_deadlines_make_room(self->deadlines, self->connections_most);
}

static void address_note(ep_exchange *exchange, struct MHD_Connection *connection) {
  uint8_t ip[EP_IP_BYTES];
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info && info->client_addr && ep_ip_from_socket(info->client_addr, ip))
    ep_ip_text(ip, exchange->address);
  else
    snprintf(exchange->address, sizeof exchange->address, "unknown");
}

/* The request's first line. Copies the target before the library decodes it in place, which would
 * cut it at an encoded zero. */
void *ep_connection_target(void *transport, const char *target, struct MHD_Connection *connection) {
  ep_transport *self = transport;
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  ep_deadline *deadline =
      info ? info->socket_context : NULL; /* the next question overwrites *info */
  /* Nothing is served whose bytes nobody framed. */
  ep_exchange *exchange = deadline ? ep_exchange_create(self->server) : NULL;
  if (!exchange) return NULL;
  ep_waiter_init(&exchange->waiter, self->server->waiters, connection);
  exchange->target = strdup(target ? target : "");
  exchange->deadline = deadline;
  address_note(exchange, connection);
  return exchange;
}

typedef struct {
  ep_exchange *exchange;
  ep_status status;
  ep_error error;
} header_reader;

static enum MHD_Result header_add(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_bytes, const char *value, size_t value_bytes) {
  (void)kind;
  header_reader *reader = context;
  if (!value) value = "";
  bool whole = strlen(name) == name_bytes && (value_bytes == 0 || strlen(value) == value_bytes);
  reader->status =
      whole ? ep_request_add_header(&reader->exchange->request, name, value, &reader->error)
            : ep_fail(&reader->error, EP_MALFORMED, "a header has a zero byte");
  return reader->status == EP_OK ? MHD_YES : MHD_NO;
}

/* Copies method, target and headers to the request. */
static ep_status head_read(ep_exchange *exchange, const char *method) {
  header_reader reader = {.exchange = exchange};
  if (!exchange->target)
    reader.status = ep_fail_memory(&reader.error);
  else
    reader.status = ep_request_start(&exchange->request, method, exchange->target, &reader.error);
  if (reader.status == EP_OK) ep_request_strip(&exchange->request, ep_base_path());
  if (reader.status == EP_OK)
    MHD_get_connection_values_n(exchange->waiter.connection, MHD_HEADER_KIND, header_add, &reader);
  ep_forwarded_find(&exchange->server->proxies, &exchange->request, exchange->address);
  if (reader.status != EP_OK) ep_exchange_fail(exchange, &reader.error);
  return reader.status;
}

static int64_t announced_bytes(const ep_request *request) {
  const char *length = ep_request_header(request, "Content-Length");
  if (length) return strtoll(length, NULL, 10); /* INT64_MAX beyond */
  return ep_request_header(request, "Transfer-Encoding") ? -1 : 0;
}

static ep_status body_open(ep_exchange *exchange) {
  const ep_config *config = exchange->server->config;
  const ep_request *request = &exchange->request;
  const ep_body body = exchange->route->body;
  ep_error error = {0};
  ep_status status = EP_OK;
  if (body == EP_BODY_UPLOAD)
    status = ep_upload_open(&exchange->request.upload, config->data_dir, announced_bytes(request),
                            config->max_upload_bytes, &error);
  if (status == EP_OK && body != EP_BODY_NONE && ep_request_coding(request) == EP_CODING_GZIP)
    status = ep_exchange_gunzip_open(exchange, &error);
  if (status != EP_OK) ep_exchange_fail(exchange, &error);
  return status;
}

/* Refuses the request: at once, and closes the connection, if the body is long or not yet sent;
 * else once the body was read, so that the client sees the response and the connection stays. */
static enum MHD_Result request_refuse(ep_exchange *exchange, bool close) {
  int64_t bytes = announced_bytes(&exchange->request);
  bool waits = ep_request_header(&exchange->request, "Expect") != NULL;
  exchange->body_failed = true;
  exchange->phase = PHASE_BODY;
  if (!close && bytes >= 0 && bytes <= DRAIN_BYTES && (bytes == 0 || !waits)) return MHD_YES;
  if (!close && bytes < 0 && !waits) return MHD_YES;
  exchange->phase = PHASE_SENT;
  return ep_response_send(exchange, &exchange->response);
}

static enum MHD_Result request_begin(ep_transport *transport, ep_exchange *exchange,
                                     const char *method) {
  ep_deadline_allow(exchange->deadline, BODY_SECONDS * 1000000LL);
  ep_status head = head_read(exchange, method);
  ep_request_id_find(exchange);
  if (head != EP_OK) return request_refuse(exchange, true);
  if (atomic_load(&transport->stopping)) {
    ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "the daemon is stopping");
    return request_refuse(exchange, true);
  }
  if (ep_route_admit(exchange) != EP_OK) return request_refuse(exchange, false);
  if (body_open(exchange) != EP_OK) return request_refuse(exchange, false);
  exchange->phase = PHASE_BODY;
  return MHD_YES;
}

/* Makes room for a body of so many bytes, of what all requests may hold together. */
static ep_status body_reserve(ep_exchange *exchange, size_t needed, ep_error *error) {
  size_t most = (size_t)exchange->route->limit_bytes + 1, capacity = exchange->body_capacity;
  if (needed <= capacity) return EP_OK;
  if (capacity == 0) capacity = FIRST_BODY_BYTES;
  while (capacity < needed) capacity *= 2;
  if (capacity > most) capacity = most;
  int64_t more = (int64_t)(capacity - exchange->body_capacity);
  ep_budget *held = &exchange->server->held;
  ep_status status = ep_budget_take(held, more, error);
  if (status != EP_OK) return status;
  char *grown = realloc(exchange->request.body, capacity);
  if (!grown) {
    ep_budget_give(held, more);
    return ep_fail_memory(error);
  }
  exchange->request.body = grown;
  exchange->body_capacity = capacity;
  return EP_OK;
}

/* An ep_gunzip_take: what is in the body, unpacked where it was packed. */
static ep_status body_store(void *context, const void *data, size_t bytes, ep_error *error) {
  ep_exchange *exchange = context;
  ep_request *request = &exchange->request;
  const ep_route *route = exchange->route;
  if (route->body == EP_BODY_UPLOAD) return ep_upload_write(&request->upload, data, bytes, error);
  if (request->body_bytes + bytes > (size_t)route->limit_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the body can have at most %lld bytes",
                   (long long)route->limit_bytes);
  ep_status status = body_reserve(exchange, request->body_bytes + bytes + 1, error);
  if (status != EP_OK) return status;
  memcpy(request->body + request->body_bytes, data, bytes);
  request->body_bytes += bytes;
  request->body[request->body_bytes] = 0;
  return EP_OK;
}

/* The limits hold for what comes out, and for what goes in: members without content are endless. */
static ep_status body_unpack(ep_exchange *exchange, const char *data, size_t bytes,
                             ep_error *error) {
  const bool upload = exchange->route->body == EP_BODY_UPLOAD;
  const int64_t most =
      upload ? exchange->server->config->max_upload_bytes : exchange->route->limit_bytes;
  if (exchange->received_bytes > most)
    return ep_fail(error, EP_TOO_LARGE, "the body can have at most %lld bytes", (long long)most);
  return ep_gunzip_add(exchange->gunzip, data, bytes, body_store, exchange, error);
}

/* A packed body that is damaged is as malformed as JSON that is cut. */
static void body_fail(ep_exchange *exchange, ep_error *error) {
  if (exchange->gunzip && error->status == EP_INVALID) error->status = EP_MALFORMED;
  ep_upload_discard(&exchange->request.upload);
  ep_exchange_discard_body(exchange);
  ep_exchange_fail(exchange, error);
  exchange->body_failed = true;
}

static enum MHD_Result body_take(ep_exchange *exchange, const char *data, size_t bytes) {
  ep_error error = {0};
  ep_status status = EP_OK;
  exchange->received_bytes += (int64_t)bytes;
  if (exchange->received_bytes - exchange->allowed_bytes >= SLOWEST_BYTES) {
    /* what arrives moves the deadline on, no faster than the slowest rate allowed */
    int64_t seconds = BODY_SECONDS + exchange->received_bytes / SLOWEST_BYTES;
    int64_t spent_us = ep_clock_steady_us() - exchange->begun_us;
    int64_t left_us = seconds * 1000000 - spent_us;
    ep_deadline_allow(exchange->deadline, left_us > 1 ? left_us : 1);
    exchange->allowed_bytes = exchange->received_bytes;
  }
  if (exchange->body_failed || exchange->route->body == EP_BODY_NONE) {
    exchange->discarded_bytes += (int64_t)bytes;
    return exchange->discarded_bytes > DRAIN_MOST_BYTES ? MHD_NO : MHD_YES;
  }
  status = exchange->gunzip ? body_unpack(exchange, data, bytes, &error)
                            : body_store(exchange, data, bytes, &error);
  if (status != EP_OK) body_fail(exchange, &error);
  return MHD_YES;
}

/* On a working thread; the exchange was retained for it. */
static void route_work(void *context) {
  ep_exchange *exchange = context;
  bool reads = strcmp(exchange->route->method, "GET") == 0;
  exchange->called = EP_ROUTE_DONE;
  if (reads && ep_exchange_is_abandoned(exchange))
    ep_exchange_fail_with(exchange, EP_CANCELLED, "the client disconnected");
  else if (ep_exchange_admit(exchange))
    exchange->called = ep_exchange_call(exchange);
  if (exchange->called == EP_ROUTE_DONE) {
    ep_exchange_settle(exchange);
    ep_exchange_audit(exchange);
  }
  atomic_store(&exchange->worked, true);
  ep_waiter_wake(&exchange->waiter);
  ep_exchange_release(exchange);
}

static enum MHD_Result stopping_send(ep_exchange *exchange) {
  ep_response response; /* the exchange's own belongs to the thread that still works on it */
  ep_error error = {0};
  ep_fail(&error, EP_UNAVAILABLE, "the daemon is stopping");
  ep_response_init(&response);
  ep_response_error(&response, &error, NULL);
  enum MHD_Result result = ep_response_send(exchange, &response);
  ep_response_deinit(&response);
  return result;
}

static enum MHD_Result response_send(ep_exchange *exchange) {
  exchange->phase = PHASE_SENT;
  ep_exchange_discard_body(exchange);
  return ep_response_send(exchange, &exchange->response);
}

static enum MHD_Result route_call(ep_exchange *exchange);

/* Where a route runs that does not run here. */
static ep_thread_pool *pool_of_result(const ep_server *server, ep_route_result result) {
  return result == EP_ROUTE_WORKS     ? server->work
         : result == EP_ROUTE_COMMITS ? server->commits
         : result == EP_ROUTE_EXPORTS ? server->exports
                                      : server->ingest;
}

static void work_add(ep_exchange *exchange, ep_thread_pool *pool) {
  exchange->ingests = pool == exchange->server->ingest;
  atomic_store(&exchange->worked, false);
  exchange->task = (ep_thread_pool_task){.call = route_work, .context = exchange};
  ep_exchange_retain(exchange);
  ep_thread_pool_add(pool, &exchange->task);
}

/* Whether the work is done. A route may find out only there that it is for the threads of another
 * pool. */
static bool work_is_over(ep_exchange *exchange) {
  if (!atomic_load(&exchange->worked)) return false;
  if (exchange->called == EP_ROUTE_DONE || exchange->called == EP_ROUTE_WAITS) return true;
  work_add(exchange, pool_of_result(exchange->server, exchange->called));
  return false;
}

static enum MHD_Result work_await(ep_exchange *exchange) {
  while (!work_is_over(exchange)) {
    ep_waiter_result result =
        ep_waiter_wait(&exchange->waiter, ep_clock_steady_us() + WORK_SECONDS * 1000000LL);
    if (result == EP_WAITER_SUSPENDED) return MHD_YES;
    if (result == EP_WAITER_CLOSED && !atomic_load(&exchange->worked)) {
      exchange->phase = PHASE_SENT;
      return stopping_send(exchange);
    }
  }
  if (exchange->called == EP_ROUTE_DONE) return response_send(exchange);
  exchange->works = exchange->ingests = false;
  exchange->phase = PHASE_WAITS;
  return route_call(exchange);
}

static enum MHD_Result work_start(ep_exchange *exchange, ep_thread_pool *pool) {
  exchange->phase = PHASE_WORKS;
  work_add(exchange, pool);
  return work_await(exchange);
}

static ep_thread_pool *pool_of_route(const ep_server *server, ep_runs runs) {
  return runs == EP_RUNS_WORK      ? server->work
         : runs == EP_RUNS_COMMIT  ? server->commits
         : runs == EP_RUNS_METRICS ? server->metrics
         : runs == EP_RUNS_PLOTS   ? server->plots
                                   : server->ingest;
}

static enum MHD_Result route_call(ep_exchange *exchange) {
  for (;;) {
    if (ep_waiter_take_timeout(&exchange->waiter) && ep_clock_steady_us() >= exchange->deadline_us)
      exchange->timed_out = true;
    ep_route_result called = ep_exchange_call(exchange);
    if (called == EP_ROUTE_DONE) break;
    if (called != EP_ROUTE_WAITS) {
      exchange->works = true;
      return work_start(exchange, pool_of_result(exchange->server, called));
    }
    exchange->phase = PHASE_WAITS;
    ep_waiter_result result = ep_waiter_wait(&exchange->waiter, exchange->deadline_us);
    if (result == EP_WAITER_SUSPENDED) return MHD_YES;
    if (result == EP_WAITER_CLOSED) exchange->timed_out = true;
  }
  ep_exchange_settle(exchange);
  return response_send(exchange);
}

/* The request is whole. */
static enum MHD_Result request_run(ep_exchange *exchange) {
  ep_error error = {0};
  ep_deadline_allow(exchange->deadline, 0);
  if (exchange->gunzip && ep_gunzip_finish(exchange->gunzip, &error) != EP_OK)
    body_fail(exchange, &error);
  ep_exchange_gunzip_close(exchange);
  if (exchange->body_failed) return response_send(exchange);
  if (ep_body_in_memory(exchange->route->body) && !exchange->request.body) {
    ep_exchange_fail_with(exchange, EP_MALFORMED, "the body is empty; JSON is required");
    return response_send(exchange);
  }
  if (ep_exchange_hold_tree(exchange, &error) != EP_OK) {
    ep_exchange_fail(exchange, &error);
    return response_send(exchange);
  }
  if (exchange->route->runs == EP_RUNS_HERE)
    return ep_exchange_admit(exchange) ? route_call(exchange) : response_send(exchange);
  return work_start(exchange, pool_of_route(exchange->server, exchange->route->runs));
}

enum MHD_Result ep_connection_handle(void *transport, struct MHD_Connection *connection,
                                     const char *url, const char *method, const char *version,
                                     const char *data, size_t *data_bytes, void **context) {
  (void)connection, (void)url, (void)version;
  ep_exchange *exchange = *context;
  if (!exchange) return MHD_NO;
  switch ((phase)exchange->phase) {
  case PHASE_HEAD:
    exchange->begun_us = ep_clock_steady_us();
    return request_begin(transport, exchange, method);
  case PHASE_BODY:
    if (*data_bytes == 0) return request_run(exchange);
    size_t bytes = *data_bytes;
    *data_bytes = 0;
    return body_take(exchange, data, bytes);
  case PHASE_WAITS: return route_call(exchange);
  case PHASE_WORKS: return work_await(exchange);
  case PHASE_ROUTE:
  case PHASE_SENT: break;
  }
  return MHD_NO;
}

void ep_connection_complete(void *transport, struct MHD_Connection *connection, void **context,
                            enum MHD_RequestTerminationCode code) {
  (void)transport, (void)connection, (void)code;
  ep_exchange *exchange = *context;
  *context = NULL;
  if (!exchange) return;
  ep_access_log_write(exchange);
  ep_exchange_unwatch(exchange);
  ep_waiter_leave(&exchange->waiter);
  ep_deadline_rest(exchange->deadline, IDLE_SECONDS * 1000000LL);
  ep_exchange_release(exchange);
}
