#include "engine/data/pictures/exif.h"

#include <stdbool.h>
#include <string.h>

static const char PREFIX[] = "Exif\0"; /* and its zero */

enum {
  HEADER_BYTES = 8, /* of TIFF: byte order, 42, the offset of the first directory */
  ENTRY_BYTES = 12, /* of a directory: tag, type, count, value */
  ORIENTATION = 0x0112,
  TYPE_SHORT = 3,
  TYPE_LONG = 4
};

static uint32_t number_read(const uint8_t *at, int bytes, bool big_endian) {
  uint32_t number = 0;
  for (int i = 0; i < bytes; i++) number = number << 8 | at[big_endian ? i : bytes - 1 - i];
  return number;
}

/* The value of the directory's entry, or 0. */
static int entry_read(const uint8_t *entry, bool big_endian) {
  uint32_t type = number_read(entry + 2, 2, big_endian);
  uint32_t count = number_read(entry + 4, 4, big_endian);
  if (count != 1 || (type != TYPE_SHORT && type != TYPE_LONG)) return 0;
  uint32_t value = number_read(entry + 8, type == TYPE_SHORT ? 2 : 4, big_endian);
  return value >= 1 && value <= 8 ? (int)value : 0;
}

int ep_exif_orientation(const uint8_t *bytes, size_t size) {
  if (size >= sizeof PREFIX && memcmp(bytes, PREFIX, sizeof PREFIX) == 0) {
    bytes += sizeof PREFIX;
    size -= sizeof PREFIX;
  }
  if (size < HEADER_BYTES) return 0;
  bool big_endian = memcmp(bytes, "MM\0*", 4) == 0;
  if (!big_endian && memcmp(bytes, "II*\0", 4) != 0) return 0;
  size_t at = number_read(bytes + 4, 4, big_endian);
  if (at > size || size - at < 2) return 0;
  size_t entries = number_read(bytes + at, 2, big_endian);
  for (at += 2; entries > 0 && size - at >= ENTRY_BYTES; entries--, at += ENTRY_BYTES)
    if (number_read(bytes + at, 2, big_endian) == ORIENTATION)
      return entry_read(bytes + at, big_endian);
  return 0;
}
