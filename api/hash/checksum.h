/* checksum.h: XXH3 (Y. Collet), 64 bits, by libxxhash: tells what a disk damaged from what was
 * written, ten times as fast as SHA-256. No defence against a forger. */
#ifndef EP_API_HASH_CHECKSUM_H
#define EP_API_HASH_CHECKSUM_H

#include <stddef.h>

#include "api/names.h"
#include "api/status.h"

typedef struct {
  struct XXH3_state_s *state; /* owned; NULL where none has begun */
} ep_checksum;

/* Begins a checksum. It ends by ep_checksum_final or ep_checksum_deinit. */
ep_status ep_checksum_init(ep_checksum *checksum, ep_error *error);
void ep_checksum_update(ep_checksum *checksum, const void *bytes, size_t count);
/* Ends the checksum. text: [EP_CHECKSUM_HEX_BYTES], written. */
void ep_checksum_final(ep_checksum *checksum, char text[EP_CHECKSUM_HEX_BYTES]);
/* Gives it up. One that has ended, or is zeroed, is allowed. */
void ep_checksum_deinit(ep_checksum *checksum);

/* The checksum of bytes that are all there. */
void ep_checksum_of(const void *bytes, size_t count, char text[EP_CHECKSUM_HEX_BYTES]);

#endif
