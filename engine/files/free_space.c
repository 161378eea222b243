#include "engine/files/free_space.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>

static atomic_llong reserve_bytes = -1; /* -1 = nothing is checked */

void ep_free_space_reserve(int64_t bytes) {
  atomic_store_explicit(&reserve_bytes, bytes, memory_order_relaxed);
}

int64_t ep_free_space_reserved(void) {
  return atomic_load_explicit(&reserve_bytes, memory_order_relaxed);
}

static ep_status disk_check(const struct statvfs *disk, int64_t bytes, ep_error *error) {
  int64_t reserve = ep_free_space_reserved();
  double free_bytes = (double)disk->f_bavail * (double)disk->f_frsize;
  if (disk->f_blocks == 0) return EP_OK; /* memory: a file without a disk */
  const int64_t block = (int64_t)disk->f_frsize, blocks = bytes / block + (bytes % block != 0);
  if (free_bytes >= (double)blocks * (double)block + (double)reserve) return EP_OK;
  return ep_fail(error, EP_UNAVAILABLE,
                 "the disk has %.0f bytes left, of which %lld stay in reserve: not enough for "
                 "this; delete jobs or datasets that are not needed",
                 free_bytes, (long long)reserve);
}

static ep_status look_fail(ep_error *error) {
  return ep_fail(error, EP_IO, "the free space of the disk cannot be read: %s", strerror(errno));
}

ep_status ep_free_space_check(int file, int64_t bytes, ep_error *error) {
  struct statvfs disk;
  if (ep_free_space_reserved() < 0) return EP_OK;
  return fstatvfs(file, &disk) == 0 ? disk_check(&disk, bytes, error) : look_fail(error);
}

ep_status ep_free_space_check_folder(const char *folder, int64_t bytes, ep_error *error) {
  struct statvfs disk;
  if (ep_free_space_reserved() < 0) return EP_OK;
  return statvfs(folder, &disk) == 0 ? disk_check(&disk, bytes, error) : look_fail(error);
}
