#include "server/process/disk_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/files/free_space.h"
#include "engine/files/path.h"
#include "server/process/clock.h"

#define FRESH_US INT64_C(1000000) /* a check is good for so long */
#define PATIENCE_US \
  INT64_C(4000000) /* before one that runs counts as failed; below /readyz's own */

struct ep_disk_probe {
  const char *data_dir; /* lent */
  pthread_t thread;
  bool threaded;
  pthread_mutex_t mutex; /* guards what follows; not held while the disk or `done` is called */
  pthread_cond_t asked;
  bool stopping;
  int64_t begun_us; /* of the check that runs; 0 = none does */
  int64_t done_us;  /* the begin of the last check; 0 = there was none */
  ep_error last;    /* its result; status EP_OK: the folder is ready, */
  ep_error full;    /* and for new work as well */
  ep_disk_probe_request *requests;
};

static ep_status room_check(const char *data_dir, ep_error *error) {
  struct statvfs disk;
  if (statvfs(data_dir, &disk) != 0)
    return ep_fail(error, EP_UNAVAILABLE, "the data folder cannot be read: %s", strerror(errno));
  double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
  if (free_bytes >= EP_LIMIT_READY_BYTES) return EP_OK;
  return ep_fail(error, EP_UNAVAILABLE,
                 "the disk of the data folder has %.0f bytes left: delete jobs, or make room",
                 free_bytes);
}

ep_status ep_disk_probe_write(const char *data_dir, ep_error *error) {
  static const char TEXT[] = "ready\n";
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "tmp", "ready", NULL);
  if (status != EP_OK) return status;
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool good = file >= 0 && write(file, TEXT, sizeof TEXT - 1) == (ssize_t)(sizeof TEXT - 1) &&
              fdatasync(file) == 0;
  if (!good)
    status = ep_fail(error, EP_UNAVAILABLE, "the data folder is not writable: %s", strerror(errno));
  if (file >= 0) close(file);
  return status;
}

static void requests_end(ep_disk_probe_request *request, const ep_error *error,
                         const ep_error *full) {
  for (ep_disk_probe_request *next; request; request = next) {
    next = request->next; /* the request may be gone after its end */
    request->done(request->context, error->status != EP_OK ? error : NULL,
                  full->status != EP_OK ? full : NULL);
  }
}

/* One check, for all that wait. The mutex is held, and released meanwhile. */
static void check_run(ep_disk_probe *probe) {
  ep_error error = {0}, full = {0};
  probe->begun_us = ep_clock_steady_us();
  pthread_mutex_unlock(&probe->mutex);
  if (room_check(probe->data_dir, &error) == EP_OK &&
      ep_disk_probe_write(probe->data_dir, &error) == EP_OK)
    ep_free_space_check_folder(probe->data_dir, 0, &full);
  pthread_mutex_lock(&probe->mutex);
  probe->done_us = probe->begun_us;
  probe->begun_us = 0;
  probe->last = error;
  probe->full = full;
  ep_disk_probe_request *requests = probe->requests;
  probe->requests = NULL;
  pthread_mutex_unlock(&probe->mutex);
  requests_end(requests, &error, &full);
  pthread_mutex_lock(&probe->mutex);
}

static void *probe_run(void *context) {
  ep_disk_probe *probe = context;
  pthread_mutex_lock(&probe->mutex);
  while (!probe->stopping) {
    if (probe->requests)
      check_run(probe);
    else
      pthread_cond_wait(&probe->asked, &probe->mutex);
  }
  pthread_mutex_unlock(&probe->mutex);
  return NULL;
}

ep_status ep_disk_probe_create(const char *data_dir, ep_disk_probe **out, ep_error *error) {
  *out = NULL;
  ep_disk_probe *probe = calloc(1, sizeof *probe);
  if (!probe) return ep_fail_memory(error);
  probe->data_dir = data_dir;
  pthread_mutex_init(&probe->mutex, NULL);
  pthread_cond_init(&probe->asked, NULL);
  int failed = pthread_create(&probe->thread, NULL, probe_run, probe);
  probe->threaded = failed == 0;
  if (failed != 0) {
    ep_disk_probe_destroy(probe);
    return ep_fail(error, EP_NO_MEMORY, "no thread: %s", strerror(failed));
  }
  *out = probe;
  return EP_OK;
}

void ep_disk_probe_destroy(ep_disk_probe *probe) {
  if (!probe) return;
  ep_error error = {0};
  ep_fail(&error, EP_UNAVAILABLE, "the daemon is ending");
  pthread_mutex_lock(&probe->mutex);
  probe->stopping = true;
  pthread_cond_signal(&probe->asked);
  pthread_mutex_unlock(&probe->mutex);
  if (probe->threaded) pthread_join(probe->thread, NULL);
  requests_end(probe->requests, &error, &probe->full);
  pthread_cond_destroy(&probe->asked);
  pthread_mutex_destroy(&probe->mutex);
  free(probe);
}

void ep_disk_probe_ask(ep_disk_probe *probe, ep_disk_probe_request *request) {
  ep_error error = {0}, full = {0};
  int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&probe->mutex);
  bool hangs = probe->begun_us != 0 && now_us - probe->begun_us > PATIENCE_US;
  bool fresh = probe->done_us != 0 && now_us - probe->done_us < FRESH_US;
  if (hangs)
    ep_fail(&error, EP_UNAVAILABLE, "the data folder has not been writable for %lld s",
            (long long)((now_us - probe->begun_us) / 1000000));
  else if (fresh)
    error = probe->last, full = probe->full;
  bool waits = !hangs && !fresh;
  if (waits) {
    request->next = probe->requests;
    probe->requests = request;
    pthread_cond_signal(&probe->asked);
  } else {
    request->next = NULL;
  }
  pthread_mutex_unlock(&probe->mutex);
  if (!waits) requests_end(request, &error, &full);
}
