/* gz.h: gzip (RFC 1952) of any content, unpacked to a file under ceilings. */
#ifndef EP_ENGINE_DATA_FORMATS_GZ_H
#define EP_ENGINE_DATA_FORMATS_GZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

bool ep_gz_recognise(const uint8_t *bytes, size_t size);

/* Unpacks all members of bytes [size] into the open file. EP_TOO_LARGE when that takes more than
 * *budget_bytes (which is lowered by what was written) or over EP_LIMIT_GZ_RATIO times the packed
 * size, EP_INVALID when it is damaged or cut. */
ep_status ep_gz_unpack(const uint8_t *bytes, size_t size, int file, int64_t *budget_bytes,
                       ep_error *error);

#endif
