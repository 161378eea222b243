#include "tests/simulator/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/frame.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/model.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/tasks.h"

enum { WORKERS_MOST = 64, FIRST_PID = 1000, SIGNAL_KILL = 9 };

typedef enum {
  WORKER_FREE,
  WORKER_BOOTS,
  WORKER_IDLE,
  WORKER_TRAINS,
  WORKER_HANGS,
  WORKER_DEAD
} worker_state;

typedef struct {
  worker_state state;
  int pid, status;
  bool deaf;
  char device[EP_DEVICE_ID_BYTES];
  channel *socket, *errors; /* held at end 1 */
  int64_t next_us;          /* INT64_MAX = nothing is due */
  int64_t kill_us;          /* 0 = it is not killed */
  char job[EP_ID_BYTES];
  int attempt;
  char executor[EP_EXECUTOR_BYTES];
  int64_t epoch, epochs, pace_us;
  bool begun, pause, cancel;
  ep_status end; /* of the training */
  char late_job[EP_ID_BYTES];
  int late_attempt; /* 0 = it had no job before */
} worker;

typedef struct {
  worker worker[WORKERS_MOST];
  int last_pid;
  bool calm;
} worker_list;

static worker_list *WORKERS;

void workers_begin(void) {
  WORKERS = outside_calloc(1, sizeof *WORKERS);
  WORKERS->last_pid = FIRST_PID;
}

void workers_calm(bool calm) {
  WORKERS->calm = calm;
}

static bool mishap(uint64_t times) {
  return !WORKERS->calm && one_in(times);
}

static worker *worker_find(int pid) {
  for (int i = 0; i < WORKERS_MOST; i++)
    if (WORKERS->worker[i].state != WORKER_FREE && WORKERS->worker[i].pid == pid)
      return &WORKERS->worker[i];
  return NULL;
}

int worker_start(const char *device, channel *socket, channel *errors) {
  int i = 0;
  while (i < WORKERS_MOST && WORKERS->worker[i].state != WORKER_FREE) i++;
  must_hold(i < WORKERS_MOST, "the daemon has %d worker processes", WORKERS_MOST);
  worker *started = &WORKERS->worker[i];
  *started = (worker){.state = WORKER_BOOTS,
                      .pid = ++WORKERS->last_pid,
                      .socket = socket,
                      .errors = errors,
                      .next_us = SIM->now_us + 1000 + (int64_t)random_below(50000)};
  snprintf(started->device, sizeof started->device, "%s", device);
  channel_hold(socket, 1);
  channel_hold(errors, 1);
  SIM->counts.starts++;
  event_note("worker %d starts", started->pid);
  return started->pid;
}

void worker_kill(int pid) {
  worker *killed = worker_find(pid);
  if (!killed || killed->state == WORKER_DEAD || killed->kill_us != 0) return;
  /* Now and then one hangs in its driver. */
  bool hangs = mishap(50);
  killed->kill_us = SIM->now_us + (hangs ? 30000000 : 100);
  if (hangs) killed->state = WORKER_HANGS;
  if (hangs) killed->next_us = INT64_MAX;
}

bool workers_has_ended(int pid) {
  const worker *one = worker_find(pid);
  return !one || one->state == WORKER_DEAD;
}

worker_fate worker_reap(int pid, int *status) {
  worker *one = worker_find(pid);
  if (!one) return WORKER_UNKNOWN;
  if (one->state != WORKER_DEAD) return WORKER_LIVES;
  *status = one->status;
  one->state = WORKER_FREE;
  return WORKER_ENDED;
}

static void worker_die(worker *dying, int status) {
  event_note("worker %d ends: %d", dying->pid, status);
  SIM->counts.deaths++;
  dying->state = WORKER_DEAD;
  dying->status = status;
  dying->next_us = INT64_MAX;
  dying->kill_us = 0;
  dying->job[0] = 0;
  channel_leave(dying->socket, 1);
  channel_leave(dying->errors, 1);
  dying->socket = dying->errors = NULL;
  tasks_wake_pollers();
}

void workers_notice(const channel *socket) {
  for (int i = 0; i < WORKERS_MOST; i++) {
    worker *one = &WORKERS->worker[i];
    int64_t soon_us = SIM->now_us + 20 + (int64_t)random_below(400);
    if (one->socket == socket && one->state != WORKER_HANGS && soon_us < one->next_us)
      one->next_us = soon_us;
  }
}

