/* codec.h: what a format of pictures is: a file and a row in the table of picture.c. */
#ifndef EP_ENGINE_DATA_PICTURES_CODEC_H
#define EP_ENGINE_DATA_PICTURES_CODEC_H

#include "engine/data/pictures/picture.h"

/* What a pixel has. */
typedef enum {
  EP_PIXEL_GREY = 1,
  EP_PIXEL_GREY_ALPHA = 2,
  EP_PIXEL_RGB = 3,
  EP_PIXEL_RGBA = 4,
  EP_PIXEL_CMYK, /* four: how much light each ink leaves: 255 is no ink */
} ep_pixel;

enum { EP_PIXEL_VALUES = 4 }; /* of one pixel, at most */

typedef struct {
  bool (*recognise)(const uint8_t *bytes, size_t size); /* by the first bytes */
  /* pixels NULL: the header alone, with height and width as they are stored. Else [height, width,
   * values of *pixel] are written: of 16 bits where the file and `depth` have these, else bytes;
   * there is room for EP_PIXEL_VALUES a pixel of the header that was read before. */
  ep_status (*read)(const uint8_t *bytes, size_t size, ep_picture_depth depth,
                    ep_picture_header *header, uint8_t *pixels, ep_pixel *pixel, ep_error *error);
} ep_codec;

extern const ep_codec ep_codec_png, ep_codec_jpeg;

#endif
