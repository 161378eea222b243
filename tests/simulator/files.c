/* files.c: the calls of the C library on files and folders, on the simulated disk. What is not
 * below DISK_ROOT (/proc, /sys) is not there: a run depends on nothing of its machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/simulator/disk.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/sockets.h"
#include "tests/simulator/tasks.h"

enum { NAME_BYTES = 256, BLOCK_BYTES = 4096 };

ssize_t __real_write(int number, const void *bytes, size_t count);

static int fail(int error) {
  errno = error;
  return -1;
}

static bool is_here(const char *path) {
  return strncmp(path, DISK_ROOT "/", strlen(DISK_ROOT) + 1) == 0;
}

/* The file of a path; NULL, and errno. */
static disk_file *file_find(const char *path, disk_file **folder, const char **name) {
  if (folder) *folder = NULL;
  if (is_here(path)) return disk_find(path, folder, name);
  errno = ENOENT;
  return NULL;
}

static disk_file *file_of(int number) {
  const descriptor *one = descriptor_find(number);
  must_hold(one && one->kind == DESCRIPTOR_FILE, "descriptor %d is no file", number);
  return one->file;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int number);
ssize_t __wrap_read(int number, void *bytes, size_t count);
ssize_t __wrap_pread(int number, void *bytes, size_t count, off_t offset);
ssize_t __wrap_write(int number, const void *bytes, size_t count);
ssize_t __wrap_pwrite(int number, const void *bytes, size_t count, off_t offset);
int __wrap_fsync(int number);
int __wrap_fdatasync(int number);
int __wrap_sync_file_range(int number, off_t offset, off_t count, unsigned flags);
int __wrap_ftruncate(int number, off_t size);
int __wrap_posix_fallocate(int number, off_t offset, off_t count);
int __wrap_flock(int number, int operation);
int __wrap_fstat(int number, struct stat *out);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_fstatat(int number, const char *name, struct stat *out, int flags);
int __wrap_access(const char *path, int mode);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);
int __wrap_unlink(const char *path);
int __wrap_rename(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
char *__wrap_realpath(const char *path, char *out);
int __wrap_statvfs(const char *path, struct statvfs *out);
int __wrap_fstatvfs(int number, struct statvfs *out);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int number, off_t offset);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_madvise(void *at, size_t bytes, int advice);
FILE *__wrap_fopen(const char *path, const char *mode);
DIR *__wrap_opendir(const char *path);
struct dirent *__wrap_readdir(DIR *folder);
int __wrap_closedir(DIR *folder);
int __wrap_dirfd(DIR *folder);
int __wrap_nftw(const char *path, __nftw_func_t visit, int most, int flags);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int number, off_t offset);
int __real_madvise(void *at, size_t bytes, int advice);

static int file_open(disk_file *file, int flags) {
  int number = descriptor_open(DESCRIPTOR_FILE);
  descriptor *opened = descriptor_find(number);
  disk_retain(file);
  opened->file = file;
  opened->append = (flags & O_APPEND) != 0;
  return number;
}

