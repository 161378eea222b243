#include "server/backup/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/limits.h"
#include "api/wire/event.h"
#include "engine/files/durable_file.h"
#include "server/process/data_dir.h"

enum { CHUNK_BYTES = 1 << 20, LINE_END = 2 /* two blanks between hash and path */ };

static ep_status file_fail(const char *path, ep_error *error) {
  if (errno == ENOENT) return ep_fail(error, EP_NOT_FOUND, "%s has gone", path);
  return ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
}

/* Where a log ends that a job had before its `end`: of a job that ends while the backup runs, the
 * copied row has not ended. */
static int64_t log_limit(int file) {
  ep_event event;
  struct stat about;
  char *tail = malloc(EP_LIMIT_EVENT_BYTES);
  int64_t limit = tail && fstat(file, &about) == 0 ? about.st_size : 0;
  int64_t start = limit > EP_LIMIT_EVENT_BYTES ? limit - EP_LIMIT_EVENT_BYTES : 0;
  ssize_t got = limit > 0 ? pread(file, tail, (size_t)(limit - start), start) : 0;
  if (got > 1) {
    const char *before = memrchr(tail, '\n', (size_t)got - 1);
    const char *line = before ? before + 1 : tail;
    if (ep_event_parse(line, (size_t)(tail + got - 1 - line), &event, NULL) == EP_OK &&
        event.type == EP_EVENT_END)
      limit = start + (line - tail);
  }
  free(tail);
  return limit;
}

/* Reads at most `limit` bytes of `source` into the hash and, unless it is -1, into `target`. */
static ep_status bytes_copy(int source, int target, int64_t limit, int64_t *bytes,
                            char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_sha256 hash;
  uint8_t *chunk = malloc(CHUNK_BYTES);
  if (!chunk) return ep_fail_memory(error);
  ep_status status = ep_sha256_init(&hash, error);
  ssize_t got = 1;
  for (*bytes = 0; status == EP_OK && got > 0; *bytes += got) {
    int64_t most = limit - *bytes < CHUNK_BYTES ? limit - *bytes : CHUNK_BYTES;
    got = pread(source, chunk, (size_t)most, *bytes);
    if (got < 0) status = ep_fail(error, EP_IO, "a file cannot be read: %s", strerror(errno));
    if (got <= 0) break;
    ep_sha256_update(&hash, chunk, (size_t)got);
    if (target >= 0) status = ep_file_write_all(target, chunk, (size_t)got, error);
  }
  if (status == EP_OK) ep_sha256_final(&hash, sha256);
  ep_sha256_deinit(&hash);
  free(chunk);
  return status;
}

static ep_status file_hash(const char *path, char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  int64_t bytes;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return file_fail(path, error);
  ep_status status = bytes_copy(file, -1, INT64_MAX, &bytes, sha256, error);
  close(file);
  return status;
}

/* The hash that the previous backup has of a path: moves on in its manifest; "" = none. */
static void sum_find(ep_backup_copy *copy, const char *path, char sha256[EP_SHA256_HEX_BYTES]) {
  const size_t hash = EP_SHA256_HEX_BYTES - 1;
  sha256[0] = 0;
  while (copy->sums_at && *copy->sums_at) {
    const char *line = copy->sums_at, *end = strchr(line, '\n');
    if (!end || (size_t)(end - line) <= hash + LINE_END) return;
    size_t bytes = (size_t)(end - line) - hash - LINE_END, given = strlen(path);
    int order = strncmp(line + hash + LINE_END, path, bytes < given ? bytes : given);
    if (order == 0) order = (bytes > given) - (bytes < given);
    if (order > 0) return;
    copy->sums_at = end + 1;
    if (order < 0) continue;
    memcpy(sha256, line, hash);
    sha256[hash] = 0;
    return;
  }
}

static ep_status sum_write(ep_backup_copy *copy, const char *path, const char *sha256,
                           ep_error *error) {
  if (fprintf(copy->manifest, "%s  %s\n", sha256, path) > 0) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "SHA256SUMS cannot be written: %s",
                 strerror(errno));
}

