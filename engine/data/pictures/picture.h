/* picture.h: one picture in a file, PNG or JPEG, becomes bytes. Its size is read from its header
 * and held against EP_LIMIT_PICTURE_SIDE and EP_LIMIT_PICTURE_PIXELS before anything is decoded. */
#ifndef EP_ENGINE_DATA_PICTURES_PICTURE_H
#define EP_ENGINE_DATA_PICTURES_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  int height, width; /* from 1 on */
  bool grey;         /* the file has no colours; one with a palette has */
} ep_picture_header;

/* Reads the header alone. bytes: [size], the file. EP_INVALID where it is neither a PNG nor a JPEG,
 * damaged, or larger than the limits. */
ep_status ep_picture_header_read(const uint8_t *bytes, size_t size, ep_picture_header *out,
                                 ep_error *error);

/* Decodes the file. channels: 1 (grey: ITU-R BT.601 luma of colours) or 3 (RGB). Alpha is laid over
 * white, 16 bits become 8. *pixels: [header->height, header->width, channels], the caller's (free).
 * *header is written. EP_INVALID as above, and where pixels are damaged or missing. */
ep_status ep_picture_decode(const uint8_t *bytes, size_t size, int channels,
                            ep_picture_header *header, uint8_t **pixels, ep_error *error);

#endif
