#include "server/plots/png.h"

#include <stdlib.h>
#include <zlib.h>

enum { LIMIT_BYTES = 64 << 20 /* of a file: what it is made of is not longer */ };

static void number_put(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* A chunk of two parts. */
static void chunk_write(ep_png *png, const char *kind, const void *head, size_t head_bytes,
                        const void *body, size_t body_bytes) {
  unsigned char number[4];
  uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)kind, 4);
  if (head_bytes > 0) crc = crc32(crc, head, (uInt)head_bytes);
  if (body_bytes > 0) crc = crc32(crc, body, (uInt)body_bytes);
  number_put(number, (uint32_t)(head_bytes + body_bytes));
  ep_writer_bytes(&png->bytes, (const char *)number, 4);
  ep_writer_bytes(&png->bytes, kind, 4);
  if (head_bytes > 0) ep_writer_bytes(&png->bytes, head, head_bytes);
  if (body_bytes > 0) ep_writer_bytes(&png->bytes, body, body_bytes);
  number_put(number, (uint32_t)crc);
  ep_writer_bytes(&png->bytes, (const char *)number, 4);
}

void ep_png_begin(ep_png *png, int width, int height, int channels,
                  const unsigned char (*colours)[3], int frames) {
  static const unsigned char KIND[] = {0, 3 /* colours by number */, 0, 2, 6};
  *png = (ep_png){.width = (uint32_t)width, .height = (uint32_t)height, .channels = channels};
  unsigned char head[13] = {0}, animation[8] = {0};
  ep_writer_init(&png->bytes, LIMIT_BYTES);
  ep_writer_bytes(&png->bytes, "\x89PNG\r\n\x1a\n", 8);
  number_put(head, png->width);
  number_put(head + 4, png->height);
  head[8] = 8;
  head[9] = KIND[channels];
  chunk_write(png, "IHDR", head, sizeof head, NULL, 0);
  number_put(animation, (uint32_t)frames); /* and 0: played for ever */
  if (frames > 0) chunk_write(png, "acTL", animation, sizeof animation, NULL, 0);
  if (colours) chunk_write(png, "PLTE", colours, (size_t)EP_PNG_COLOURS * 3, NULL, 0);
}

/* Rows, each behind the number of its filter: none. */
static ep_status pixels_compress(const ep_png *png, const unsigned char *pixels,
                                 unsigned char **out, size_t *bytes, ep_error *error) {
  size_t row = (size_t)png->width * (size_t)png->channels, rows = png->height;
  uLong most = compressBound((uLong)(rows * (row + 1)));
  unsigned char *plain = malloc(rows * (row + 1));
  *out = malloc(most);
  bool good = plain && *out;
  for (size_t i = 0; good && i < rows; i++) {
    plain[i * (row + 1)] = 0;
    memcpy(plain + i * (row + 1) + 1, pixels + i * row, row);
  }
  good = good && compress(*out, &most, plain, (uLong)(rows * (row + 1))) == Z_OK;
  free(plain);
  *bytes = most;
  if (good) return EP_OK;
  free(*out);
  return ep_fail_memory(error);
}

static void control_write(ep_png *png, int milliseconds) {
  unsigned char control[26] = {0};
  number_put(control, png->written++);
  number_put(control + 4, png->width);
  number_put(control + 8, png->height);
  control[20] = (unsigned char)(milliseconds >> 8); /* thousandths of a second */
  control[21] = (unsigned char)milliseconds;
  control[22] = 1000 >> 8;
  control[23] = 1000 & 0xFF;
  chunk_write(png, "fcTL", control, sizeof control, NULL, 0);
}

ep_status ep_png_add(ep_png *png, const unsigned char *pixels, int milliseconds, ep_error *error) {
  unsigned char *packed, number[4];
  size_t bytes;
  ep_status status = pixels_compress(png, pixels, &packed, &bytes, error);
  if (status != EP_OK) return status;
  if (png->moves) {
    control_write(png, milliseconds);
    number_put(number, png->written++);
    chunk_write(png, "fdAT", number, sizeof number, packed, bytes);
  } else {
    chunk_write(png, "IDAT", NULL, 0, packed, bytes);
  }
  png->moves = true;
  free(packed);
  return EP_OK;
}

ep_status ep_png_end(ep_png *png, void **out, size_t *bytes, ep_error *error) {
  chunk_write(png, "IEND", NULL, 0, NULL, 0);
  *bytes = png->bytes.count;
  *out = ep_writer_take(&png->bytes);
  return *out ? EP_OK : ep_fail_memory(error);
}

void ep_png_deinit(ep_png *png) {
  ep_writer_deinit(&png->bytes);
}

ep_status ep_png_write(int width, int height, int channels, const unsigned char (*colours)[3],
                       const unsigned char *pixels, void **out, size_t *bytes, ep_error *error) {
  ep_png png;
  ep_png_begin(&png, width, height, channels, colours, 0);
  ep_status status = ep_png_add(&png, pixels, 0, error);
  if (status == EP_OK) return ep_png_end(&png, out, bytes, error);
  ep_png_deinit(&png);
  return status;
}
