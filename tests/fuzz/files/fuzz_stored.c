/* Any bytes as a text of the data folder: the first one says of which kind. What is understood is
 * written and understood again. */
#include <string.h>

#include "api/wire/calibration.h"
#include "api/wire/result.h"
#include "engine/checkpoints/manifest.h"
#include "tests/fuzz/fuzz.h"

static void checkpoint_holds(const char *text) {
  ep_checkpoint found, again;
  ep_error error = {0};
  if (ep_checkpoint_parse(text, &found, &error) != EP_OK) {
    FUZZ_HOLDS(error.status == EP_DATA && error.message[0]);
    return;
  }
  char *written = ep_checkpoint_format(&found);
  FUZZ_HOLDS(written && ep_checkpoint_parse(written, &again, &error) == EP_OK);
  free(written);
}

static void result_holds(const char *text) {
  ep_job_result found, again;
  ep_error error = {0};
  char sha256[EP_SHA256_HEX_BYTES];
  ep_job_result_weights_sha256(text, sha256);
  FUZZ_HOLDS(memchr(sha256, 0, sizeof sha256));
  if (ep_job_result_parse(text, &found, &error) == EP_OK) {
    char *written = ep_job_result_format(&found);
    FUZZ_HOLDS(written && ep_job_result_parse(written, &again, &error) == EP_OK);
    ep_job_result_deinit(&again);
    free(written);
  } else {
    FUZZ_HOLDS(error.message[0]);
  }
  ep_job_result_deinit(&found);
}

static void calibration_holds(const char *text) {
  static const ep_calibration_key key = {
      .device = "cpu", .name = "c", .instruction_set = "avx2", .threads = 2, .version = "1"};
  ep_calibration found, again;
  ep_error error = {0};
  if (ep_calibration_parse(text, strlen(text), &key, &found, &error) != EP_OK) {
    FUZZ_HOLDS(error.message[0]);
    return;
  }
  char *written = ep_calibration_format(&key, &found);
  FUZZ_HOLDS(written &&
             ep_calibration_parse(written, strlen(written), &key, &again, &error) == EP_OK);
  FUZZ_HOLDS(found.count == again.count);
  free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  char *text = malloc(count);
  FUZZ_HOLDS(text);
  memcpy(text, bytes + 1, count - 1);
  text[count - 1] = 0;
  switch (bytes[0]) {
  case 'c': checkpoint_holds(text); break;
  case 'k': calibration_holds(text); break;
  default: result_holds(text);
  }
  free(text);
  return 0;
}
