/* resize.h: a picture of any size becomes one of another, channel by channel. */
#ifndef EP_ENGINE_DATA_PICTURES_RESIZE_H
#define EP_ENGINE_DATA_PICTURES_RESIZE_H

#include "engine/data/pictures/picture.h"

/* Each axis for itself: an area average where it shrinks, bilinear between the middles of pixels
 * where it grows (the edge's pixels go on beyond it). The same on every machine.
 * out: [channels, height, width] of the picture's depth, aligned for it, written. EP_NO_MEMORY
 * alone. */
ep_status ep_picture_resize(const ep_picture *picture, int height, int width, void *out,
                            ep_error *error);

#endif
