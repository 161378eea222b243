/* sha256.h: SHA-256 (FIPS 180-4), by OpenSSL at the speed of the processor's own instructions.
 * Decision 29 has the figures. */
#ifndef EP_API_HASH_SHA256_H
#define EP_API_HASH_SHA256_H

#include <stddef.h>

#include "api/names.h"
#include "api/status.h"

typedef struct {
  struct evp_md_ctx_st *context; /* owned; NULL where none has begun */
} ep_sha256;

/* Has OpenSSL make ready what it needs. Where its memory is short in that it ends the process, or
 * refuses for ever: so once in a process, before that has work to lose, which ends on an error. */
ep_status ep_sha256_prepare(ep_error *error);

/* Begins a hash. It ends by ep_sha256_final or ep_sha256_deinit. */
ep_status ep_sha256_init(ep_sha256 *hash, ep_error *error);
void ep_sha256_update(ep_sha256 *hash, const void *bytes, size_t count);
/* Ends the hash. text: [EP_SHA256_HEX_BYTES], written. */
void ep_sha256_final(ep_sha256 *hash, char text[EP_SHA256_HEX_BYTES]);
/* Gives it up. One that has ended is allowed. */
void ep_sha256_deinit(ep_sha256 *hash);

/* The hash of bytes that are all there. */
ep_status ep_sha256_of(const void *bytes, size_t count, char text[EP_SHA256_HEX_BYTES],
                       ep_error *error);

#endif
