/* Any bytes as JSON. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_format_json.recognise(bytes, count);
  format_holds(&ep_format_json, bytes, count, INT64_MAX);
  return 0;
}
