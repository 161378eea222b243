#include "engine/files/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

ep_status ep_mapping_of(int file, const char *path, ep_mapping *out, ep_error *error) {
  struct stat stat;
  *out = (ep_mapping){0};
  if (fstat(file, &stat) != 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(stat.st_mode)) return ep_fail(error, EP_INVALID, "%s: not a regular file", path);
  if (stat.st_size == 0) return EP_OK;
  void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  madvise(bytes, (size_t)stat.st_size, MADV_SEQUENTIAL); /* advice: its failure changes nothing */
  *out = (ep_mapping){bytes, (size_t)stat.st_size};
  return EP_OK;
}

ep_status ep_mapping_open(const char *path, ep_mapping *out, ep_error *error) {
  *out = (ep_mapping){0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  ep_status status = ep_mapping_of(file, path, out, error);
  close(file);
  return status;
}

void ep_mapping_drop(const void *bytes, size_t size) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)bytes;
  const uintptr_t first = (at + page - 1) / page * page, end = (at + size) / page * page;
  if (first < end) madvise((void *)first, end - first, MADV_DONTNEED); /* advice, as above */
}

void ep_mapping_close(ep_mapping *mapping) {
  if (mapping->bytes) munmap((void *)mapping->bytes, mapping->size);
  *mapping = (ep_mapping){0};
}
