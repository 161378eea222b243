#include "engine/data/datasets/cached_meta.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/files/path.h"
#include "engine/files/verified.h"

typedef struct {
  char path[EP_PATH_BYTES]; /* "": none */
  struct stat file;
  ep_dataset_meta meta;
  int64_t bytes, used; /* used: when it was found last; of `uses` */
  int64_t used_s;      /* the same, steady clock */
} cached;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static cached entries[EP_LIMIT_CACHED_METAS];
static int64_t uses, all_bytes, most_bytes = EP_LIMIT_CACHED_META_BYTES_MIN;

static int64_t steady_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* A path that a content's hash names says almost all; the rest is for other folders. */
static bool is_same(const cached *one, const char *path, const struct stat *file) {
  return strcmp(one->path, path) == 0 && ep_file_is_same(&one->file, file);
}

static void use(cached *one) {
  one->used = ++uses;
  one->used_s = steady_s();
}

static void forget(cached *one) {
  all_bytes -= one->bytes;
  ep_dataset_meta_deinit(&one->meta);
  *one = (cached){.path = ""};
}

/* An empty one, or that used longest ago. */
static cached *oldest_find(void) {
  cached *oldest = NULL;
  for (int i = 0; i < EP_LIMIT_CACHED_METAS; i++)
    if (!oldest || entries[i].used < oldest->used) oldest = &entries[i];
  return oldest;
}

/* The one used longest ago of those that are there. */
static cached *victim_find(void) {
  cached *oldest = NULL;
  for (int i = 0; i < EP_LIMIT_CACHED_METAS; i++)
    if (entries[i].bytes > 0 && (!oldest || entries[i].used < oldest->used)) oldest = &entries[i];
  return oldest;
}

bool ep_cached_meta_find(const char *path, const struct stat *file, ep_dataset_meta *out) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < EP_LIMIT_CACHED_METAS && !found; i++)
    if (is_same(&entries[i], path, file)) {
      found = ep_dataset_meta_copy(&entries[i].meta, out);
      use(&entries[i]);
    }
  pthread_mutex_unlock(&mutex);
  return found;
}

bool ep_cached_meta_add(const char *path, const struct stat *file, ep_dataset_meta *meta) {
  cached one = {.file = *file, .bytes = 1 + ep_dataset_meta_bytes(meta)};
  snprintf(one.path, sizeof one.path, "%s", path);
  if (!ep_dataset_meta_share(meta)) return false;
  pthread_mutex_lock(&mutex);
  const bool fits = one.bytes <= most_bytes && ep_dataset_meta_copy(meta, &one.meta);
  if (fits) {
    while (all_bytes + one.bytes > most_bytes) forget(victim_find());
    cached *place = oldest_find();
    forget(place);
    *place = one;
    use(place);
    all_bytes += one.bytes;
  }
  pthread_mutex_unlock(&mutex);
  return fits;
}

void ep_cached_metas_bound(int64_t bytes) {
  pthread_mutex_lock(&mutex);
  most_bytes = bytes;
  while (all_bytes > most_bytes) forget(victim_find());
  pthread_mutex_unlock(&mutex);
}

int64_t ep_cached_metas_bytes(void) {
  pthread_mutex_lock(&mutex);
  const int64_t bytes = all_bytes;
  pthread_mutex_unlock(&mutex);
  return bytes;
}

void ep_cached_metas_expire(int64_t seconds) {
  pthread_mutex_lock(&mutex);
  const int64_t before_s = steady_s() - seconds;
  for (int i = 0; i < EP_LIMIT_CACHED_METAS; i++)
    if (entries[i].bytes > EP_LIMIT_SMALL_CACHED_BYTES && entries[i].used_s <= before_s)
      forget(&entries[i]);
  pthread_mutex_unlock(&mutex);
}
