#include "api/tokens/secret_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

ep_status ep_secret_file_check(int file, const char *what, const char *path, ep_error *error) {
  struct stat status;
  struct statvfs mount;
  if (fstat(file, &status) != 0 || fstatvfs(file, &mount) != 0)
    return ep_fail(error, EP_IO, "the %s %.300s: %s", what, path, strerror(errno));
  if (S_ISDIR(status.st_mode))
    return ep_fail(error, EP_INVALID, "the %s %.300s is a folder", what, path);
  if (!S_ISREG(status.st_mode) || mount.f_flag & ST_RDONLY) return EP_OK;
  mode_t others = S_IWGRP | S_IWOTH | (status.st_uid == 0 ? 0 : S_IRGRP | S_IROTH);
  if ((status.st_mode & others) == 0) return EP_OK;
  return ep_fail(error, EP_FORBIDDEN,
                 "the %s %.300s can be read or written by others (mode %03o): chmod 600 it", what,
                 path, (unsigned)status.st_mode & 0777U);
}
