/* link.h: frames over the socket to epochd, blocking. */
#ifndef EP_ENGINE_WORKER_LINK_H
#define EP_ENGINE_WORKER_LINK_H

#include <stdbool.h>

#include "api/frame.h"

ep_status ep_link_send_reply(int socket, const ep_reply *reply, ep_error *error);
ep_status ep_link_send_progress(int socket, const ep_progress *progress, ep_error *error);

/* Waits for one whole command; ep_command_deinit afterwards. *ended: the other side has closed. */
ep_status ep_link_receive(int socket, ep_command *command, bool *ended, ep_error *error);

#endif
