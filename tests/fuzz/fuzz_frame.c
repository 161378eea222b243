/* Any bytes as a payload: the first one says of which kind. What is understood is encoded again
 * and understood again. */
#include <string.h>

#include "api/wire/frame.h"
#include "tests/fuzz/fuzz.h"

static void command(const uint8_t *payload, size_t count) {
  ep_command first, again;
  if (ep_command_decode(payload, count, &first, NULL) != EP_OK) return;
  size_t bytes;
  uint8_t *frame = ep_command_encode(&first, &bytes);
  FUZZ_HOLDS(frame);
  FUZZ_HOLDS(ep_command_decode(frame + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES, &again,
                               NULL) == EP_OK);
  FUZZ_HOLDS(first.kind == again.kind && first.request == again.request);
  FUZZ_HOLDS(strcmp(first.job, again.job) == 0 && !strchr(first.job, '/'));
  ep_command_deinit(&first);
  ep_command_deinit(&again);
  free(frame);
}

static void reply(const uint8_t *payload, size_t count) {
  ep_reply first, again;
  if (ep_reply_decode(payload, count, &first, NULL) != EP_OK) return;
  size_t bytes;
  uint8_t *frame = ep_reply_encode(&first, &bytes);
  FUZZ_HOLDS(frame);
  FUZZ_HOLDS(ep_reply_decode(frame + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES, &again,
                             NULL) == EP_OK);
  FUZZ_HOLDS(first.kind == again.kind && first.error.status == again.error.status);
  ep_reply_deinit(&first);
  ep_reply_deinit(&again);
  free(frame);
}

static void records(const uint8_t *payload, size_t count, bool trials) {
  ep_progress out;
  void *aligned = aligned_alloc(8, (count + 8) / 8 * 8);
  FUZZ_HOLDS(aligned);
  memcpy(aligned, payload, count);
  ep_status status = trials ? ep_trials_decode(aligned, count, &out, NULL)
                            : ep_progress_decode(aligned, count, &out, NULL);
  if (status == EP_OK) {
    double sum = 0;
    for (uint32_t i = 0; i < out.count; i++)
      sum += trials ? out.trials[i].metric : out.records[i].loss;
    FUZZ_HOLDS(sum == sum || sum != sum); /* reads every record */
    FUZZ_HOLDS(memchr(out.job, 0, sizeof out.job));
  }
  free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  switch (bytes[0]) {
  case 'c': command(bytes + 1, count - 1); break;
  case 'r': reply(bytes + 1, count - 1); break;
  case 't': records(bytes + 1, count - 1, true); break;
  default: records(bytes + 1, count - 1, false);
  }
  return 0;
}
