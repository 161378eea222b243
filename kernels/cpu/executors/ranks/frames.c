#include "kernels/cpu/executors/ranks/frames.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { TICKS = 10, TICK_MOST_MS = 1000, MIB_MS = 1000 };

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

ep_node_deadline ep_node_deadline_in(int64_t ms) {
  const int64_t tick_ms = ms / TICKS + 1;
  return (ep_node_deadline){ms, tick_ms < TICK_MOST_MS ? tick_ms : TICK_MOST_MS, now_ms()};
}

bool ep_node_deadline_look(ep_node_deadline *deadline) {
  const int64_t now = now_ms(), passed = now - deadline->before_ms;
  const int64_t most = 2 * deadline->tick_ms; /* this process was stopped, as the others perhaps */
  deadline->before_ms = now;
  deadline->left_ms -= passed < most ? passed : most;
  return deadline->left_ms > 0;
}

void ep_node_link_init(ep_node_link *link, int socket, int64_t patience_ms) {
  const int yes = 1;
  /* Each frame is waited for; a socket that is none of TCP has no such option. */
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  link->socket = socket;
  link->patience_ms = patience_ms;
  pthread_mutex_init(&link->mutex, NULL);
}

void ep_node_link_deinit(ep_node_link *link) {
  pthread_mutex_destroy(&link->mutex);
}

void ep_node_link_break(const ep_node_link *link) {
  shutdown(link->socket, SHUT_RDWR);
}

static ep_status ended(int failed, ep_error *error) {
  return ep_fail(error, EP_UNAVAILABLE, "the connection to a node has ended%s%s",
                 failed ? ": " : "", failed ? strerror(failed) : "");
}

/* Passes over what was sent. */
static void parts_advance(struct msghdr *message, size_t sent) {
  while (message->msg_iovlen > 0 && sent >= message->msg_iov->iov_len) {
    sent -= message->msg_iov->iov_len;
    message->msg_iov++;
    message->msg_iovlen--;
  }
  if (message->msg_iovlen == 0) return;
  message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
  message->msg_iov->iov_len -= sent;
}

/* For the socket, as long as the time lasts. */
static ep_status socket_await(const ep_node_link *link, short events, ep_node_deadline *deadline,
                              ep_error *error) {
  struct pollfd polled = {.fd = link->socket, .events = events};
  poll(&polled, 1, (int)deadline->tick_ms);
  if (ep_node_deadline_look(deadline)) return EP_OK;
  return ep_fail(error, EP_UNAVAILABLE, "a node %s in time",
                 events == POLLOUT ? "did not read what it was sent" : "sent nothing");
}

ep_status ep_node_link_send(ep_node_link *link, ep_node_code code, int rank, int number,
                            const struct iovec *parts, int parts_count, ep_error *error) {
  ep_node_head head = {.code = code, .rank = (uint32_t)rank, .number = (uint32_t)number};
  struct iovec vectors[EP_NODE_PARTS + 1] = {{&head, sizeof head}};
  struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 1};
  ep_status status = EP_OK;
  if (parts_count > EP_NODE_PARTS) return ep_fail(error, EP_TOO_LARGE, "a frame of too many parts");
  for (int i = 0; i < parts_count; i++) {
    vectors[message.msg_iovlen++] = parts[i];
    head.bytes += parts[i].iov_len;
  }
  const int flags = MSG_NOSIGNAL | (link->patience_ms > 0 ? MSG_DONTWAIT : 0);
  pthread_mutex_lock(&link->mutex);
  ep_node_deadline deadline =
      ep_node_deadline_in(link->patience_ms + (int64_t)(head.bytes >> 20) * MIB_MS);
  while (status == EP_OK && message.msg_iovlen > 0) {
    ssize_t sent = sendmsg(link->socket, &message, flags);
    if (sent >= 0)
      parts_advance(&message, (size_t)sent);
    else if (errno == EAGAIN)
      status = socket_await(link, POLLOUT, &deadline, error);
    else if (errno != EINTR)
      status = ended(errno, error);
  }
  pthread_mutex_unlock(&link->mutex);
  return status;
}

ep_status ep_node_link_read(const ep_node_link *link, void *to, size_t bytes, ep_error *error) {
  for (size_t have = 0; have < bytes;) {
    ssize_t got = recv(link->socket, (char *)to + have, bytes - have, 0);
    if (got > 0)
      have += (size_t)got;
    else if (got == 0 || errno != EINTR)
      return ended(got == 0 ? 0 : errno, error);
  }
  return EP_OK;
}

ep_status ep_node_link_read_within(const ep_node_link *link, void *to, size_t bytes,
                                   ep_node_deadline *deadline, ep_error *error) {
  ep_status status = EP_OK;
  for (size_t have = 0; status == EP_OK && have < bytes;) {
    ssize_t got = recv(link->socket, (char *)to + have, bytes - have, MSG_DONTWAIT);
    if (got > 0)
      have += (size_t)got;
    else if (got < 0 && errno == EAGAIN)
      status = socket_await(link, POLLIN, deadline, error);
    else if (got == 0 || errno != EINTR)
      status = ended(got == 0 ? 0 : errno, error);
  }
  return status;
}

ep_status ep_node_link_head(const ep_node_link *link, ep_node_head *out, ep_error *error) {
  return ep_node_link_read(link, out, sizeof *out, error);
}
