#include "server/process/ballast.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/files/path.h"
#include "server/process/log.h"

enum { PIECE_BYTES = 1 << 18 }; /* grows by so much: a disk may have room for a part */

static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER; /* guards the file */

static int ballast_open(const char *data_dir) {
  char path[EP_PATH_BYTES];
  if (ep_path_join(path, NULL, data_dir, "ballast", NULL) != EP_OK) return -1;
  return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The mutex is held, here and below. */
static void file_fill(const char *data_dir) {
  struct stat about;
  int file = ballast_open(data_dir);
  if (file < 0) return; /* the disk is too full for an empty file */
  off_t bytes = fstat(file, &about) == 0 ? about.st_size : EP_LIMIT_BALLAST_BYTES;
  for (; bytes < EP_LIMIT_BALLAST_BYTES; bytes += PIECE_BYTES)
    if (posix_fallocate(file, bytes, PIECE_BYTES) != 0) break;
  close(file);
}

/* Whether that freed room. */
static bool file_cut(const char *data_dir) {
  struct stat about;
  int file = ballast_open(data_dir);
  if (file < 0) return false;
  bool freed = fstat(file, &about) == 0 && about.st_size > 0 && ftruncate(file, 0) == 0;
  close(file);
  return freed;
}

/* SQLite reports some failures on a full disk as errors of the disk. */
static bool disk_is_full(const char *data_dir, ep_status status) {
  struct statvfs disk;
  if (status == EP_UNAVAILABLE) return true;
  return status == EP_IO && statvfs(data_dir, &disk) == 0 &&
         (double)disk.f_bavail * (double)disk.f_frsize < EP_LIMIT_BALLAST_BYTES;
}

void ep_ballast_fill(const char *data_dir) {
  pthread_mutex_lock(&room);
  file_fill(data_dir);
  pthread_mutex_unlock(&room);
}

void ep_ballast_cut(const char *data_dir) {
  pthread_mutex_lock(&room);
  file_cut(data_dir);
  pthread_mutex_unlock(&room);
}

ep_status ep_ballast_run(const char *data_dir, ep_ballast_step *step, void *context,
                         ep_error *error) {
  ep_status status = step(context, error);
  if (status == EP_OK || !disk_is_full(data_dir, status)) return status;
  pthread_mutex_lock(&room);
  if (file_cut(data_dir)) {
    ep_log(EP_LOG_WARNING, "the disk is full: a delete takes the room of %s/ballast", data_dir);
    status = step(context, error);
    file_fill(data_dir);
  }
  pthread_mutex_unlock(&room);
  return status;
}
