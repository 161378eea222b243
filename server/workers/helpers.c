#include "server/workers/helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/clock.h"
#include "server/process/log.h"

#define AGAIN_US INT64_C(10000000) /* after a worker could not help */

static bool is_leader(const ep_supervised *worker) {
  return worker->helpers_wanted > 0 && worker->status.job[0] != 0 && worker->stop == EP_STOP_NOT &&
         worker->link.socket >= 0 && ep_supervised_alive(worker);
}

static int helpers_count(const ep_supervisor *s, const ep_supervised *leader) {
  int count = 0;
  for (int i = 0; i < s->workers_count; i++)
    count += s->worker[i].lease != 0 && s->worker[i].leader == leader;
  return count;
}

static ep_supervised *helper_find(ep_supervisor *s, const ep_supervised *leader, uint64_t lease) {
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].lease == lease && s->worker[i].leader == leader) return &s->worker[i];
  return NULL;
}

/* Whether both compute the same bits: of one kind of GPU, or nodes of one partition. */
static bool is_alike(const ep_supervised *a, const ep_supervised *b) {
  const bool both = a->remote ? a->status.device == b->status.device && b->remote
                              : ep_device_is_cuda(a->id) && ep_device_is_cuda(b->id);
  return both && strcmp(a->name, b->name) == 0 &&
         strcmp(a->instruction_set, b->instruction_set) == 0;
}

static ep_command command_of(const ep_supervised *leader, ep_command_kind kind, uint64_t lease) {
  ep_command command = {.kind = kind, .attempt = leader->attempt, .lease = lease};
  snprintf(command.job, sizeof command.job, "%s", leader->status.job);
  return command;
}

/* All helpers that it has by now. */
static void helpers_tell(ep_supervisor *s, ep_supervised *leader) {
  ep_command command = command_of(leader, EP_COMMAND_HELPERS, 0);
  for (int i = 0; i < s->workers_count && command.leases_count < EP_LIMIT_SWEEP_WORKERS; i++)
    if (s->worker[i].lease != 0 && s->worker[i].leader == leader)
      command.leases[command.leases_count++] = s->worker[i].lease;
  leader->helpers_due = false;
  ep_supervised_send(leader, &command);
  if (s->events.helped)
    s->events.helped(s->events.context, leader->status.job, leader->attempt, command.leases_count);
}

void ep_helpers_end(ep_supervisor *s, ep_supervised *helper, bool tell) {
  ep_supervised *leader = helper->leader;
  if (helper->lease == 0) return;
  if (tell && helper->link.socket >= 0) {
    const ep_command release = command_of(leader, EP_COMMAND_RELEASE, helper->lease);
    ep_supervised_send(helper, &release);
  }
  helper->lease = 0;
  helper->leader = NULL;
  helper->status.helps[0] = helper->link.errors.job[0] = 0;
  helper->points_out = 0;
  helper->deadline_us = 0;
  leader->helpers_due = true;
  if (helper->status.state == EP_DEVICE_IDLE) ep_supervised_idle_begin(s, helper);
  s->look_for_work = true;
  ep_supervised_show(s, helper);
}

void ep_helpers_free(ep_supervisor *s, ep_supervised *leader) {
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].lease != 0 && s->worker[i].leader == leader)
      ep_helpers_end(s, &s->worker[i], true);
  leader->helpers_due = false;
}

void ep_helpers_leave_gpu(ep_supervisor *s, int gpu) {
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].lease != 0 && ep_device_number(s->worker[i].id) == gpu)
      ep_helpers_end(s, &s->worker[i], true);
}

void ep_helpers_want(ep_supervisor *s, ep_supervised *leader, int wanted) {
  const ep_supervisor_events *events = &s->events;
  if (!leader->remote && !ep_device_is_cuda(leader->id)) wanted = 0; /* it has all cores */
  leader->helpers_wanted =
      events->wants ? events->wants(events->context, leader->status.job, leader->attempt, wanted)
                    : 0;
  leader->helpers_due = true; /* it waits for the answer */
  s->look_for_work = true;
}

void ep_helpers_refuse(ep_supervisor *s, ep_supervised *from, const ep_reply *reply) {
  if (reply->lease == 0) return;
  ep_supervised *helper = from->lease == reply->lease ? from : helper_find(s, from, reply->lease);
  if (!helper) return;
  ep_log(EP_LOG_WARNING, "device %s cannot help %s: %s", helper->id, helper->status.helps,
         reply->error.message);
  helper->help_again_us = ep_clock_steady_us() + AGAIN_US;
  ep_helpers_end(s, helper, true);
}

/* The sweep that has the fewest of those that want more; NULL: none does. */
static ep_supervised *poorest_find(ep_supervisor *s, const bool *refused) {
  ep_supervised *found = NULL;
  int least = 0;
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *leader = &s->worker[i];
    if (refused[i] || !is_leader(leader)) continue;
    const int count = helpers_count(s, leader);
    if (count >= leader->helpers_wanted || (found && count >= least)) continue;
    found = leader;
    least = count;
  }
  return found;
}

