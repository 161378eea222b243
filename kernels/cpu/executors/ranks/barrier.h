/* barrier.h: where threads meet, and which can be broken: a thread of which one hears no more keeps
 * none of the others waiting. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_BARRIER_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_BARRIER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t met;
  int count, waiting, left;
  uint64_t meetings;
  bool broken;
} ep_barrier;

/* In place; ep_barrier_deinit afterwards, when nobody waits. */
void ep_barrier_init(ep_barrier *barrier, int count);
void ep_barrier_deinit(ep_barrier *barrier);
/* Returns when `count` threads wait, or it is broken. */
void ep_barrier_wait(ep_barrier *barrier);
/* Of threads that meet several times and then go on to something else, all of them as often.
 * ep_barrier_meet waits as ep_barrier_wait does, unless another one has gone on: false.
 * ep_barrier_leave goes on; false: another one waits for this one here. After the last one it all
 * begins anew. */
bool ep_barrier_meet(ep_barrier *barrier);
bool ep_barrier_leave(ep_barrier *barrier);
/* For good. */
void ep_barrier_break(ep_barrier *barrier);

#endif
