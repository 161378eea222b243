/* summaries.h: descriptions of contents without their columns, held for the next list: that of
 * 65,536 columns takes 0.3 s to read.
 *
 * Thread-safe. */
#ifndef EP_SERVER_DATASETS_SUMMARIES_H
#define EP_SERVER_DATASETS_SUMMARIES_H

#include <pthread.h>

#include "api/limits.h"
#include "engine/data/datasets/dataset.h"

typedef struct {
  pthread_mutex_t mutex;                          /* guards all below */
  ep_dataset_meta meta[EP_LIMIT_LISTED_CONTENTS]; /* [count], without columns; owned */
  int count, next;                                /* next: the place that is given up next */
} ep_summaries;

void ep_summaries_init(ep_summaries *summaries);
void ep_summaries_deinit(ep_summaries *summaries);

/* The summary of a content by its SHA-256, as an item of a list; NULL: it is not held, or memory is
 * short. The caller frees it. */
char *ep_summaries_format(ep_summaries *summaries, const char *sha256, const char *name,
                          const char *owner, int64_t created_us, bool private);

/* Takes `meta` and leaves it empty. */
void ep_summaries_add_take(ep_summaries *summaries, ep_dataset_meta *meta);

#endif
