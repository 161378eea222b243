#include <stdlib.h>
#include <string.h>

#include "server/http/connection.h"
#include "server/http/metrics_http.h"
#include "server/process/clock.h"

enum {
  HEARTBEAT_SECONDS = 15,
  SEND_SECONDS = 60, /* and one more for each SLOWEST_BYTES */
  SLOWEST_BYTES = 16 << 10,
  STREAM_BYTES =
      8 << 10,       /* at a time: a watcher that lags fills no more of its connection's pool */
  BLOCK_BYTES = 1024 /* only HTTP/1.0 watchers use it; others fill the connection's own */
};

/* Fills the connection's buffer with what the log has, or suspends the connection. */
static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t capacity) {
  (void)position;
  ep_exchange *exchange = context;
  ep_watcher *watcher = exchange->streamed;
  bool beat = ep_waiter_take_timeout(&exchange->park);
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
    switch (ep_waiter_wait(&exchange->park, ep_clock_steady_us() + HEARTBEAT_SECONDS * 1000000LL)) {
    case EP_WAITER_SUSPENDED: return 0;
    case EP_WAITER_WOKEN: break;
    case EP_WAITER_CLOSED: return MHD_CONTENT_READER_END_WITH_ERROR; /* cut: it has no end line */
    }
  }
}

static void free_stream(void *context) {
  ep_exchange *exchange = context;
  ep_watcher_destroy(exchange->streamed);
  exchange->streamed = NULL;
  ep_exchange_release(exchange);
}

static void wake(void *context) {
  ep_waiter_wake(&((ep_exchange *)context)->park);
}

static struct MHD_Response *create_stream(ep_exchange *exchange, ep_response *answer) {
  struct MHD_Response *response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, exchange, free_stream);
  if (!response) return NULL;
  exchange->streamed = answer->watcher;
  answer->watcher = NULL;
  ep_exchange_retain(exchange); /* for free_stream */
  ep_watcher_subscribe(exchange->streamed, wake, exchange);
  return response;
}

static struct MHD_Response *create_response(ep_exchange *exchange, ep_response *answer,
                                            int64_t *bytes) {
  struct MHD_Response *response;
  *bytes = -1;
  if (answer->watcher) return create_stream(exchange, answer);
  if (answer->file >= 0) {
    *bytes = answer->file_bytes;
    response = MHD_create_response_from_fd_at_offset64((uint64_t)answer->file_bytes, answer->file,
                                                       (uint64_t)answer->file_offset);
    if (response) answer->file = -1; /* the response closes it */
    return response;
  }
  *bytes = (int64_t)answer->text_bytes;
  if (answer->text) {
    response =
        MHD_create_response_from_buffer(answer->text_bytes, answer->text, MHD_RESPMEM_MUST_FREE);
    if (response) answer->text = NULL;
    return response;
  }
  /* a constant, which the library only reads */
  return MHD_create_response_from_buffer(
      answer->text_bytes, answer->constant ? (void *)(uintptr_t)answer->constant : "",
      MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result ep_response_send(ep_exchange *exchange, ep_response *answer) {
  ep_metrics_http_observe(exchange->server->routes, exchange->route, answer->status,
                          ep_clock_steady_us() - exchange->begun_us);
  int64_t bytes;
  struct MHD_Response *response = create_response(exchange, answer, &bytes);
  if (!response) return MHD_NO;
  bool cached = false;
  if (answer->type) MHD_add_response_header(response, "Content-Type", answer->type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  for (int i = 0; i < answer->headers_count; i++) {
    MHD_add_response_header(response, answer->headers[i].name, answer->headers[i].value);
    cached = cached || strcmp(answer->headers[i].name, "ETag") == 0 ||
             strcmp(answer->headers[i].name, "Cache-Control") == 0;
  }
  if (!cached) MHD_add_response_header(response, "Cache-Control", "no-store");
  if (bytes >= 0)
    ep_deadline_allow(exchange->client, (SEND_SECONDS + bytes / SLOWEST_BYTES) * 1000000LL);
  enum MHD_Result result =
      MHD_queue_response(exchange->park.connection, (unsigned)answer->status, response);
  MHD_destroy_response(response);
  return result;
}
