#include "server/idle/idle.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "engine/data/datasets/cached_meta.h"
#include "server/jobs/metrics.h"

struct ep_idle {
  ep_curves *curves;
  ep_jobs *jobs;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards `stopping` */
  pthread_cond_t stopped;
  bool stopping;
};

/* Whether to go on after a second. */
static bool second_wait(ep_idle *idle) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec++;
  pthread_mutex_lock(&idle->mutex);
  while (!idle->stopping && pthread_cond_timedwait(&idle->stopped, &idle->mutex, &until) == 0) {
  }
  const bool goes_on = !idle->stopping;
  pthread_mutex_unlock(&idle->mutex);
  return goes_on;
}

/* Every second, whatever memory does: a request whose client has gone may work on, and what it
 * frees late shows in no number. A round of an idle daemon takes a tenth of a millisecond. */
static void *idle_run(void *context) {
  ep_idle *idle = context;
  while (second_wait(idle)) {
    ep_cached_metas_expire(EP_LIMIT_IDLE_SECONDS);
    ep_curves_expire(idle->curves, EP_LIMIT_IDLE_SECONDS);
    ep_jobs_memory_release(idle->jobs);
    malloc_trim(0);
  }
  return NULL;
}

ep_status ep_idle_start(ep_curves *curves, ep_jobs *jobs, ep_idle **out, ep_error *error) {
  ep_idle *idle = calloc(1, sizeof *idle);
  if (!idle) return ep_fail_memory(error);
  *idle = (ep_idle){.curves = curves, .jobs = jobs};
  pthread_mutex_init(&idle->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&idle->stopped, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&idle->thread, NULL, idle_run, idle) == 0) {
    *out = idle;
    return EP_OK;
  }
  pthread_cond_destroy(&idle->stopped);
  pthread_mutex_destroy(&idle->mutex);
  free(idle);
  return ep_fail(error, EP_INTERNAL, "a thread cannot be started");
}

void ep_idle_stop(ep_idle *idle) {
  if (!idle) return;
  pthread_mutex_lock(&idle->mutex);
  idle->stopping = true;
  pthread_cond_signal(&idle->stopped);
  pthread_mutex_unlock(&idle->mutex);
  pthread_join(idle->thread, NULL);
  pthread_cond_destroy(&idle->stopped);
  pthread_mutex_destroy(&idle->mutex);
  free(idle);
}
