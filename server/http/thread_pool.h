/* thread_pool.h: a few threads for what would hold up everybody else if an HTTP thread did it:
 * reading an uploaded table, thinning a long curve. */
#ifndef EP_SERVER_HTTP_THREAD_POOL_H
#define EP_SERVER_HTTP_THREAD_POOL_H

#include "api/status.h"

typedef struct ep_work ep_work;

/* The caller allocates one as part of what the work is about; it must live until `call` returns. */
typedef struct ep_work_item {
  void (*call)(void *context);
  void *context;
  struct ep_work_item *next;
} ep_work_item;

ep_status ep_work_create(int threads, ep_work **out, ep_error *error);
/* Ends what is under way and what waits, then the threads. NULL is allowed. */
void ep_work_destroy(ep_work *work);
/* First in, first out. */
void ep_work_add(ep_work *work, ep_work_item *item);

#endif
