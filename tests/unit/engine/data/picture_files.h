/* picture_files.h: PNG and JPEG files and ZIPs of them, made by the libraries that everybody uses.
 */
#ifndef EP_TESTS_PICTURE_FILES_H
#define EP_TESTS_PICTURE_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t *bytes; /* owned by whoever got it */
  size_t size;
} picture_file;

/* A PNG of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) channels. pixels: [height, width,
 * channels]. */
picture_file picture_png(const uint8_t *pixels, int height, int width, int channels);
/* The same with all pixels of `value`. */
picture_file picture_png_flat(uint8_t value, int height, int width, int channels);
/* A PNG of 16 bits a channel, interlaced; each byte of `pixels` is doubled. */
picture_file picture_png_deep(const uint8_t *pixels, int height, int width, int channels);
/* A PNG of these values of 16 bits a channel. */
picture_file picture_png_16(const uint16_t *pixels, int height, int width, int channels);
/* The file, which it takes, with EXIF that says an orientation: of a PNG before its pixels or
 * behind them, of a JPEG in either byte order, behind a segment of XMP. */
enum { PICTURE_EXIF_BEFORE, PICTURE_EXIF_BEHIND };
picture_file picture_png_turned(picture_file png, int orientation, int place);
picture_file picture_jpeg_turned(picture_file jpeg, int orientation, int big_endian);
/* A PNG of one byte a pixel with a palette of 256 entries, entry i = (i, 0, 255 - i). */
picture_file picture_png_palette(const uint8_t *pixels, int height, int width);
/* A JPEG of the best quality, of 1 (grey), 3 (RGB) or 4 (CMYK) channels, all pixels (r, g, b, k).
 */
picture_file picture_jpeg_flat(const uint8_t pixel[4], int height, int width, int channels);
/* A grey progressive JPEG of 8 x 8 pixels in so many scans: from 2 to 127. */
picture_file picture_jpeg_scans(int scans);
/* A PNG whose header says that size, and which has no pixels. */
picture_file picture_png_claim(uint32_t height, uint32_t width);

typedef struct {
  const char *name; /* NULL ends a list; a name that ends in '/' is a folder */
  picture_file file;
} picture_item;

enum {
  PICTURES_STORED,
  PICTURES_DEFLATED,
  PICTURES_ENCRYPTED,
  PICTURES_DOS /* as it makes them */
};

/* A ZIP of them. */
picture_file picture_zip(const picture_item *items, int how);

#endif
