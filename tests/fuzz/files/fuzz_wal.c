/* Any bytes as the write-ahead log of the store: the lost frames are no more than it has room for.
 */
#include "server/store/wal.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  int64_t lost = ep_store_wal_lost(bytes, count, NULL, 0);
  FUZZ_HOLDS(lost >= 0 && lost <= (int64_t)(count / 24) + 1);
  return 0;
}