static void frame_put(worker *from, uint8_t *frame, size_t bytes) {
  must_hold(frame, "a frame cannot be encoded");
  if (from->socket->holders[0] > 0) channel_put(from->socket, 0, frame, bytes);
  free(frame);
}

static void reply_put(worker *from, const ep_reply *reply) {
  size_t bytes = 0;
  uint8_t *frame = ep_reply_encode(reply, &bytes);
  SIM->counts.reports++;
  event_note("worker %d: %s %s %d", from->pid, ep_reply_kind_name(reply->kind), reply->job,
             reply->attempt);
  frame_put(from, frame, bytes);
}

static ep_reply reply_of(const worker *from, ep_reply_kind kind) {
  ep_reply reply = {.kind = kind, .attempt = from->attempt};
  memcpy(reply.job, from->job, sizeof reply.job);
  return reply;
}

static void progress_put(worker *from, const char *job, int attempt, int64_t first, int64_t count,
                         bool late) {
  ep_progress_record records[8] = {0};
  for (int64_t i = 0; i < count; i++)
    records[i] = (ep_progress_record){.epoch = first + i,
                                      .loss = late ? WORKERS_LATE_LOSS : 1.0 / (double)(first + i),
                                      .error = NAN,
                                      .validation_loss = NAN,
                                      .validation_error = NAN,
                                      .lr = 0.01,
                                      .elapsed_seconds = 0.005 * (double)(first + i)};
  ep_progress progress = {.attempt = attempt, .count = (uint32_t)count, .records = records};
  memcpy(progress.job, job, sizeof progress.job);
  size_t bytes = 0;
  uint8_t *frame = ep_progress_encode(&progress, &bytes);
  SIM->counts.reports++;
  event_note("worker %d: epochs %lld and %lld after, %s %d%s", from->pid, (long long)first,
             (long long)count - 1, job, attempt, late ? ", late" : "");
  frame_put(from, frame, bytes);
}

/* Of an attempt that is over: its socket was slow. */
static void late_put(worker *from) {
  if (from->late_attempt == 0) return;
  if (one_in(2)) {
    progress_put(from, from->late_job, from->late_attempt, 1 + (int64_t)random_below(40), 1, true);
    return;
  }
  ep_reply reply = {.kind = one_in(3) ? EP_REPLY_STARTED : EP_REPLY_FINISHED,
                    .attempt = from->late_attempt};
  memcpy(reply.job, from->late_job, sizeof reply.job);
  snprintf(reply.executor, sizeof reply.executor, "late");
  reply.result = (ep_job_result){.status = EP_DIVERGED, .epochs_done = 1};
  snprintf(reply.result.message, sizeof reply.result.message, WORKERS_LATE_MESSAGE);
  reply_put(from, &reply);
}

static void job_leave(worker *from) {
  memcpy(from->late_job, from->job, sizeof from->late_job);
  from->late_attempt = from->attempt;
  from->job[0] = 0;
  from->state = WORKER_IDLE;
  from->next_us = INT64_MAX;
}

static void job_finish(worker *from, ep_status status) {
  ep_reply reply = reply_of(from, EP_REPLY_FINISHED);
  reply.result.status = status;
  reply.result.epochs_done = from->epoch;
  reply.result.train_seconds = 0.5;
  memcpy(reply.result.device, from->device, sizeof reply.result.device);
  memcpy(reply.result.executor, from->executor, sizeof reply.result.executor);
  if (status != EP_OK)
    snprintf(reply.result.message, sizeof reply.result.message, "it ends with %d", (int)status);
  reply_put(from, &reply);
  model_training_end(from->job);
  if (status == EP_PAUSED) model_checkpoint(from->job, from->epoch);
  job_leave(from);
}

static int64_t epochs_of(const char *spec) {
  const char *at = strstr(spec, "\"epochs\":");
  must_hold(at, "a spec without epochs: %s", spec);
  return strtoll(at + strlen("\"epochs\":"), NULL, 10);
}

