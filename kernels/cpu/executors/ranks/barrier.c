#include "kernels/cpu/executors/ranks/barrier.h"

void ep_barrier_init(ep_barrier *barrier, int count) {
  *barrier = (ep_barrier){.count = count};
  pthread_mutex_init(&barrier->mutex, NULL);
  pthread_cond_init(&barrier->met, NULL);
}

void ep_barrier_deinit(ep_barrier *barrier) {
  pthread_cond_destroy(&barrier->met);
  pthread_mutex_destroy(&barrier->mutex);
}

/* The mutex is held. */
static void all_await(ep_barrier *barrier) {
  const uint64_t meeting = barrier->meetings;
  if (++barrier->waiting == barrier->count) {
    barrier->waiting = 0;
    barrier->meetings++;
    pthread_cond_broadcast(&barrier->met);
  }
  while (barrier->meetings == meeting && !barrier->broken)
    pthread_cond_wait(&barrier->met, &barrier->mutex);
}

void ep_barrier_wait(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  all_await(barrier);
  pthread_mutex_unlock(&barrier->mutex);
}

bool ep_barrier_meet(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  const bool all = barrier->left == 0;
  if (all) all_await(barrier);
  pthread_mutex_unlock(&barrier->mutex);
  return all;
}

bool ep_barrier_leave(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  const bool alone = barrier->waiting == 0;
  if (++barrier->left == barrier->count) barrier->left = 0;
  pthread_mutex_unlock(&barrier->mutex);
  return alone;
}

void ep_barrier_break(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  barrier->broken = true;
  pthread_cond_broadcast(&barrier->met);
  pthread_mutex_unlock(&barrier->mutex);
}
