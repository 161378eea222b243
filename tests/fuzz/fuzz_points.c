/* Any bytes as points or results of a sweep: the first byte says of which kind. What is understood
 * is of a sweep and of a lease, and reads the same again; a help that is not ready takes it. */
#include <string.h>

#include "api/wire/frame.h"
#include "engine/sweep/help.h"
#include "tests/fuzz/fuzz.h"

/* Reads every byte of the records. */
static bool records_are_same(const ep_points *first, const ep_points *again) {
  const void *records = first->results ? (const void *)first->results : first->points;
  const void *others = first->results ? (const void *)again->results : again->points;
  const size_t each = first->results ? sizeof *first->results : sizeof *first->points;
  return records && others && memcmp(records, others, first->count * each) == 0;
}

static void again_read(ep_frame_kind kind, const ep_points *first) {
  ep_points again;
  size_t bytes;
  uint8_t *frame = ep_points_encode(first, kind, &bytes);
  FUZZ_HOLDS(frame);
  FUZZ_HOLDS(ep_points_decode(kind, frame + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES,
                              &again, NULL) == EP_OK);
  FUZZ_HOLDS(again.count == first->count && again.lease == first->lease &&
             again.slots == first->slots && again.together == first->together);
  FUZZ_HOLDS(strcmp(again.job, first->job) == 0);
  FUZZ_HOLDS(records_are_same(first, &again));
  free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_points points;
  if (count == 0) return 0;
  const ep_frame_kind kind = bytes[0] == 'p' ? EP_FRAME_POINTS : EP_FRAME_RESULTS;
  uint8_t *payload = aligned_alloc(8, (count + 7) / 8 * 8);
  FUZZ_HOLDS(payload);
  memcpy(payload, bytes + 1, count - 1);
  if (ep_points_decode(kind, payload, count - 1, &points, NULL) == EP_OK) {
    FUZZ_HOLDS(points.lease != 0 && points.job[0] && !strchr(points.job, '/'));
    FUZZ_HOLDS(points.attempt >= 0 && points.slots >= 0);
    again_read(kind, &points);
    ep_sweep_help *help = ep_sweep_help_create();
    FUZZ_HOLDS(help);
    if (points.points)
      FUZZ_HOLDS(ep_sweep_help_add(help, points.points, points.count, NULL) == EP_OK);
    ep_sweep_help_destroy(help);
  }
  free(payload);
  return 0;
}