static void train_begin(worker *from, const ep_command *command) {
  if (from->job[0]) { /* epochd knows better; a true worker replies that it trains already */
    violation("worker %d has job %s and gets job %s", from->pid, from->job, command->job);
  }
  for (int i = 0; i < WORKERS_MOST; i++)
    must_hold(WORKERS->worker[i].state == WORKER_FREE || WORKERS->worker[i].state == WORKER_DEAD ||
                  WORKERS->worker[i].kill_us != 0 ||
                  strcmp(WORKERS->worker[i].job, command->job) != 0,
              "job %s is given to worker %d, and worker %d has it", command->job, from->pid,
              WORKERS->worker[i].pid);
  memcpy(from->job, command->job, sizeof from->job);
  from->attempt = command->attempt;
  from->begun = from->pause = from->cancel = false;
  from->deaf = mishap(40);
  from->epochs = epochs_of(command->spec);
  model_training_begin(command->job, command->attempt);
  snprintf(from->executor, sizeof from->executor, "%s",
           command->executor[0] ? command->executor : "cpu/fused");
  from->epoch = mishap(8) ? 0 : model_checkpoint_find(command->job);
  if (from->epoch > command->epochs_logged) from->epoch = command->epochs_logged;
  from->pace_us = 200 + (int64_t)random_below(mishap(10) ? 2000000 : 20000);
  from->end = mishap(15) ? EP_DIVERGED : mishap(40) ? EP_NO_MEMORY : EP_OK;
  from->state = WORKER_TRAINS;
  from->next_us = SIM->now_us + 100 + (int64_t)random_below(3000);
  int owner = model_owner(command->job);
  int training = owner < 0 ? 0 : workers_training(owner);
  must_hold(training <= 1 || training <= MODEL_QUOTA_CORES,
            "%d jobs of owner %d are trained at once, and its quota is %d cores", training, owner,
            MODEL_QUOTA_CORES);
}

static void request_answer(worker *from, const ep_command *command) {
  static const struct {
    ep_command_kind command;
    ep_reply_kind reply;
  } answers[] = {{EP_COMMAND_PROBE, EP_REPLY_PROBED},
                 {EP_COMMAND_CALIBRATE, EP_REPLY_CALIBRATED},
                 {EP_COMMAND_PREDICT, EP_REPLY_PREDICTED},
                 {EP_COMMAND_EXPORT, EP_REPLY_EXPORTED},
                 {EP_COMMAND_PLOT, EP_REPLY_PLOTTED}};
  ep_reply reply = {.request = command->request};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
    if (answers[i].command == command->kind) reply.kind = answers[i].reply;
  if (reply.kind == EP_REPLY_CALIBRATED) {
    reply.calibration.count = 1;
    snprintf(reply.calibration.executors[0].executor, EP_EXECUTOR_BYTES, "cpu/fused");
    reply.calibration.executors[0].seconds[0] = 1e-3;
  }
  reply_put(from, &reply);
}

static void command_take(worker *from, const ep_command *command) {
  bool own = from->job[0] && strcmp(command->job, from->job) == 0 &&
             command->attempt == from->attempt && !from->deaf;
  switch (command->kind) {
  case EP_COMMAND_TRAIN: train_begin(from, command); return;
  case EP_COMMAND_CANCEL: from->cancel |= own; return;
  case EP_COMMAND_PAUSE: from->pause |= own; return;
  case EP_COMMAND_HELP:
  case EP_COMMAND_RELEASE:
  case EP_COMMAND_HELPERS: return;
  default: request_answer(from, command); return;
  }
}

static void commands_take(worker *from) {
  channel *socket = from->socket;
  ep_error error = {0};
  while (socket->count[1] >= EP_FRAME_HEADER_BYTES) {
    ep_frame_kind kind;
    size_t bytes = 0;
    must_hold(ep_frame_header(socket->bytes[1], &kind, &bytes, &error) == EP_OK &&
                  kind == EP_FRAME_COMMAND,
              "worker %d gets what is no command: %s", from->pid, error.message);
    if (socket->count[1] < EP_FRAME_HEADER_BYTES + bytes) return;
    uint8_t *frame = outside_malloc(EP_FRAME_HEADER_BYTES + bytes);
    channel_take(socket, 1, frame, EP_FRAME_HEADER_BYTES + bytes);
    ep_command command = {0};
    must_hold(ep_command_decode(frame + EP_FRAME_HEADER_BYTES, bytes, &command, &error) == EP_OK,
              "worker %d gets a wrong command: %s", from->pid, error.message);
    outside_free(frame);
    event_note("worker %d gets %s %s %d", from->pid, ep_command_kind_name(command.kind),
               command.job, command.attempt);
    command_take(from, &command);
    ep_command_deinit(&command);
  }
}

