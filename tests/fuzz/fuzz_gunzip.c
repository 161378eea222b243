/* gzip as it arrives: however it is cut, the same comes out, and never more than was allowed. */
#include <string.h>

#include "engine/files/gunzip.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_BYTES = 1 << 20 };

typedef struct {
  unsigned char bytes[MOST_BYTES];
  size_t count;
} output;

static ep_status piece_take(void *context, const void *bytes, size_t count, ep_error *error) {
  output *out = context;
  FUZZ_HOLDS(count > 0);
  if (count > MOST_BYTES - out->count) return ep_fail(error, EP_TOO_LARGE, "too large");
  memcpy(out->bytes + out->count, bytes, count);
  out->count += count;
  return EP_OK;
}

static ep_status unpack(const uint8_t *bytes, size_t count, size_t piece, output *out) {
  ep_gunzip *gunzip;
  out->count = 0;
  FUZZ_HOLDS(ep_gunzip_create(&gunzip, NULL) == EP_OK);
  ep_status status = EP_OK;
  for (size_t at = 0; at < count && status == EP_OK; at += piece)
    status = ep_gunzip_add(gunzip, bytes + at, count - at < piece ? count - at : piece, piece_take,
                           out, NULL);
  FUZZ_HOLDS(ep_gunzip_packed_bytes(gunzip) <= (int64_t)count);
  if (status == EP_OK) {
    FUZZ_HOLDS(ep_gunzip_packed_bytes(gunzip) == (int64_t)count);
    status = ep_gunzip_finish(gunzip, NULL);
  }
  ep_gunzip_destroy(gunzip);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static output whole, cut;
  ep_status status = unpack(bytes, count, count + 1, &whole);
  FUZZ_HOLDS(unpack(bytes, count, count % 7 + 1, &cut) == status);
  if (status != EP_OK) return 0;
  FUZZ_HOLDS(whole.count == cut.count && memcmp(whole.bytes, cut.bytes, whole.count) == 0);
  return 0;
}
