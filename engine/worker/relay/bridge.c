#include "engine/worker/relay/bridge.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  QUEUED_MOST_BYTES = 4 << 20, /* to the other node; then nothing more is read here */
  DRAINS = 20,                 /* waits of a second for the other node to take what is queued */
  DRAIN_MS = 1000
};

typedef struct {
  ep_channel *channel;
  int socket;
  uint8_t *buffer;  /* [EP_RECORD_DATA_BYTES] */
  size_t delivered; /* bytes of the first record that the socket took */
  bool other;       /* it ends by the other node */
} bridge;

/* What the process here says, into the channel. */
static ep_status socket_read(bridge *b, ep_error *error) {
  while (ep_channel_queued(b->channel) < QUEUED_MOST_BYTES) {
    ssize_t got = recv(b->socket, b->buffer, EP_RECORD_DATA_BYTES, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return EP_OK;
    if (got <= 0) return ep_fail(error, EP_UNAVAILABLE, "the process of this node has ended");
    ep_status status =
        ep_channel_put(b->channel, EP_RECORD_DATA, 0, b->buffer, (size_t)got, NULL, 0, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

/* What came through the channel, to the process here, as far as it takes it. */
static ep_status socket_write(bridge *b, ep_error *error) {
  ep_record record;
  while (ep_channel_peek(b->channel, &record)) {
    if (record.kind != EP_RECORD_DATA) {
      b->other = true;
      return ep_fail(error, EP_MALFORMED, "a node sent an invalid record");
    }
    while (b->delivered < record.bytes) {
      ssize_t sent =
          send(b->socket, record.payload + b->delivered, record.bytes - b->delivered, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return EP_OK;
      if (sent < 0) return ep_fail(error, EP_UNAVAILABLE, "the process of this node has ended");
      b->delivered += (size_t)sent;
    }
    ep_channel_drop(b->channel);
    b->delivered = 0;
  }
  return EP_OK;
}

/* The process here has ended: what it said before goes out, to a node that reads it. */
static void output_drain(const bridge *b) {
  struct pollfd polled = {.fd = ep_channel_socket(b->channel), .events = POLLOUT};
  for (int waits = 0; waits < DRAINS && ep_channel_queued(b->channel) > 0;) {
    if (poll(&polled, 1, DRAIN_MS) == 0) waits++;
    if (ep_channel_pump(b->channel, false, NULL) != EP_OK) return;
  }
}

/* One that nothing is wanted of is not polled: its end, which poll reports all the same, would be
 * reported until something is. */
static struct pollfd polled_of(int fd, short events) {
  return (struct pollfd){.fd = events ? fd : -1, .events = events};
}

static ep_status round_make(bridge *b, ep_error *error) {
  ep_record record;
  const bool pending = ep_channel_peek(b->channel, &record);
  const bool room = ep_channel_queued(b->channel) < QUEUED_MOST_BYTES;
  struct pollfd polled[] = {
      polled_of(ep_channel_socket(b->channel), ep_channel_events(b->channel, !pending)),
      polled_of(b->socket, (short)((room ? POLLIN : 0) | (pending ? POLLOUT : 0)))};
  const bool waits = pending || !ep_channel_has_input(b->channel);
  if (poll(polled, 2, waits ? -1 : 0) < 0 && errno != EINTR)
    return ep_fail(error, EP_IO, "poll: %s", strerror(errno));
  ep_error ended = {0};
  ep_status connection = ep_channel_pump(b->channel, !pending, &ended);
  ep_status status = socket_write(b, error); /* also what came before the end */
  if (status == EP_OK && connection != EP_OK) {
    b->other = true;
    if (error) *error = ended;
    return connection;
  }
  if (status == EP_OK) {
    status = socket_read(b, error);
    if (status == EP_UNAVAILABLE) output_drain(b);
  }
  /* At once: whoever waits for it waits for nothing else. */
  if (status == EP_OK && ep_channel_queued(b->channel) > 0)
    status = ep_channel_pump(b->channel, false, error);
  return status;
}

bool ep_bridge_run(ep_channel *channel, int socket, ep_error *error) {
  bridge b = {.channel = channel, .socket = socket, .buffer = malloc(EP_RECORD_DATA_BYTES)};
  if (!b.buffer) ep_fail_memory(error);
  while (b.buffer && round_make(&b, error) == EP_OK) continue;
  free(b.buffer);
  return b.other;
}
