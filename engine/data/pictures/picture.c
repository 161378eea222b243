#include "engine/data/pictures/picture.h"

#include <assert.h>
#include <stdlib.h>

#include "api/limits.h"
#include "engine/data/pictures/codec.h"

static const ep_codec *const codecs[] = {&ep_codec_png, &ep_codec_jpeg};

static const ep_codec *codec_find(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
    if (codecs[i]->recognise(bytes, size)) return codecs[i];
  return NULL;
}

static ep_status size_check(const ep_picture_header *header, ep_error *error) {
  int height = header->height, width = header->width;
  if (height > EP_LIMIT_PICTURE_SIDE || width > EP_LIMIT_PICTURE_SIDE ||
      (int64_t)height * width > EP_LIMIT_PICTURE_PIXELS)
    return ep_fail(error, EP_INVALID,
                   "it has %d x %d pixels, at most %d in all are taken, and %d a side", height,
                   width, EP_LIMIT_PICTURE_PIXELS, EP_LIMIT_PICTURE_SIDE);
  return EP_OK;
}

ep_status ep_picture_header_read(const uint8_t *bytes, size_t size, ep_picture_header *out,
                                 ep_error *error) {
  ep_pixel pixel;
  const ep_codec *codec = codec_find(bytes, size);
  if (!codec) return ep_fail(error, EP_INVALID, "it is no PNG and no JPEG");
  ep_status status = codec->read(bytes, size, out, NULL, &pixel, error);
  return status == EP_OK ? size_check(out, error) : status;
}

static uint8_t over_white(int value, int alpha) {
  return (uint8_t)((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

static uint8_t light(int ink, int black) {
  return (uint8_t)((ink * black + 127) / 255);
}

/* ITU-R BT.601, in 16 bits: 0.299 R + 0.587 G + 0.114 B. */
static uint8_t luma(const uint8_t rgb[3]) {
  return (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

/* One pixel as RGB. */
static void rgb_read(const uint8_t *from, ep_pixel pixel, uint8_t rgb[3]) {
  for (int i = 0; i < 3; i++) switch (pixel) {
    case EP_PIXEL_GREY: rgb[i] = from[0]; break;
    case EP_PIXEL_GREY_ALPHA: rgb[i] = over_white(from[0], from[1]); break;
    case EP_PIXEL_RGB: rgb[i] = from[i]; break;
    case EP_PIXEL_RGBA: rgb[i] = over_white(from[i], from[3]); break;
    case EP_PIXEL_CMYK: rgb[i] = light(from[i], from[3]); break;
    }
}

/* In place: forwards where pixels get shorter, backwards where they get longer. */
static void pixels_convert(uint8_t *pixels, int64_t count, ep_pixel pixel, int channels) {
  int bytes = pixel == EP_PIXEL_CMYK ? 4 : (int)pixel;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = bytes < channels ? count - 1 - i : i;
    uint8_t rgb[3] = {0};
    rgb_read(pixels + at * bytes, pixel, rgb);
    uint8_t *out = pixels + at * channels;
    if (channels == 1)
      *out = bytes <= 2 ? rgb[0] : luma(rgb);
    else
      for (int c = 0; c < 3; c++) out[c] = rgb[c];
  }
}

ep_status ep_picture_decode(const uint8_t *bytes, size_t size, int channels,
                            ep_picture_header *header, uint8_t **pixels, ep_error *error) {
  assert(channels == 1 || channels == 3);
  ep_pixel pixel = EP_PIXEL_GREY;
  ep_status status = ep_picture_header_read(bytes, size, header, error);
  if (status != EP_OK) return status;
  int64_t count = (int64_t)header->height * header->width;
  uint8_t *decoded = malloc((size_t)count * EP_PIXEL_BYTES);
  if (!decoded) return ep_fail_memory(error);
  status = codec_find(bytes, size)->read(bytes, size, header, decoded, &pixel, error);
  if (status != EP_OK) {
    free(decoded);
    return status;
  }
  pixels_convert(decoded, count, pixel, channels);
  *pixels = decoded;
  return EP_OK;
}
