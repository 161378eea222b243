#include "engine/training/choice.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plan/cost.h"
#include "engine/training/segment.h"
#include "engine/training/setup.h"
#include "kernels/cache/cache.h"

/* Of the time that the training is expected to take, no more than this goes into trying; an
 * executor is tried that is expected to take less than so many times the least; and it takes the
 * place of the device's own choice where it is faster by a tenth, which no noise is. */
static const double share_most = 0.1, within = 4.0, gain = 0.9;

/* Starting an executor that is part of the plug-in takes less, and that once in a worker's life;
 * what takes longer is the compiling of a program. */
static const double loading_seconds = 0.1;

/* One timing, and what beside compiling it takes to make one. */
static const double timing_seconds = 0.002, trying_seconds = 0.01;
enum { TIMINGS = 3, REMEMBERED = 256 };

/* --- what is remembered -------------------------------------------------------------------- */

typedef struct {
  uint64_t program; /* 0 = none */
  char device[EP_DEVICE_ID_BYTES];
  ep_tried_executors tried; /* the first is the one that it began with */
} choice;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static choice remembered[REMEMBERED];
static int next;

static bool is_text(const char *text, size_t bytes) {
  return text[0] != '\0' && memchr(text, '\0', bytes);
}

/* own: the executor that the training began with, which is another one once a kernel is compiled.
 */
static ep_cache_key kept_key(const ep_trainer *t, const ep_backend_info *backend, const char *own) {
  ep_cache_key key = ep_trainer_cache_key(t, backend, "executor");
  ep_cache_key_add(&key, own);
  return key;
}

/* What an earlier worker wrote. */
static bool kept_read(const ep_trainer *t, const ep_backend_info *backend, const char *own,
                      ep_tried_executors *out) {
  const ep_cache_key key = kept_key(t, backend, own);
  size_t bytes = 0;
  char *kept = ep_cache_read(&key, &bytes);
  ep_tried_executors tried = {0};
  bool sound = kept && bytes == sizeof tried;
  if (sound) memcpy(&tried, kept, sizeof tried);
  free(kept);
  sound = sound && is_text(tried.chosen, sizeof tried.chosen) && tried.count >= 0 &&
          tried.count <= EP_LIMIT_TRIED;
  for (int i = 0; sound && i < tried.count; i++)
    sound = is_text(tried.executor[i].name, sizeof tried.executor[i].name);
  if (sound) *out = tried;
  return sound;
}

static void kept_write(const ep_trainer *t, const ep_backend_info *backend,
                       const ep_tried_executors *tried) {
  const ep_cache_key key = kept_key(t, backend, tried->executor[0].name);
  ep_cache_write(&key, (const char *)tried, sizeof *tried);
}

