/* exif.h: how a camera was held, from the metadata of a picture (CIPA DC-008, tag 0x0112). */
#ifndef EP_ENGINE_DATA_PICTURES_EXIF_H
#define EP_ENGINE_DATA_PICTURES_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* bytes: [size], the content of a JPEG's APP1 segment or a PNG's eXIf chunk. Returns 1 … 8: where
 * the first row and the first column of the stored pixels lie as the picture is viewed (1: top and
 * left). 0: this is not EXIF, it has no orientation, or it is damaged. */
int ep_exif_orientation(const uint8_t *bytes, size_t size);

#endif
