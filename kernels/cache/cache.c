#include "kernels/cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/limits.h"

static const uint64_t FNV_PRIME = UINT64_C(0x100000001b3);
static const char ENDING[] = ".kept";

/* A file: this, then the code. */
typedef struct {
  char magic[8];
  uint64_t bytes, sum;
} file_head;

static uint64_t fnv(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * FNV_PRIME;
  return hash;
}

ep_cache_key ep_cache_key_start(void) {
  /* FNV's own basis, and another number. */
  return (ep_cache_key){{UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)}};
}

void ep_cache_key_add(ep_cache_key *key, const char *text) {
  for (int i = 0; i < 2; i++) key->half[i] = fnv(key->half[i], text, strlen(text) + 1);
}

void ep_cache_key_add_number(ep_cache_key *key, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  ep_cache_key_add(key, text);
}

static file_head head_of(const char *code, size_t bytes) {
  file_head head = {.magic = "epcache", .bytes = bytes};
  head.sum = fnv(ep_cache_key_start().half[0], code, bytes);
  return head;
}

/* --- the folder ---------------------------------------------------------------------------- */

typedef struct {
  char folder[EP_LIMIT_PATH_BYTES + 1];
  char file[EP_LIMIT_PATH_BYTES + 64];
} place;

static bool folder_find(char *folder, size_t bytes) {
  const char *own = getenv("EPOCHD_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  int length = -1;
  if (own && own[0] == '/')
    length = snprintf(folder, bytes, "%s", own);
  else if (cache && cache[0] == '/')
    length = snprintf(folder, bytes, "%s/epochd", cache);
  else if (home && home[0] == '/')
    length = snprintf(folder, bytes, "%s/.cache/epochd", home);
  return length > 0 && (size_t)length < bytes;
}

static bool place_find(const ep_cache_key *key, place *out) {
  if (!folder_find(out->folder, sizeof out->folder)) return false;
  snprintf(out->file, sizeof out->file, "%s/%016llx%016llx%s", out->folder,
           (unsigned long long)key->half[0], (unsigned long long)key->half[1], ENDING);
  return true;
}

/* Makes the folder and those above it. */
static bool folder_make(const char *folder) {
  char path[EP_LIMIT_PATH_BYTES + 1];
  snprintf(path, sizeof path, "%s", folder);
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    *at = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* --- reading ------------------------------------------------------------------------------- */

static bool bytes_read(int file, void *to, size_t bytes) {
  char *at = to;
  while (bytes > 0) {
    ssize_t got = read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

/* A file of another user could hold anything. */
static bool file_is_ours(int file, const file_head *head) {
  struct stat about;
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         head->bytes > 0 && head->bytes <= EP_LIMIT_CACHED_BYTES &&
         (uint64_t)about.st_size == head->bytes + sizeof *head;
}

static char *code_read(int file, size_t *bytes) {
  file_head head, whole;
  if (!bytes_read(file, &head, sizeof head) || !file_is_ours(file, &head)) return NULL;
  char *code = malloc((size_t)head.bytes);
  if (!code) return NULL;
  if (bytes_read(file, code, (size_t)head.bytes)) {
    whole = head_of(code, (size_t)head.bytes);
    if (memcmp(&whole, &head, sizeof head) == 0) {
      *bytes = (size_t)head.bytes;
      return code;
    }
  }
  free(code);
  return NULL;
}

char *ep_cache_read(const ep_cache_key *key, size_t *bytes) {
  place at;
  if (!place_find(key, &at)) return NULL;
  int file = open(at.file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return NULL;
  char *code = code_read(file, bytes);
  if (code) (void)futimens(file, NULL); /* it was of use: it stays longer */
  close(file);
  return code;
}

/* --- writing ------------------------------------------------------------------------------- */

static bool bytes_write(int file, const void *from, size_t bytes) {
  const char *at = from;
  while (bytes > 0) {
    ssize_t put = write(file, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= (size_t)put;
  }
  return true;
}

static bool is_answer(size_t bytes) {
  return bytes <= EP_LIMIT_CACHED_ANSWER_BYTES;
}

/* Removes the file that was not read for longest, when there are too many, of answers or of what is
 * no answer: many kernels do not make an answer go, which then would be another one. */
static void oldest_remove(const char *folder, bool answers) {
  DIR *list = opendir(folder);
  if (!list) return;
  char oldest[sizeof((struct dirent *)0)->d_name] = "";
  struct timespec least = {0};
  int count = 0;
  for (const struct dirent *row; (row = readdir(list));) {
    size_t length = strlen(row->d_name), ending = sizeof ENDING - 1;
    struct stat about;
    if (length <= ending || strcmp(row->d_name + length - ending, ENDING) != 0) continue;
    if (fstatat(dirfd(list), row->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_answer((size_t)about.st_size) != answers) continue;
    bool older = about.st_mtim.tv_sec < least.tv_sec ||
                 (about.st_mtim.tv_sec == least.tv_sec && about.st_mtim.tv_nsec < least.tv_nsec);
    if (count++ > 0 && !older) continue;
    least = about.st_mtim;
    memcpy(oldest, row->d_name, length + 1);
  }
  if (count > (answers ? EP_LIMIT_CACHED_ANSWERS : EP_LIMIT_CACHED))
    unlinkat(dirfd(list), oldest, 0);
  closedir(list);
}

void ep_cache_write(const ep_cache_key *key, const char *code, size_t bytes) {
  static atomic_uint number;
  place at;
  char temporary[sizeof at.file + 32];
  if (bytes == 0 || bytes > EP_LIMIT_CACHED_BYTES) return;
  if (!place_find(key, &at) || !folder_make(at.folder)) return;
  snprintf(temporary, sizeof temporary, "%s.%ld.%u", at.file, (long)getpid(),
           atomic_fetch_add(&number, 1));
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  file_head head = head_of(code, bytes);
  bool whole = bytes_write(file, &head, sizeof head) && bytes_write(file, code, bytes);
  whole = close(file) == 0 && whole;
  if (!whole || rename(temporary, at.file) != 0)
    unlink(temporary);
  else
    oldest_remove(at.folder, is_answer(sizeof head + bytes));
}
