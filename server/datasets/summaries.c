#include "server/datasets/summaries.h"

#include <string.h>

#include "engine/data/datasets/meta.h"

void ep_summaries_init(ep_summaries *summaries) {
  summaries->count = summaries->next = 0;
  pthread_mutex_init(&summaries->mutex, NULL);
}

void ep_summaries_deinit(ep_summaries *summaries) {
  for (int i = 0; i < summaries->count; i++) ep_dataset_meta_deinit(&summaries->meta[i]);
  pthread_mutex_destroy(&summaries->mutex);
}

/* NULL = it is not held. The mutex is held. */
static const ep_dataset_meta *meta_find(const ep_summaries *summaries, const char *sha256) {
  for (int i = 0; i < summaries->count; i++)
    if (strcmp(summaries->meta[i].sha256, sha256) == 0) return &summaries->meta[i];
  return NULL;
}

char *ep_summaries_format(ep_summaries *summaries, const char *sha256, const char *name,
                          const char *owner, int64_t created_us, bool private) {
  pthread_mutex_lock(&summaries->mutex);
  const ep_dataset_meta *meta = meta_find(summaries, sha256);
  char *text = meta ? ep_dataset_summary_format(meta, name, owner, created_us, private) : NULL;
  pthread_mutex_unlock(&summaries->mutex);
  return text;
}

void ep_summaries_add_take(ep_summaries *summaries, ep_dataset_meta *meta) {
  ep_dataset_meta_drop_columns(meta);
  pthread_mutex_lock(&summaries->mutex);
  if (meta_find(summaries, meta->sha256)) {
    ep_dataset_meta_deinit(meta);
  } else {
    ep_dataset_meta *place = &summaries->meta[summaries->next];
    if (summaries->next < summaries->count)
      ep_dataset_meta_deinit(place);
    else
      summaries->count++;
    *place = *meta;
    summaries->next = (summaries->next + 1) % EP_LIMIT_LISTED_CONTENTS;
  }
  pthread_mutex_unlock(&summaries->mutex);
  *meta = (ep_dataset_meta){0};
}
