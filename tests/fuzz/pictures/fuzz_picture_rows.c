/* Any bytes as pictures to predict: refused with a reason, or whole rows of numbers in the range of
 * their depth. The last byte chooses the network's input. */
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/inputs/picture_rows.h"
#include "tests/fuzz/fuzz.h"

enum { SIDE = 5, MOST_VALUES = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_picture_rows rows = {0};
  ep_error error = {0};
  if (count == 0) return 0;
  const bool deep = bytes[count - 1] & 1;
  const int64_t channels = bytes[count - 1] & 2 ? 3 : 1;
  ep_status status =
      ep_picture_rows_read(bytes, count, channels, SIDE, SIDE, deep, MOST_VALUES, &rows, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_INVALID || status == EP_TOO_LARGE);
    FUZZ_HOLDS(error.message[0] && ep_utf8_valid(error.message, strlen(error.message)));
    return 0;
  }
  const int64_t values = channels * SIDE * SIDE;
  FUZZ_HOLDS(rows.count > 0 && rows.count * values <= MOST_VALUES);
  for (int64_t i = 0; i < rows.count * values; i++)
    FUZZ_HOLDS(rows.x[i] >= 0 && rows.x[i] <= (deep ? 65535 : 255));
  for (int64_t i = 0; rows.name && i < rows.count; i++) FUZZ_HOLDS(rows.name[i][0]);
  ep_picture_rows_deinit(&rows);
  return 0;
}
