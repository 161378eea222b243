#include "server/http/thread_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WORK_THREADS = 8 };

struct ep_thread_pool {
  pthread_mutex_t mutex; /* guards the list and `stopping` */
  pthread_cond_t changed;
  ep_thread_pool_task *first, **last;
  bool stopping;
  pthread_t threads[WORK_THREADS];
  int threads_count;
};

static void *thread_run(void *context) {
  ep_thread_pool *pool = context;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    while (!pool->first && !pool->stopping) pthread_cond_wait(&pool->changed, &pool->mutex);
    ep_thread_pool_task *task = pool->first;
    if (!task) break; /* stopping, and nothing left */
    pool->first = task->next;
    if (!pool->first) pool->last = &pool->first;
    pthread_mutex_unlock(&pool->mutex);
    task->call(task->context); /* may free the task */
    pthread_mutex_lock(&pool->mutex);
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

ep_status ep_thread_pool_create(int threads, ep_thread_pool **out, ep_error *error) {
  ep_thread_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return ep_fail_memory(error);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->changed, NULL);
  pool->last = &pool->first;
  for (; pool->threads_count < threads && pool->threads_count < WORK_THREADS; pool->threads_count++)
    if (pthread_create(&pool->threads[pool->threads_count], NULL, thread_run, pool) != 0) break;
  if (pool->threads_count == 0) {
    ep_thread_pool_destroy(pool);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = pool;
  return EP_OK;
}

void ep_thread_pool_destroy(ep_thread_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->mutex);
  pool->stopping = true;
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->threads_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->changed);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

void ep_thread_pool_add(ep_thread_pool *pool, ep_thread_pool_task *task) {
  task->next = NULL;
  pthread_mutex_lock(&pool->mutex);
  *pool->last = task;
  pool->last = &task->next;
  pthread_cond_signal(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
}
