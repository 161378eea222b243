#include "server/process/data_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/names.h"
#include "engine/files/durable_file.h"
#include "server/process/ballast.h"
#include "server/process/clock.h"
#include "server/process/log.h"

enum { OPEN_FOLDERS = 16 }; /* file descriptors that removing a tree may take */

ep_status ep_data_dir_create(const char *path, ep_error *error) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "%s cannot be created: %s", path,
                 strerror(errno));
}

ep_status ep_data_dir_temporary(const char *data_dir, char *path, ep_error *error) {
  ep_status status = ep_path_join(path, error, data_dir, "tmp", "folder-XXXXXX", NULL);
  if (status != EP_OK || mkdtemp(path)) return status;
  return ep_fail(error, ep_status_from_errno(errno), "%s cannot be created: %s", path,
                 strerror(errno));
}

ep_status ep_data_dir_lock(const char *data_dir, int *lock_fd, ep_error *error) {
  char path[EP_PATH_BYTES], pid[32] = "";
  ep_status status = ep_path_join(path, error, data_dir, "lock", NULL);
  if (status != EP_OK) return status;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return ep_fail(error, EP_IO, "%s cannot be opened: %s", path, strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ssize_t got = pread(fd, pid, sizeof pid - 1, 0);
    pid[got > 0 ? got : 0] = 0;
    pid[strcspn(pid, "\n")] = 0;
    status = errno == EWOULDBLOCK || got >= 0
                 ? ep_fail(error, EP_CONFLICT,
                           "the data folder %s is in use by another epochd (process %s)", data_dir,
                           pid[0] != 0 ? pid : "unknown")
                 : ep_fail(error, EP_IO, "%s cannot be locked: %s", path, strerror(errno));
    close(fd);
    return status;
  }
  ep_ballast_cut(data_dir); /* a start needs room too; filled once all of the daemon is there */
  int bytes = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)bytes, 0) != bytes) {
    status = ep_fail(error, EP_IO, "%s cannot be written: %s", path, strerror(errno));
    close(fd);
    return status;
  }
  *lock_fd = fd;
  return EP_OK;
}

/* A folder or file that the group or others may read or write is for its owner alone from here on,
 * or the log says why not. */
static void others_shut_out(const char *path) {
  struct stat stat;
  if (lstat(path, &stat) != 0 || S_ISLNK(stat.st_mode) || (stat.st_mode & 077) == 0) return;
  const mode_t own = stat.st_mode & 0700;
  if (chmod(path, own) == 0)
    ep_log(EP_LOG_WARNING, "%s was accessible to others (mode %04o): access removed", path,
           stat.st_mode & 07777U);
  else
    ep_log(EP_LOG_WARNING,
           "%s is accessible to others (mode %04o), and its mode cannot be changed: %s", path,
           stat.st_mode & 07777U, strerror(errno));
}

static ep_status store_shut(const char *data_dir, ep_error *error) {
  static const char *const files[] = {EP_STORE_FILE, EP_STORE_FILE "-wal", EP_STORE_FILE "-shm"};
  char path[EP_PATH_BYTES];
  ep_status status = EP_OK;
  for (size_t i = 0; status == EP_OK && i < sizeof files / sizeof *files; i++) {
    status = ep_path_join(path, error, data_dir, files[i], NULL);
    if (status == EP_OK) others_shut_out(path);
  }
  return status;
}

ep_status ep_data_dir_open(const char *data_dir, int *lock_fd, ep_error *error) {
  static const char *const kinds[] = {"jobs", "datasets", "tmp"};
  char path[EP_PATH_BYTES];
  int fd = -1;
  bool fresh = !ep_data_dir_exists(data_dir);
  ep_status status = ep_data_dir_create(data_dir, error);
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, "..", NULL);
  /* Also of a folder that is there: who made it may have been killed before. Its parent may not be
   * ours to read. */
  ep_status synced = status == EP_OK ? ep_durable_folder_sync(path, fresh ? error : NULL) : EP_OK;
  if (fresh && status == EP_OK) status = synced;
  if (status == EP_OK) status = ep_data_dir_lock(data_dir, &fd, error);
  if (status == EP_OK) others_shut_out(data_dir);
  if (status == EP_OK) status = store_shut(data_dir, error);
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, "tmp", NULL);
  if (status == EP_OK) status = ep_data_dir_remove(path, error);
  for (size_t i = 0; status == EP_OK && i < sizeof kinds / sizeof *kinds; i++) {
    status = ep_path_join(path, error, data_dir, kinds[i], NULL);
    if (status == EP_OK) status = ep_data_dir_create(path, error);
  }
  if (status == EP_OK) status = ep_durable_folder_sync(data_dir, error);
  if (status != EP_OK) {
    if (fd >= 0) close(fd);
    return status;
  }
  *lock_fd = fd;
  return EP_OK;
}

