#include "engine/worker/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ep_link_init(ep_link *link, int socket) {
  link->socket = socket;
  pthread_mutex_init(&link->sending, NULL);
}

/* Sends and frees `frame`. */
static ep_status frame_send(ep_link *link, uint8_t *frame, size_t bytes, ep_error *error) {
  if (!frame) return ep_fail(error, EP_NO_MEMORY, "a frame is too large or memory is short");
  ep_status status = EP_OK;
  pthread_mutex_lock(&link->sending);
  for (size_t sent = 0; status == EP_OK && sent < bytes;) {
    ssize_t written = write(link->socket, frame + sent, bytes - sent);
    if (written >= 0)
      sent += (size_t)written;
    else if (errno == EPIPE || errno == ECONNRESET)
      status = ep_fail(error, EP_CANCELLED, "epochd has closed the socket");
    else if (errno != EINTR)
      status = ep_fail(error, EP_IO, "writing to epochd: %s", strerror(errno));
  }
  pthread_mutex_unlock(&link->sending);
  free(frame);
  return status;
}

ep_status ep_link_send_reply(ep_link *link, const ep_reply *reply, ep_error *error) {
  size_t bytes = 0;
  uint8_t *frame = ep_reply_encode(reply, &bytes);
  return frame_send(link, frame, bytes, error);
}

ep_status ep_link_send_progress(ep_link *link, const ep_progress *progress, ep_error *error) {
  size_t bytes = 0;
  uint8_t *frame = ep_progress_encode(progress, &bytes);
  return frame_send(link, frame, bytes, error);
}

/* Fills `buffer`; *ended when the stream stops before its first byte. */
static ep_status bytes_receive(int socket, uint8_t *buffer, size_t bytes, bool *ended,
                               ep_error *error) {
  for (size_t got = 0; got < bytes;) {
    ssize_t count = read(socket, buffer + got, bytes - got);
    if (count > 0) {
      got += (size_t)count;
    } else if (count == 0 || errno == ECONNRESET) {
      *ended = true;
      return ep_fail(error, EP_IO, "epochd has closed the socket");
    } else if (errno != EINTR) {
      return ep_fail(error, EP_IO, "reading from epochd: %s", strerror(errno));
    }
  }
  return EP_OK;
}

ep_status ep_link_send_points(ep_link *link, const ep_points *points, ep_frame_kind kind,
                              ep_error *error) {
  size_t bytes = 0;
  uint8_t *frame = ep_points_encode(points, kind, &bytes);
  return frame_send(link, frame, bytes, error);
}

ep_status ep_link_receive(ep_link *link, ep_link_input *input, bool *ended, ep_error *error) {
  uint8_t header[EP_FRAME_HEADER_BYTES];
  size_t bytes;
  *input = (ep_link_input){0};
  ep_status status = bytes_receive(link->socket, header, sizeof header, ended, error);
  if (status == EP_OK) status = ep_frame_header(header, &input->kind, &bytes, error);
  if (status != EP_OK) return status;
  const bool points = input->kind == EP_FRAME_POINTS || input->kind == EP_FRAME_RESULTS;
  if (input->kind != EP_FRAME_COMMAND && !points)
    return ep_fail(error, EP_MALFORMED, "epochd sent no command");
  uint8_t *payload = malloc(bytes + 1);
  if (!payload) return ep_fail_memory(error);
  status = bytes_receive(link->socket, payload, bytes, ended, error);
  if (status == EP_OK)
    status = points ? ep_points_decode(input->kind, payload, bytes, &input->points, error)
                    : ep_command_decode(payload, bytes, &input->command, error);
  if (status == EP_OK && points)
    input->payload = payload;
  else
    free(payload);
  return status;
}
