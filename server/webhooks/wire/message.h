/* message.h: what epochd and epoch-courier send each other over a Unix socket that keeps messages
 * apart: one struct a message, between two programs of one build. */
#ifndef EP_SERVER_WEBHOOKS_WIRE_MESSAGE_H
#define EP_SERVER_WEBHOOKS_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "api/limits.h"

#define EP_COURIER_PROGRAM "epoch-courier"

enum {
  EP_COURIER_SOCKET = STDIN_FILENO,
  EP_MESSAGE_ID_BYTES = 40,
  EP_MESSAGE_SIGNATURE_BYTES = 64 * EP_LIMIT_WEBHOOK_SECRETS,
  EP_MESSAGE_FAULT_BYTES = 256
};

/* One attempt. The courier has no secret: it gets the signature. The last member is sent as far as
 * it is used. */
typedef struct {
  int64_t number; /* of the attempt: its reply has the same */
  int64_t time_s; /* the signature is of this time; since 1970, UTC */
  char url[EP_LIMIT_URL_BYTES + 1];
  char id[EP_MESSAGE_ID_BYTES];
  char signature[EP_MESSAGE_SIGNATURE_BYTES];
  uint32_t body_bytes;
  char body[EP_LIMIT_MESSAGE_BYTES];
} ep_courier_request;

static inline size_t ep_courier_request_bytes(const ep_courier_request *request) {
  return offsetof(ep_courier_request, body) + request->body_bytes;
}

/* What came of it. */
typedef struct {
  int64_t number;
  int32_t status;                     /* HTTP's; 0 = there was no response */
  char fault[EP_MESSAGE_FAULT_BYTES]; /* why; "" where there was a response */
  char
      detail[EP_MESSAGE_FAULT_BYTES]; /* for the log alone: what a name resolved to; "" = nothing */
} ep_courier_reply;

#endif
