/* upload.h: a body that goes to a file below DATA/tmp as it arrives, never into memory. */
#ifndef EP_SERVER_HTTP_UPLOAD_H
#define EP_SERVER_HTTP_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  int file;   /* -1 = closed */
  char *path; /* owned; NULL before open */
  int64_t bytes, max_bytes;
  int64_t checked_bytes; /* the free disk was looked at when so many were written */
} ep_upload;

/* `announced_bytes`: Content-Length, -1 when it is not known. EP_TOO_LARGE over max_bytes,
 * EP_UNAVAILABLE when the disk would be left with less than its reserve. */
ep_status ep_upload_open(ep_upload *upload, const char *data_dir, int64_t announced_bytes,
                         int64_t max_bytes, ep_error *error);
ep_status ep_upload_write(ep_upload *upload, const char *data, size_t bytes, ep_error *error);
/* Closes and removes the file, if there is one. Safe to repeat. */
void ep_upload_discard(ep_upload *upload);

/* A new, empty folder below DATA/tmp, which is there; path: [path_bytes]. */
ep_status ep_upload_folder(const char *data_dir, char *path, size_t path_bytes, ep_error *error);

#endif
