#include "server/slurm/control/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
  struct cmsghdr header; /* aligns it */
  char bytes[CMSG_SPACE(sizeof(int))];
} ancillary;

ep_status ep_control_send(int socket, const ep_control *control, int file, ep_error *error) {
  ancillary beside = {0};
  struct iovec part = {(void *)control, sizeof *control};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (file >= 0) {
    message.msg_control = beside.bytes;
    message.msg_controllen = sizeof beside.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent == (ssize_t)sizeof *control) return EP_OK;
  if (errno == EAGAIN) return ep_fail(error, EP_BUSY, "the other side does not read");
  return ep_fail(error, EP_UNAVAILABLE, "the other side has ended: %s", strerror(errno));
}

/* The descriptor that came with a message; -1 = none. */
static int file_of(struct msghdr *message) {
  int file = -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
       header = CMSG_NXTHDR(message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

static void texts_end(ep_control *control) {
  control->worker[sizeof control->worker - 1] = control->device[sizeof control->device - 1] = 0;
  control->node[sizeof control->node - 1] = control->job[sizeof control->job - 1] = 0;
  control->text[sizeof control->text - 1] = 0;
}

ep_status ep_control_receive(int socket, ep_control *out, int *file, bool *got, ep_error *error) {
  ancillary beside = {0};
  struct iovec part = {out, sizeof *out};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = beside.bytes,
                           .msg_controllen = sizeof beside.bytes};
  *file = -1;
  *got = false;
  ssize_t bytes;
  do bytes = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && errno == EAGAIN) return EP_OK;
  if (bytes <= 0) return ep_fail(error, EP_UNAVAILABLE, "the other side has ended");
  *file = file_of(&message);
  *got = bytes == (ssize_t)sizeof *out;
  if (*got) {
    texts_end(out);
    return EP_OK;
  }
  if (*file >= 0) close(*file);
  *file = -1;
  return ep_fail(error, EP_MALFORMED, "a packet of another size");
}
