/* recorder.c: for a program with this in its LD_PRELOAD, and for those that it starts, each change
 * of a file or a name below the folder EPOCHD_TEST_ROOT, and each sync, is written down in the file
 * EPOCHD_TEST_TRACE, in the order in which they happened. The names of files are their numbers
 * (inodes). disks.py makes of a trace the folders that a power failure may leave. A sync of
 * a file whose name ends with EPOCHD_TEST_SYNC takes up to EPOCHD_TEST_SYNC_US microseconds, as on
 * a disk: what others do meanwhile comes before it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, FOLDER, LINK, RENAME, REMOVE };

/* Behind it: the name, the second name, the data. */
typedef struct {
  uint32_t kind, name_bytes, second_bytes, data_bytes;
  uint64_t file;                  /* or the folder that is made or synced */
  uint64_t folder, second_folder; /* that have the names */
  int64_t offset; /* of the data; the size that is cut to; where the trace ended as a sync began */
} change;

/* Held from before a change until it is written down: with the trace's flock, which is held against
 * other processes, changes and their records have the same order. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1;
static char root[PATH_MAX];
static size_t root_bytes;
static const char *slow = ""; /* the end of the names whose sync takes time */
static long sync_us;          /* at most */

__attribute__((constructor)) static void recorder_open(void) {
  const char *folder = getenv("EPOCHD_TEST_ROOT"), *path = getenv("EPOCHD_TEST_TRACE");
  if (folder == NULL || path == NULL || realpath(folder, root) == NULL) return;
  root_bytes = strlen(root);
  const char *most = getenv("EPOCHD_TEST_SYNC_US"), *names = getenv("EPOCHD_TEST_SYNC");
  sync_us = most ? strtol(most, NULL, 10) : 0;
  slow = names ? names : "";
  trace = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void *next(const char *function) {
  return dlsym(RTLD_NEXT, function);
}

static bool below(const char *path) {
  return trace >= 0 && strncmp(path, root, root_bytes) == 0 &&
         (path[root_bytes] == '/' || path[root_bytes] == 0);
}

/* Whether the open file, or folder, is one that is recorded; path: [PATH_MAX], written then. */
static bool recorded_at(int file, struct stat *state, char *path) {
  char link[64];
  if (trace < 0 || fstat(file, state) != 0) return false;
  if (!S_ISREG(state->st_mode) && !S_ISDIR(state->st_mode)) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return false;
  path[length] = 0;
  return below(path);
}

static bool recorded(int file, struct stat *state) {
  char path[PATH_MAX];
  return recorded_at(file, state, path);
}

static void order_take(void) {
  pthread_mutex_lock(&order);
  flock(trace, LOCK_EX);
}

static void order_leave(void) {
  flock(trace, LOCK_UN);
  pthread_mutex_unlock(&order);
}

/* A trace that cannot be written says nothing: the program ends. */
static void record(change what, const char *name, const char *second, const void *data) {
  what.name_bytes = name ? (uint32_t)strlen(name) : 0;
  what.second_bytes = second ? (uint32_t)strlen(second) : 0;
  struct iovec parts[4] = {{&what, sizeof what},
                           {(void *)(uintptr_t)name, what.name_bytes},
                           {(void *)(uintptr_t)second, what.second_bytes},
                           {(void *)(uintptr_t)data, what.data_bytes}};
  ssize_t all = (ssize_t)(sizeof what + what.name_bytes + what.second_bytes + what.data_bytes);
  if (writev(trace, parts, 4) != all) abort();
}

/* The number of the folder that has the path's last name, which *name then points at. */
static uint64_t folder_of(const char *path, const char **name) {
  char folder[PATH_MAX];
  struct stat state;
  const char *slash = strrchr(path, '/');
  *name = slash + 1;
  snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  return stat(folder, &state) == 0 ? state.st_ino : 0;
}

/* Writes down that the open file is new, or is cut. */
static void opened(int file, bool was_there, int flags) {
  char link[64], path[PATH_MAX];
  const char *name;
  struct stat state;
  if (!recorded(file, &state) || !S_ISREG(state.st_mode)) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  if (!was_there) {
    uint64_t folder = folder_of(path, &name);
    record((change){.kind = CREATE, .file = state.st_ino, .folder = folder}, name, NULL, NULL);
  } else if (flags & O_TRUNC) {
    record((change){.kind = TRUNCATE, .file = state.st_ino}, NULL, NULL, NULL);
  }
}

static int open_with(int folder, const char *path, int flags, unsigned mode) {
  int (*real)(int, const char *, int, ...) = next("openat");
  struct stat state;
  if (trace < 0 || !(flags & (O_CREAT | O_TRUNC))) return real(folder, path, flags, mode);
  order_take();
  bool was_there = fstatat(folder, path, &state, 0) == 0;
  int file = real(folder, path, flags, mode);
  if (file >= 0) opened(file, was_there, flags);
  order_leave();
  return file;
}

static unsigned mode_of(int flags, va_list more) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
}

