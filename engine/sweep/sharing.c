#include "engine/sweep/sharing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/sweep/runner.h"
#include "engine/training/trainer.h"

enum {
  FRAME_POINTS = 16384, /* of one frame: 2.6 MB */
  KNOWN_MOST = 16384,   /* points that are named ahead, for shares that are fair */
  LEAST_TOGETHER = 32,  /* trainings of a worker that trains populations, else it is not worth it */
  LOOK_MS = 20,
  ANSWER_MS = 500 /* at most, for epochd to say which helpers there are */
};

struct ep_sweep_sharing {
  pthread_mutex_t mutex; /* guards what follows; held before the runner's where both are */
  pthread_cond_t set;
  ep_sweep_runner *runner; /* NULL: the sweep has not begun, or is over */
  uint64_t leases[EP_LIMIT_SWEEP_WORKERS];
  int count;
  bool told; /* which helpers there are */
};

static void clock_init(pthread_cond_t *cond) {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &clock);
  pthread_condattr_destroy(&clock);
}

ep_sweep_sharing *ep_sweep_sharing_create(void) {
  ep_sweep_sharing *sharing = calloc(1, sizeof *sharing);
  if (!sharing) return NULL;
  pthread_mutex_init(&sharing->mutex, NULL);
  clock_init(&sharing->set);
  return sharing;
}

void ep_sweep_sharing_destroy(ep_sweep_sharing *sharing) {
  if (!sharing) return;
  pthread_cond_destroy(&sharing->set);
  pthread_mutex_destroy(&sharing->mutex);
  free(sharing);
}

/* --- helpers; the runner's mutex is held ----------------------------------------------------- */

static int helper_find(const ep_sweep_runner *runner, uint64_t lease) {
  for (int i = 0; i < EP_LIMIT_SWEEP_WORKERS; i++)
    if (runner->helpers[i].lease == lease) return i;
  return -1;
}

/* Its points are nobody's again. */
static void helper_drop(ep_sweep_runner *runner, int place) {
  ep_error error = {0};
  const int64_t has = runner->helpers[place].has;
  ep_trial_point *points = has > 0 ? calloc((size_t)has, sizeof *points) : NULL;
  ep_status status = has == 0 || points ? EP_OK : ep_fail_memory(&error);
  int64_t count = 0;
  for (int64_t i = runner->in_order; points && count < has && i < runner->named; i++) {
    const ep_trial_record *record = &runner->records[i];
    if (i >= runner->capacity || runner->holder[i] != place + 1) continue;
    points[count] =
        (ep_trial_point){record->number, record->trial, record->epochs, record->part, {0}};
    memcpy(points[count++].point, record->point, sizeof points->point);
    runner->holder[i] = 0;
  }
  if (count > 0) status = ep_sweep_points_add(runner, points, count, &error);
  free(points);
  if (status != EP_OK) ep_sweep_stop(runner, status, &error);
  runner->helpers[place] = (ep_sweep_helper){0};
  pthread_cond_broadcast(&runner->told);
}

static bool is_listed(const uint64_t *leases, int count, uint64_t lease) {
  for (int i = 0; i < count; i++)
    if (leases[i] == lease) return true;
  return false;
}

static void helpers_set(ep_sweep_runner *runner, const uint64_t *leases, int count) {
  for (int i = 0; i < EP_LIMIT_SWEEP_WORKERS; i++)
    if (runner->helpers[i].lease != 0 && !is_listed(leases, count, runner->helpers[i].lease))
      helper_drop(runner, i);
  for (int i = 0; i < count; i++) {
    if (helper_find(runner, leases[i]) >= 0) continue;
    const int place = helper_find(runner, 0);
    if (place >= 0) runner->helpers[place] = (ep_sweep_helper){.lease = leases[i]};
  }
  pthread_cond_broadcast(&runner->told);
}

/* --- points go out --------------------------------------------------------------------------- */

/* Of a sweep that says how many trainings may be under way, those that are not this worker's. */
static int64_t room_left(const ep_sweep_runner *runner) {
  const int64_t most = runner->run->sweep->max_parallel;
  if (most == 0 || runner->populations) return FRAME_POINTS;
  return most - runner->threads - ep_sweep_helpers_have(runner);
}

/* The place of a helper that is to get points, which are taken for it: [*count] in `out`; -1: none
 * is. */
