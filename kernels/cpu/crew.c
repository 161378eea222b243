#include "kernels/cpu/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* How often a waiting thread looks before it sleeps: some microseconds, what lies between two runs
 * of a step. */
enum { LOOKS = 2000 };

typedef struct {
  ep_crew *crew;
  pthread_t thread;
  int member;
} hand;

struct ep_crew {
  hand *hands; /* [hands_count], without the caller */
  int hands_count;

  pthread_mutex_t mutex; /* guards what follows, up to `done`; run and busy are also looked at
                            without it, to see whether sleeping is worth it */
  pthread_cond_t started, done;
  atomic_uint run; /* counts the runs */
  atomic_int busy; /* hands that have not ended this run */
  bool ending;

  ep_crew_task task; /* of this run: written before `run` counts on */
  void *context;
  int64_t count;
  atomic_llong next; /* the first task that nobody has taken */
};

static void take_tasks(ep_crew *crew, int member) {
  for (;;) {
    long long number = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
    if (number >= crew->count) return;
    crew->task(crew->context, number, member);
  }
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Waits for the run after `seen`; false when the crew ends. */
static bool wait_for_run(ep_crew *crew, unsigned seen) {
  for (int i = 0; i < LOOKS; i++) {
    if (atomic_load_explicit(&crew->run, memory_order_acquire) != seen) break;
    pause_briefly();
  }
  pthread_mutex_lock(&crew->mutex);
  while (atomic_load(&crew->run) == seen && !crew->ending)
    pthread_cond_wait(&crew->started, &crew->mutex);
  bool goes_on = !crew->ending;
  pthread_mutex_unlock(&crew->mutex);
  return goes_on;
}

static void *hand_main(void *context) {
  const hand *self = context;
  ep_crew *crew = self->crew;
  for (unsigned seen = 0; wait_for_run(crew, seen); seen++) {
    take_tasks(crew, self->member);
    pthread_mutex_lock(&crew->mutex);
    if (atomic_fetch_sub(&crew->busy, 1) == 1) pthread_cond_signal(&crew->done);
    pthread_mutex_unlock(&crew->mutex);
  }
  return NULL;
}

/* Signals are for the program's own threads. */
static void start_hands(ep_crew *crew, int wanted) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < wanted; i++) {
    hand *next = &crew->hands[crew->hands_count];
    *next = (hand){.crew = crew, .member = crew->hands_count + 1};
    if (pthread_create(&next->thread, NULL, hand_main, next) != 0) break;
    crew->hands_count++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

ep_status ep_crew_create(int members, ep_crew **out, ep_error *error) {
  int most = members < EP_CREW_MOST ? members : EP_CREW_MOST, wanted = most > 1 ? most - 1 : 0;
  ep_crew *crew = calloc(1, sizeof *crew);
  hand *hands = calloc((size_t)wanted + 1, sizeof *hands);
  if (!crew || !hands) {
    free(hands);
    free(crew);
    return ep_fail(error, EP_NO_MEMORY, "no memory for threads");
  }
  crew->hands = hands;
  pthread_mutex_init(&crew->mutex, NULL);
  pthread_cond_init(&crew->started, NULL);
  pthread_cond_init(&crew->done, NULL);
  start_hands(crew, wanted);
  *out = crew;
  return EP_OK;
}

void ep_crew_destroy(ep_crew *crew) {
  if (!crew) return;
  pthread_mutex_lock(&crew->mutex);
  crew->ending = true;
  pthread_cond_broadcast(&crew->started);
  pthread_mutex_unlock(&crew->mutex);
  for (int i = 0; i < crew->hands_count; i++) pthread_join(crew->hands[i].thread, NULL);
  pthread_cond_destroy(&crew->done);
  pthread_cond_destroy(&crew->started);
  pthread_mutex_destroy(&crew->mutex);
  free(crew->hands);
  free(crew);
}

static void wait_for_hands(ep_crew *crew) {
  for (int i = 0; i < LOOKS; i++) {
    if (atomic_load_explicit(&crew->busy, memory_order_acquire) == 0) break;
    pause_briefly();
  }
  pthread_mutex_lock(&crew->mutex);
  while (atomic_load(&crew->busy) > 0) pthread_cond_wait(&crew->done, &crew->mutex);
  pthread_mutex_unlock(&crew->mutex);
}

void ep_crew_run(ep_crew *crew, ep_crew_task task, void *context, int64_t count) {
  if (count <= 1 || crew->hands_count == 0) { /* not worth waking anyone */
    for (int64_t number = 0; number < count; number++) task(context, number, 0);
    return;
  }
  pthread_mutex_lock(&crew->mutex);
  crew->task = task;
  crew->context = context;
  crew->count = count;
  atomic_store(&crew->next, 0);
  atomic_store(&crew->busy, crew->hands_count);
  atomic_fetch_add(&crew->run, 1);
  pthread_cond_broadcast(&crew->started);
  pthread_mutex_unlock(&crew->mutex);
  take_tasks(crew, 0);
  wait_for_hands(crew);
}
