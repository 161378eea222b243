/* tar_archive.h: the files of a TAR in memory (POSIX.1-2001: ustar and pax; GNU's long names). */
#ifndef EP_ENGINE_DATA_ARCHIVES_TAR_ARCHIVE_H
#define EP_ENGINE_DATA_ARCHIVES_TAR_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  char *name;           /* owned; without "./" at its start */
  const uint8_t *bytes; /* [size], within the archive */
  size_t size;
} ep_tar_file;

typedef struct {
  ep_tar_file *file; /* [count], owned: files alone, no folders and no links */
  int64_t count;
} ep_tar;

/* Whether the bytes begin with a header whose checksum is right. */
bool ep_tar_recognise(const uint8_t *bytes, size_t size);

/* bytes: [size], lent until ep_tar_deinit, which is needed also on failure. EP_INVALID where a
 * header is damaged or the archive is cut; more than EP_LIMIT_ZIP_ENTRIES files. */
ep_status ep_tar_open(const uint8_t *bytes, size_t size, ep_tar *out, ep_error *error);
void ep_tar_deinit(ep_tar *tar); /* a zeroed one is allowed */

#endif