static int points_choose(ep_sweep_runner *runner, ep_trial_point *out, int64_t *count,
                         ep_error *error) {
  ep_share_worker workers[EP_LIMIT_SWEEP_WORKERS + 1];
  int places[EP_LIMIT_SWEEP_WORKERS + 1];
  const int listed = ep_sweep_workers_list(runner, workers, places);
  const int64_t known = listed > 1 ? ep_sweep_points_fill(runner, KNOWN_MOST) : 0;
  const int64_t room = room_left(runner);
  for (int i = 1; i < listed && known > 0; i++) {
    int64_t next = ep_shares_next(workers, listed, i, known);
    if (next > room) next = room;
    if (next > FRAME_POINTS) next = FRAME_POINTS;
    if (next <= 0) continue;
    ep_sweep_helper *helper = &runner->helpers[places[i]];
    *count = next;
    ep_sweep_points_take(runner, out, next);
    ep_status status = ep_sweep_room_make(runner, runner->named, error);
    if (status != EP_OK) {
      ep_sweep_stop(runner, status, error);
      return -1;
    }
    for (int64_t p = 0; p < next; p++) {
      ep_sweep_record_begin(&out[p], &runner->records[out[p].number - 1]);
      runner->holder[out[p].number - 1] = (uint8_t)(places[i] + 1);
    }
    if (helper->has == 0) helper->given = ep_seconds_now();
    helper->has += next;
    return places[i];
  }
  return -1;
}

static void told_await(ep_sweep_runner *runner) {
  const struct timespec until = ep_sweep_deadline(LOOK_MS);
  pthread_cond_timedwait(&runner->told, &runner->mutex, &until);
}

/* The mutex is not held. */
static ep_status points_give(const ep_sweep_runner *runner, uint64_t lease,
                             const ep_trial_point *points, int64_t count) {
  const ep_sweep_run *run = runner->run;
  return run->points(run->shared.sink.context, lease, points, count, NULL);
}

/* It did not get what it was to train, and is a helper no more, unless epochd lists it anew. */
static void helpers_miss(ep_sweep_runner *runner, uint64_t lease) {
  const int place = helper_find(runner, lease);
  if (place >= 0) helper_drop(runner, place);
}

/* The thread that hands points to helpers, and stores what comes back. */
static void *points_hand(void *context) {
  ep_sweep_runner *runner = context;
  ep_trial_point *points = malloc(FRAME_POINTS * sizeof *points);
  ep_error error = {0};
  pthread_mutex_lock(&runner->mutex);
  while (points && !runner->closing) {
    int64_t count = 0;
    const int place = points_choose(runner, points, &count, &error);
    const uint64_t lease = place >= 0 ? runner->helpers[place].lease : 0;
    const bool due = runner->in_order > runner->sent;
    if (place < 0 && !due) pthread_cond_wait(&runner->told, &runner->mutex);
    if (place < 0 && due) told_await(runner);
    pthread_mutex_unlock(&runner->mutex);
    ep_status given = place >= 0 ? points_give(runner, lease, points, count) : EP_OK;
    ep_status status = due ? ep_sweep_results_send(runner, false, &error) : EP_OK;
    pthread_mutex_lock(&runner->mutex);
    if (given != EP_OK) helpers_miss(runner, lease);
    if (status != EP_OK) ep_sweep_stop(runner, status, &error);
  }
  pthread_mutex_unlock(&runner->mutex);
  free(points);
  return NULL;
}

/* --- results come back ----------------------------------------------------------------------- */

/* A result, if the helper was to train it. What it is of is this worker's word. */
static ep_status result_take(ep_sweep_runner *runner, int place, const ep_trial_record *result,
                             ep_error *error) {
  const int64_t at = result->number - 1;
  ep_sweep_helper *helper = &runner->helpers[place];
  if (at < 0 || at >= runner->capacity || runner->holder[at] != place + 1) return EP_OK;
  ep_trial_record record = *result;
  const ep_trial_record *asked = &runner->records[at];
  record.trial = asked->trial;
  record.epochs = asked->epochs;
  record.part = asked->part;
  memcpy(record.point, asked->point, sizeof record.point);
  if (record.status < 0 || record.status >= EP_STATUS_COUNT) record.status = EP_INTERNAL;
  runner->holder[at] = 0;
  helper->has--;
  helper->done++;
  return ep_sweep_result_put(runner, &record, error);
}

static void results_take(ep_sweep_runner *runner, const ep_points *results) {
  ep_error error = {0};
  ep_status status = EP_OK;
  const int place = helper_find(runner, results->lease);
  if (place < 0) return;
  ep_sweep_helper *helper = &runner->helpers[place];
  if (helper->slots == 0) helper->slots = results->slots;
  helper->together = results->together;
  const bool had = helper->has > 0;
  for (uint32_t i = 0; status == EP_OK && i < results->count; i++)
    status = result_take(runner, place, &results->results[i], &error);
  if (had && (helper->has == 0 || helper->together)) {
    const double now = ep_seconds_now();
    helper->seconds += now - helper->given;
    helper->given = now;
  }
  if (status != EP_OK) ep_sweep_stop(runner, status, &error);
  pthread_cond_broadcast(&runner->told);
}

