/* Any bytes as NPZ. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_format_npz.recognise(bytes, count);
  format_holds(&ep_format_npz, bytes, count, 1 << 20);
  return 0;
}
