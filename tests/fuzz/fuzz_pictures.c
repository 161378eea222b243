/* Any bytes as a ZIP of pictures in class folders. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (!ep_format_pictures.recognise(bytes, count)) return 0;
  format_holds(&ep_format_pictures, bytes, count, 1 << 20);
  return 0;
}
