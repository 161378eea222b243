/* ready_notice.h: the daemon's state for the service manager that started it (systemd's sd_notify
 * protocol: a datagram of lines to the Unix socket that $NOTIFY_SOCKET names). */
#ifndef EP_SERVER_PROCESS_READY_NOTICE_H
#define EP_SERVER_PROCESS_READY_NOTICE_H

#include "api/status.h"

/* Sends `state`, such as "READY=1\nSTATUS=listening on …" or "STOPPING=1". EP_OK also without
 * $NOTIFY_SOCKET. EP_IO: it cannot be sent; EP_INVALID: the name is not of a Unix socket. */
ep_status ep_ready_notice(const char *state, ep_error *error);

#endif
