/* Any bytes as a PNG or a JPEG, and as the EXIF in one. */
#include "api/json/utf8.h"
#include "api/limits.h"
#include "engine/data/pictures/exif.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Pictures of more pixels are not decoded: what matters happens in small ones, which are quick. */
enum { PIXELS_MAX = 1 << 16, HEIGHT = 5, WIDTH = 7 };

static void decoded_holds(const uint8_t *bytes, size_t count, int channels,
                          ep_picture_depth depth) {
  ep_picture picture;
  ep_error error = {0};
  uint16_t out[HEIGHT * WIDTH * 3];
  ep_status status = ep_picture_decode(bytes, count, channels, depth, &picture, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(status == EP_INVALID && error.status == status && error.message[0]);
    FUZZ_HOLDS(ep_utf8_valid(error.message, strlen(error.message)));
    return;
  }
  /* the corners lie within what was decoded */
  size_t pixel = (size_t)channels * depth;
  size_t size = (size_t)picture.height * (size_t)picture.width * pixel;
  for (int corner = 0; corner < 4; corner++) {
    const uint8_t *at = ep_picture_pixel(&picture, corner / 2 * (picture.height - 1),
                                         corner % 2 * (picture.width - 1));
    FUZZ_HOLDS(at >= picture.memory && at + pixel <= picture.memory + size);
  }
  FUZZ_HOLDS(ep_picture_resize(&picture, HEIGHT, WIDTH, out, NULL) == EP_OK);
  ep_picture_deinit(&picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_picture_header header;
  int orientation = ep_exif_orientation(bytes, count);
  FUZZ_HOLDS(orientation >= 0 && orientation <= 8);
  if (ep_picture_header_read(bytes, count, &header, NULL) != EP_OK) return 0;
  FUZZ_HOLDS(header.height > 0 && header.height <= EP_LIMIT_PICTURE_SIDE);
  FUZZ_HOLDS(header.width > 0 && header.width <= EP_LIMIT_PICTURE_SIDE);
  FUZZ_HOLDS(header.orientation >= 1 && header.orientation <= 8);
  FUZZ_HOLDS((int64_t)header.height * header.width <= EP_LIMIT_PICTURE_PIXELS);
  if ((int64_t)header.height * header.width > PIXELS_MAX) return 0;
  decoded_holds(bytes, count, 1, EP_DEPTH_8);
  decoded_holds(bytes, count, 3, EP_DEPTH_16);
  return 0;
}
