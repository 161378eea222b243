/* canary.c: a fuzzer with a planted fault: if the driver does not find this one, it finds none. */
#include <string.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (memmem(bytes, count, "1e999", 5) && memchr(bytes, 0xFF, count)) {
    puts("the planted fault was found");
    exit(0);
  }
  return 0;
}
