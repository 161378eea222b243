/* thread_pool.h: a few threads for what would hold up everybody else if an HTTP thread did it:
 * reading an uploaded table, thinning a long curve. */
#ifndef EP_SERVER_HTTP_THREAD_POOL_H
#define EP_SERVER_HTTP_THREAD_POOL_H

#include "api/status.h"

typedef struct ep_thread_pool ep_thread_pool;

/* The caller allocates one as part of what the work is about; it must live until `call` returns. */
typedef struct ep_thread_pool_task {
  void (*call)(void *context);
  void *context;
  struct ep_thread_pool_task *next;
} ep_thread_pool_task;

ep_status ep_thread_pool_create(int threads, ep_thread_pool **out, ep_error *error);
/* Ends what is under way and what waits, then the threads. NULL is allowed. */
void ep_thread_pool_destroy(ep_thread_pool *work);
/* First in, first out. */
void ep_thread_pool_add(ep_thread_pool *work, ep_thread_pool_task *item);

#endif
