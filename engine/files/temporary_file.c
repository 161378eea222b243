#include "engine/files/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/files/path.h"

ep_status ep_temporary_file_create(const char *folder, int *file, ep_error *error) {
  char path[EP_PATH_BYTES];
  if (!folder) {
    *file = memfd_create("unpacked", MFD_CLOEXEC);
    return *file < 0 ? ep_fail(error, EP_IO, "memfd_create: %s", strerror(errno)) : EP_OK;
  }
  ep_status status = ep_path_join(path, error, folder, "unpacked.XXXXXX", NULL);
  if (status != EP_OK) return status;
  *file = mkostemp(path, O_CLOEXEC);
  if (*file < 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  unlink(path);
  return EP_OK;
}
