#include "engine/trials/trial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/checksum.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"

/* A record and the checksum of its bytes. */
typedef struct {
  ep_trial_record record;
  char checksum[EP_CHECKSUM_HEX_BYTES + 7]; /* and zeros */
} line;

_Static_assert(sizeof(line) == sizeof(ep_trial_record) + 24, "no padding in the file");

static void line_make(const ep_trial_record *record, line *out) {
  *out = (line){.record = *record};
  ep_checksum_of(record, sizeof *record, out->checksum);
}

/* Whether it is the record of that number, as it was written. */
static bool line_is_whole(const line *read, int64_t number) {
  line right;
  line_make(&read->record, &right);
  return read->record.number == number && memcmp(read, &right, sizeof right) == 0;
}

/* Reads lines[0 … count - 1] from line `first` on. */
static ep_status lines_load(int file, int64_t first, int64_t count, line *lines, ep_error *error) {
  size_t bytes = (size_t)count * sizeof *lines, got = 0;
  while (got < bytes) {
    ssize_t some = pread(file, (char *)lines + got, bytes - got,
                         (off_t)first * (off_t)sizeof *lines + (off_t)got);
    if (some <= 0) return ep_fail(error, EP_IO, EP_TRIALS_FILE ": %s", strerror(errno));
    got += (size_t)some;
  }
  return EP_OK;
}

enum { LINES_AT_ONCE = 4096 };

/* Reads whole records from the file's begin on. all: [lines]. */
static ep_status records_load(int file, int64_t lines, ep_trial_record *all, int64_t *count,
                              ep_error *error) {
  line *part = malloc(LINES_AT_ONCE * sizeof *part);
  ep_status status = part ? EP_OK : ep_fail_memory(error);
  bool whole = true;
  while (status == EP_OK && whole && *count < lines) {
    int64_t left = lines - *count, some = left < LINES_AT_ONCE ? left : LINES_AT_ONCE;
    status = lines_load(file, *count, some, part, error);
    for (int64_t i = 0; status == EP_OK && whole && i < some; i++) {
      whole = line_is_whole(&part[i], *count + 1);
      if (whole) all[(*count)++] = part[i].record;
    }
  }
  free(part);
  return status;
}

static ep_status lines_read(int file, int64_t most, ep_trial_record **records, int64_t *count,
                            ep_error *error) {
  struct stat about;
  *records = NULL;
  *count = 0;
  if (fstat(file, &about) != 0)
    return ep_fail(error, EP_IO, EP_TRIALS_FILE ": %s", strerror(errno));
  int64_t lines = about.st_size / (int64_t)sizeof(line);
  if (lines > most) lines = most;
  if (lines == 0) return EP_OK;
  ep_trial_record *all = malloc((size_t)lines * sizeof *all);
  ep_status status = all ? records_load(file, lines, all, count, error) : ep_fail_memory(error);
  if (status != EP_OK) {
    free(all);
    *count = 0;
    return status;
  }
  *records = all;
  return EP_OK;
}

ep_status ep_trial_file_open(const char *folder, ep_trial_file *file, ep_trial_record **records,
                             ep_error *error) {
  char path[EP_PATH_BYTES];
  *records = NULL;
  *file = (ep_trial_file){.file = -1};
  ep_status status = ep_path_join(path, error, folder, EP_TRIALS_FILE, NULL);
  if (status != EP_OK) return status;
  file->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file->file < 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  status = lines_read(file->file, EP_LIMIT_TRIAL_RECORDS, records, &file->count, error);
  off_t end = (off_t)file->count * (off_t)sizeof(line);
  if (status == EP_OK && (ftruncate(file->file, end) != 0 || lseek(file->file, end, SEEK_SET) < 0))
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  if (status != EP_OK) {
    free(*records);
    *records = NULL;
    ep_trial_file_close(file);
  }
  return status;
}

ep_status ep_trial_file_append(ep_trial_file *file, const ep_trial_record *records, int64_t count,
                               ep_error *error) {
  line *lines = malloc((size_t)count * sizeof *lines);
  if (!lines) return ep_fail_memory(error);
  for (int64_t i = 0; i < count; i++) line_make(&records[i], &lines[i]);
  off_t end = (off_t)file->count * (off_t)sizeof(line);
  ep_status status =
      lseek(file->file, end, SEEK_SET) == end /* behind a write that was refused */
          ? ep_file_write_all(file->file, lines, (size_t)count * sizeof *lines, error)
          : ep_fail(error, EP_IO, EP_TRIALS_FILE ": %s", strerror(errno));
  free(lines);
  if (status == EP_OK) file->count += count;
  return status;
}

ep_status ep_trial_file_sync(ep_trial_file *file, ep_error *error) {
  if (fdatasync(file->file) == 0) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), EP_TRIALS_FILE ": %s", strerror(errno));
}

void ep_trial_file_close(ep_trial_file *file) {
  if (file->file >= 0) close(file->file);
  file->file = -1;
}

/* *file: -1 where there is none. */
static ep_status file_find(const char *folder, int *file, ep_error *error) {
  char path[EP_PATH_BYTES];
  *file = -1;
  ep_status status = ep_path_join(path, error, folder, EP_TRIALS_FILE, NULL);
  if (status != EP_OK) return status;
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (*file >= 0 || errno == ENOENT) return EP_OK;
  return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
}

ep_status ep_trial_file_read(const char *folder, int64_t most, ep_trial_record **records,
                             int64_t *count, ep_error *error) {
  int file;
  *records = NULL;
  *count = 0;
  ep_status status = file_find(folder, &file, error);
  if (status != EP_OK || file < 0) return status;
  status = lines_read(file, most, records, count, error);
  close(file);
  return status;
}

ep_status ep_trial_file_check(const char *folder, int64_t *whole, int64_t *records,
                              ep_error *error) {
  struct stat about;
  ep_trial_record *all = NULL;
  int file;
  *whole = *records = 0;
  ep_status status = file_find(folder, &file, error);
  if (status != EP_OK || file < 0) return status;
  if (fstat(file, &about) != 0)
    status = ep_fail(error, EP_IO, EP_TRIALS_FILE ": %s", strerror(errno));
  if (status == EP_OK) {
    *records = (about.st_size + (int64_t)sizeof(line) - 1) / (int64_t)sizeof(line);
    status = lines_read(file, EP_LIMIT_TRIAL_RECORDS, &all, whole, error);
  }
  free(all);
  close(file);
  return status;
}
