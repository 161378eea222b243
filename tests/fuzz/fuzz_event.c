/* Any bytes as a line of an event log, and as its end. An epoch that is understood can be written
 * and read again with the same figures. */
#include <math.h>
#include <string.h>

#include "api/limits.h"
#include "api/wire/event.h"
#include "api/wire/event_end.h"
#include "api/wire/event_seal.h"
#include "tests/fuzz/fuzz.h"

static int same(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return memcmp(&a, &b, sizeof a) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static char line[EP_LIMIT_EVENT_BYTES];
  ep_event event, again;
  ep_event_place place;
  if (ep_event_parse_place((const char *)bytes, count, &place, NULL) == EP_OK) {
    FUZZ_HOLDS(strlen(place.device) < sizeof place.device);
    FUZZ_HOLDS(strlen(place.executor) < sizeof place.executor);
  }
  ep_event_end end;
  if (ep_event_parse_end((const char *)bytes, count, &end, NULL) == EP_OK) {
    FUZZ_HOLDS(ep_state_has_ended(end.state));
    ep_job_result_deinit(&end.result);
  }
  if (ep_event_parse((const char *)bytes, count, &event, NULL) != EP_OK) return 0;
  event.job = "job_1";
  size_t written = ep_event_format(&event, line, sizeof line);
  FUZZ_HOLDS(written > 0);
  FUZZ_HOLDS(ep_event_seal_check(line, written - 1) == EP_SEAL_WHOLE);
  FUZZ_HOLDS(ep_event_parse(line, written, &again, NULL) == EP_OK);
  FUZZ_HOLDS(event.seq == again.seq && event.type == again.type);
  if (event.type != EP_EVENT_EPOCH) return 0;
  FUZZ_HOLDS(event.progress.epoch == again.progress.epoch);
  FUZZ_HOLDS(same(event.progress.loss, again.progress.loss));
  FUZZ_HOLDS(same(event.progress.error, again.progress.error));
  FUZZ_HOLDS(same(event.progress.validation_loss, again.progress.validation_loss));
  FUZZ_HOLDS(same(event.progress.lr, again.progress.lr));
  return 0;
}
