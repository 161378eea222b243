/* idx_header.h: the head of an IDX file, the format of the MNIST database: two zeros, a type, a
 * number of dimensions, each dimension as a big-endian 32-bit number, then the values, big-endian
 * too.
 *
 * Format: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits". */
#ifndef EP_ENGINE_DATA_ARRAYS_IDX_HEADER_H
#define EP_ENGINE_DATA_ARRAYS_IDX_HEADER_H

#include "engine/data/arrays/array_header.h"

enum { EP_IDX_DIMENSIONS = 4 }; /* at most: rows, channels, height, width */

bool ep_idx_recognise(const uint8_t *bytes, size_t size);

/* Reads the head of a whole file of `size` bytes; the values are just the rest of it. */
ep_status ep_idx_header_parse(const uint8_t *bytes, size_t size, ep_array_header *out,
                              ep_error *error);

#endif
