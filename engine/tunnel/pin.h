/* pin.h: the SHA-256 of bytes that are all there, in hex: by which a certificate is known, and what
 * is kept of a secret. */
#ifndef EP_ENGINE_TUNNEL_PIN_H
#define EP_ENGINE_TUNNEL_PIN_H

#include <stddef.h>

#include "api/status.h"

/* pin: [EP_SHA256_HEX_BYTES], written. */
ep_status ep_pin_of(const void *bytes, size_t count, char *pin, ep_error *error);

#endif
