#include "server/events/open_logs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/data_dir.h"

void ep_open_logs_init(ep_open_logs *logs, const char *data_dir) {
  *logs = (ep_open_logs){.data_dir = data_dir};
  pthread_mutex_init(&logs->mutex, NULL);
  pthread_cond_init(&logs->opened, NULL);
}

void ep_open_logs_deinit(ep_open_logs *logs) {
  for (ep_open_log *entry = logs->entries, *next; entry; entry = next) {
    next = entry->next;
    ep_event_log_close(entry->log);
    free(entry);
  }
  pthread_cond_destroy(&logs->opened);
  pthread_mutex_destroy(&logs->mutex);
}

/* One holder less. Returns the entry when that was the last one, to be closed and freed; else NULL.
 * The mutex is held. */
static ep_open_log *entry_drop(ep_open_logs *logs, ep_open_log *entry) {
  if (--entry->holders > 0) return NULL;
  ep_open_log **link = &logs->entries;
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
  logs->count--;
  return entry;
}

static void entry_free(ep_open_log *entry) {
  if (!entry) return;
  ep_event_log_close(entry->log);
  free(entry);
}

/* Finds or adds the entry of a job and holds it; *add: it must be opened. NULL: memory is short.
 * The mutex is held. */
static ep_open_log *entry_hold(ep_open_logs *logs, const char *id, bool *add) {
  ep_open_log *entry = logs->entries;
  while (entry && (entry->failed || strcmp(entry->id, id) != 0)) entry = entry->next;
  *add = !entry;
  if (!entry) {
    entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    snprintf(entry->id, sizeof entry->id, "%s", id);
    entry->next = logs->entries;
    logs->entries = entry;
    logs->count++;
  }
  entry->holders++;
  return entry;
}

static ep_status entry_open(const ep_open_logs *logs, const char *id, ep_event_log **log,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, logs->data_dir, "jobs", id, NULL);
  if (status != EP_OK) return status;
  if (!ep_data_dir_exists(path))
    return ep_fail(error, EP_NOT_FOUND, "the folder of job %s is missing", id);
  status = ep_path_join(path, error, logs->data_dir, "jobs", id, EP_EVENTS_FILE, NULL);
  return status == EP_OK ? ep_event_log_open(path, log, error) : status;
}

ep_status ep_open_logs_retain(ep_open_logs *logs, const char *id, ep_event_log **out,
                              ep_error *error) {
  assert(ep_id_valid(id));
  *out = NULL;
  bool add = false;
  ep_status status = EP_OK;
  pthread_mutex_lock(&logs->mutex);
  ep_open_log *entry = entry_hold(logs, id, &add), *last = NULL;
  if (!entry) {
    status = ep_fail_memory(error);
  } else if (add) {
    ep_event_log *log = NULL;
    pthread_mutex_unlock(&logs->mutex);
    status = entry_open(logs, id, &log, error);
    pthread_mutex_lock(&logs->mutex);
    entry->log = log;
    entry->failed = status != EP_OK;
    pthread_cond_broadcast(&logs->opened);
  } else {
    while (!entry->log && !entry->failed) pthread_cond_wait(&logs->opened, &logs->mutex);
    if (entry->failed) status = ep_fail(error, EP_IO, "the events of job %s cannot be read", id);
  }
  if (status == EP_OK) {
    *out = entry->log;
  } else if (entry) {
    last = entry_drop(logs, entry);
  }
  pthread_mutex_unlock(&logs->mutex);
  entry_free(last);
  return status;
}

void ep_open_logs_release(ep_open_logs *logs, ep_event_log *log) {
  if (!log) return;
  pthread_mutex_lock(&logs->mutex);
  ep_open_log *entry = logs->entries;
  while (entry && entry->log != log) entry = entry->next;
  assert(entry);
  ep_open_log *last = entry_drop(logs, entry);
  pthread_mutex_unlock(&logs->mutex);
  entry_free(last);
}

int64_t ep_open_logs_count(ep_open_logs *logs) {
  pthread_mutex_lock(&logs->mutex);
  const int64_t count = logs->count;
  pthread_mutex_unlock(&logs->mutex);
  return count;
}
