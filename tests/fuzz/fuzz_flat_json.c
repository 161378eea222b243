/* Any bytes as the flat JSON form. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_format_flat_json.recognise(bytes, count);
  format_holds(&ep_format_flat_json, bytes, count, INT64_MAX);
  return 0;
}
