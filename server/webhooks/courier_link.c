#include "server/webhooks/courier_link.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "server/process/spawn.h"

ep_status ep_courier_link_open(ep_courier_link *link, ep_error *error) {
  int pair[2];
  char *arguments[] = {(char *)EP_COURIER_PROGRAM, (char *)link->allow, NULL};
  if (link->pid != 0) return EP_OK;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return ep_fail(error, EP_UNAVAILABLE, "no socket for webhooks: %s", strerror(errno));
  const ep_spawn_file file = {pair[1], EP_COURIER_SOCKET};
  int failed = ep_spawn(link->program, arguments, &file, 1, -1, &link->pid);
  close(pair[1]);
  link->socket = pair[0];
  if (failed == 0) return EP_OK;
  link->pid = 0;
  ep_courier_link_close(link);
  return ep_fail(error, EP_UNAVAILABLE, "%.300s cannot be started: %s", link->program,
                 strerror(failed));
}

void ep_courier_link_close(ep_courier_link *link) {
  if (link->socket >= 0) close(link->socket);
  link->socket = -1;
  if (link->pid == 0) return;
  kill(link->pid, SIGKILL);
  while (waitpid(link->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  link->pid = 0;
}

bool ep_courier_link_send(const ep_courier_link *link, const ep_courier_request *request) {
  size_t bytes = ep_courier_request_bytes(request);
  ssize_t sent;
  do sent = send(link->socket, request, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)bytes;
}

bool ep_courier_link_receive(const ep_courier_link *link, ep_courier_reply *reply, bool *gone) {
  ssize_t got;
  *gone = false;
  if (link->socket < 0) return false;
  do got = recv(link->socket, reply, sizeof *reply, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got == (ssize_t)sizeof *reply) {
    reply->fault[sizeof reply->fault - 1] = 0;
    reply->detail[sizeof reply->detail - 1] = 0;
    return true;
  }
  *gone = got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  return false;
}