#define DEFINE_OPEN(name)                                              \
  int name(const char *path, int flags, ...) {                         \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    int file = open_with(AT_FDCWD, path, flags, mode_of(flags, more)); \
    va_end(more);                                                      \
    return file;                                                       \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                          \
  int name(int folder, const char *path, int flags, ...) {           \
    va_list more;                                                    \
    va_start(more, flags);                                           \
    int file = open_with(folder, path, flags, mode_of(flags, more)); \
    va_end(more);                                                    \
    return file;                                                     \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

int mkostemp(char *path, int flags) {
  int (*real)(char *, int) = next("mkostemp");
  if (trace < 0) return real(path, flags);
  order_take();
  int file = real(path, flags);
  if (file >= 0) opened(file, false, flags);
  order_leave();
  return file;
}

/* offset -1: the file's own. */
static ssize_t write_with(int file, const void *bytes, size_t count, off_t offset) {
  ssize_t (*real)(int, const void *, size_t) = next("write");
  ssize_t (*real_at)(int, const void *, size_t, off_t) = next("pwrite");
  struct stat state;
  bool known = recorded(file, &state);
  if (known) order_take();
  ssize_t done = offset < 0 ? real(file, bytes, count) : real_at(file, bytes, count, offset);
  if (known && done > 0) {
    if (offset < 0) offset = lseek(file, 0, SEEK_CUR) - done;
    record(
        (change){
            .kind = WRITE, .file = state.st_ino, .offset = offset, .data_bytes = (uint32_t)done},
        NULL, NULL, bytes);
  }
  if (known) order_leave();
  return done;
}

ssize_t write(int file, const void *bytes, size_t count) {
  return write_with(file, bytes, count, -1);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return write_with(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
  return write_with(file, bytes, count, offset);
}

static int truncate_with(int file, off_t bytes) {
  int (*real)(int, off_t) = next("ftruncate");
  struct stat state;
  bool known = recorded(file, &state);
  if (known) order_take();
  int status = real(file, bytes);
  if (known && status == 0)
    record((change){.kind = TRUNCATE, .file = state.st_ino, .offset = bytes}, NULL, NULL, NULL);
  if (known) order_leave();
  return status;
}

int ftruncate(int file, off_t bytes) {
  return truncate_with(file, bytes);
}

int ftruncate64(int file, off_t bytes) {
  return truncate_with(file, bytes);
}

/* Takes any time up to sync_us, by the clock. */
static void disk_wait(const char *path) {
  struct timespec now;
  size_t bytes = strlen(path), end = strlen(slow);
  if (sync_us <= 0 || bytes < end || strcmp(path + bytes - end, slow) != 0) return;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return;
  long wait_ns = (now.tv_nsec * 7919L) % (sync_us * 1000);
  nanosleep(&(struct timespec){wait_ns / 1000000000, wait_ns % 1000000000}, NULL);
}

static int64_t trace_bytes(void) {
  struct stat state;
  return fstat(trace, &state) == 0 ? state.st_size : 0;
}

/* What was written before the sync began is on disk once it has ended. */
static int sync_with(const char *function, int file) {
  int (*real)(int) = next(function);
  struct stat state;
  char path[PATH_MAX];
  bool known = recorded_at(file, &state, path);
  if (!known) return real(file);
  order_take();
  int64_t begun = trace_bytes();
  order_leave();
  disk_wait(path);
  order_take();
  int status = real(file);
  if (status == 0)
    record((change){.kind = SYNC, .file = state.st_ino, .offset = begun}, NULL, NULL, NULL);
  order_leave();
  return status;
}

int fsync(int file) {
  return sync_with("fsync", file);
}

int fdatasync(int file) {
  return sync_with("fdatasync", file);
}

int mkdir(const char *path, mode_t mode) {
  int (*real)(const char *, mode_t) = next("mkdir");
  struct stat state;
  const char *name;
  if (!below(path)) return real(path, mode);
  order_take();
  int status = real(path, mode);
  if (status == 0 && stat(path, &state) == 0) {
    uint64_t folder = folder_of(path, &name);
    record((change){.kind = FOLDER, .file = state.st_ino, .folder = folder}, name, NULL, NULL);
  }
  order_leave();
  return status;
}

char *mkdtemp(char *path) {
  char *(*real)(char *) = next("mkdtemp");
  struct stat state;
  const char *name;
  if (!below(path)) return real(path);
  order_take();
  char *made = real(path);
  if (made != NULL && stat(path, &state) == 0) {
    uint64_t folder = folder_of(path, &name);
    record((change){.kind = FOLDER, .file = state.st_ino, .folder = folder}, name, NULL, NULL);
  }
  order_leave();
  return made;
}

/* Calls rename or link. */
static int name_with(const char *function, uint32_t kind, const char *from, const char *to) {
  int (*real)(const char *, const char *) = next(function);
  struct stat state;
  const char *name, *second;
  if (!below(from) && !below(to)) return real(from, to);
  order_take();
  int status = real(from, to);
  if (status == 0 && lstat(to, &state) == 0) {
    change what = {.kind = kind, .file = state.st_ino, .folder = folder_of(from, &name)};
    what.second_folder = folder_of(to, &second);
    record(what, name, second, NULL);
  }
  order_leave();
  return status;
}

int rename(const char *from, const char *to) {
  return name_with("rename", RENAME, from, to);
}

int link(const char *from, const char *to) {
  return name_with("link", LINK, from, to);
}

/* Calls unlink or rmdir. */
static int remove_with(const char *function, const char *path) {
  int (*real)(const char *) = next(function);
  const char *name;
  if (!below(path)) return real(path);
  order_take();
  int status = real(path);
  if (status == 0) {
    uint64_t folder = folder_of(path, &name);
    record((change){.kind = REMOVE, .folder = folder}, name, NULL, NULL);
  }
  order_leave();
  return status;
}

int unlink(const char *path) {
  return remove_with("unlink", path);
}

int rmdir(const char *path) {
  return remove_with("rmdir", path);
}
