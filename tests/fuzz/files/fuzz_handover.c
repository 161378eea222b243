/* Any bytes as the file of a handover: behind an 'r' as they are; else with the magic, the version,
 * the sizes and the hash that make them one, as somebody has who can write to the shared folder.
 * What is taken is plain: whole frames of that job and attempt, and texts that end. */
#include <string.h>

#include "api/hash/sha256.h"
#include "api/limits.h"
#include "api/wire/frame.h"
#include "engine/handovers/manifest.h"
#include "tests/fuzz/fuzz.h"

/* Where the header of manifest.c has what; the hash of a sealed one is taken, or nothing would be.
 */
enum {
  VERSION_AT = 8,
  VERSION_BYTES = 32,
  SIZES_AT = 96, /* of files and of frames, 64 bits each */
  SHA256_AT = 112,
  HEADER_BYTES = 184
};

static void seal(uint8_t *bytes, size_t count) {
  char sha256[EP_SHA256_HEX_BYTES];
  ep_sha256 hash;
  int64_t sizes[2];
  const size_t content = count - HEADER_BYTES;
  const int64_t room = (int64_t)(content / sizeof(ep_handover_file));
  memcpy(bytes, "EPHANDO1", 8);
  memset(bytes + VERSION_AT, 0, VERSION_BYTES);
  memcpy(bytes + VERSION_AT, EP_VERSION, sizeof EP_VERSION - 1);
  memcpy(sizes, bytes + SIZES_AT, sizeof sizes);
  if (sizes[0] < 0 || sizes[0] > room) sizes[0] = room;
  sizes[1] = (int64_t)content - sizes[0] * (int64_t)sizeof(ep_handover_file);
  memcpy(bytes + SIZES_AT, sizes, sizeof sizes);
  memset(bytes + SHA256_AT, 0, HEADER_BYTES - SHA256_AT);
  FUZZ_HOLDS(ep_sha256_init(&hash, NULL) == EP_OK);
  ep_sha256_update(&hash, bytes, count);
  ep_sha256_final(&hash, sha256);
  memcpy(bytes + SHA256_AT, sha256, sizeof sha256);
}

/* As a relay does with what it took over. */
static void reports_hold(const ep_handover *found) {
  ep_handover again = {.attempt = found->attempt + 1};
  int64_t first, last;
  size_t bytes = 0, all = 0;
  const uint8_t *frame;
  memcpy(again.job, found->job, sizeof again.job);
  for (size_t at = 0; (frame = ep_handover_next_frame(found, &at, &bytes));) {
    all += bytes;
    FUZZ_HOLDS(all == at);
    FUZZ_HOLDS(ep_handover_add_frame(&again, frame, bytes, NULL) == EP_OK);
  }
  FUZZ_HOLDS(all == found->frames_bytes && again.frames_bytes <= all);
  for (size_t at = 0; (frame = ep_handover_next_frame(&again, &at, &bytes));) {
    ep_progress progress;
    FUZZ_HOLDS(ep_progress_decode(frame + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES,
                                  &progress, NULL) == EP_OK);
    FUZZ_HOLDS(progress.attempt == again.attempt && strcmp(progress.job, again.job) == 0);
  }
  ep_handover_epochs(found, &first, &last);
  FUZZ_HOLDS(first >= 0 && last >= 0 && (first == 0) == (last == 0));
  ep_handover_deinit(&again);
}

static void holds(const uint8_t *bytes, size_t count, bool sealed) {
  ep_handover found;
  ep_error error = {0};
  ep_status status = ep_handover_parse(bytes, count, "a file", &found, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_DAMAGED || status == EP_UNSUPPORTED);
    FUZZ_HOLDS(!(sealed && status == EP_UNSUPPORTED) && error.message[0]);
    FUZZ_HOLDS(!found.files && !found.frames);
    return;
  }
  FUZZ_HOLDS(found.attempt > 0 && found.epochs_logged >= 0 &&
             memchr(found.job, 0, sizeof found.job));
  FUZZ_HOLDS(found.frames_bytes <= EP_LIMIT_HANDOVER_FRAMES_BYTES);
  for (int i = 0; i < found.files_count; i++)
    FUZZ_HOLDS(memchr(found.files[i].name, 0, sizeof found.files[i].name) &&
               memchr(found.files[i].sha256, 0, sizeof found.files[i].sha256));
  reports_hold(&found);
  ep_handover_deinit(&found);
}

/* A sealed one is a handover: where the header has changed, nothing else would be looked at. */
static void seal_holds(void) {
  uint8_t bytes[HEADER_BYTES] = {0};
  const int32_t attempt = 1;
  ep_handover found;
  memcpy(bytes + VERSION_AT + VERSION_BYTES + EP_ID_BYTES, &attempt, sizeof attempt);
  seal(bytes, sizeof bytes);
  FUZZ_HOLDS(ep_handover_parse(bytes, sizeof bytes, "a file", &found, NULL) == EP_OK);
  FUZZ_HOLDS(found.attempt == attempt && found.frames_bytes == 0);
  ep_handover_deinit(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static bool looked;
  if (!looked) seal_holds();
  looked = true;
  if (count == 0) return 0;
  const bool sealed = bytes[0] != 'r' && count - 1 >= HEADER_BYTES;
  uint8_t *copy = malloc(count > 1 ? count - 1 : 1); /* just what is behind the letter */
  FUZZ_HOLDS(copy);
  memcpy(copy, bytes + 1, count - 1);
  if (sealed) seal(copy, count - 1);
  holds(copy, count - 1, sealed);
  free(copy);
  return 0;
}
