#include "server/http/messages/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "server/metrics/metrics.h"
#include "server/process/data_dir.h"

enum {
  RESERVE_BYTES = 64 << 20, /* stays free for the store and the logs of running jobs */
  CHECK_EVERY_BYTES = 16 << 20
};

static ep_status disk_check(const char *path, int64_t needed_bytes, ep_error *error) {
  struct statvfs disk;
  if (statvfs(path, &disk) != 0)
    return ep_fail(error, EP_IO, "the data folder cannot be looked at: %s", strerror(errno));
  double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
  if (free_bytes < (double)needed_bytes + RESERVE_BYTES)
    return ep_fail(error, EP_UNAVAILABLE,
                   "the disk has %.0f bytes left, of which %d stay in reserve: too few for this",
                   free_bytes, RESERVE_BYTES);
  return EP_OK;
}

ep_status ep_upload_open(ep_upload *upload, const char *data_dir, int64_t announced_bytes,
                         int64_t max_bytes, ep_error *error) {
  *upload = (ep_upload){.file = -1, .max_bytes = max_bytes};
  if (announced_bytes > max_bytes)
    return ep_fail(error, EP_TOO_LARGE, "an upload has at most %lld bytes", (long long)max_bytes);
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "tmp", "upload-XXXXXX", NULL);
  if (status != EP_OK) return status;
  upload->path = strdup(path);
  if (!upload->path) return ep_fail_memory(error);
  status = disk_check(data_dir, announced_bytes > 0 ? announced_bytes : 0, error);
  if (status != EP_OK) return status;
  upload->file = mkostemp(upload->path, O_CLOEXEC);
  if (upload->file < 0)
    return ep_fail(error, ep_status_from_errno(errno), "a file for the upload cannot be made: %s",
                   strerror(errno));
  return EP_OK;
}

ep_status ep_upload_write(ep_upload *upload, const char *data, size_t bytes, ep_error *error) {
  if ((int64_t)bytes > upload->max_bytes - upload->bytes)
    return ep_fail(error, EP_TOO_LARGE, "an upload has at most %lld bytes",
                   (long long)upload->max_bytes);
  if (upload->bytes - upload->checked_bytes >= CHECK_EVERY_BYTES) {
    ep_status status = disk_check(upload->path, (int64_t)bytes, error);
    if (status != EP_OK) return status;
    upload->checked_bytes = upload->bytes;
  }
  while (bytes > 0) {
    ssize_t written = write(upload->file, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return ep_fail(error, ep_status_from_errno(errno), "the upload cannot be written: %s",
                     strerror(errno));
    data += written;
    bytes -= (size_t)written;
    upload->bytes += written;
    ep_metrics_add(EP_COUNTER_UPLOAD_BYTES, (uint64_t)written);
  }
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
