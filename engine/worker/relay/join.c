#include "engine/worker/relay/join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/worker/relay/bridge.h"
#include "engine/worker/relay/child.h"
#include "engine/worker/relay/clock.h"
#include "engine/worker/relay/connect.h"

enum {
  EXIT_REFUSED = 4,
  PATIENCE_MS = 90000, /* until the first node's relay has written the file, and let all in */
  RETRY_MS = 100
};

static ep_status file_await(const char *path, int64_t until_ms, ep_connection *out,
                            ep_error *error) {
  for (;;) {
    ep_status status = ep_relay_connection_read(path, out, error);
    if (status != EP_NOT_FOUND) return status;
    if (ep_relay_now_ms() >= until_ms)
      return ep_fail(error, EP_UNAVAILABLE, "%s not found: the first node did not start", path);
    poll(NULL, 0, RETRY_MS);
  }
}

static ep_status hello_put(ep_channel *channel, const ep_connection *connection, ep_error *error) {
  ep_record_hello hello;
  ep_relay_hello_fill(&hello, connection, connection->secret);
  hello.first = 1;
  return ep_channel_put(channel, EP_RECORD_HELLO, 0, &hello, sizeof hello, NULL, 0, error);
}

/* Shakes hands, says who it is, and waits until it is let in. */
static ep_status let_in(ep_channel *channel, const ep_connection *connection, int64_t until_ms,
                        ep_error *error) {
  ep_record record;
  char text[EP_MESSAGE_BYTES];
  bool greeted = false;
  for (;;) {
    struct pollfd polled = {.fd = ep_channel_socket(channel),
                            .events = ep_channel_events(channel, true)};
    if (ep_relay_now_ms() >= until_ms)
      return ep_fail(error, EP_UNAVAILABLE, "it was not admitted in time");
    if (!ep_channel_has_input(channel)) poll(&polled, 1, RETRY_MS);
    ep_status status = ep_channel_pump(channel, true, error);
    if (ep_channel_peek(channel, &record)) {
      if (record.kind == EP_RECORD_JOINED) {
        ep_channel_drop(channel);
        return EP_OK;
      }
      ep_record_text_read(&record, text);
      return ep_fail(error, EP_FORBIDDEN, "refused: %.300s", text);
    }
    if (status == EP_OK && ep_channel_is_open(channel) && !greeted) {
      greeted = true;
      status = hello_put(channel, connection, error);
    }
    if (status != EP_OK) return status;
  }
}

static ep_status leader_connect(const char *file, ep_channel **channel, ep_error *error) {
  const int64_t until_ms = ep_relay_now_ms() + PATIENCE_MS;
  ep_connection connection;
  int socket = -1;
  ep_status status = file_await(file, until_ms, &connection, error);
  if (status == EP_OK) status = ep_relay_connect(connection.address, &socket, error);
  if (status != EP_OK) return status;
  status = ep_channel_connect(socket, connection.pin, channel, error);
  if (status != EP_OK) {
    close(socket);
    return status;
  }
  ep_channel_trust(*channel); /* the pump ends it where it is another one */
  status = let_in(*channel, &connection, until_ms, error);
  explicit_bzero(&connection, sizeof connection);
  return status;
}

/* Until the child or the connection ends. */
static ep_status child_serve(ep_channel *channel, const char *program, ep_error *error) {
  char number[16], cause[EP_MESSAGE_BYTES];
  char *arguments[] = {(char *)program, "--serve-node", number, NULL};
  ep_relay_child child = {.socket = -1};
  int pair[2];
  snprintf(number, sizeof number, "%d", EP_CHILD_SOCKET);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
      fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
    return ep_fail(error, EP_IO, "no socket: %s", strerror(errno));
  int failed = ep_relay_program_start(program, arguments, &pair[1], 1, &child.pid);
  close(pair[1]);
  child.socket = pair[0];
  if (failed == 0) {
    ep_bridge_run(channel, pair[0], error);
    fprintf(stderr, "epoch-worker: %s\n", error->message);
  }
  ep_relay_child_end(&child, cause, sizeof cause); /* closes the socket: the child ends by itself */
  if (failed == 0) return EP_OK;
  return ep_fail(error, EP_IO, "%s cannot be started: %s", program, strerror(failed));
}

int ep_relay_join(const char *file, const char *program) {
  ep_channel *channel = NULL;
  ep_error error = {0};
  signal(SIGPIPE, SIG_IGN);
  /* Slurm tells all processes of an allocation to end: the first node's relay acts on it. */
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  ep_status status = leader_connect(file, &channel, &error);
  if (status == EP_OK) status = child_serve(channel, program, &error);
  if (status != EP_OK) fprintf(stderr, "epoch-worker: %s\n", error.message);
  ep_channel_close(channel);
  return status == EP_OK ? 0 : status == EP_FORBIDDEN ? EXIT_REFUSED : EXIT_FAILURE;
}
