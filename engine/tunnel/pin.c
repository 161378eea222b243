#include "engine/tunnel/pin.h"

#include "api/hash/sha256.h"

ep_status ep_pin_of(const void *bytes, size_t count, char *pin, ep_error *error) {
  ep_sha256 hash;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  ep_sha256_update(&hash, bytes, count);
  ep_sha256_final(&hash, pin);
  return EP_OK;
}
