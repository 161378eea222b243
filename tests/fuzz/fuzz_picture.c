/* Any bytes as a PNG or a JPEG. */
#include "api/json/utf8.h"
#include "api/limits.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Pictures of more pixels are not decoded: what matters happens in small ones, which are quick. */
enum { PIXELS_MAX = 1 << 16, HEIGHT = 5, WIDTH = 7 };

static void decoded_holds(const uint8_t *bytes, size_t count, int channels) {
  ep_picture_header header = {0};
  ep_error error = {0};
  uint8_t *pixels = NULL, out[HEIGHT * WIDTH * 3];
  ep_status status = ep_picture_decode(bytes, count, channels, &header, &pixels, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_INVALID && error.status == status && error.message[0]);
    FUZZ_HOLDS(ep_utf8_valid(error.message, strlen(error.message)));
    return;
  }
  ep_picture_size from = {header.height, header.width, channels}, to = {HEIGHT, WIDTH, channels};
  FUZZ_HOLDS(ep_picture_resize(pixels, from, to, out, NULL) == EP_OK);
  free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_picture_header header;
  if (ep_picture_header_read(bytes, count, &header, NULL) != EP_OK) return 0;
  FUZZ_HOLDS(header.height > 0 && header.height <= EP_LIMIT_PICTURE_SIDE);
  FUZZ_HOLDS(header.width > 0 && header.width <= EP_LIMIT_PICTURE_SIDE);
  FUZZ_HOLDS((int64_t)header.height * header.width <= EP_LIMIT_PICTURE_PIXELS);
  if ((int64_t)header.height * header.width > PIXELS_MAX) return 0;
  decoded_holds(bytes, count, 1);
  decoded_holds(bytes, count, 3);
  return 0;
}
