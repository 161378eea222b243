/* courier_link.h: epochd's end of epoch-courier, the process that calls webhooks. For one thread.
 */
#ifndef EP_SERVER_WEBHOOKS_COURIER_LINK_H
#define EP_SERVER_WEBHOOKS_COURIER_LINK_H

#include <stdbool.h>
#include <sys/types.h>

#include "api/status.h"
#include "server/webhooks/wire/message.h"

typedef struct {
  const char *program; /* lent */
  const char *allow;   /* --webhook-allow, lent */
  pid_t pid;           /* 0 = it does not run */
  int socket;          /* -1 = likewise */
} ep_courier_link;

/* Starts the process, unless it runs. EP_UNAVAILABLE. */
ep_status ep_courier_link_open(ep_courier_link *link, ep_error *error);
/* Ends the process. Safe where it does not run. */
void ep_courier_link_close(ep_courier_link *link);

/* Does not wait. false: there is no room at the moment, or the process is gone. */
bool ep_courier_link_send(const ep_courier_link *link, const ep_courier_request *request);
/* true: *reply was read. Otherwise *gone says whether the process is. Does not wait. */
bool ep_courier_link_receive(const ep_courier_link *link, ep_courier_reply *reply, bool *gone);

#endif
