#include "engine/data/datasets/cached_meta.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/path.h"
#include "engine/files/verified.h"

typedef struct {
  char path[EP_PATH_BYTES]; /* "": none */
  struct stat file;
  ep_dataset_meta meta;
} cached;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static cached held[EP_LIMIT_CACHED_METAS];
static int next;

/* A path that a content's hash names says almost all; the rest is for other folders. */
static bool is_same(const cached *one, const char *path, const struct stat *file) {
  return strcmp(one->path, path) == 0 && ep_file_is_same(&one->file, file);
}

/* Four words take the memory of a column. */
static int64_t columns_count(const ep_dataset_meta *meta) {
  int64_t columns = 0, words = 0;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      const ep_part *part = &meta->part[split][role];
      columns += part->columns;
      for (int64_t i = 0; part->column && i < part->columns; i++)
        words += part->column[i].words.count;
    }
  return columns + words / 4;
}

bool ep_cached_meta_find(const char *path, const struct stat *file, ep_dataset_meta *out) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < EP_LIMIT_CACHED_METAS && !found; i++)
    if (is_same(&held[i], path, file)) found = ep_dataset_meta_copy(&held[i].meta, out);
  pthread_mutex_unlock(&mutex);
  return found;
}

void ep_cached_meta_add(const char *path, const struct stat *file, const ep_dataset_meta *meta) {
  cached one = {.file = *file};
  snprintf(one.path, sizeof one.path, "%s", path);
  if (columns_count(meta) > EP_LIMIT_CACHED_COLUMNS || !ep_dataset_meta_copy(meta, &one.meta))
    return;
  pthread_mutex_lock(&mutex);
  ep_dataset_meta_deinit(&held[next].meta);
  held[next] = one;
  next = (next + 1) % EP_LIMIT_CACHED_METAS;
  pthread_mutex_unlock(&mutex);
}
