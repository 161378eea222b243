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

void ep_barrier_wait(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  const uint64_t meeting = barrier->meetings;
  if (++barrier->waiting == barrier->count) {
    barrier->waiting = 0;
    barrier->meetings++;
    pthread_cond_broadcast(&barrier->met);
  }
  while (barrier->meetings == meeting && !barrier->broken)
    pthread_cond_wait(&barrier->met, &barrier->mutex);
  pthread_mutex_unlock(&barrier->mutex);
}

void ep_barrier_break(ep_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  barrier->broken = true;
  pthread_cond_broadcast(&barrier->met);
  pthread_mutex_unlock(&barrier->mutex);
}
