/* Any bytes as NPY. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_format_npy.recognise(bytes, count);
  format_holds(&ep_format_npy, bytes, count, INT64_MAX);
  return 0;
}
