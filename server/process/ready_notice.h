/* ready_notice.h: tells the service manager that started us how far we are (systemd's
 * sd_notify protocol: a datagram of lines to the Unix socket that $NOTIFY_SOCKET names). */
#ifndef EP_SERVER_PROCESS_READY_NOTICE_H
#define EP_SERVER_PROCESS_READY_NOTICE_H

#include "api/status.h"

/* Sends `state`, such as "READY=1\nSTATUS=listening on …" or "STOPPING=1". EP_OK too when nobody
 * asked to be told ($NOTIFY_SOCKET is not set). EP_IO: it was asked, and could not be sent;
 * EP_INVALID: the name is none of a Unix socket. */
ep_status ep_ready_notice(const char *state, ep_error *error);

#endif