void ep_sweep_sharing_set(ep_sweep_sharing *sharing, const uint64_t *leases, int count) {
  pthread_mutex_lock(&sharing->mutex);
  memcpy(sharing->leases, leases, (size_t)count * sizeof *leases);
  sharing->count = count;
  sharing->told = true;
  pthread_cond_broadcast(&sharing->set);
  if (sharing->runner) {
    pthread_mutex_lock(&sharing->runner->mutex);
    helpers_set(sharing->runner, leases, count);
    pthread_mutex_unlock(&sharing->runner->mutex);
  }
  pthread_mutex_unlock(&sharing->mutex);
}

void ep_sweep_sharing_results(ep_sweep_sharing *sharing, const ep_points *results) {
  pthread_mutex_lock(&sharing->mutex);
  if (sharing->runner && results->lease != 0) {
    pthread_mutex_lock(&sharing->runner->mutex);
    results_take(sharing->runner, results);
    pthread_mutex_unlock(&sharing->runner->mutex);
  }
  pthread_mutex_unlock(&sharing->mutex);
}

/* --- a sweep begins and ends ----------------------------------------------------------------- */

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Helpers that have something to do. Times are compared on one machine; a device that is an axis is
 * one after the other. */
static int helpers_wanted(const ep_sweep_runner *runner) {
  const ep_sweep_spec *sweep = runner->run->sweep;
  ep_axis axes[EP_LIMIT_SWEEP_AXES];
  ep_search_options options;
  if (sweep->exclusive || sweep->metric_of == EP_OF_TIMING || sweep->device_axis >= 0 ||
      ep_sweep_field_varies(sweep, "/parallel") || sweep->base->parallel.data > 1 ||
      sweep->base->parallel.model > 1)
    return 0;
  ep_sweep_search_options(sweep, axes, &options);
  int64_t left = ep_search_trainings(&options) * runner->parts - runner->in_order;
  if (sweep->search == EP_SEARCH_ASHA || sweep->search == EP_SEARCH_TPE)
    left = less(left, options.parallel * runner->parts);
  if (sweep->max_parallel > 0) left = less(left, sweep->max_parallel);
  const int64_t each = runner->populations ? LEAST_TOGETHER : runner->threads;
  const int64_t helpers = (left + each - 1) / each - 1;
  return (int)less(helpers > 0 ? helpers : 0, EP_LIMIT_SWEEP_WORKERS - 1);
}

/* epochd says at once which helpers there are: those that are idle get their share of the first
 * points. */
static void answer_await(ep_sweep_sharing *sharing) {
  const struct timespec until = ep_sweep_deadline(ANSWER_MS);
  pthread_mutex_lock(&sharing->mutex);
  while (!sharing->told && pthread_cond_timedwait(&sharing->set, &sharing->mutex, &until) == 0) {
  }
  pthread_mutex_unlock(&sharing->mutex);
}

bool ep_sweep_sharing_begin(ep_sweep_runner *runner, pthread_t *thread) {
  ep_sweep_sharing *sharing = runner->run->sharing;
  const int wanted = sharing ? helpers_wanted(runner) : 0;
  if (wanted == 0) return false;
  runner->shares = true;
  pthread_mutex_lock(&sharing->mutex);
  sharing->runner = runner;
  pthread_mutex_unlock(&sharing->mutex);
  runner->run->wants(runner->run->shared.sink.context, wanted);
  if (runner->populations) answer_await(sharing);
  return pthread_create(thread, NULL, points_hand, runner) == 0; /* else it goes on alone */
}

/* Where the time is over, what helpers have begun counts, as what this worker has. */
static void helpers_await(ep_sweep_runner *runner) {
  while (runner->timed_out && ep_sweep_helpers_have(runner) > 0 &&
         ep_sweep_stop_check(runner->run, NULL) == EP_OK) {
    told_await(runner);
    pthread_mutex_unlock(&runner->mutex);
    ep_sweep_alive(runner);
    pthread_mutex_lock(&runner->mutex);
  }
}

void ep_sweep_sharing_end(ep_sweep_runner *runner, pthread_t thread, bool threaded) {
  ep_sweep_sharing *sharing = runner->run->sharing;
  if (threaded) {
    pthread_mutex_lock(&runner->mutex);
    helpers_await(runner);
    runner->closing = true;
    pthread_cond_broadcast(&runner->told);
    pthread_mutex_unlock(&runner->mutex);
    pthread_join(thread, NULL);
  }
  if (!sharing) return;
  pthread_mutex_lock(&sharing->mutex);
  sharing->runner = NULL;
  pthread_mutex_unlock(&sharing->mutex);
}
