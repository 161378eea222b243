/* archive.h: the files of a ZIP or a TAR, whichever it is. */
#ifndef EP_ENGINE_DATA_ARCHIVES_ARCHIVE_H
#define EP_ENGINE_DATA_ARCHIVES_ARCHIVE_H

#include "engine/data/archives/tar_archive.h"
#include "engine/data/archives/zip_archive.h"
#include "engine/files/excerpt.h"

typedef struct {
  zip_t *zip; /* NULL: a TAR */
  ep_tar tar;
  int64_t count; /* of entries */
  char *
      *slashed; /* [count], owned, and each: a ZIP's names whose '\\' are separators; NULL: none */
} ep_archive;

/* Whether the bytes begin as one of the two does. */
bool ep_archive_recognise(const uint8_t *bytes, size_t size);

/* bytes: [size], lent until ep_archive_close, which is needed after a success alone. */
ep_status ep_archive_open(const uint8_t *bytes, size_t size, ep_archive *out, ep_error *error);
void ep_archive_close(ep_archive *archive);

/* UTF-8, lent by the archive; a folder's ends in '/'. '\\' is '/' in a name that DOS or Windows
 * made, where neither can have it in a name, and in all names of a ZIP that has no '/'. NULL where
 * the entry is damaged. */
const char *ep_archive_name(const ep_archive *archive, int64_t index);

/* Memory for one file after the other. */
typedef struct {
  char shown[EP_EXCERPT_PATH_BYTES]; /* its name */
  const uint8_t *bytes;              /* [count]: of the archive, or of `memory` */
  size_t count;
  uint8_t *memory; /* [capacity], owned */
  size_t capacity;
} ep_archive_file;

/* Unpacks the file; a zeroed one at first, and its memory is the caller's. EP_TOO_LARGE beyond
 * most_bytes; EP_INVALID where it is damaged. */
ep_status ep_archive_read(const ep_archive *archive, int64_t index, int64_t most_bytes,
                          ep_archive_file *file, ep_error *error);

#endif
