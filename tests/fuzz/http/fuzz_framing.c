/* Any bytes of a connection: however they are cut into pieces, the same requests are whole and the
 * same is refused. The first byte is the size of a piece. */
#include "server/http/framing/framing.h"
#include "tests/fuzz/fuzz.h"

static ep_status read_pieces(const char *bytes, size_t count, size_t piece, size_t *whole) {
  ep_framing framing = {0};
  ep_status status = EP_OK;
  *whole = 0;
  for (size_t at = 0; at < count && status == EP_OK; at += piece) {
    size_t part = count - at < piece ? count - at : piece, found;
    status = ep_framing_read(&framing, bytes + at, part, &found, NULL);
    FUZZ_HOLDS(found <= part);
    if (found > 0) *whole = at + found;
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count < 2) return 0;
  size_t whole, found;
  ep_status status = read_pieces((const char *)bytes + 1, count - 1, count - 1, &whole);
  FUZZ_HOLDS(read_pieces((const char *)bytes + 1, count - 1, 1 + bytes[0] % 64, &found) == status);
  FUZZ_HOLDS(found == whole);
  return 0;
}
