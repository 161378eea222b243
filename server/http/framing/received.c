#include "server/http/framing/received.h"

#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/json/problem.h"
#include "server/http/framing/framing.h"
#include "server/process/log.h"

enum { DRAIN_BYTES = 4096, DRAINS = 64 };

typedef struct {
  ep_framing framing;
  ep_tls_identity *tls; /* NULL: bytes come as they are; owned */
  bool cut;             /* nothing is received any more */
} ep_received;

/* [files], by descriptor. A slot belongs to the thread that serves the connection, and the library
 * hands a descriptor to another thread only after it was closed. */
static struct {
  _Atomic(ep_received *) *slots;
  int64_t files;
  atomic_llong refused;
} received_of;

ep_status ep_received_prepare(int64_t files, ep_error *error) {
  if (files > received_of.files) {
    void *slots = calloc((size_t)files, sizeof *received_of.slots);
    if (!slots) return ep_fail_memory(error);
    free((void *)received_of.slots);
    received_of.slots = slots;
    received_of.files = files;
  }
  return EP_OK;
}

static ep_received *find(int socket) {
  if (socket < 0 || socket >= received_of.files) return NULL;
  return atomic_load_explicit(&received_of.slots[socket], memory_order_relaxed);
}

ep_status ep_received_open(int socket, ep_tls_identity *tls, ep_error *error) {
  ep_status status = EP_OK;
  ep_received *received = calloc(1, sizeof *received);
  if (!received) status = ep_fail_memory(error);
  if (socket < 0 || socket >= received_of.files)
    status =
        ep_fail(error, EP_INTERNAL, "descriptor %d is beyond the limit of descriptors", socket);
  if (status != EP_OK) {
    ep_tls_identity_release(tls);
    free(received);
    return status;
  }
  received->tls = tls;
  atomic_store(&received_of.slots[socket], received);
  return EP_OK;
}

void ep_received_close(int socket) {
  ep_received *received = find(socket);
  if (!received) return;
  ep_tls_identity_release(received->tls);
  atomic_store(&received_of.slots[socket], NULL);
  free(received);
}

bool ep_received_is_cut(int socket) {
  const ep_received *received = find(socket);
  return received && received->cut;
}

int64_t ep_received_refused(void) {
  return atomic_load(&received_of.refused);
}

/* What is left unread would make the kernel reset the connection, and the client lose the response.
 */
static void drain(int socket) {
  char scratch[DRAIN_BYTES];
  for (int i = 0; i < DRAINS; i++)
    if (recvfrom(socket, scratch, sizeof scratch, MSG_DONTWAIT, NULL, NULL) <= 0) return;
}

/* A client that reads nothing gets none of it. */
static void parts_send(int socket, gnutls_session_t session, struct iovec parts[2]) {
  const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  if (session) {
    gnutls_record_send(session, parts[0].iov_base, parts[0].iov_len);
    gnutls_record_send(session, parts[1].iov_base, parts[1].iov_len);
    gnutls_bye(session, GNUTLS_SHUT_WR);
  } else {
    sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

/* The response to a request that no route sees, after the responses to those before it. */
static void refusal_send(int socket, gnutls_session_t session, const ep_error *fault) {
  ep_problem problem = {0};
  char head[256];
  ep_problem_from_error(&problem, fault);
  char *body = ep_problem_format(&problem, NULL);
  const size_t bytes = body ? strlen(body) : 0;
  const int head_bytes =
      snprintf(head, sizeof head,
               "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
               "Content-Length: %zu\r\n\r\n",
               ep_status_http(fault->status), ep_status_text(fault->status), bytes);
  struct iovec parts[] = {{head, (size_t)head_bytes}, {body, bytes}};
  parts_send(socket, session, parts);
  shutdown(socket, SHUT_WR);
  free(body);
  drain(socket);
}

/* So many of the bytes as the library may have; 0: the connection ends. session: NULL without TLS.
 */
static ssize_t check(ep_received *received, int socket, gnutls_session_t session, const char *bytes,
                     ssize_t count) {
  size_t whole_bytes;
  ep_error error = {0};
  if (ep_framing_read(&received->framing, bytes, (size_t)count, &whole_bytes, &error) == EP_OK)
    return count;
  received->cut = true;
  atomic_fetch_add(&received_of.refused, 1);
  ep_log(EP_LOG_DEBUG, "http: refused: %s", error.message);
  if (whole_bytes == 0) refusal_send(socket, session, &error);
  return (ssize_t)whole_bytes;
}

/* Called by libmicrohttpd, and under TLS by GnuTLS, whose records pass. */
ssize_t recv(int socket, void *buffer, size_t bytes, int flags) {
  ep_received *received = find(socket);
  if (received && received->tls) received = NULL;
  if (received && received->cut) return 0;
  const ssize_t count = recvfrom(socket, buffer, bytes, flags, NULL, NULL);
  return received && count > 0 ? check(received, socket, NULL, buffer, count) : count;
}

/* Called by libmicrohttpd under TLS, after the handshake. The function that also returns a record's
 * number does the same. */
ssize_t gnutls_record_recv(gnutls_session_t session, void *data, size_t data_size) {
  const int socket = gnutls_transport_get_int(session);
  ep_received *received = find(socket);
  if (received && received->cut) return 0;
  const ssize_t count = gnutls_record_recv_seq(session, data, data_size, NULL);
  return received && count > 0 ? check(received, socket, session, data, count) : count;
}
