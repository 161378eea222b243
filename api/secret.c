#include "api/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "api/names.h"

_Static_assert((int)EP_SECRET_TEXT_BYTES == (int)EP_SHA256_HEX_BYTES,
               "fields of secrets are of this size");

ep_status ep_secret_make(char *text, size_t bytes, ep_error *error) {
  unsigned char random[EP_SECRET_RANDOM_BYTES];
  if (getrandom(random, bytes, 0) != (ssize_t)bytes)
    return ep_fail(error, EP_IO, "the system provides no random bytes: %s", strerror(errno));
  for (size_t i = 0; i < bytes; i++) snprintf(text + 2 * i, 3, "%02x", random[i]);
  explicit_bzero(random, sizeof random);
  return EP_OK;
}
