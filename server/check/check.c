#include "server/check/check.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "server/check/checkup.h"
#include "server/process/data_dir.h"

static const struct {
  ep_status (*run)(ep_checkup *checkup, ep_error *error);
  const char *stage;
} checks[] = {
#define CHECK_ROW(function, stage) {function, stage},
    EP_CHECKS(CHECK_ROW)
#undef CHECK_ROW
};

/* A check that cannot go on is a fault, and the others go on. */
static void checks_run(ep_checkup *checkup) {
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    ep_error error = {0};
    atomic_store(&checkup->done, 0);
    atomic_store(&checkup->stage, checks[i].stage);
    if (checks[i].run(checkup, &error) != EP_OK)
      ep_checkup_fault(checkup, checkup->data_dir, "%s", error.message);
  }
}

/* A line a second on a terminal, from a thread of its own: one file may take long. */
typedef struct {
  ep_checkup *checkup;
  pthread_t thread;
  bool threaded, ended;
  pthread_mutex_t mutex; /* guards `ended` */
  pthread_cond_t end;
} progress;

static void *progress_print(void *context) {
  progress *p = context;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  pthread_mutex_lock(&p->mutex);
  while (!p->ended) {
    until.tv_sec++;
    if (pthread_cond_timedwait(&p->end, &p->mutex, &until) != ETIMEDOUT) continue;
    fprintf(stderr, "checking %s: %lld done\n", atomic_load(&p->checkup->stage),
            (long long)atomic_load(&p->checkup->done));
  }
  pthread_mutex_unlock(&p->mutex);
  return NULL;
}

static void progress_begin(progress *p, ep_checkup *checkup) {
  pthread_condattr_t steady;
  *p = (progress){.checkup = checkup};
  if (!isatty(STDERR_FILENO)) return;
  pthread_condattr_init(&steady);
  pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->end, &steady);
  pthread_condattr_destroy(&steady);
  p->threaded = pthread_create(&p->thread, NULL, progress_print, p) == 0;
}

static void progress_end(progress *p) {
  if (!p->threaded) return;
  pthread_mutex_lock(&p->mutex);
  p->ended = true;
  pthread_cond_signal(&p->end);
  pthread_mutex_unlock(&p->mutex);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->end);
  pthread_mutex_destroy(&p->mutex);
}

ep_status ep_check_run(const char *data_dir, FILE *out, int64_t *faults, ep_error *error) {
  char path[EP_PATH_BYTES];
  int lock = -1;
  progress shown;
  ep_checkup checkup = {
      .data_dir = data_dir, .out = out, .mutex = PTHREAD_MUTEX_INITIALIZER, .stage = "the store"};
  ep_error why = {0};
  ep_status status = ep_data_dir_lock(data_dir, &lock, error);
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, EP_STORE_FILE, NULL);
  if (status == EP_OK) {
    progress_begin(&shown, &checkup);
    if (!ep_data_dir_exists(path))
      ep_checkup_fault(&checkup, path, "not found; --rescue builds a new one");
    else if (ep_store_open(path, &checkup.store, &why) != EP_OK)
      ep_checkup_fault(&checkup, path, "%s", why.message);
    else
      checks_run(&checkup);
    ep_store_close(checkup.store);
    progress_end(&shown);
  }
  if (lock >= 0) close(lock);
  *faults = checkup.faults;
  return status;
}
