#include "engine/data/pictures/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/data/pictures/codec.h"
#include "engine/files/content.h"

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
                   "it has %d x %d pixels: the limit is %d in all, and %d per side", height, width,
                   EP_LIMIT_PICTURE_PIXELS, EP_LIMIT_PICTURE_SIDE);
  return EP_OK;
}

/* As it is viewed. */
static void header_turn(ep_picture_header *header) {
  int height = header->height;
  if (header->orientation < 5) return;
  header->height = header->width;
  header->width = height;
}

ep_status ep_picture_header_read(const uint8_t *bytes, size_t size, ep_picture_header *out,
                                 ep_error *error) {
  ep_pixel pixel;
  const ep_codec *codec = codec_find(bytes, size);
  if (!codec)
    return ep_fail(error, EP_INVALID, "it is %s, neither a PNG nor a JPEG",
                   ep_content_name(bytes, size));
  ep_status status = codec->read(bytes, size, EP_DEPTH_8, out, NULL, &pixel, error);
  if (status != EP_OK) return status;
  header_turn(out);
  return size_check(out, error);
}

static uint32_t value_read(const uint8_t *at, int i, int bytes) {
  uint16_t value;
  if (bytes == 1) return at[i];
  memcpy(&value, at + 2 * i, sizeof value);
  return value;
}

static uint32_t over_white(uint32_t value, uint32_t alpha, uint32_t white) {
  return (value * alpha + white * (white - alpha) + white / 2) / white;
}

/* ITU-R BT.601, in 16 bits: 0.299 R + 0.587 G + 0.114 B. */
static uint32_t luma(const uint32_t rgb[3]) {
  return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16;
}

/* One pixel of values of `bytes` each as RGB. */
static void rgb_read(const uint8_t *at, ep_pixel pixel, int bytes, uint32_t rgb[3]) {
  uint32_t white = bytes == 1 ? UINT8_MAX : UINT16_MAX, value[EP_PIXEL_VALUES];
  int values = pixel == EP_PIXEL_CMYK ? 4 : (int)pixel;
  for (int i = 0; i < values; i++) value[i] = value_read(at, i, bytes);
  for (int i = 0; i < 3; i++) switch (pixel) {
    case EP_PIXEL_GREY: rgb[i] = value[0]; break;
    case EP_PIXEL_GREY_ALPHA: rgb[i] = over_white(value[0], value[1], white); break;
    case EP_PIXEL_RGB: rgb[i] = value[i]; break;
    case EP_PIXEL_RGBA: rgb[i] = over_white(value[i], value[3], white); break;
    case EP_PIXEL_CMYK: rgb[i] = (value[i] * value[3] + white / 2) / white; break;
    }
}

static void value_write(uint8_t *at, int i, ep_picture_depth depth, uint32_t value) {
  uint16_t wide = (uint16_t)value;
  if (depth == EP_DEPTH_8)
    at[i] = (uint8_t)value;
  else
    memcpy(at + 2 * i, &wide, sizeof wide);
}

/* In place: forwards where pixels get shorter, backwards where they get longer. bytes: of a value
 * as the file has it; not more than those of the picture's. */
static void pixels_convert(ep_picture *picture, int64_t count, ep_pixel pixel, int bytes) {
  int from = (pixel == EP_PIXEL_CMYK ? 4 : (int)pixel) * bytes;
  int to = picture->channels * (int)picture->depth;
  uint32_t factor = bytes < (int)picture->depth ? 257 : 1;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = from < to ? count - 1 - i : i;
    uint32_t rgb[3] = {0};
    rgb_read(picture->memory + at * from, pixel, bytes, rgb);
    uint8_t *out = picture->memory + at * to;
    if (picture->channels == 1)
      value_write(out, 0, picture->depth,
                  factor * (pixel <= EP_PIXEL_GREY_ALPHA ? rgb[0] : luma(rgb)));
    else
      for (int c = 0; c < 3; c++) value_write(out, c, picture->depth, factor * rgb[c]);
  }
}

/* How the stored pixels are viewed. */
static void view_set(ep_picture *picture, int orientation) {
  ptrdiff_t pixel = picture->channels * (ptrdiff_t)picture->depth;
  bool turned = orientation >= 5; /* rows are stored as columns */
  ptrdiff_t row = pixel * (turned ? picture->height : picture->width);
  picture->down = turned ? pixel : row;
  picture->right = turned ? row : pixel;
  picture->first = picture->memory;
  bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  bool from_below = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  if (from_right) {
    picture->first += (picture->width - 1) * picture->right;
    picture->right = -picture->right;
  }
  if (from_below) {
    picture->first += (picture->height - 1) * picture->down;
    picture->down = -picture->down;
  }
}

ep_status ep_picture_decode(const uint8_t *bytes, size_t size, int channels, ep_picture_depth depth,
                            ep_picture *out, ep_error *error) {
  assert(channels == 1 || channels == 3);
  ep_picture_header header;
  ep_pixel pixel = EP_PIXEL_GREY;
  *out = (ep_picture){.channels = channels, .depth = depth};
  ep_status status = ep_picture_header_read(bytes, size, &header, error);
  if (status != EP_OK) return status;
  int64_t count = (int64_t)header.height * header.width;
  out->height = header.height;
  out->width = header.width;
  out->memory = malloc((size_t)count * EP_PIXEL_VALUES * (size_t)depth);
  if (!out->memory) return ep_fail_memory(error);
  status = codec_find(bytes, size)->read(bytes, size, depth, &header, out->memory, &pixel, error);
  if (status != EP_OK) {
    ep_picture_deinit(out);
    return status;
  }
  pixels_convert(out, count, pixel, header.deep ? (int)depth : 1);
  view_set(out, header.orientation);
  return EP_OK;
}

void ep_picture_deinit(ep_picture *picture) {
  free(picture->memory);
  *picture = (ep_picture){0};
}
