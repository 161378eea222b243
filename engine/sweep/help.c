#include "engine/sweep/help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sweep/runner.h"

struct ep_sweep_help {
  pthread_mutex_t mutex;   /* guards what follows; held before the runner's where both are */
  ep_sweep_runner *runner; /* NULL: it is not ready, or is over */
  ep_trial_point *early;   /* [count]: those that came before; owned */
  int64_t count;
};

ep_sweep_help *ep_sweep_help_create(void) {
  ep_sweep_help *help = calloc(1, sizeof *help);
  if (help) pthread_mutex_init(&help->mutex, NULL);
  return help;
}

void ep_sweep_help_destroy(ep_sweep_help *help) {
  if (!help) return;
  free(help->early);
  pthread_mutex_destroy(&help->mutex);
  free(help);
}

/* A leader may have been taken over: what it names must be there. */
static bool points_valid(const ep_sweep_runner *runner, const ep_trial_point *points,
                         int64_t count) {
  const int axes = runner->run->sweep->axes_count;
  for (int64_t i = 0; i < count; i++) {
    if (points[i].part < 0 || points[i].part >= runner->parts || points[i].epochs < 0) return false;
    for (int a = 0; a < axes; a++)
      if (!isfinite(points[i].point[a])) return false;
  }
  return true;
}

static ep_status runner_add(ep_sweep_runner *runner, const ep_trial_point *points, int64_t count,
                            ep_error *error) {
  if (!points_valid(runner, points, count))
    return ep_fail(error, EP_MALFORMED, "points outside the sweep");
  pthread_mutex_lock(&runner->mutex);
  ep_status status = ep_sweep_points_add(runner, points, count, error);
  pthread_mutex_unlock(&runner->mutex);
  return status;
}

static ep_status early_add(ep_sweep_help *help, const ep_trial_point *points, int64_t count,
                           ep_error *error) {
  ep_trial_point *grown = realloc(help->early, (size_t)(help->count + count) * sizeof *help->early);
  if (!grown) return ep_fail_memory(error);
  memcpy(grown + help->count, points, (size_t)count * sizeof *points);
  help->early = grown;
  help->count += count;
  return EP_OK;
}

ep_status ep_sweep_help_add(ep_sweep_help *help, const ep_trial_point *points, int64_t count,
                            ep_error *error) {
  if (count == 0) return EP_OK;
  pthread_mutex_lock(&help->mutex);
  ep_status status = help->runner ? runner_add(help->runner, points, count, error)
                                  : early_add(help, points, count, error);
  pthread_mutex_unlock(&help->mutex);
  return status;
}

void ep_sweep_help_wake(ep_sweep_help *help) {
  pthread_mutex_lock(&help->mutex);
  if (help->runner) {
    pthread_mutex_lock(&help->runner->mutex);
    pthread_cond_broadcast(&help->runner->told);
    pthread_mutex_unlock(&help->runner->mutex);
  }
  pthread_mutex_unlock(&help->mutex);
}

static ep_status runner_attach(ep_sweep_help *help, ep_sweep_runner *runner, ep_error *error) {
  pthread_mutex_lock(&help->mutex);
  ep_status status = help->count > 0 ? runner_add(runner, help->early, help->count, error) : EP_OK;
  help->count = 0;
  help->runner = runner;
  pthread_mutex_unlock(&help->mutex);
  return status;
}

static void runner_detach(ep_sweep_help *help) {
  pthread_mutex_lock(&help->mutex);
  help->runner = NULL;
  pthread_mutex_unlock(&help->mutex);
}

ep_status ep_sweep_help_run(ep_sweep_help *help, const ep_sweep_run *run,
                            ep_status (*ready)(void *context, int64_t slots, bool together,
                                               ep_error *error),
                            ep_error *error) {
  ep_sweep_runner *runner = calloc(1, sizeof *runner);
  if (!runner) return ep_fail_memory(error);
  ep_status status = ep_sweep_runner_init(runner, run, error);
  if (status == EP_OK) status = runner_attach(help, runner, error);
  if (status == EP_OK)
    status = ready(run->shared.sink.context, runner->slots, runner->populations, error);
  if (status == EP_OK) {
    ep_sweep_run_all(runner);
    status = runner->status;
    if (error) *error = runner->error;
  }
  runner_detach(help);
  ep_sweep_runner_deinit(runner);
  free(runner);
  return status == EP_CANCELLED ? EP_OK : status;
}
