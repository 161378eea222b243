/* random.c: what the daemon takes of the system's randomness (ids, names of files) comes from the
 * seed. */
#include <stddef.h>
#include <sys/types.h>

#include "tests/simulator/simulator.h"

void __wrap_randombytes_buf(void *out, size_t bytes);
ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags);

void __wrap_randombytes_buf(void *out, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((uint8_t *)out)[i] = (uint8_t)random_next();
}

ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags) {
  (void)flags;
  __wrap_randombytes_buf(out, bytes);
  return (ssize_t)bytes;
}
