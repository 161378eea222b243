#include "engine/worker/helping.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/worker/device.h"
#include "engine/worker/sweeping.h"

enum { FRAME_RESULTS = 8192 }; /* of one frame: 5 MB */

struct ep_help {
  ep_link *link;        /* lent */
  const char *data_dir; /* lent */
  ep_training shared;
  ep_command command;   /* owned */
  ep_sweep_help *sweep; /* owned */
  ep_help *before;      /* owned: the device is this one's when that one has ended; NULL = it is */
  pthread_t thread;
  sem_t ended;        /* by the thread's last word */
  atomic_bool cancel; /* it is told to end */
  atomic_uint signs;  /* of life */
  int64_t slots;      /* its thread's, as the next two */
  bool together;
  time_t told_second; /* of the last sign of life to epochd */
};

static ep_points frame_of(const ep_help *help) {
  ep_points points = {.attempt = help->command.attempt,
                      .lease = help->command.lease,
                      .slots = (int)help->slots,
                      .together = help->together};
  memcpy(points.job, help->command.job, sizeof points.job);
  return points;
}

static ep_status help_ready(void *context, int64_t slots, bool together, ep_error *error) {
  ep_help *help = context;
  help->slots = slots;
  help->together = together;
  const ep_points ready = frame_of(help);
  return ep_link_send_points(help->link, &ready, EP_FRAME_RESULTS, error);
}

static ep_status help_results(void *context, const ep_trial_record *records, int64_t count,
                              ep_error *error) {
  ep_help *help = context;
  ep_status status = EP_OK;
  while (status == EP_OK && count > 0) {
    const int64_t part = count < FRAME_RESULTS ? count : FRAME_RESULTS;
    ep_points results = frame_of(help);
    results.results = records;
    results.count = (uint32_t)part;
    status = ep_link_send_points(help->link, &results, EP_FRAME_RESULTS, error);
    records += part;
    count -= part;
  }
  return status;
}

/* epochd gets at most one a second, and none of a help that it has ended. */
static void help_alive(void *context) {
  ep_help *help = context;
  struct timespec now;
  atomic_fetch_add(&help->signs, 1);
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec == help->told_second || atomic_load(&help->cancel)) return;
  help->told_second = now.tv_sec;
  const ep_points alive = frame_of(help);
  ep_link_send_points(help->link, &alive, EP_FRAME_RESULTS, NULL); /* the next one is like it */
}

static void sign_pass(void *context) {
  ep_help *help = context;
  atomic_fetch_add(&help->signs, 1);
}

/* Why it cannot go on; where not even this can be said, the end of the process says it. */
static void help_fail(ep_help *help, ep_status status, const ep_error *error) {
  ep_error unsaid = {0};
  if (ep_status_class(status) == EP_CLASS_DEVICE)
    ep_device_give_up("while helping", error->message);
  ep_reply reply = {.kind = EP_REPLY_HELPED,
                    .attempt = help->command.attempt,
                    .lease = help->command.lease,
                    .error = *error};
  memcpy(reply.job, help->command.job, sizeof reply.job);
  reply.error.status = status;
  if (ep_link_send_reply(help->link, &reply, &unsaid) == EP_NO_MEMORY)
    ep_device_give_up("while helping", unsaid.message);
}

static void *help_thread(void *context) {
  ep_help *help = context;
  ep_error error = {0};
  ep_status status = EP_OK;
  ep_sweep_run run = {.shared = help->shared, .results = help_results};
  run.shared.cancel = &help->cancel;
  run.shared.sink = (ep_train_sink){.context = help, .alive = help_alive};
  ep_help_await(help->before, sign_pass, help);
  help->before = NULL;
  if (!atomic_load(&help->cancel))
    status = ep_sweeping_help(help->data_dir, help->command.job, help->command.spec, help->sweep,
                              &run, help_ready, &error);
  if (status != EP_OK) help_fail(help, status, &error);
  sem_post(&help->ended);
  return NULL;
}