int __wrap_open(const char *path, int flags, ...) {
  disk_file *folder;
  const char *name;
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  disk_file *file = file_find(path, &folder, &name);
  if (!file && (!folder || !(flags & O_CREAT))) return -1;
  int error = disk_step(file ? DISK_READ : DISK_NAME, file ? file : folder, !file);
  if (error) return fail(error);
  file = file_find(path, &folder, &name); /* others went on meanwhile */
  if (!file && !folder) return -1;
  if (file && (flags & O_DIRECTORY) && !file->is_folder) return fail(ENOTDIR);
  if (file && file->is_folder && (flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
  if (!file && !(flags & O_CREAT)) return fail(ENOENT);
  if (!file) file = disk_make(folder, name, false, mode);
  if (flags & O_TRUNC) disk_truncate(file, 0);
  return file_open(file, flags);
}

int __wrap_close(int number) {
  return descriptor_close(number);
}

ssize_t __wrap_pread(int number, void *bytes, size_t count, off_t offset) {
  disk_file *file = file_of(number);
  int error = disk_step(DISK_READ, file, false);
  if (error) return fail(error);
  if (count > BLOCK_BYTES && one_in(16)) count = BLOCK_BYTES; /* interrupted by a signal */
  return (ssize_t)disk_read(file, bytes, count, (size_t)offset);
}

ssize_t __wrap_read(int number, void *bytes, size_t count) {
  descriptor *one = descriptor_find(number);
  must_hold(one, "descriptor %d is read, and is not open", number);
  if (one->kind == DESCRIPTOR_CHANNEL) {
    size_t got = channel_take(one->channel, one->end, bytes, count);
    return got > 0 || one->channel->holders[1 - one->end] == 0 ? (ssize_t)got : fail(EAGAIN);
  }
  if (one->kind == DESCRIPTOR_EVENT) {
    if (one->events == 0) return fail(EAGAIN);
    memcpy(bytes, &one->events, sizeof one->events);
    one->events = 0;
    return sizeof one->events;
  }
  ssize_t got = __wrap_pread(number, bytes, count, one->offset);
  if (got > 0) one->offset += got;
  return got;
}

ssize_t __wrap_pwrite(int number, const void *bytes, size_t count, off_t offset) {
  disk_file *file = file_of(number);
  int error = disk_step(DISK_WRITE, file, true);
  if (error == ENOSPC && count > 1 && one_in(2)) { /* a part of it has room */
    count = 1 + random_below(count - 1);
    error = 0;
  }
  if (error) return fail(error);
  disk_write(file, bytes, count, (size_t)offset);
  return (ssize_t)count;
}

ssize_t __wrap_write(int number, const void *bytes, size_t count) {
  descriptor *one = descriptor_find(number);
  if (!one) return __real_write(number, bytes, count); /* what the simulator prints */
  if (one->kind == DESCRIPTOR_EVENT) {
    uint64_t more;
    memcpy(&more, bytes, sizeof more);
    one->events += more;
    tasks_wake_pollers();
    return sizeof more;
  }
  if (one->append) one->offset = (int64_t)one->file->size;
  ssize_t wrote = __wrap_pwrite(number, bytes, count, one->offset);
  if (wrote > 0) one->offset += wrote;
  return wrote;
}

int __wrap_fsync(int number) {
  disk_file *file = file_of(number);
  disk_retain(file);
  int error = disk_step(DISK_SYNC, file, false);
  if (error)
    disk_sync_fail(file);
  else
    disk_sync(file);
  disk_release(file);
  return error ? fail(error) : 0;
}

int __wrap_fdatasync(int number) {
  return __wrap_fsync(number);
}

int __wrap_sync_file_range(int number, off_t offset, off_t count, unsigned flags) {
  (void)number, (void)offset, (void)count, (void)flags;
  return 0;
}

int __wrap_ftruncate(int number, off_t size) {
  disk_file *file = file_of(number);
  int error = disk_step(DISK_WRITE, file, (size_t)size > file->size);
  if (error) return fail(error);
  disk_truncate(file, (size_t)size);
  return 0;
}

/* Of the ballast: its room is not counted, only its size. */
int __wrap_posix_fallocate(int number, off_t offset, off_t count) {
  disk_file *file = file_of(number);
  int error = disk_step(DISK_WRITE, file, true);
  if (error) return error;
  if ((size_t)(offset + count) > file->size && count <= BLOCK_BYTES)
    disk_truncate(file, (size_t)(offset + count));
  return count <= BLOCK_BYTES ? 0 : ENOSPC;
}

int __wrap_flock(int number, int operation) {
  (void)operation;
  if (!descriptors_lock(file_of(number))) return fail(EWOULDBLOCK);
  descriptor_find(number)->locked = true;
  return 0;
}

static int file_look(const disk_file *file, struct stat *out) {
  *out = (struct stat){.st_ino = file->number,
                       .st_dev = 1,
                       .st_nlink = 1,
                       .st_mode = (file->is_folder ? S_IFDIR : S_IFREG) | (file->mode & 0777U),
                       .st_size = (off_t)file->size,
                       .st_blksize = BLOCK_BYTES,
                       .st_blocks = (blkcnt_t)((file->size + 511) / 512)};
  return 0;
}

int __wrap_fstat(int number, struct stat *out) {
  return file_look(file_of(number), out);
}

int __wrap_stat(const char *path, struct stat *out) {
  const disk_file *file = file_find(path, NULL, NULL);
  return file ? file_look(file, out) : -1;
}

int __wrap_lstat(const char *path, struct stat *out) {
  return __wrap_stat(path, out);
}

int __wrap_fstatat(int number, const char *name, struct stat *out, int flags) {
  (void)flags;
  const disk_file *folder = file_of(number);
  const disk_file *file = strcmp(name, ".") == 0 ? folder : disk_child(folder, name);
  return file ? file_look(file, out) : fail(ENOENT);
}

int __wrap_access(const char *path, int mode) {
  (void)mode;
  return file_find(path, NULL, NULL) ? 0 : -1;
}

int __wrap_chmod(const char *path, mode_t mode) {
  disk_file *file = file_find(path, NULL, NULL);
  if (!file) return -1;
  file->mode = mode;
  return 0;
}

int __wrap_mkdir(const char *path, mode_t mode) {
  disk_file *folder;
  const char *name;
  if (file_find(path, &folder, &name)) return fail(EEXIST);
  if (!folder) return fail(ENOENT);
  int error = disk_step(DISK_NAME, folder, true);
  if (error) return fail(error);
  if (file_find(path, &folder, &name)) return fail(EEXIST);
  if (!folder) return fail(ENOENT);
  disk_make(folder, name, true, mode);
  return 0;
}

static int name_remove(const char *path, bool is_folder) {
  disk_file *folder;
  const char *name;
  if (!file_find(path, &folder, &name)) return -1;
  int error = disk_step(DISK_NAME, folder, false);
  if (error) return fail(error);
  const disk_file *file = file_find(path, &folder, &name);
  if (!file) return -1;
  if (file->is_folder != is_folder) return fail(is_folder ? ENOTDIR : EISDIR);
  if (file->entries_count > 0) return fail(ENOTEMPTY);
  disk_remove(folder, name);
  return 0;
}

int __wrap_rmdir(const char *path) {
  return name_remove(path, true);
}

int __wrap_unlink(const char *path) {
  return name_remove(path, false);
}

int __wrap_rename(const char *from, const char *to) {
  disk_file *folder, *new_folder;
  const char *name, *new_name;
  if (!file_find(from, &folder, &name)) return -1;
  int error = disk_step(DISK_NAME, folder, false);
  if (error) return fail(error);
  const disk_file *file = file_find(from, &folder, &name);
  if (!file) return -1;
  const disk_file *other = file_find(to, &new_folder, &new_name);
  if (!new_folder) return fail(ENOENT);
  if (other && other->entries_count > 0) return fail(ENOTEMPTY);
  disk_move(folder, name, new_folder, new_name);
  return 0;
}

int __wrap_link(const char *from, const char *to) {
  (void)from, (void)to;
  return fail(ENOSYS);
}

char *__wrap_realpath(const char *path, char *out) {
  must_hold(!out && is_here(path), "realpath of %s", path);
  return strdup(path);
}

int __wrap_statvfs(const char *path, struct statvfs *out) {
  (void)path;
  unsigned long blocks = DISK->faults.full ? 0 : 1UL << 30;
  *out = (struct statvfs){.f_bsize = BLOCK_BYTES,
                          .f_frsize = BLOCK_BYTES,
                          .f_blocks = 1UL << 31,
                          .f_bfree = blocks,
                          .f_bavail = blocks};
  return 0;
}

int __wrap_fstatvfs(int number, struct statvfs *out) {
  return __wrap_statvfs("", out), number < 0 ? -1 : 0;
}

/* A copy: what is mapped is read at once. */
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int number, off_t offset) {
  const descriptor *one = descriptor_find(number);
  if (!one) return __real_mmap(at, bytes, protection, flags, number, offset);
  if (disk_step(DISK_READ, one->file, false) != 0) {
    errno = EIO;
    return MAP_FAILED;
  }
  void *copy = calloc(1, bytes);
  disk_read(one->file, copy, bytes, (size_t)offset);
  return copy;
}

int __wrap_munmap(void *at, size_t bytes) {
  (void)bytes;
  free(at);
  return 0;
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
  return SIM && SIM->inside ? 0 : __real_madvise(at, bytes, advice);
}

/* Whole texts, to be read. */
FILE *__wrap_fopen(const char *path, const char *mode) {
  disk_file *file = file_find(path, NULL, NULL);
  if (!file || mode[0] != 'r') return NULL;
  int error = disk_step(DISK_READ, file, false);
  if (error) {
    errno = error;
    return NULL;
  }
  FILE *opened = fmemopen(NULL, file->size + 1, "w+");
  if (opened) {
    fwrite(file->bytes, 1, file->size, opened);
    rewind(opened);
  }
  return opened;
}

/* What opendir found, as a copy: what changes meanwhile is not seen. */
typedef struct {
  int number;
  int count, next;
  struct dirent entry;
  char names[][NAME_BYTES];
} listing;

DIR *__wrap_opendir(const char *path) {
  int number = __wrap_open(path, O_RDONLY | O_DIRECTORY);
  if (number < 0) return NULL;
  const disk_file *folder = file_of(number);
  listing *made = malloc(sizeof *made + (size_t)(folder->entries_count + 2) * NAME_BYTES);
  *made = (listing){.number = number, .count = folder->entries_count + 2};
  strcpy(made->names[0], ".");
  strcpy(made->names[1], "..");
  for (int i = 0; i < folder->entries_count; i++)
    snprintf(made->names[i + 2], NAME_BYTES, "%s", folder->entries[i].name);
  return (DIR *)made;
}

struct dirent *__wrap_readdir(DIR *folder) {
  listing *list = (listing *)folder;
  if (list->next == list->count) return NULL;
  snprintf(list->entry.d_name, sizeof list->entry.d_name, "%s", list->names[list->next++]);
  return &list->entry;
}

int __wrap_closedir(DIR *folder) {
  listing *list = (listing *)folder;
  __wrap_close(list->number);
  free(list);
  return 0;
}

int __wrap_dirfd(DIR *folder) {
  return ((listing *)folder)->number;
}

/* Depth first, as the core walks. */
int __wrap_nftw(const char *path, __nftw_func_t visit, int most, int flags) {
  char below[PATH_MAX];
  struct stat about;
  struct FTW walk = {0};
  if (__wrap_stat(path, &about) != 0) return -1;
  if (!S_ISDIR(about.st_mode)) return visit(path, &about, FTW_F, &walk);
  DIR *folder = __wrap_opendir(path);
  if (!folder) return -1;
  int result = 0;
  for (const struct dirent *entry; result == 0 && (entry = __wrap_readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    result = __wrap_nftw(below, visit, most, flags);
  }
  __wrap_closedir(folder);
  return result != 0 ? result : visit(path, &about, FTW_DP, &walk);
}
