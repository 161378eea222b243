#include "kernels/cpu/runtime/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cpu/runtime/denormals.h"

/* How long a waiting thread looks before it sleeps: some times what it takes to wake one (30 to 50
 * us on a virtual machine), since what lies between two runs of a step is often as long. */
enum { LOOK_US = 200, LOOKS = 32 }; /* looks between two looks at the clock */

typedef struct {
  ep_crew *crew;
  pthread_t thread;
  int member;
} hand;

struct ep_crew {
  hand *hands; /* [hands_count], without the caller */
  int hands_count;

  pthread_mutex_t mutex; /* guards `ending`, and what a thread that is about to sleep saw */
  pthread_cond_t started, done;
  bool ending;

  /* Tasks of this run that nobody has taken, and those that have not ended. Whoever takes one owns
   * a share of the run: what follows was written before and stays until it has ended it. A thread
   * that comes too late finds nothing, and nobody waits for it. */
  atomic_llong left, unfinished;
  ep_crew_task task;
  void *context;
  int64_t count;
};

static void task_take_all(ep_crew *crew, int member) {
  for (;;) {
    long long left = atomic_load_explicit(&crew->left, memory_order_relaxed);
    do {
      if (left == 0) return;
    } while (!atomic_compare_exchange_weak_explicit(&crew->left, &left, left - 1,
                                                    memory_order_acquire, memory_order_relaxed));
    crew->task(crew->context, crew->count - left, member);
    if (atomic_fetch_sub_explicit(&crew->unfinished, 1, memory_order_acq_rel) == 1 && member > 0) {
      pthread_mutex_lock(&crew->mutex);
      pthread_cond_signal(&crew->done);
      pthread_mutex_unlock(&crew->mutex);
    }
  }
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Looks for a while whether a counter is zero, or is not; whether it is. */
static bool look(atomic_llong *counter, bool zero) {
  for (int64_t until = 0, now = 0; now <= until; now = now_us()) {
    if (until == 0) until = now_us() + LOOK_US;
    for (int i = 0; i < LOOKS; i++) {
      if ((atomic_load_explicit(counter, memory_order_acquire) == 0) == zero) return true;
      pause_briefly();
    }
  }
  return false;
}

/* Waits for tasks; false when the crew ends. */
static bool wait_for_tasks(ep_crew *crew) {
  if (look(&crew->left, false)) return true;
  pthread_mutex_lock(&crew->mutex);
  while (atomic_load(&crew->left) == 0 && !crew->ending)
    pthread_cond_wait(&crew->started, &crew->mutex);
  bool goes_on = !crew->ending;
  pthread_mutex_unlock(&crew->mutex);
  return goes_on;
}

static void *hand_main(void *context) {
  const hand *self = context;
  ep_denormals_flush();
  while (wait_for_tasks(self->crew)) task_take_all(self->crew, self->member);
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

static void wait_for_ends(ep_crew *crew) {
  if (look(&crew->unfinished, true)) return;
  pthread_mutex_lock(&crew->mutex);
  while (atomic_load(&crew->unfinished) > 0) pthread_cond_wait(&crew->done, &crew->mutex);
  pthread_mutex_unlock(&crew->mutex);
}

void ep_crew_run(ep_crew *crew, ep_crew_task task, void *context, int64_t count) {
  if (count <= 1 || crew->hands_count == 0) { /* not worth waking anyone */
    for (int64_t number = 0; number < count; number++) task(context, number, 0);
    return;
  }
  crew->task = task;
  crew->context = context;
  crew->count = count;
  atomic_store(&crew->unfinished, count);
  pthread_mutex_lock(&crew->mutex);
  atomic_store_explicit(&crew->left, count, memory_order_release);
  pthread_cond_broadcast(&crew->started);
  pthread_mutex_unlock(&crew->mutex);
  task_take_all(crew, 0);
  wait_for_ends(crew);
}
