/* Any bytes as a ZIP of pictures in class folders; broken ones are left out where the last byte is
 * odd. */
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_problem faults = {0};
  if (!ep_format_pictures.recognise(bytes, count)) return 0;
  const ep_ingest_options options = {.skip_broken = bytes[count - 1] & 1, .faults = &faults};
  format_holds_with(&ep_format_pictures, &options, bytes, count, 1 << 20);
  FUZZ_HOLDS(faults.errors_count >= 0 && faults.errors_count <= EP_LIMIT_PROBLEM_ERRORS);
  for (int i = 0; i < faults.errors_count; i++)
    FUZZ_HOLDS(ep_utf8_valid(faults.errors[i].detail, strlen(faults.errors[i].detail)));
  return 0;
}
