/* message.h: the messages of webhooks, and what came of them, as JSON text. Every text is the
 * caller's (free); NULL when memory is short. */
#ifndef EP_API_WEBHOOKS_MESSAGE_H
#define EP_API_WEBHOOKS_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/vocabulary.h"

/* A message, which names its subject "job" or "sweep": {"type":"job.end","timestamp":…,"data":
 * {"job":{…},"best":{…}}}. Pointers are loans for the call. */
typedef struct {
  ep_webhook event;
  bool sweep;
  int64_t time_us;     /* of the event */
  const char *subject; /* JSON text: the job or the sweep as in a list */
  const char *best;    /* JSON text; NULL = none */
} ep_webhook_message;

char *ep_webhook_message_format(const ep_webhook_message *message);

/* A row of GET /v1/jobs/{id}/webhooks. */
typedef struct {
  const char *id, *url;
  ep_webhook event;
  bool delivered;
  int attempts;
  int status;         /* HTTP's, of the last attempt; 0 = no response (null) */
  const char *fault;  /* of the last attempt; "" = none (null) */
  int64_t created_us; /* of the event */
  int64_t due_us;     /* of the next attempt; 0 = there is none (null) */
} ep_webhook_view;

char *ep_webhooks_format(const ep_webhook_view *rows, int64_t count);

#endif
