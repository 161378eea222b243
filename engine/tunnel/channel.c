#include "engine/tunnel/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/hash/sha256.h"

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

enum {
  READ_BYTES = 64 << 10,
  IN_MOST_BYTES = 1 << 20, /* beyond a record that is larger: then nothing more is read */
  DEAD_SECONDS = 20        /* a connection whose other side does not reply has ended after it */
};

typedef struct {
  uint8_t *bytes; /* owned; those from `begin` to `end` count */
  size_t begin, end, capacity;
} buffer;

struct ep_channel {
  int socket;
  gnutls_session_t session;
  gnutls_certificate_credentials_t own; /* of the side that connects; NULL = none */
  char pin[EP_SHA256_HEX_BYTES];        /* "" = it listens */
  bool open, trusted;
  bool sending; /* GnuTLS has taken bytes of `out` that it has not sent */
  buffer in, out;
};

static ep_status buffer_reserve(buffer *b, size_t more, ep_error *error) {
  if (b->capacity - b->end >= more) return EP_OK;
  if (b->begin > 0) memmove(b->bytes, b->bytes + b->begin, b->end - b->begin);
  b->end -= b->begin;
  b->begin = 0;
  size_t grown = b->capacity == 0 ? READ_BYTES : b->capacity;
  while (grown - b->end < more) grown *= 2;
  if (grown == b->capacity) return EP_OK;
  uint8_t *bytes = realloc(b->bytes, grown);
  if (!bytes) return ep_fail_memory(error);
  b->bytes = bytes;
  b->capacity = grown;
  return EP_OK;
}

static ep_status tls_fail(ep_error *error, int failed) {
  return ep_fail(error, EP_UNAVAILABLE, "TLS: %s", gnutls_strerror(failed));
}

/* A relay that waits hours for a job notices that its gateway is gone, and the other way round. */
static int socket_prepare(int socket) {
  const int yes = 1, idle = DEAD_SECONDS / 2, interval = DEAD_SECONDS / 4, count = 2;
  const unsigned lost_ms = DEAD_SECONDS * 1000;
  int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0) return -1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof lost_ms);
  return 0;
}

