#include "server/http/messages/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/durable_file.h"
#include "engine/files/free_space.h"
#include "server/metrics/metrics.h"
#include "server/process/data_dir.h"

ep_status ep_upload_open(ep_upload *upload, const char *data_dir, int64_t announced_bytes,
                         int64_t max_bytes, ep_error *error) {
  *upload = (ep_upload){.file = -1, .max_bytes = max_bytes};
  if (announced_bytes > max_bytes)
    return ep_fail(error, EP_TOO_LARGE, "an upload can have at most %lld bytes",
                   (long long)max_bytes);
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "tmp", "upload-XXXXXX", NULL);
  if (status != EP_OK) return status;
  upload->path = strdup(path);
  if (!upload->path) return ep_fail_memory(error);
  upload->file = mkostemp(upload->path, O_CLOEXEC);
  if (upload->file < 0)
    return ep_fail(error, ep_status_from_errno(errno),
                   "a file for the upload cannot be created: %s", strerror(errno));
  return ep_free_space_check(upload->file, announced_bytes > 0 ? announced_bytes : 0, error);
}

ep_status ep_upload_write(ep_upload *upload, const char *data, size_t bytes, ep_error *error) {
  if ((int64_t)bytes > upload->max_bytes - upload->bytes)
    return ep_fail(error, EP_TOO_LARGE, "an upload can have at most %lld bytes",
                   (long long)upload->max_bytes);
  ep_status status = ep_file_write_all(upload->file, data, bytes, error);
  if (status != EP_OK) return status;
  upload->bytes += (int64_t)bytes;
  ep_metrics_add(EP_COUNTER_UPLOAD_BYTES, bytes);
  return EP_OK;
}

void ep_upload_discard(ep_upload *upload) {
  if (upload->file >= 0) {
    close(upload->file);
    unlink(upload->path);
  }
  free(upload->path);
  upload->path = NULL;
  upload->file = -1;
}
