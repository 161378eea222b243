/* sha256.h: SHA-256 (FIPS 180-4), of a download as it comes. */
#ifndef EP_CLIENTS_EPOCHCTL_SHA256_H
#define EP_CLIENTS_EPOCHCTL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "api/names.h"

typedef struct {
  uint32_t state[8];
  uint64_t bytes;
  unsigned char block[64]; /* what does not fill one yet */
} ep_sha256;

void ep_sha256_init(ep_sha256 *hash);
void ep_sha256_add(ep_sha256 *hash, const void *bytes, size_t count);
/* Lower-case hexadecimal digits; the hash is used up. */
void ep_sha256_finish(ep_sha256 *hash, char hex[EP_SHA256_HEX_BYTES]);

#endif
