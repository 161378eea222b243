/* webhooks.h: delivers what server/store/deliveries.h holds: a thread that signs, and has
 * epoch-courier send. What fails is tried again with growing waits, for a day. The thread holds up
 * neither requests nor trainings, and a slow host none but itself. */
#ifndef EP_SERVER_WEBHOOKS_WEBHOOKS_H
#define EP_SERVER_WEBHOOKS_WEBHOOKS_H

#include "server/store/deliveries.h"

typedef struct ep_webhooks ep_webhooks;

/* The body of a message, the caller's (free). EP_NOT_FOUND: the job is gone, and with it the
 * message. Called from the thread. */
typedef ep_status ep_webhooks_body(void *context, const ep_delivery *delivery, char **text,
                                   ep_error *error);

typedef struct {
  const char *secret_file; /* of --webhook-secret-file */
  const char *allow;       /* of --webhook-allow; "" = public addresses alone */
  ep_store *store;         /* lent, as `context` */
  ep_webhooks_body *body;
  void *context;
} ep_webhooks_options;

/* Reads the secrets and starts the thread. EP_INVALID, EP_FORBIDDEN: an option is wrong. */
ep_status ep_webhooks_start(const ep_webhooks_options *options, ep_webhooks **out, ep_error *error);
/* There may be something to deliver. From any thread; NULL is allowed. */
void ep_webhooks_wake(ep_webhooks *webhooks);
/* Waits for the thread; what is under way is tried again at the next start. NULL is allowed. */
void ep_webhooks_stop(ep_webhooks *webhooks);

/* How long the wait is after so many attempts. */
int64_t ep_webhooks_backoff_us(int attempts);

#endif
