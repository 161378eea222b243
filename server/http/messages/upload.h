/* upload.h: a body that is written to a file in DATA/tmp as it arrives. */
#ifndef EP_SERVER_HTTP_MESSAGES_UPLOAD_H
#define EP_SERVER_HTTP_MESSAGES_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  int file;   /* -1 = closed */
  char *path; /* owned; NULL before open */
  int64_t bytes, max_bytes;
} ep_upload;

/* announced_bytes: Content-Length, or -1. EP_TOO_LARGE over max_bytes; EP_UNAVAILABLE where the
 * disk would be left with less than its reserve (engine/files/free_space.h). */
ep_status ep_upload_open(ep_upload *upload, const char *data_dir, int64_t announced_bytes,
                         int64_t max_bytes, ep_error *error);
ep_status ep_upload_write(ep_upload *upload, const char *data, size_t bytes, ep_error *error);
/* Closes and removes the file, if there is one. Safe to repeat. */
void ep_upload_discard(ep_upload *upload);

#endif