static int entry_remove(const char *path, const struct stat *state, int flag, struct FTW *walk) {
  (void)state, (void)walk;
  return (flag == FTW_DP || flag == FTW_D ? rmdir(path) : unlink(path)) == 0 || errno == ENOENT
             ? 0
             : -1;
}

ep_status ep_data_dir_remove(const char *path, ep_error *error) {
  if (nftw(path, entry_remove, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
    return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "%s cannot be removed: %s", path,
                 strerror(errno));
}

/* A folder on its way out. */
typedef struct {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES];
} removal;

static ep_status removal_step(void *context, ep_error *error) {
  const removal *folder = context;
  if (rename(folder->from, folder->to) != 0 && errno != ENOENT)
    return ep_fail(error, ep_status_from_errno(errno), "%s cannot be moved: %s", folder->from,
                   strerror(errno));
  return ep_data_dir_remove(folder->to, error);
}

ep_status ep_data_dir_discard(const char *data_dir, const char *kind, const char *name,
                              ep_error *error) {
  char unique[160];
  removal folder;
  snprintf(unique, sizeof unique, "%.100s.%lld", name, (long long)ep_clock_steady_us());
  ep_status status = ep_path_join(folder.from, error, data_dir, kind, name, NULL);
  if (status == EP_OK) status = ep_path_join(folder.to, error, data_dir, "tmp", unique, NULL);
  return status == EP_OK ? ep_ballast_run(data_dir, removal_step, &folder, error) : status;
}

ep_status ep_data_dir_keep(const char *data_dir, const char *kind, const char *name,
                           const char *why, ep_error *error) {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES], unique[EP_PATH_BYTES];
  snprintf(unique, sizeof unique, "%.200s.%lld", name, (long long)ep_clock_utc_us());
  ep_status status = ep_path_join(to, error, data_dir, EP_LOST_FOLDER, NULL);
  if (status == EP_OK) status = ep_data_dir_create(to, error);
  if (status == EP_OK) status = ep_path_join(from, error, data_dir, kind, name, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, data_dir, EP_LOST_FOLDER, unique, NULL);
  if (status == EP_OK && rename(from, to) != 0)
    status = ep_fail(error, EP_IO, "%s cannot be moved to " EP_LOST_FOLDER ": %s", from,
                     strerror(errno));
  if (status == EP_OK) ep_log(EP_LOG_WARNING, "%s %s: it is kept as %s", from, why, to);
  return status;
}

ep_status ep_data_dir_list(const char *path, void (*visit)(void *context, const char *name),
                           void *context, ep_error *error) {
  DIR *folder = opendir(path);
  if (!folder) return ep_fail(error, EP_IO, "%s cannot be read: %s", path, strerror(errno));
  struct dirent *entry;
  ep_status status;
  while ((status = ep_path_next(folder, path, &entry, error)) == EP_OK && entry)
    visit(context, entry->d_name);
  closedir(folder);
  return status;
}

ep_status ep_data_dir_write_file(const char *path, const char *text, size_t bytes,
                                 ep_error *error) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s cannot be created: %s", path,
                   strerror(errno));
  ep_status status = EP_OK;
  for (size_t done = 0; status == EP_OK && done < bytes;) {
    ssize_t wrote = write(fd, text + done, bytes - done);
    if (wrote >= 0) {
      done += (size_t)wrote;
    } else if (errno != EINTR) {
      status = ep_fail(error, ep_status_from_errno(errno), "%s cannot be written: %s", path,
                       strerror(errno));
    }
  }
  close(fd);
  return status;
}

bool ep_data_dir_exists(const char *path) {
  return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

ep_status ep_data_dir_measure(const char *path, int64_t *bytes, ep_error *error) {
  *bytes = 0;
  DIR *folder = opendir(path);
  if (!folder) return ep_fail(error, EP_IO, "%.300s cannot be read: %s", path, strerror(errno));
  struct stat about;
  struct dirent *entry;
  ep_status status;
  while ((status = ep_path_next(folder, path, &entry, error)) == EP_OK && entry)
    if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(about.st_mode))
      *bytes += (int64_t)about.st_size;
  closedir(folder);
  return status;
}

static bool is_of_path(char byte) {
  return byte == '/' || byte == '.' || byte == '-' || byte == '_' || (byte & 0x80) != 0 ||
         (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

void ep_data_dir_shorten(const char *data_dir, char *text) {
  const size_t length = strlen(data_dir);
  for (char *at = text; length > 1 && (at = strstr(at, data_dir));) {
    if (at[length] == '/' && (at == text || !is_of_path(at[-1])))
      memmove(at, at + length + 1, strlen(at + length + 1) + 1);
    else
      at += length;
  }
}
