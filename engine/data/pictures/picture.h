/* picture.h: one picture in a file, PNG or JPEG, becomes numbers. Its size is read from its header
 * and held against EP_LIMIT_PICTURE_SIDE and EP_LIMIT_PICTURE_PIXELS before anything is decoded. */
#ifndef EP_ENGINE_DATA_PICTURES_PICTURE_H
#define EP_ENGINE_DATA_PICTURES_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  int height, width; /* from 1 on; as it is viewed */
  int orientation;   /* 1 … 8: how it is stored (exif.h) */
  bool grey;         /* the file has no colours; one with a palette has */
  bool deep;         /* 16 bits a channel */
} ep_picture_header;

/* What a channel has. */
typedef enum {
  EP_DEPTH_8 = 1, /* bytes; of 16 bits the nearest one */
  EP_DEPTH_16     /* uint16_t; of 8 bits 257 times the byte, which keeps black and white */
} ep_picture_depth;

typedef struct {
  int height, width, channels; /* as it is viewed */
  ep_picture_depth depth;      /* also the bytes of a value */
  uint8_t *memory;             /* owned: pixels as they are stored, [channels] each */
  const uint8_t *first;        /* the pixel at the top left */
  ptrdiff_t down, right;       /* bytes from a pixel to the one below it, and to its right */
} ep_picture;

/* Reads the header alone. bytes: [size], the file. EP_INVALID where it is neither a PNG nor a JPEG
 * (the message says what it is instead), damaged, or larger than the limits. Damaged metadata is
 * none. */
ep_status ep_picture_header_read(const uint8_t *bytes, size_t size, ep_picture_header *out,
                                 ep_error *error);

/* Decodes the file. channels: 1 (grey: ITU-R BT.601 luma of colours) or 3 (RGB). Alpha is laid over
 * white. *out is the caller's (ep_picture_deinit); nothing is to be freed on failure. EP_INVALID as
 * above, and where pixels are damaged or missing. */
ep_status ep_picture_decode(const uint8_t *bytes, size_t size, int channels, ep_picture_depth depth,
                            ep_picture *out, ep_error *error);
void ep_picture_deinit(ep_picture *picture); /* a zeroed one is allowed */

/* Where the pixel of that row and column lies: channels values of the depth. */
static inline const uint8_t *ep_picture_pixel(const ep_picture *picture, int y, int x) {
  return picture->first + y * picture->down + x * picture->right;
}

#endif
