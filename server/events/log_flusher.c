#include "server/events/log_flusher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/clock.h"
#include "server/process/log.h"

enum { RETRY_US = 1000000 };

/* The mutex is held. */
static ep_log_flush *flush_find(const ep_log_flusher *flusher, const char *id) {
  ep_log_flush *flush = flusher->first;
  while (flush && strcmp(flush->id, id) != 0) flush = flush->next;
  return flush;
}

static void flush_unlink(ep_log_flusher *flusher, const ep_log_flush *flush) {
  ep_log_flush **link = &flusher->first;
  while (*link != flush) link = &(*link)->next;
  *link = flush->next;
}

/* The next one that is due, or NULL and when there will be one (INT64_MAX: not known). While the
 * flusher stops, all are due. The mutex is held. */
static ep_log_flush *flush_next(const ep_log_flusher *flusher, int64_t *due_us) {
  int64_t now_us = ep_clock_steady_us();
  *due_us = INT64_MAX;
  for (ep_log_flush *flush = flusher->first; flush; flush = flush->next) {
    if (flush->running) continue;
    if (flusher->stopping || flush->due_us <= now_us) return flush;
    if (flush->due_us < *due_us) *due_us = flush->due_us;
  }
  return NULL;
}

static void next_await(ep_log_flusher *flusher, int64_t due_us) {
  struct timespec until = {due_us / 1000000, due_us % 1000000 * 1000};
  if (due_us == INT64_MAX)
    pthread_cond_wait(&flusher->changed, &flusher->mutex);
  else
    pthread_cond_timedwait(&flusher->changed, &flusher->mutex, &until);
}

/* Flushes one log. The mutex is held, but not meanwhile. */
static void flush_run(ep_log_flusher *flusher, ep_log_flush *flush) {
  ep_error error = {0};
  flush->running = true;
  flush->again = false;
  pthread_mutex_unlock(&flusher->mutex);
  bool failed = ep_event_log_flush(flush->log, &error) != EP_OK;
  if (failed) ep_log(EP_LOG_ERROR, "job %s: %s; trying again", flush->id, error.message);
  pthread_mutex_lock(&flusher->mutex);
  flush->running = false;
  flush->failed = failed;
  flush->due_us = failed ? ep_clock_steady_us() + RETRY_US : 0;
  bool over = failed ? flusher->stopping : !flush->again;
  if (!over) {
    pthread_cond_signal(&flusher->changed);
    return;
  }
  flush_unlink(flusher, flush);
  pthread_mutex_unlock(&flusher->mutex);
  ep_open_logs_release(flusher->logs, flush->log);
  free(flush);
  pthread_mutex_lock(&flusher->mutex);
}

static void *thread_run(void *context) {
  ep_log_flusher *flusher = context;
  pthread_mutex_lock(&flusher->mutex);
  for (;;) {
    int64_t due_us;
    ep_log_flush *flush = flush_next(flusher, &due_us);
    if (flush)
      flush_run(flusher, flush);
    else if (flusher->stopping)
      break;
    else
      next_await(flusher, due_us);
  }
  pthread_mutex_unlock(&flusher->mutex);
  return NULL;
}

ep_status ep_log_flusher_start(ep_log_flusher *flusher, ep_open_logs *logs, ep_error *error) {
  pthread_condattr_t attributes;
  *flusher = (ep_log_flusher){.logs = logs};
  pthread_mutex_init(&flusher->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&flusher->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  for (; flusher->threads_count < EP_LOG_FLUSHER_THREADS; flusher->threads_count++)
    if (pthread_create(&flusher->threads[flusher->threads_count], NULL, thread_run, flusher) != 0)
      break;
  if (flusher->threads_count > 0) return EP_OK;
  ep_log_flusher_stop(flusher);
  return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
}

void ep_log_flusher_stop(ep_log_flusher *flusher) {
  if (!flusher->logs) return;
  pthread_mutex_lock(&flusher->mutex);
  flusher->stopping = true;
  pthread_cond_broadcast(&flusher->changed);
  pthread_mutex_unlock(&flusher->mutex);
  for (int i = 0; i < flusher->threads_count; i++) pthread_join(flusher->threads[i], NULL);
  pthread_cond_destroy(&flusher->changed);
  pthread_mutex_destroy(&flusher->mutex);
  flusher->logs = NULL;
}

/* Adds a log that is not there yet. The mutex is held. */
static ep_status flush_link(ep_log_flusher *flusher, const char *id, ep_error *error) {
  ep_log_flush *flush = calloc(1, sizeof *flush), **end = &flusher->first;
  if (!flush) return ep_fail_memory(error);
  snprintf(flush->id, sizeof flush->id, "%s", id);
  ep_status status = ep_open_logs_retain(flusher->logs, id, &flush->log, error);
  if (status != EP_OK) {
    free(flush);
    return status;
  }
  while (*end) end = &(*end)->next;
  *end = flush;
  pthread_cond_signal(&flusher->changed);
  return EP_OK;
}

ep_status ep_log_flusher_add(ep_log_flusher *flusher, const char *id, ep_error *error) {
  ep_status status = EP_OK;
  pthread_mutex_lock(&flusher->mutex);
  ep_log_flush *flush = flush_find(flusher, id);
  if (flush)
    flush->again = true;
  else
    status = flush_link(flusher, id, error);
  pthread_mutex_unlock(&flusher->mutex);
  return status;
}

bool ep_log_flusher_is_refused(ep_log_flusher *flusher, const char *id) {
  pthread_mutex_lock(&flusher->mutex);
  const ep_log_flush *flush = flush_find(flusher, id);
  bool refused = flush && flush->failed;
  pthread_mutex_unlock(&flusher->mutex);
  return refused;
}
