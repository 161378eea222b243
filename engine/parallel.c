#include "engine/parallel.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

#include "api/limits.h"

typedef struct {
  ep_parallel_task *task;
  void *context;
  int64_t first, count;
  pthread_t thread;
  bool threaded;
} range;

static void *range_do(void *context) {
  const range *mine = context;
  mine->task(mine->context, mine->first, mine->count);
  return NULL;
}

/* Cores that this process may use. */
static int64_t cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int64_t ranges_count(int64_t count, int64_t least) {
  int64_t most = cores();
  if (most > EP_LIMIT_PARALLEL_THREADS) most = EP_LIMIT_PARALLEL_THREADS;
  if (most > count / least) most = count / least;
  return most > 1 ? most : 1;
}

/* Signals are for the program's own threads. */
static void ranges_start(range *ranges, int64_t count) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int64_t i = 1; i < count; i++)
    ranges[i].threaded = pthread_create(&ranges[i].thread, NULL, range_do, &ranges[i]) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* In so many ranges, of which the first is the caller's. */
static void ranges_run(int64_t count, int64_t parts, ep_parallel_task *task, void *context) {
  range ranges[EP_LIMIT_PARALLEL_THREADS];
  int64_t each = count / parts, longer = count % parts;
  for (int64_t i = 0, first = 0; i < parts; i++) {
    ranges[i] = (range){task, context, first, each + (i < longer), 0, false};
    first += ranges[i].count;
  }
  ranges_start(ranges, parts);
  for (int64_t i = 0; i < parts; i++)
    if (!ranges[i].threaded) range_do(&ranges[i]);
  for (int64_t i = 1; i < parts; i++)
    if (ranges[i].threaded) pthread_join(ranges[i].thread, NULL);
}

void ep_parallel_run(int64_t count, int64_t least, ep_parallel_task *task, void *context) {
  ranges_run(count, ranges_count(count, least), task, context);
}

void ep_parallel_for(int64_t count, ep_parallel_task *task, void *context) {
  assert(count <= EP_LIMIT_PARALLEL_THREADS);
  ranges_run(count, count > 1 ? count : 1, task, context);
}
