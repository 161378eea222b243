#include "server/http/response_send.h"

#include <string.h>

#include "server/http/connection.h"
#include "server/http/deadline.h"
#include "server/http/framing/received.h"
#include "server/http/route_metrics.h"
#include "server/process/clock.h"

enum {
  HEARTBEAT_SECONDS = 15,
  SEND_SECONDS = 60, /* and one more for each SLOWEST_BYTES */
  SLOWEST_BYTES = 16 << 10,
  STREAM_BYTES = 8 << 10, /* at a time: so much of its connection's pool a slow watcher fills */
  BLOCK_BYTES = 1024      /* only HTTP/1.0 watchers use it; others fill the connection's own */
};

/* Fills the connection's buffer with what the log has, or suspends the connection. */
static ssize_t stream_read(void *context, uint64_t position, char *buffer, size_t capacity) {
  (void)position;
  ep_exchange *exchange = context;
  ep_watcher *watcher = exchange->streamed;
  bool beat = ep_waiter_take_timeout(&exchange->waiter);
  if (capacity > STREAM_BYTES) capacity = STREAM_BYTES;
  for (;;) {
    size_t bytes = 0;
    switch (ep_watcher_read(watcher, buffer, capacity, &bytes)) {
    case EP_WATCHER_BYTES: return (ssize_t)bytes;
    case EP_WATCHER_ENDS: return MHD_CONTENT_READER_END_OF_STREAM;
    case EP_WATCHER_FAILED: return MHD_CONTENT_READER_END_WITH_ERROR;
    case EP_WATCHER_WAITS: break;
    }
    if (beat) {
      const char *text = ep_watcher_heartbeat(watcher);
      memcpy(buffer, text, strlen(text));
      return (ssize_t)strlen(text);
    }
    switch (
        ep_waiter_wait(&exchange->waiter, ep_clock_steady_us() + HEARTBEAT_SECONDS * 1000000LL)) {
    case EP_WAITER_SUSPENDED: return 0;
    case EP_WAITER_WOKEN: break;
    case EP_WAITER_CLOSED:
      return MHD_CONTENT_READER_END_WITH_ERROR; /* cut, so without an end line */
    }
  }
}

static void stream_free(void *context) {
  ep_exchange *exchange = context;
  ep_watcher_destroy(exchange->streamed);
  exchange->streamed = NULL;
  ep_exchange_release(exchange);
}

static void exchange_wake(void *context) {
  ep_waiter_wake(&((ep_exchange *)context)->waiter);
}

static struct MHD_Response *stream_create(ep_exchange *exchange, ep_response *response) {
  struct MHD_Response *message = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, BLOCK_BYTES, stream_read, exchange, stream_free);
  if (!message) return NULL;
  exchange->streamed = response->watcher;
  response->watcher = NULL;
  ep_exchange_retain(exchange); /* for stream_free */
  ep_watcher_subscribe(exchange->streamed, exchange_wake, exchange);
  return message;
}

static struct MHD_Response *message_create(ep_exchange *exchange, ep_response *response,
                                           int64_t *bytes) {
  struct MHD_Response *message;
  *bytes = -1;
  if (response->watcher) return stream_create(exchange, response);
  if (response->file >= 0) {
    *bytes = response->file_bytes;
    message = MHD_create_response_from_fd_at_offset64(
        (uint64_t)response->file_bytes, response->file, (uint64_t)response->file_offset);
    if (message) response->file = -1; /* the message closes it */
    return message;
  }
  *bytes = (int64_t)response->text_bytes;
  if (response->text) {
    message = MHD_create_response_from_buffer(response->text_bytes, response->text,
                                              MHD_RESPMEM_MUST_FREE);
    if (message) response->text = NULL;
    return message;
  }
  /* the library only reads the constant */
  return MHD_create_response_from_buffer(
      response->text_bytes, response->constant ? (void *)(uintptr_t)response->constant : "",
      MHD_RESPMEM_PERSISTENT);
}

/* A client that was refused keeps no descriptor. */
static bool ends_connection(const ep_exchange *exchange, const ep_response *response) {
  const int status = response->status;
  return status == 401 || status == 403 || status == 429 || status == 503 ||
         ep_received_is_cut(ep_connection_socket(exchange->waiter.connection));
}

int ep_connection_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

enum MHD_Result ep_response_send(ep_exchange *exchange, ep_response *response) {
  ep_route_metrics_observe(exchange->server->routes, exchange->route, response->status,
                           ep_clock_steady_us() - exchange->begun_us);
  int64_t bytes;
  exchange->sent_status = response->status;
  struct MHD_Response *message = message_create(exchange, response, &bytes);
  if (!message) return MHD_NO;
  bool cached = false;
  if (response->type) MHD_add_response_header(message, "Content-Type", response->type);
  MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
  if (exchange->request_id[0])
    MHD_add_response_header(message, "X-Request-Id", exchange->request_id);
  char location[EP_REQUEST_TARGET_BYTES];
  if (response->status < 400 && ep_exchange_content_location(exchange, location, sizeof location))
    MHD_add_response_header(message, "Content-Location", location);
  for (int i = 0; i < response->headers_count; i++) {
    MHD_add_response_header(message, response->headers[i].name, response->headers[i].value);
    cached = cached || strcmp(response->headers[i].name, "ETag") == 0 ||
             strcmp(response->headers[i].name, "Cache-Control") == 0;
  }
  if (ends_connection(exchange, response)) MHD_add_response_header(message, "Connection", "close");
  if (!cached) MHD_add_response_header(message, "Cache-Control", "no-store");
  if (bytes >= 0)
    ep_deadline_allow(exchange->deadline, (SEND_SECONDS + bytes / SLOWEST_BYTES) * 1000000LL);
  enum MHD_Result result =
      MHD_queue_response(exchange->waiter.connection, (unsigned)response->status, message);
  MHD_destroy_response(message);
  return result;
}