static void help_destroy(ep_help *help) {
  sem_destroy(&help->ended);
  ep_sweep_help_destroy(help->sweep);
  ep_command_deinit(&help->command);
  free(help);
}

ep_status ep_helping_begin(ep_helping *helping, ep_command *command, ep_error *error) {
  ep_helping_end(helping, 0);
  ep_help *help = calloc(1, sizeof *help);
  if (!help) {
    ep_command_deinit(command);
    return ep_fail_memory(error);
  }
  help->link = helping->link;
  help->data_dir = helping->data_dir;
  help->shared = helping->shared;
  help->command = *command;
  help->before = helping->last;
  sem_init(&help->ended, 0, 0);
  help->sweep = ep_sweep_help_create();
  if (help->sweep && pthread_create(&help->thread, NULL, help_thread, help) == 0) {
    helping->now = helping->last = help;
    return EP_OK;
  }
  help_destroy(help);
  return ep_fail(error, EP_NO_MEMORY, "no thread for a sweep");
}

void ep_helping_end(ep_helping *helping, uint64_t lease) {
  ep_help *help = helping->now;
  if (!help || (lease != 0 && lease != help->command.lease)) return;
  atomic_store(&help->cancel, true);
  ep_sweep_help_wake(help->sweep);
  helping->now = NULL;
}

void ep_helping_add(ep_helping *helping, const ep_points *points) {
  ep_help *help = helping->now;
  ep_error error = {0};
  if (!help || points->lease != help->command.lease) return;
  ep_status status = ep_sweep_help_add(help->sweep, points->points, points->count, &error);
  if (status == EP_OK) return;
  ep_helping_end(helping, 0);
  help_fail(help, status, &error);
}

bool ep_helping_is_active(ep_helping *helping) {
  if (helping->now || !helping->last) return helping->now != NULL;
  if (sem_trywait(&helping->last->ended) != 0) return true;
  sem_post(&helping->last->ended);
  ep_help_await(ep_helping_take(helping), NULL, NULL);
  return false;
}

ep_help *ep_helping_take(ep_helping *helping) {
  ep_help *help = helping->last;
  helping->last = NULL;
  return help;
}

void ep_help_await(ep_help *help, void (*alive)(void *context), void *context) {
  struct timespec until;
  if (!help) return;
  unsigned signs = atomic_load(&help->signs);
  clock_gettime(CLOCK_REALTIME, &until);
  for (until.tv_sec++; sem_timedwait(&help->ended, &until) != 0; until.tv_sec++) {
    const unsigned now = atomic_load(&help->signs);
    if (alive && now != signs) alive(context);
    signs = now;
  }
  pthread_join(help->thread, NULL);
  help_destroy(help);
}

void ep_helping_want(ep_link *link, const ep_command *sweep, int helpers) {
  ep_reply reply = {.kind = EP_REPLY_WANTS, .attempt = sweep->attempt, .helpers = helpers};
  memcpy(reply.job, sweep->job, sizeof reply.job);
  ep_link_send_reply(link, &reply, NULL);
}

ep_status ep_helping_send(ep_link *link, const ep_command *sweep, uint64_t lease,
                          const ep_trial_point *points, int64_t count, ep_error *error) {
  ep_points frame = {
      .attempt = sweep->attempt, .lease = lease, .points = points, .count = (uint32_t)count};
  memcpy(frame.job, sweep->job, sizeof frame.job);
  ep_status status = ep_link_send_points(link, &frame, EP_FRAME_POINTS, error);
  if (status != EP_NO_MEMORY) return EP_OK; /* with a socket that ended all of it ends */
  ep_reply reply = {.kind = EP_REPLY_HELPED, .attempt = sweep->attempt, .lease = lease};
  ep_fail(&reply.error, status, "no memory for the points that it was to get");
  memcpy(reply.job, sweep->job, sizeof reply.job);
  ep_link_send_reply(link, &reply, NULL);
  return status;
}