/* A step of a training; false: the worker is dead. */
static bool train_step(worker *from) {
  from->next_us = SIM->now_us + from->pace_us;
  if (mishap(120)) {
    worker_die(from, one_in(2) ? -SIGNAL_KILL : 3);
    return false;
  }
  if (mishap(400)) {
    event_note("worker %d hangs", from->pid);
    from->state = WORKER_HANGS;
    from->next_us = INT64_MAX;
    return true;
  }
  if (!from->begun) {
    progress_put(from, from->job, from->attempt, 1, 0, false);
    ep_reply reply = reply_of(from, EP_REPLY_STARTED);
    memcpy(reply.executor, from->executor, sizeof reply.executor);
    reply.epoch = from->epoch;
    reply.parameters = 3;
    reply_put(from, &reply);
    from->begun = true;
  } else if (from->cancel) {
    job_finish(from, EP_CANCELLED);
  } else if (from->pause) {
    job_finish(from, EP_PAUSED);
  } else if (from->epoch == from->epochs || (from->end != EP_OK && one_in(20))) {
    job_finish(from, from->end);
  } else {
    int64_t count = 1 + (int64_t)random_below(4);
    if (count > from->epochs - from->epoch) count = from->epochs - from->epoch;
    progress_put(from, from->job, from->attempt, from->epoch + 1, count, false);
    from->epoch += count;
    if (!one_in(6)) return true;
    ep_reply reply = reply_of(from, EP_REPLY_CHECKPOINTED);
    reply.epoch = from->epoch;
    reply.step = from->epoch * 10;
    reply.bytes = 1000;
    model_checkpoint(from->job, from->epoch);
    reply_put(from, &reply);
  }
  return true;
}

static void ready_put(worker *from) {
  ep_reply ready = {.kind = EP_REPLY_READY};
  snprintf(ready.device.id, sizeof ready.device.id, "%s", from->device);
  snprintf(ready.device.name, sizeof ready.device.name, "a simulated device");
  from->state = WORKER_IDLE;
  from->next_us = INT64_MAX;
  reply_put(from, &ready);
}

static void worker_step(worker *one) {
  if (one->kill_us != 0 && SIM->now_us >= one->kill_us) {
    worker_die(one, -SIGNAL_KILL);
    return;
  }
  if (SIM->now_us < one->next_us) return;
  one->next_us = INT64_MAX;
  if (one->socket->holders[0] == 0) {
    worker_die(one, 0);
    return;
  }
  if (one->state == WORKER_BOOTS) {
    if (mishap(60))
      worker_die(one, 4);
    else if (mishap(300))
      one->state = WORKER_HANGS;
    else
      ready_put(one);
    return;
  }
  if (one->state == WORKER_IDLE || one->state == WORKER_TRAINS) commands_take(one);
  if (!WORKERS->calm && one_in(30)) late_put(one);
  if (one->state == WORKER_TRAINS) train_step(one);
}

void workers_step(void) {
  for (int i = 0; i < WORKERS_MOST; i++) {
    worker *one = &WORKERS->worker[i];
    if (one->state == WORKER_FREE || one->state == WORKER_DEAD) continue;
    worker_step(one);
    /* The end of its socket, which a hanging one does not see. */
    if (one->socket && one->socket->holders[0] == 0 && one->next_us == INT64_MAX &&
        one->state != WORKER_HANGS)
      one->next_us = SIM->now_us + 100;
  }
}

int64_t workers_next_us(void) {
  int64_t first_us = INT64_MAX;
  for (int i = 0; i < WORKERS_MOST; i++) {
    const worker *one = &WORKERS->worker[i];
    if (one->state == WORKER_FREE || one->state == WORKER_DEAD) continue;
    if (one->next_us < first_us) first_us = one->next_us;
    if (one->kill_us != 0 && one->kill_us < first_us) first_us = one->kill_us;
  }
  return first_us;
}

void workers_forget(void) {
  for (int i = 0; i < WORKERS_MOST; i++) {
    worker *one = &WORKERS->worker[i];
    if (one->socket) {
      channel_leave(one->socket, 1);
      channel_leave(one->errors, 1);
    }
    *one = (worker){0};
  }
}

int workers_training(int owner) {
  int count = 0;
  for (int i = 0; i < WORKERS_MOST; i++)
    if (WORKERS->worker[i].state == WORKER_TRAINS && WORKERS->worker[i].kill_us == 0 &&
        model_owner(WORKERS->worker[i].job) == owner)
      count++;
  return count;
}
