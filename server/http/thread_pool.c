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

static void *run(void *context) {
  ep_thread_pool *work = context;
  pthread_mutex_lock(&work->mutex);
  for (;;) {
    while (!work->first && !work->stopping) pthread_cond_wait(&work->changed, &work->mutex);
    ep_thread_pool_task *item = work->first;
    if (!item) break; /* stopping, and nothing left */
    work->first = item->next;
    if (!work->first) work->last = &work->first;
    pthread_mutex_unlock(&work->mutex);
    item->call(item->context); /* may free the item */
    pthread_mutex_lock(&work->mutex);
  }
  pthread_mutex_unlock(&work->mutex);
  return NULL;
}

ep_status ep_thread_pool_create(int threads, ep_thread_pool **out, ep_error *error) {
  ep_thread_pool *work = calloc(1, sizeof *work);
  if (!work) return ep_fail_memory(error);
  pthread_mutex_init(&work->mutex, NULL);
  pthread_cond_init(&work->changed, NULL);
  work->last = &work->first;
  for (; work->threads_count < threads && work->threads_count < WORK_THREADS; work->threads_count++)
    if (pthread_create(&work->threads[work->threads_count], NULL, run, work) != 0) break;
  if (work->threads_count == 0) {
    ep_thread_pool_destroy(work);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = work;
  return EP_OK;
}

void ep_thread_pool_destroy(ep_thread_pool *work) {
  if (!work) return;
  pthread_mutex_lock(&work->mutex);
  work->stopping = true;
  pthread_cond_broadcast(&work->changed);
  pthread_mutex_unlock(&work->mutex);
  for (int i = 0; i < work->threads_count; i++) pthread_join(work->threads[i], NULL);
  pthread_cond_destroy(&work->changed);
  pthread_mutex_destroy(&work->mutex);
  free(work);
}

void ep_thread_pool_add(ep_thread_pool *work, ep_thread_pool_task *item) {
  item->next = NULL;
  pthread_mutex_lock(&work->mutex);
  *work->last = item;
  work->last = &item->next;
  pthread_cond_signal(&work->changed);
  pthread_mutex_unlock(&work->mutex);
}
