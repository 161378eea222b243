#include "tests/gpu/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 16 };

typedef struct {
  const ep_subject *cuda;
  ep_case *const *cases;
  int count;
  atomic_int next;
} work;

static void *thread_compile(void *argument) {
  work *self = argument;
  for (int i; (i = atomic_fetch_add(&self->next, 1)) < self->count;) {
    ep_instance *instance = NULL;
    self->cuda->ops->compile(self->cuda->backend, &self->cases[i]->program, self->cuda->executor,
                             &instance, NULL);
    if (instance) self->cuda->ops->release(instance);
  }
  return NULL;
}

void ep_gpu_compile_ahead(const ep_subject *cuda, ep_case *const *cases, int count) {
  work shared = {.cuda = cuda, .cases = cases, .count = count};
  pthread_t threads[THREADS_MAX];
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int started = 0;
  while (started < THREADS_MAX && started < cores &&
         pthread_create(&threads[started], NULL, thread_compile, &shared) == 0)
    started++;
  while (started > 0) pthread_join(threads[--started], NULL);
}
