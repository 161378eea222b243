/* points.c: which training is next. */
#include <stdlib.h>
#include <string.h>

#include "engine/sweep/runner.h"
#include "engine/training/trainer.h"

enum { LOOK_MS = 250 }; /* how often a thread that waits for helpers says that the sweep goes on */

/* Whether the next training is of this device. "cuda" is any of them. */
static void device_look(ep_sweep_runner *runner) {
  const char *wanted = ep_sweep_device(runner->run->sweep, runner->current.point);
  const char *here = runner->run->shared.device;
  if (!wanted || runner->stops || strcmp(wanted, "auto") == 0 || strcmp(wanted, here) == 0) return;
  if (strcmp(wanted, "cuda") == 0 && strncmp(here, "cuda:", 5) == 0) return;
  ep_error error = {0};
  runner->elsewhere = wanted;
  ep_sweep_stop(runner, ep_fail(&error, EP_PAUSED, "continues with %s", wanted), &error);
}

/* The search's next point. EP_SEARCH_DONE also where the sweep stops. */
static ep_search_answer point_name(ep_sweep_runner *runner, ep_trial_point *out) {
  if (!runner->search) return EP_SEARCH_DONE;
  if (runner->next_part == runner->parts) {
    ep_search_answer answer = ep_search_next(runner->search, &runner->current);
    if (answer != EP_SEARCH_TRAIN) return answer;
    runner->next_part = 0;
  }
  device_look(runner);
  if (runner->stops) return EP_SEARCH_DONE;
  const ep_search_training *training = &runner->current;
  const int part = runner->next_part++;
  *out = (ep_trial_point){.number = (training->number - 1) * runner->parts + part + 1,
                          .trial = training->trial,
                          .epochs = training->epochs,
                          .part = part};
  memcpy(out->point, training->point, sizeof out->point);
  return EP_SEARCH_TRAIN;
}

static bool points_reserve(ep_sweep_runner *runner, int64_t count) {
  if (runner->points_first > 0) {
    memmove(runner->points, runner->points + runner->points_first,
            (size_t)runner->points_count * sizeof *runner->points);
    runner->points_first = 0;
  }
  if (count <= runner->points_capacity) return true;
  int64_t capacity = runner->points_capacity > 0 ? runner->points_capacity : 256;
  while (capacity < count) capacity *= 2;
  ep_trial_point *points = realloc(runner->points, (size_t)capacity * sizeof *points);
  if (!points) return false;
  runner->points = points;
  runner->points_capacity = capacity;
  return true;
}

static int numbers_compare(const void *a, const void *b) {
  const int64_t first = ((const ep_trial_point *)a)->number;
  const int64_t second = ((const ep_trial_point *)b)->number;
  return (first > second) - (first < second);
}

/* The lowest numbers go first: results are stored in that order. */
ep_status ep_sweep_points_add(ep_sweep_runner *runner, const ep_trial_point *points, int64_t count,
                              ep_error *error) {
  if (!points_reserve(runner, runner->points_count + count)) return ep_fail_memory(error);
  memcpy(runner->points + runner->points_count, points, (size_t)count * sizeof *points);
  runner->points_count += count;
  if (runner->search)
    qsort(runner->points, (size_t)runner->points_count, sizeof *points, numbers_compare);
  pthread_cond_broadcast(&runner->told);
  return EP_OK;
}

int64_t ep_sweep_points_fill(ep_sweep_runner *runner, int64_t most) {
  ep_sweep_stops_look(runner);
  if (runner->stops) return 0;
  if (runner->points_count < most && !points_reserve(runner, most)) return runner->points_count;
  while (runner->points_count < most) {
    ep_trial_point *next = &runner->points[runner->points_first + runner->points_count];
    if (point_name(runner, next) != EP_SEARCH_TRAIN) break;
    runner->points_count++;
  }
  return runner->stops ? 0 : runner->points_count;
}

