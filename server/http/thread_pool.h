/* thread_pool.h: a few threads for tasks that would hold up an HTTP thread: an uploaded table is
 * read, a long curve is thinned. */
#ifndef EP_SERVER_HTTP_THREAD_POOL_H
#define EP_SERVER_HTTP_THREAD_POOL_H

#include "api/status.h"

typedef struct ep_thread_pool ep_thread_pool;

/* Part of the caller's own struct; it must live until `call` returns. */
typedef struct ep_thread_pool_task {
  void (*call)(void *context);
  void *context;
  struct ep_thread_pool_task *next; /* the pool's */
} ep_thread_pool_task;

ep_status ep_thread_pool_create(int threads, ep_thread_pool **out, ep_error *error);
/* Runs what is queued, then ends the threads. NULL is allowed. */
void ep_thread_pool_destroy(ep_thread_pool *pool);
/* First in, first out. Thread-safe. */
void ep_thread_pool_add(ep_thread_pool *pool, ep_thread_pool_task *task);

#endif