static int session_fill(ep_channel *channel, unsigned side, void *credentials) {
  int failed = gnutls_init(&channel->session, side | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  if (failed == 0) failed = gnutls_priority_set_direct(channel->session, PRIORITIES, NULL);
  if (failed == 0)
    failed = gnutls_credentials_set(channel->session, GNUTLS_CRD_CERTIFICATE, credentials);
  if (failed == 0) gnutls_transport_set_int(channel->session, channel->socket);
  return failed;
}

static ep_status channel_open(int socket, unsigned side, void *credentials, const char *pin,
                              ep_channel **out, ep_error *error) {
  ep_channel *channel = calloc(1, sizeof *channel);
  if (!channel) return ep_fail_memory(error);
  channel->socket = socket;
  memcpy(channel->pin, pin, strlen(pin) + 1);
  int failed = 0;
  if (!credentials) {
    failed = gnutls_certificate_allocate_credentials(&channel->own);
    credentials = channel->own;
  }
  if (failed == 0) failed = session_fill(channel, side, credentials);
  ep_status status = failed == 0 ? EP_OK : tls_fail(error, failed);
  if (status == EP_OK && socket_prepare(socket) != 0)
    status = ep_fail(error, EP_IO, "a connection: %s", strerror(errno));
  if (status == EP_OK) {
    *out = channel;
  } else {
    channel->socket = -1; /* the caller's */
    ep_channel_close(channel);
  }
  return status;
}

ep_status ep_channel_listen(int socket, const ep_certificate *certificate, ep_channel **out,
                            ep_error *error) {
  return channel_open(socket, GNUTLS_SERVER, ep_certificate_credentials(certificate), "", out,
                      error);
}

ep_status ep_channel_connect(int socket, const char *pin, ep_channel **out, ep_error *error) {
  if (strlen(pin) != EP_SHA256_HEX_BYTES - 1)
    return ep_fail(error, EP_INVALID, "the certificate's hash has not %d digits",
                   EP_SHA256_HEX_BYTES - 1);
  return channel_open(socket, GNUTLS_CLIENT, NULL, pin, out, error);
}

void ep_channel_close(ep_channel *channel) {
  if (!channel) return;
  if (channel->session) {
    if (channel->open) gnutls_bye(channel->session, GNUTLS_SHUT_WR);
    gnutls_deinit(channel->session);
  }
  if (channel->own) gnutls_certificate_free_credentials(channel->own);
  if (channel->socket >= 0) close(channel->socket);
  free(channel->in.bytes);
  free(channel->out.bytes);
  free(channel);
}

void ep_channel_trust(ep_channel *channel) {
  channel->trusted = true;
}

int ep_channel_socket(const ep_channel *channel) {
  return channel->socket;
}

bool ep_channel_is_open(const ep_channel *channel) {
  return channel->open;
}

size_t ep_channel_queued(const ep_channel *channel) {
  return channel->out.end - channel->out.begin;
}

short ep_channel_events(const ep_channel *channel, bool reads) {
  if (!channel->open) return gnutls_record_get_direction(channel->session) == 1 ? POLLOUT : POLLIN;
  return (short)((reads ? POLLIN : 0) | (ep_channel_queued(channel) > 0 ? POLLOUT : 0));
}

bool ep_channel_has_input(const ep_channel *channel) {
  ep_record record;
  return ep_channel_peek(channel, &record) ||
         (channel->open && gnutls_record_check_pending(channel->session) > 0);
}

static ep_status pin_check(const ep_channel *channel, ep_error *error) {
  char pin[EP_SHA256_HEX_BYTES];
  unsigned count = 0;
  if (channel->pin[0] == 0) return EP_OK;
  const gnutls_datum_t *shown = gnutls_certificate_get_peers(channel->session, &count);
  if (!shown || count == 0) return ep_fail(error, EP_FORBIDDEN, "epochd shows no certificate");
  ep_status status = ep_sha256_of(shown->data, shown->size, pin, error);
  if (status == EP_OK && strcmp(pin, channel->pin) != 0)
    status = ep_fail(error, EP_FORBIDDEN, "the peer does not have epochd's certificate");
  return status;
}

static bool is_passing(int failed) {
  return failed == GNUTLS_E_AGAIN || failed == GNUTLS_E_INTERRUPTED;
}

/* EP_OK where it is under way, too. */
static ep_status handshake_go_on(ep_channel *channel, ep_error *error) {
  int failed = gnutls_handshake(channel->session);
  if (failed < 0 && !gnutls_error_is_fatal(failed)) return EP_OK;
  if (failed < 0) return tls_fail(error, failed);
  ep_status status = pin_check(channel, error);
  channel->open = status == EP_OK;
  return status;
}

static ep_status output_write(ep_channel *channel, ep_error *error) {
  buffer *out = &channel->out;
  while (out->begin < out->end) {
    ssize_t sent = channel->sending ? gnutls_record_send(channel->session, NULL, 0)
                                    : gnutls_record_send(channel->session, out->bytes + out->begin,
                                                         out->end - out->begin);
    channel->sending = is_passing((int)sent);
    if (channel->sending) return EP_OK;
    if (sent < 0) return tls_fail(error, (int)sent);
    out->begin += (size_t)sent;
  }
  out->begin = out->end = 0;
  return EP_OK;
}

/* Whether the first record that came may be taken, whole or not. needed: the bytes that it has. */
static ep_status first_check(const ep_channel *channel, size_t *needed, ep_error *error) {
  ep_record record;
  *needed = EP_RECORD_HEADER_BYTES;
  if (channel->in.end - channel->in.begin < EP_RECORD_HEADER_BYTES) return EP_OK;
  ep_status status = ep_record_header_read(channel->in.bytes + channel->in.begin, &record, error);
  if (status != EP_OK) return status;
  if (!channel->trusted && record.bytes > sizeof(ep_record_hello))
    return ep_fail(error, EP_TOO_LARGE, "a record of %zu bytes before the greeting", record.bytes);
  *needed += record.bytes;
  return EP_OK;
}

static ep_status input_read(ep_channel *channel, ep_error *error) {
  for (;;) {
    size_t needed = 0, there = channel->in.end - channel->in.begin;
    ep_status status = first_check(channel, &needed, error);
    if (status != EP_OK) return status;
    if (there >= needed && there >= IN_MOST_BYTES) return EP_OK;
    size_t more = needed > there + READ_BYTES ? needed - there : READ_BYTES;
    status = buffer_reserve(&channel->in, more, error);
    if (status != EP_OK) return status;
    ssize_t got = gnutls_record_recv(channel->session, channel->in.bytes + channel->in.end,
                                     channel->in.capacity - channel->in.end);
    if (got > 0) {
      channel->in.end += (size_t)got;
    } else if (got == 0) {
      return ep_fail(error, EP_UNAVAILABLE, "the connection has ended");
    } else if (is_passing((int)got)) {
      return EP_OK;
    } else if (gnutls_error_is_fatal((int)got)) {
      return tls_fail(error, (int)got);
    }
  }
}

ep_status ep_channel_pump(ep_channel *channel, bool reads, ep_error *error) {
  ep_status status = EP_OK;
  if (!channel->open) status = handshake_go_on(channel, error);
  if (status != EP_OK || !channel->open) return status;
  status = output_write(channel, error);
  /* What came before the end is read even where nothing can be written. */
  ep_error unread = {0};
  ep_status input = reads ? input_read(channel, status == EP_OK ? error : &unread) : EP_OK;
  return status != EP_OK ? status : input;
}

ep_status ep_channel_put(ep_channel *channel, ep_record_kind kind, uint64_t number,
                         const void *first, size_t first_bytes, const void *second,
                         size_t second_bytes, ep_error *error) {
  ep_status status =
      buffer_reserve(&channel->out, EP_RECORD_HEADER_BYTES + first_bytes + second_bytes, error);
  if (status != EP_OK) return status;
  uint8_t *at = channel->out.bytes + channel->out.end;
  ep_record_header_write(at, kind, first_bytes + second_bytes, number);
  at += EP_RECORD_HEADER_BYTES;
  if (first_bytes > 0) memcpy(at, first, first_bytes);
  if (second_bytes > 0) memcpy(at + first_bytes, second, second_bytes);
  channel->out.end += EP_RECORD_HEADER_BYTES + first_bytes + second_bytes;
  return EP_OK;
}

bool ep_channel_peek(const ep_channel *channel, ep_record *out) {
  const size_t there = channel->in.end - channel->in.begin;
  if (there < EP_RECORD_HEADER_BYTES ||
      ep_record_header_read(channel->in.bytes + channel->in.begin, out, NULL) != EP_OK ||
      there - EP_RECORD_HEADER_BYTES < out->bytes)
    return false;
  out->payload = channel->in.bytes + channel->in.begin + EP_RECORD_HEADER_BYTES;
  return true;
}

void ep_channel_drop(ep_channel *channel) {
  ep_record record;
  if (!ep_channel_peek(channel, &record)) return;
  channel->in.begin += EP_RECORD_HEADER_BYTES + record.bytes;
  if (channel->in.begin == channel->in.end) channel->in.begin = channel->in.end = 0;
}
