/* link.h: frames over the socket to epochd, blocking. */
#ifndef EP_ENGINE_WORKER_LINK_H
#define EP_ENGINE_WORKER_LINK_H

#include <pthread.h>
#include <stdbool.h>

#include "api/wire/frame.h"

typedef struct {
  int socket;
  pthread_mutex_t sending; /* held while a frame is written: frames of two threads do not mix */
} ep_link;

void ep_link_init(ep_link *link, int socket);

/* What came. */
typedef struct {
  ep_command command; /* ep_command_deinit; of points and results there is none */
  ep_frame_kind kind;
  ep_points points; /* of EP_FRAME_POINTS, EP_FRAME_RESULTS */
  uint8_t *payload; /* that `points` lies in; owned: free; NULL = none */
} ep_link_input;

/* By any thread. EP_CANCELLED: epochd has closed the socket, because it ends. */
ep_status ep_link_send_reply(ep_link *link, const ep_reply *reply, ep_error *error);
ep_status ep_link_send_progress(ep_link *link, const ep_progress *progress, ep_error *error);

ep_status ep_link_send_points(ep_link *link, const ep_points *points, ep_frame_kind kind,
                              ep_error *error);

/* By one thread. Waits for one whole frame. *ended: the other side has closed. */
ep_status ep_link_receive(ep_link *link, ep_link_input *input, bool *ended, ep_error *error);

#endif