static bool recall(uint64_t program, const char *device, const char *own, ep_tried_executors *out) {
  bool found = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < REMEMBERED && !found; i++) {
    found = remembered[i].program == program && strcmp(remembered[i].device, device) == 0 &&
            strcmp(remembered[i].tried.executor[0].name, own) == 0;
    if (found) *out = remembered[i].tried;
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

static void remember(uint64_t program, const char *device, const ep_tried_executors *tried) {
  choice made = {.program = program, .tried = *tried};
  snprintf(made.device, sizeof made.device, "%s", device);
  pthread_mutex_lock(&mutex);
  remembered[next] = made;
  next = (next + 1) % REMEMBERED;
  pthread_mutex_unlock(&mutex);
}

/* --- who is tried -------------------------------------------------------------------------- */

typedef struct {
  const ep_executor_profile *profile;
  double step_seconds, start_seconds; /* as expected */
} candidate;

static double expected_seconds(const ep_trainer *t, double step_seconds) {
  double seconds = step_seconds * (double)t->steps_total, most = t->job->spec->max_seconds;
  return most > 0 && seconds > most ? most : seconds;
}

/* Those that can train the program, the fastest first, but for `own`. out: [count of the device's
 * executors]. */
static int candidates_sort(const ep_trainer *t, const ep_device_info *device, const char *own,
                           candidate *out, double *own_seconds) {
  int all, count = 0;
  const ep_executor_profile *const *profiles = ep_cost_executors(device->id, &all);
  for (int i = 0; i < all && i < EP_COST_EXECUTORS; i++) {
    if (!ep_cost_executor_can(profiles[i], t->plan, device)) continue;
    const ep_executor_cost cost = ep_cost_usual(profiles[i]);
    const candidate of = {
        profiles[i],
        ep_cost_step_seconds(profiles[i], &cost, t->plan, device, t->plan->program.batch_size),
        cost.start_seconds > loading_seconds ? cost.start_seconds : cost.again_seconds};
    if (strcmp(profiles[i]->name, own) == 0) {
      *own_seconds = of.step_seconds;
      continue;
    }
    int at = count++;
    for (; at > 0 && out[at - 1].step_seconds > of.step_seconds; at--) out[at] = out[at - 1];
    out[at] = of;
  }
  return count;
}

/* How many of the candidates are worth a try. */
static int candidates_cut(const ep_trainer *t, const candidate *from, int count,
                          double own_seconds) {
  double least =
      count > 0 && from[0].step_seconds < own_seconds ? from[0].step_seconds : own_seconds;
  double left = share_most * expected_seconds(t, least) - trying_seconds;
  int worth = 0;
  for (; worth < count && worth < EP_LIMIT_TRIED - 1; worth++) {
    left -= from[worth].start_seconds + trying_seconds + (TIMINGS + 1) * from[worth].step_seconds;
    if (left < 0 || from[worth].step_seconds > within * least) break;
  }
  return worth;
}

/* --- timing -------------------------------------------------------------------------------- */

/* Seconds of a step, the least of some timings; the state is another afterwards. */
static ep_status steps_time(ep_trainer *t, double *step_seconds, ep_error *error) {
  int64_t most = t->steps_total < EP_SEGMENT_STEPS_MAX ? t->steps_total : EP_SEGMENT_STEPS_MAX;
  if (t->job->segment_steps_most > 0 && most > t->job->segment_steps_most)
    most = t->job->segment_steps_most;
  int64_t steps = 1;
  *step_seconds = INFINITY;
  for (int timed = -1; timed < TIMINGS;) { /* the first one warms up */
    const double start = ep_seconds_now();
    ep_status status = ep_segment_run(t, 0, steps, error);
    if (status != EP_OK) return status;
    const double seconds = ep_seconds_now() - start;
    ep_trainer_alive(t);
    if (timed >= 0 && seconds / (double)steps < *step_seconds)
      *step_seconds = seconds / (double)steps;
    if (timed < 0 || seconds >= timing_seconds || steps == most)
      timed++;
    else
      *step_seconds = INFINITY; /* too short to be a timing */
    if (seconds < timing_seconds) steps = steps * 4 < most ? steps * 4 : most;
  }
  return EP_OK;
}

static void tried_note(ep_tried_executors *tried, const char *executor, double step_seconds) {
  ep_tried_executor *entry = &tried->executor[tried->count++];
  snprintf(entry->name, sizeof entry->name, "%s", executor);
  entry->step_microseconds = 1e6 * step_seconds;
}

static bool device_failed(ep_status status) {
  return ep_status_class(status) == EP_CLASS_DEVICE;
}

/* Times an executor on an instance of its own, which is the trainer's if it is the faster one by
 * far. *lacked: it found no memory, which says nothing about another time. */
static ep_status executor_try(ep_trainer *t, const char *executor, double *best_seconds,
                              bool *lacked, ep_error *error) {
  ep_error why;
  ep_instance *before = t->instance;
  double step_seconds = INFINITY;
  t->instance = NULL;
  ep_status status = ep_trainer_instance_make(t, executor, &why);
  if (status == EP_OK) status = steps_time(t, &step_seconds, &why);
  if (status == EP_OK) tried_note(&t->tried, executor, step_seconds);
  ep_instance *loser = step_seconds < gain * *best_seconds ? before : t->instance;
  if (loser == t->instance) t->instance = before;
  if (loser == before) *best_seconds = step_seconds;
  if (loser) t->job->backend_ops->release(loser);
  *lacked = *lacked || status == EP_NO_MEMORY;
  if (!device_failed(status)) return EP_OK;
  *error = why;
  return status;
}

/* As if nothing had been trained. */
static ep_status start_again(ep_trainer *t, ep_error *error) {
  t->steps_run = 0;
  t->exported = false;
  return t->job->backend_ops->import_state(t->instance, t->state, t->optimizer, error);
}

static ep_status candidates_try(ep_trainer *t, const char *own, const candidate *candidates,
                                int count, bool *lacked, ep_error *error) {
  double best_seconds;
  ep_status status = steps_time(t, &best_seconds, error);
  if (status != EP_OK) return status;
  tried_note(&t->tried, own, best_seconds);
  for (int i = 0; status == EP_OK && i < count; i++)
    status = executor_try(t, candidates[i].profile->name, &best_seconds, lacked, error);
  return status == EP_OK ? start_again(t, error) : status;
}

/* In the place of the instance, so that no memory is needed for two. */
static ep_status instance_replace(ep_trainer *t, const char *executor, ep_error *error) {
  if (t->instance) t->job->backend_ops->release(t->instance);
  t->instance = NULL;
  return ep_trainer_instance_make(t, executor, error);
}

/* What another training got. Programs that are remembered as one may differ in what an executor
 * takes: then it is the device's own choice. */
static ep_status recalled_make(ep_trainer *t, const char *executor, ep_error *error) {
  char own[EP_EXECUTOR_BYTES]; /* the name goes with its instance */
  if (strcmp(executor, t->tried.chosen) == 0) return EP_OK;
  snprintf(own, sizeof own, "%s", executor);
  ep_status status = instance_replace(t, t->tried.chosen, error);
  if (status == EP_OK || device_failed(status)) return status;
  t->tried = (ep_tried_executors){0};
  return instance_replace(t, own, error);
}

static bool is_settled(const ep_trainer *t) {
  return t->job->spec->executor[0] || t->resumed.step >= 0 ||
         ep_program_ranks(&t->plan->program) > 1 || strcmp(t->job->device, "cpu") == 0;
}

ep_status ep_choice_make(ep_trainer *t, ep_error *error) {
  ep_backend_info backend;
  ep_instance_info info;
  candidate candidates[EP_COST_EXECUTORS];
  double own_seconds = INFINITY;
  bool lacked = false;
  if (is_settled(t)) return EP_OK;
  ep_status status = t->job->backend_ops->info(t->job->backend, &backend, error);
  if (status != EP_OK) return status;
  t->job->backend_ops->instance_info(t->instance, &info);
  const ep_device_info device = ep_trainer_device(t, &backend);
  int count = candidates_sort(t, &device, info.executor, candidates, &own_seconds);
  count = candidates_cut(t, candidates, count, own_seconds);
  if (count == 0) return EP_OK;
  const uint64_t program = ep_plan_signature(t->plan);
  if (recall(program, t->job->device, info.executor, &t->tried))
    return recalled_make(t, info.executor, error);
  if (kept_read(t, &backend, info.executor, &t->tried)) {
    remember(program, t->job->device, &t->tried);
    return recalled_make(t, info.executor, error);
  }
  status = candidates_try(t, info.executor, candidates, count, &lacked, error);
  if (status != EP_OK) return status;
  t->job->backend_ops->instance_info(t->instance, &info);
  snprintf(t->tried.chosen, sizeof t->tried.chosen, "%s", info.executor);
  if (lacked) return EP_OK;
  remember(program, t->job->device, &t->tried);
  kept_write(t, &backend, &t->tried);
  return EP_OK;
}
