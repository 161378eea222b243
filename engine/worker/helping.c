#include "engine/worker/helping.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/worker/device.h"
#include "engine/worker/sweeping.h"

enum { FRAME_RESULTS = 8192 }; /* of one frame: 5 MB */

static ep_points frame_of(const ep_helping *helping) {
  ep_points points = {.attempt = helping->command.attempt,
                      .lease = helping->command.lease,
                      .slots = (int)helping->slots,
                      .together = helping->together};
  memcpy(points.job, helping->command.job, sizeof points.job);
  return points;
}

static void help_ready(void *context, int64_t slots, bool together) {
  ep_helping *helping = context;
  helping->slots = slots;
  helping->together = together;
  const ep_points ready = frame_of(helping);
  ep_link_send_points(helping->link, &ready, EP_FRAME_RESULTS, NULL);
}

static void help_results(void *context, const ep_trial_record *records, int64_t count) {
  ep_helping *helping = context;
  while (count > 0) {
    const int64_t part = count < FRAME_RESULTS ? count : FRAME_RESULTS;
    ep_points results = frame_of(helping);
    results.results = records;
    results.count = (uint32_t)part;
    ep_link_send_points(helping->link, &results, EP_FRAME_RESULTS, NULL);
    records += part;
    count -= part;
  }
}

/* At most one a second. */
static void help_alive(void *context) {
  ep_helping *helping = context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec == helping->told_second) return;
  helping->told_second = now.tv_sec;
  const ep_points alive = frame_of(helping);
  ep_link_send_points(helping->link, &alive, EP_FRAME_RESULTS, NULL);
}

static void *help_thread(void *context) {
  ep_helping *helping = context;
  ep_error error = {0};
  ep_sweep_run run = {.shared = helping->shared, .results = help_results};
  run.shared.cancel = &helping->cancel;
  run.shared.sink = (ep_train_sink){.context = helping, .alive = help_alive};
  ep_status status =
      ep_sweeping_help(helping->data_dir, helping->command.job, helping->command.spec,
                       helping->help, &run, help_ready, &error);
  if (status == EP_OK) return NULL;
  if (ep_status_class(status) == EP_CLASS_DEVICE) ep_device_give_up("while helping", error.message);
  ep_reply reply = {.kind = EP_REPLY_HELPED,
                    .attempt = helping->command.attempt,
                    .lease = helping->command.lease,
                    .error = error};
  memcpy(reply.job, helping->command.job, sizeof reply.job);
  reply.error.status = status;
  ep_link_send_reply(helping->link, &reply, NULL);
  return NULL;
}

ep_status ep_helping_begin(ep_helping *helping, ep_link *link, const char *data_dir,
                           ep_command *command, ep_error *error) {
  ep_helping_end(helping, 0);
  helping->link = link;
  helping->data_dir = data_dir;
  helping->command = *command;
  helping->slots = 0;
  helping->help = ep_sweep_help_create();
  atomic_store(&helping->cancel, false);
  int failed = helping->help ? pthread_create(&helping->thread, NULL, help_thread, helping) : 0;
  if (helping->help && failed == 0) return EP_OK;
  ep_sweep_help_destroy(helping->help);
  helping->help = NULL;
  ep_command_deinit(&helping->command);
  return ep_fail(error, EP_NO_MEMORY, "no thread for a sweep");
}

void ep_helping_end(ep_helping *helping, uint64_t lease) {
  if (!helping->help || (lease != 0 && lease != helping->command.lease)) return;
  atomic_store(&helping->cancel, true);
  ep_sweep_help_wake(helping->help);
  pthread_join(helping->thread, NULL);
  ep_sweep_help_destroy(helping->help);
  helping->help = NULL;
  ep_command_deinit(&helping->command);
}

ep_status ep_helping_add(ep_helping *helping, const ep_points *points, ep_error *error) {
  if (!helping->help || points->lease != helping->command.lease) return EP_OK;
  return ep_sweep_help_add(helping->help, points->points, points->count, error);
}

void ep_helping_want(ep_link *link, const ep_command *sweep, int helpers) {
  ep_reply reply = {.kind = EP_REPLY_WANTS, .attempt = sweep->attempt, .helpers = helpers};
  memcpy(reply.job, sweep->job, sizeof reply.job);
  ep_link_send_reply(link, &reply, NULL);
}

void ep_helping_send(ep_link *link, const ep_command *sweep, uint64_t lease,
                     const ep_trial_point *points, int64_t count) {
  ep_points frame = {
      .attempt = sweep->attempt, .lease = lease, .points = points, .count = (uint32_t)count};
  memcpy(frame.job, sweep->job, sizeof frame.job);
  ep_link_send_points(link, &frame, EP_FRAME_POINTS, NULL);
}
