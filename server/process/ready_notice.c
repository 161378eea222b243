#include "server/process/ready_notice.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

ep_status ep_ready_notice(const char *state, ep_error *error) {
  const char *name = getenv("NOTIFY_SOCKET");
  if (!name || !*name) return EP_OK;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t bytes = strlen(name);
  if ((name[0] != '/' && name[0] != '@') || bytes >= sizeof address.sun_path)
    return ep_fail(error, EP_INVALID, "NOTIFY_SOCKET=%.200s is not a Unix socket", name);
  memcpy(address.sun_path, name, bytes);
  if (name[0] == '@')
    address.sun_path[0] = 0; /* one of the abstract names, which no file stands for */
  ep_status status = EP_OK;
  int peer = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
  if (peer < 0 || sendto(peer, state, strlen(state), MSG_NOSIGNAL,
                         (const struct sockaddr *)&address, length) < 0)
    status = ep_fail(error, EP_IO, "the service manager at %.200s cannot be notified: %s", name,
                     strerror(errno));
  if (peer >= 0) close(peer);
  return status;
}
