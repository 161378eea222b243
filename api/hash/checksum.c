#include "api/hash/checksum.h"

#include <assert.h>
#include <stdio.h>
#include <xxhash.h>

static void value_format(XXH64_hash_t value, char text[EP_CHECKSUM_HEX_BYTES]) {
  snprintf(text, EP_CHECKSUM_HEX_BYTES, "%016llx", (unsigned long long)value);
}

ep_status ep_checksum_init(ep_checksum *checksum, ep_error *error) {
  checksum->state = XXH3_createState();
  if (!checksum->state) return ep_fail_memory(error);
  XXH3_64bits_reset(checksum->state);
  return EP_OK;
}

void ep_checksum_update(ep_checksum *checksum, const void *bytes, size_t count) {
  XXH_errorcode code = XXH3_64bits_update(checksum->state, bytes, count);
  assert(code == XXH_OK);
  (void)code;
}

void ep_checksum_final(ep_checksum *checksum, char text[EP_CHECKSUM_HEX_BYTES]) {
  value_format(XXH3_64bits_digest(checksum->state), text);
  ep_checksum_deinit(checksum);
}

void ep_checksum_deinit(ep_checksum *checksum) {
  XXH3_freeState(checksum->state);
  checksum->state = NULL;
}

void ep_checksum_of(const void *bytes, size_t count, char text[EP_CHECKSUM_HEX_BYTES]) {
  value_format(XXH3_64bits(bytes, count), text);
}
