#include "engine/files/verified.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/limits.h"

typedef struct {
  struct stat file;
  char hash[EP_SHA256_HEX_BYTES]; /* "": none */
  time_t second;
} verified;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static verified held[EP_LIMIT_VERIFIED];
static int next;

/* Time that a suspended machine was asleep counts as well. */
static time_t second_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

bool ep_file_is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

const char *ep_stored_name(const char *path) {
  const char *name = path + strlen(path);
  for (int slashes = 0; name > path && slashes < 3; name--) slashes += name[-1] == '/';
  return *name == '/' ? name + 1 : name;
}

bool ep_verified_find(const struct stat *file, const char *hash) {
  time_t oldest = second_now() - EP_LIMIT_VERIFIED_SECONDS;
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < EP_LIMIT_VERIFIED && !found; i++)
    found = ep_file_is_same(&held[i].file, file) && strcmp(held[i].hash, hash) == 0 &&
            held[i].second >= oldest;
  pthread_mutex_unlock(&mutex);
  return found;
}

void ep_verified_add(const struct stat *file, const char *hash) {
  verified one = {.file = *file, .second = second_now()};
  snprintf(one.hash, sizeof one.hash, "%s", hash);
  pthread_mutex_lock(&mutex);
  held[next] = one;
  next = (next + 1) % EP_LIMIT_VERIFIED;
  pthread_mutex_unlock(&mutex);
}

/* Gives back the memory of each piece. */
static void mapping_sha256(const ep_mapping *mapping, ep_sha256 *hash) {
  enum { PIECE_BYTES = 4 << 20 };
  for (size_t at = 0; at < mapping->size; at += PIECE_BYTES) {
    size_t left = mapping->size - at, bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    ep_sha256_update(hash, mapping->bytes + at, bytes);
    ep_mapping_drop(mapping->bytes + at, bytes);
  }
}

ep_status ep_file_sha256(int file, const char *path, char sha256[EP_SHA256_HEX_BYTES],
                         ep_error *error) {
  ep_mapping mapping;
  ep_sha256 hash;
  ep_status status = ep_mapping_of(file, path, &mapping, error);
  if (status != EP_OK) return status;
  status = ep_sha256_init(&hash, error);
  if (status == EP_OK) {
    mapping_sha256(&mapping, &hash);
    ep_sha256_final(&hash, sha256);
  }
  ep_mapping_close(&mapping);
  return status;
}

ep_status ep_verified_sha256(int file, const char *path, const char *sha256, ep_error *error) {
  char found[EP_SHA256_HEX_BYTES];
  struct stat about;
  if (fstat(file, &about) != 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (ep_verified_find(&about, sha256)) return EP_OK;
  ep_status status = ep_file_sha256(file, path, found, error);
  if (status != EP_OK) return status;
  if (strcmp(found, sha256) != 0)
    return ep_fail(error, EP_DAMAGED,
                   "%s is damaged, its SHA-256 is %s instead of %s: submit the job's spec again, "
                   "which computes the same bytes",
                   ep_stored_name(path), found, sha256);
  ep_verified_add(&about, sha256);
  return EP_OK;
}

ep_status ep_verified_sha256_at(const char *path, const char *sha256, ep_error *error) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  ep_status status = ep_verified_sha256(file, path, sha256, error);
  close(file);
  return status;
}