/* An idle worker for it, or one of a sweep that has two more. */
static ep_supervised *worker_choose(ep_supervisor *s, const ep_supervised *leader,
                                    const bool *tried) {
  const int64_t now_us = ep_clock_steady_us();
  const int count = helpers_count(s, leader);
  ep_supervised *other = NULL;
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    if (tried[i] || worker->status.state != EP_DEVICE_IDLE || !ep_supervised_alive(worker) ||
        worker->leaving || worker->help_again_us > now_us || !is_alike(leader, worker))
      continue;
    if (worker->lease == 0) return worker;
    if (worker->leader != leader && helpers_count(s, worker->leader) >= count + 2) other = worker;
  }
  return other;
}

/* False: it may not. */
static bool worker_lend(ep_supervisor *s, ep_supervised *leader, ep_supervised *worker) {
  const ep_supervisor_events *events = &s->events;
  char *spec = events->help(events->context, leader->status.job, leader->attempt, worker->id,
                            worker->remote ? &worker->request : NULL);
  if (!spec) return false;
  ep_helpers_end(s, worker, false);
  worker->lease = ++s->last_lease;
  worker->leader = leader;
  worker->idle_us = 0;
  worker->frames = 0;
  worker->gap_us = 0;
  worker->patience_us = leader->patience_us;
  snprintf(worker->status.helps, sizeof worker->status.helps, "%s", leader->status.job);
  memcpy(worker->link.errors.job, worker->status.helps, sizeof worker->link.errors.job);
  ep_command help = command_of(leader, EP_COMMAND_HELP, worker->lease);
  help.spec = spec;
  ep_supervised_send(worker, &help);
  ep_command_deinit(&help);
  leader->helpers_due = true;
  ep_supervised_show(s, worker);
  return true;
}

/* False: there is none that may help it. */
static bool one_lend(ep_supervisor *s, ep_supervised *leader) {
  bool tried[EP_LIMIT_WORKERS] = {false};
  ep_supervised *worker = worker_choose(s, leader, tried);
  while (worker && !worker_lend(s, leader, worker)) {
    tried[worker - s->worker] = true;
    worker = worker_choose(s, leader, tried);
  }
  return worker != NULL;
}

void ep_helpers_lend(ep_supervisor *s) {
  bool refused[EP_LIMIT_WORKERS] = {false};
  for (;;) {
    ep_supervised *leader = poorest_find(s, refused);
    if (!leader) break;
    refused[leader - s->worker] = !one_lend(s, leader);
  }
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].helpers_due && s->worker[i].link.socket >= 0) helpers_tell(s, &s->worker[i]);
}

/* Whether the other one's socket takes it. */
static bool frame_pass(ep_supervised *to, ep_frame_kind kind, const uint8_t *payload,
                       size_t bytes) {
  const uint32_t header[2] = {(uint32_t)bytes, (uint32_t)kind};
  ep_error error = {0};
  if (ep_worker_link_output(&to->link) + bytes > EP_LIMIT_FRAMES_BYTES) return false;
  uint8_t *frame = malloc(sizeof header + bytes);
  if (!frame) return false;
  memcpy(frame, header, sizeof header);
  memcpy(frame + sizeof header, payload, bytes);
  if (ep_worker_link_send(&to->link, frame, sizeof header + bytes, &error) != EP_OK)
    ep_supervised_kill(to, error.message);
  return true;
}

static bool points_pass(ep_supervisor *s, ep_supervised *leader, const ep_points *points,
                        const uint8_t *payload, size_t bytes) {
  ep_supervised *helper = helper_find(s, leader, points->lease);
  const bool current =
      leader->attempt == points->attempt && strcmp(leader->status.job, points->job) == 0;
  if (!current || !helper || helper->link.socket < 0) return true; /* its points come back */
  if (!frame_pass(helper, EP_FRAME_POINTS, payload, bytes)) return false;
  if (helper->points_out == 0) helper->heard_us = ep_clock_steady_us();
  helper->points_out += points->count;
  ep_supervised_heard(s, helper, false);
  return true;
}

static bool results_pass(ep_supervisor *s, ep_supervised *helper, const ep_points *results,
                         const uint8_t *payload, size_t bytes) {
  if (helper->lease == 0 || results->lease != helper->lease) return true; /* late */
  ep_supervised *leader = helper->leader;
  if (leader->link.socket >= 0 && !frame_pass(leader, EP_FRAME_RESULTS, payload, bytes))
    return false;
  helper->points_out -= results->count < helper->points_out ? results->count : helper->points_out;
  ep_supervised_heard(s, helper, results->count > 0);
  if (helper->points_out == 0) helper->deadline_us = 0;
  pthread_mutex_lock(&s->mutex);
  s->shown.helped += results->count;
  pthread_mutex_unlock(&s->mutex);
  return true;
}

bool ep_helpers_take(ep_supervisor *s, ep_supervised *worker, ep_frame_kind kind,
                     const uint8_t *payload, size_t bytes, ep_status *status, ep_error *error) {
  ep_points points;
  *status = ep_points_decode(kind, payload, bytes, &points, error);
  if (*status != EP_OK) return true;
  return kind == EP_FRAME_POINTS ? points_pass(s, worker, &points, payload, bytes)
                                 : results_pass(s, worker, &points, payload, bytes);
}