void ep_sweep_points_take(ep_sweep_runner *runner, ep_trial_point *out, int64_t count) {
  memcpy(out, runner->points + runner->points_first, (size_t)count * sizeof *out);
  runner->points_first += count;
  runner->points_count -= count;
  for (int64_t i = 0; i < count; i++)
    if (out[i].number > runner->named) runner->named = out[i].number;
}

/* Until something is told, or it is time to say that the sweep goes on: nobody else does where all
 * threads wait for helpers. */
static void told_wait(ep_sweep_runner *runner) {
  const struct timespec until = ep_sweep_deadline(LOOK_MS);
  runner->waiting++;
  const bool late = pthread_cond_timedwait(&runner->told, &runner->mutex, &until) != 0;
  const bool all = runner->waiting == runner->threads;
  runner->waiting--;
  if (!late || !all) return;
  pthread_mutex_unlock(&runner->mutex);
  ep_sweep_alive(runner);
  pthread_mutex_lock(&runner->mutex);
}

/* A helper tells what it has before it waits for more. */
static bool helper_wait(ep_sweep_runner *runner) {
  ep_error error = {0};
  if (runner->closing) return false;
  if (runner->in_order > 0) {
    pthread_mutex_unlock(&runner->mutex);
    ep_status status = ep_sweep_results_send(runner, true, &error);
    pthread_mutex_lock(&runner->mutex);
    if (status != EP_OK) ep_sweep_stop(runner, status, &error);
    return true;
  }
  told_wait(runner);
  return true;
}

bool ep_sweep_training_take(ep_sweep_runner *runner, bool waits, ep_trial_record *out) {
  ep_trial_point point;
  for (;;) {
    ep_sweep_stops_look(runner);
    if (runner->stops) return false;
    if (runner->points_count > 0) {
      ep_sweep_points_take(runner, &point, 1);
      break;
    }
    if (!runner->search) {
      if (!waits || !helper_wait(runner)) return false;
      continue;
    }
    ep_search_answer answer = point_name(runner, &point);
    if (answer == EP_SEARCH_TRAIN) {
      if (point.number > runner->named) runner->named = point.number;
      break;
    }
    if (runner->stops || !waits) return false;
    if (answer == EP_SEARCH_DONE && ep_sweep_helpers_have(runner) == 0) return false;
    told_wait(runner);
  }
  ep_sweep_record_begin(&point, out);
  return true;
}

/* This worker's share of what is known. The mutex is held. */
static int64_t share_find(ep_sweep_runner *runner, int64_t most) {
  ep_share_worker workers[EP_LIMIT_SWEEP_WORKERS + 1];
  int places[EP_LIMIT_SWEEP_WORKERS + 1];
  const int64_t known = ep_sweep_points_fill(runner, most);
  const int count = ep_sweep_workers_list(runner, workers, places);
  if (!runner->shares) return known;
  return ep_shares_next(workers, count, 0, known);
}

int64_t ep_sweep_trainings_take(ep_sweep_runner *runner, ep_trial_record *records, int64_t most) {
  int64_t count = 0;
  ep_sweep_helper *own = &runner->own;
  pthread_mutex_lock(&runner->mutex);
  own->done += own->has;
  if (own->has > 0) own->seconds += ep_seconds_now() - own->given;
  own->has = 0;
  for (;;) {
    count = share_find(runner, most);
    if (count > 0 || runner->stops) break;
    if (runner->search ? ep_sweep_helpers_have(runner) == 0 : !helper_wait(runner)) break;
    if (runner->search) told_wait(runner);
  }
  for (int64_t i = 0; i < count; i++) {
    ep_trial_point point;
    ep_sweep_points_take(runner, &point, 1);
    ep_sweep_record_begin(&point, &records[i]);
  }
  if (runner->stops) count = 0;
  own->has = count;
  own->given = ep_seconds_now();
  pthread_mutex_unlock(&runner->mutex);
  return count;
}
