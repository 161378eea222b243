/* resize.h: a picture of any size becomes one of another, channel by channel. */
#ifndef EP_ENGINE_DATA_PICTURES_RESIZE_H
#define EP_ENGINE_DATA_PICTURES_RESIZE_H

#include <stdint.h>

#include "api/status.h"

typedef struct {
  int height, width, channels;
} ep_picture_size;

/* Each axis for itself: an area average where it shrinks, bilinear between the middles of pixels
 * where it grows (the edge's pixels go on beyond it). The same on every machine.
 * pixels: [from.height, from.width, from.channels]. out: [to.channels, to.height, to.width],
 * written; channels are the same. EP_NO_MEMORY alone. */
ep_status ep_picture_resize(const uint8_t *pixels, ep_picture_size from, ep_picture_size to,
                            uint8_t *out, ep_error *error);

#endif
