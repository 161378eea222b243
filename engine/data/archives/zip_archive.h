/* zip_archive.h: a ZIP in memory, and one entry of it after the other. What an archive says of its
 * sizes is believed for nothing but refusing it. */
#ifndef EP_ENGINE_DATA_ARCHIVES_ZIP_ARCHIVE_H
#define EP_ENGINE_DATA_ARCHIVES_ZIP_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>
#include <zip.h>

#include "api/status.h"
#include "engine/files/excerpt.h"

typedef struct {
  zip_uint64_t index;
  const char *name; /* UTF-8, lent by the archive */
  char shown[EP_EXCERPT_PATH_BYTES];
  uint64_t bytes; /* as promised */
} ep_zip_entry;

/* bytes: [size], lent until the archive is closed: zip_discard. */
ep_status ep_zip_open(const uint8_t *bytes, size_t size, zip_t **archive, ep_error *error);

/* What the directory says of entry `index`. EP_INVALID where it cannot be read (encrypted, packed
 * by an odd method), EP_TOO_LARGE beyond `most_bytes` or EP_LIMIT_GZ_RATIO. */
ep_status ep_zip_entry_find(zip_t *archive, zip_uint64_t index, int64_t most_bytes,
                            ep_zip_entry *out, ep_error *error);

/* Takes a piece of an entry. */
typedef ep_status (*ep_zip_take)(void *context, const uint8_t *bytes, size_t count,
                                 ep_error *error);

/* Unpacks an entry piece by piece. EP_INVALID unless there are entry->bytes of them, and their
 * checksum is the archive's. */
ep_status ep_zip_entry_unpack(zip_t *archive, const ep_zip_entry *entry, ep_zip_take take,
                              void *context, ep_error *error);

#endif