ep_status ep_backup_copy_note(ep_backup_copy *copy, const char *path, ep_error *error) {
  char whole[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  ep_status status = ep_path_join(whole, error, copy->to, path, NULL);
  if (status == EP_OK) status = file_hash(whole, sha256, error);
  return status == EP_OK ? sum_write(copy, path, sha256, error) : status;
}

/* Links the file of the previous backup, if it is the same and whole. */
static bool file_link(ep_backup_copy *copy, const char *path, const char *from, const char *to) {
  char before[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES], actual[EP_SHA256_HEX_BYTES];
  struct stat now, then;
  sum_find(copy, path, sha256);
  if (sha256[0] == 0 || ep_path_join(before, NULL, copy->previous, path, NULL) != EP_OK)
    return false;
  if (lstat(from, &now) != 0 || lstat(before, &then) != 0 || now.st_size != then.st_size ||
      now.st_mtim.tv_sec != then.st_mtim.tv_sec || now.st_mtim.tv_nsec != then.st_mtim.tv_nsec)
    return false;
  if (file_hash(before, actual, NULL) != EP_OK || strcmp(actual, sha256) != 0) return false;
  if (link(before, to) != 0) return false;
  copy->linked++;
  return sum_write(copy, path, sha256, NULL) == EP_OK;
}

/* Where the whole lines of a file end that is being appended to. */
static int64_t lines_limit(int file) {
  struct stat about;
  char byte = 0;
  int64_t limit = fstat(file, &about) == 0 ? about.st_size : 0;
  while (limit > 0 && (pread(file, &byte, 1, limit - 1) != 1 || byte != '\n')) limit--;
  return limit;
}

/* How many bytes of an open file are copied. */
typedef int64_t limit_find(int file);

/* Copies a file with its times, and reads the copy back. find: NULL = all of it. */
static ep_status file_copy(ep_backup_copy *copy, const char *path, const char *from, const char *to,
                           limit_find *find, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES], written[EP_SHA256_HEX_BYTES];
  struct stat about;
  int64_t bytes = 0;
  int source = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), target = -1;
  ep_status status = source < 0 ? file_fail(from, error) : EP_OK;
  if (status == EP_OK && fstat(source, &about) != 0) status = file_fail(from, error);
  if (status == EP_OK) {
    target = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target < 0) status = file_fail(to, error);
  }
  int64_t limit = find && status == EP_OK ? find(source) : INT64_MAX;
  if (status == EP_OK) status = bytes_copy(source, target, limit, &bytes, sha256, error);
  if (status == EP_OK && futimens(target, (struct timespec[]){about.st_atim, about.st_mtim}) != 0)
    status = file_fail(to, error);
  if (status == EP_OK) status = file_hash(to, written, error);
  if (status == EP_OK && strcmp(sha256, written) != 0)
    status = ep_fail(error, EP_IO, "%s differs from what was written to it", to);
  if (status == EP_OK) status = sum_write(copy, path, sha256, error);
  if (source >= 0) close(source);
  if (target >= 0) close(target);
  copy->copied_bytes += bytes;
  return status;
}

static ep_status entry_copy(ep_backup_copy *copy, const char *folder, const char *name, bool final,
                            ep_error *error) {
  char path[EP_PATH_BYTES], from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, folder, name, NULL);
  if (status == EP_OK) status = ep_path_join(from, error, copy->from, path, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, copy->to, path, NULL);
  if (status != EP_OK) return status;
  copy->files++;
  if (final && file_link(copy, path, from, to)) return EP_OK;
  bool log = !final && strcmp(name, EP_EVENTS_FILE) == 0;
  return file_copy(copy, path, from, to, log ? log_limit : NULL, error);
}

ep_status ep_backup_copy_lines(ep_backup_copy *copy, const char *name, ep_error *error) {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  ep_status status = ep_path_join(from, error, copy->from, name, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, copy->to, name, NULL);
  if (status != EP_OK || !ep_data_dir_exists(from)) return status;
  copy->files++;
  return file_copy(copy, name, from, to, lines_limit, error);
}

static int entry_is_file(const struct dirent *entry) {
  return entry->d_type == DT_REG && !strstr(entry->d_name, ".tmp");
}

static int entries_compare(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

ep_status ep_backup_copy_folder(ep_backup_copy *copy, const char *kind, const char *name,
                                bool final, ep_error *error) {
  char folder[EP_PATH_BYTES], from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  struct dirent **entries = NULL;
  ep_status status = ep_path_join(folder, error, kind, name, NULL);
  if (status == EP_OK) status = ep_path_join(from, error, copy->from, folder, NULL);
  if (status == EP_OK) status = ep_path_join(to, error, copy->to, folder, NULL);
  if (status != EP_OK) return status;
  int count = scandir(from, &entries, entry_is_file, entries_compare);
  if (count < 0) return file_fail(from, error);
  long start = ftell(copy->manifest);
  status = ep_data_dir_create(to, error);
  for (int i = 0; i < count; i++) {
    if (status == EP_OK) status = entry_copy(copy, folder, entries[i]->d_name, final, error);
    free(entries[i]);
  }
  free(entries);
  if (status == EP_OK) return EP_OK;
  ep_data_dir_remove(to, NULL);
  if (fflush(copy->manifest) != 0 || ftruncate(fileno(copy->manifest), start) != 0 ||
      fseek(copy->manifest, start, SEEK_SET) != 0)
    return ep_fail(error, EP_IO, "SHA256SUMS cannot be cut: %s", strerror(errno));
  return status;
}
