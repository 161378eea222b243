/* transfer.h: one attempt to deliver a message, over HTTP. For the courier's one thread. */
#ifndef EP_SERVER_WEBHOOKS_COURIER_TRANSFER_H
#define EP_SERVER_WEBHOOKS_COURIER_TRANSFER_H

#include <curl/curl.h>

#include "server/webhooks/wire/address.h"
#include "server/webhooks/wire/message.h"

typedef struct transfer transfer;

/* Copies the request, and adds the transfer to the multi handle. `allowed` is lent for its life.
 * false: memory is short. */
bool transfer_start(CURLM *multi, const ep_allowed_addresses *allowed,
                    const ep_courier_request *request);

/* Of a handle that has ended with `code`: what came of it. Frees the transfer. */
void transfer_end(CURLM *multi, CURL *handle, CURLcode code, ep_courier_reply *reply);

#endif
