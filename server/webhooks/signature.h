/* signature.h: how a receiver knows that a message is this daemon's: HMAC-SHA256, as Standard
 * Webhooks has it (https://github.com/standard-webhooks/standard-webhooks). */
#ifndef EP_SERVER_WEBHOOKS_SIGNATURE_H
#define EP_SERVER_WEBHOOKS_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"

enum {
  EP_SECRET_BYTES_MIN = 24,
  EP_SECRET_BYTES_MAX = 64,
  EP_SIGNATURE_TEXT_BYTES = 64 * EP_LIMIT_WEBHOOK_SECRETS
};

typedef struct {
  uint8_t key[EP_LIMIT_WEBHOOK_SECRETS][EP_SECRET_BYTES_MAX];
  size_t bytes[EP_LIMIT_WEBHOOK_SECRETS];
  int count; /* a message is signed with each, so that receivers change over one by one */
} ep_webhook_secrets;

/* Reads lines "whsec_" and base64 of 24 to 64 bytes. EP_INVALID. */
ep_status ep_webhook_secrets_parse(const char *text, ep_webhook_secrets *out, ep_error *error);
/* The same of a file that is its owner's alone (api/tokens/secret_file.h). EP_NOT_FOUND, EP_IO. */
ep_status ep_webhook_secrets_read(const char *path, ep_webhook_secrets *out, ep_error *error);

/* "v1,BASE64", one for each secret, with spaces between: of "ID.TIME.BODY". body: [bytes]. */
void ep_webhook_sign(const ep_webhook_secrets *secrets, const char *id, int64_t time_s,
                     const char *body, size_t bytes, char out[EP_SIGNATURE_TEXT_BYTES]);

#endif
