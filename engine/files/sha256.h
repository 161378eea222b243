/* sha256.h: SHA-256 (FIPS 180-4) as libsodium's, at the speed of the processor's own instructions
 * where it has them. */
#ifndef EP_ENGINE_FILES_SHA256_H
#define EP_ENGINE_FILES_SHA256_H

#include <sodium.h>
#include <stddef.h>

#include "api/names.h"

/* crypto_hash_sha256_update: the state is libsodium's, and may be used with its functions too. */
void ep_sha256_update(crypto_hash_sha256_state *state, const void *bytes, size_t count);

/* Ends the hash. text: [EP_SHA256_HEX_BYTES]. */
void ep_sha256_final(crypto_hash_sha256_state *state, char text[EP_SHA256_HEX_BYTES]);

#endif
