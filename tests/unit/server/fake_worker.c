/* fake_worker.c: a worker that trains nothing. The job's name selects what it does, so that tests
 * of the supervisor get deaths, silences and refusals on demand.
 *
 * - instant: all epochs at once; weights: the same, and writes weights.safetensors
 * - slow: an epoch every 5 ms; stubborn: the same, and deaf to cancel
 * - fickle: slow, and would choose another executor at each attempt
 * - late: an epoch; two more when it is paused, together with its end
 * - long: an epoch every 2 s, and a sign of life every 5 ms
 * - hang: says STARTED, then nothing; silent: not even that it has begun
 * - diverge: fails at the last epoch
 * - greedy: allocates a TiB beside its plan, and fails where it gets no more
 * - exit: ends with code 3 before STARTED; mute: before it has said anything of the job
 * - kill: dies (SIGKILL) after half its epochs; kill-once: so at its first attempt
 * - weights-kill: writes weights.safetensors, then dies instead of saying so
 * - climb: dies after one epoch more at every attempt, until there is none left
 *
 * While DATA/busy is there it measures nothing. While DATA/deaf is there, it makes DATA/asked where
 * it is to measure, and does not answer.
 * Device cuda:7 never opens, nor does any while DATA/refuse is there; --list says cpu and cuda:0.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/spec/spec.h"
#include "api/wire/frame.h"

typedef struct {
  const char *device, *data_dir;
  int socket;
  ep_command command;
  ep_job_spec *spec; /* NULL while idle */
  int64_t epoch;
  bool cancelled, paused;
  bool holds; /* frames are to go out with the next that are not held */
  int ticks;  /* of 5 ms, of a long job */
} fake;

static void send_frame(fake *f, uint8_t *frame, size_t bytes) {
  static uint8_t held[1 << 14];
  static size_t held_bytes;
  if (f->holds || held_bytes > 0) { /* those that are held, and the one behind, go out together */
    if (held_bytes + bytes > sizeof held) _exit(4);
    memcpy(held + held_bytes, frame, bytes);
    free(frame);
    held_bytes += bytes;
    if (f->holds) return;
    bytes = held_bytes;
    held_bytes = 0;
    frame = malloc(bytes);
    if (!frame) _exit(4);
    memcpy(frame, held, bytes);
  }
  for (size_t done = 0; done < bytes;) {
    ssize_t sent = send(f->socket, frame + done, bytes - done, MSG_NOSIGNAL);
    if (sent <= 0) _exit(0);
    done += (size_t)sent;
  }
  free(frame);
}

static void send_reply(fake *f, ep_reply *reply) {
  size_t bytes = 0;
  uint8_t *frame = ep_reply_encode(reply, &bytes);
  if (!frame) _exit(4);
  send_frame(f, frame, bytes);
}

static bool named(const fake *f, const char *name) {
  return strcmp(f->spec->name, name) == 0;
}

static void say_started(fake *f) {
  ep_reply reply = {.kind = EP_REPLY_STARTED, .attempt = f->command.attempt, .parameters = 3};
  snprintf(reply.job, sizeof reply.job, "%s", f->command.job);
  const char *executor = f->command.executor;
  bool other = named(f, "fickle") && f->command.attempt > 1;
  if (executor[0] != 0)
    snprintf(reply.executor, sizeof reply.executor, "%s", executor);
  else
    snprintf(reply.executor, sizeof reply.executor, "fake/%s", other ? "other" : f->device);
  send_reply(f, &reply);
}

static void say_progress(fake *f, const ep_progress_record *records, int64_t count) {
  ep_progress progress = {
      .attempt = f->command.attempt, .count = (uint32_t)count, .records = records};
  snprintf(progress.job, sizeof progress.job, "%s", f->command.job);
  size_t bytes = 0;
  uint8_t *frame = ep_progress_encode(&progress, &bytes);
  if (!frame) _exit(4);
  send_frame(f, frame, bytes);
}

static void say_epochs(fake *f, int64_t count) {
  enum { AT_ONCE = 1000 };
  static ep_progress_record records[AT_ONCE];
  while (count > 0) {
    int64_t now = count < AT_ONCE ? count : AT_ONCE;
    for (int64_t i = 0; i < now; i++) {
      int64_t epoch = ++f->epoch;
      records[i] = (ep_progress_record){.epoch = epoch,
                                        .loss = 1.0 / (double)epoch,
                                        .error = __builtin_nan(""),
                                        .validation_loss = __builtin_nan(""),
                                        .validation_error = __builtin_nan(""),
                                        .lr = 0.01,
                                        .elapsed_seconds = (double)epoch * 0.005};
    }
    say_progress(f, records, now);
    count -= now;
  }
}

static void write_weights(const fake *f) {
  char path[4200];
  snprintf(path, sizeof path, "%s/jobs/%s/weights.safetensors", f->data_dir, f->command.job);
  FILE *file = fopen(path, "w");
  if (!file) _exit(5);
  fputs("weights", file);
  fclose(file);
}

static void say_finished(fake *f, ep_status status) {
  ep_reply reply = {.kind = EP_REPLY_FINISHED, .attempt = f->command.attempt};
  snprintf(reply.job, sizeof reply.job, "%s", f->command.job);
  reply.result.status = status;
  reply.result.epochs_done = f->epoch;
  reply.result.train_seconds = 0.5;
  snprintf(reply.result.device, sizeof reply.result.device, "%s", f->device);
  if (status == EP_NO_MEMORY)
    snprintf(reply.result.message, sizeof reply.result.message, "not enough memory");
  if (status == EP_DIVERGED)
    snprintf(reply.result.message, sizeof reply.result.message, "the loss is not finite");
  if (named(f, "weights")) {
    write_weights(f);
    reply.result.has_weights = true;
    memcpy(reply.result.weights_sha256, /* of "weights" */
           "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c", 64);
  }
  send_reply(f, &reply);
  ep_command_deinit(&f->command);
  ep_job_spec_destroy(f->spec);
  f->spec = NULL;
}

/* Nothing of it is touched, so that no machine is too small. False: it did not get all. */
static bool memory_take(void) {
  enum { PIECES = 1024, PIECE_BYTES = 1 << 30 };
  char *piece[PIECES];
  int count = 0;
  while (count < PIECES && (piece[count] = malloc(PIECE_BYTES))) count++;
  for (int i = 0; i < count; i++) free(piece[i]);
  return count == PIECES;
}

static void train_begin(fake *f, ep_command *command) {
  ep_problem problem = {0};
  f->command = *command;
  f->epoch = 0;
  f->cancelled = f->paused = false;
  if (ep_job_spec_parse(command->spec, strlen(command->spec), &f->spec, &problem) != EP_OK) {
    fprintf(stderr, "fake worker: %s\n", problem.detail);
    _exit(6);
  }
  int64_t epochs = f->spec->epochs;
  if (named(f, "mute")) _exit(3);
  if (named(f, "silent")) return;
  say_progress(f, NULL, 0);
  if (named(f, "exit")) _exit(3);
  say_started(f);
  bool kills = named(f, "kill") || (named(f, "kill-once") && command->attempt == 1);
  if (kills) say_epochs(f, epochs / 2);
  if (named(f, "climb") && command->attempt < epochs) {
    say_epochs(f, command->attempt);
    kills = true;
  }
  if (kills) raise(SIGKILL);
  if (named(f, "slow") || named(f, "fickle") || named(f, "stubborn") || named(f, "hang") ||
      named(f, "long") || named(f, "late"))
    return;
  if (named(f, "greedy") && !memory_take()) {
    say_finished(f, EP_NO_MEMORY);
    return;
  }
  say_epochs(f, epochs - f->epoch);
  if (named(f, "weights-kill")) {
    write_weights(f);
    raise(SIGKILL);
  }
  say_finished(f, named(f, "diverge") ? EP_DIVERGED : EP_OK);
}

static void answer_predict(fake *f, ep_command *command) {
  ep_reply reply = {.kind = EP_REPLY_PREDICTED,
                    .request = command->request,
                    .rows = command->rows,
                    .columns = 1,
                    .output = calloc((size_t)command->rows + 1, sizeof(double))};
  for (int64_t i = 0; i < command->rows * command->columns; i++)
    reply.output[i / command->columns] += command->x[i];
  if (command->x[0] == 666) raise(SIGKILL);
  reply.rows += command->x[0] == 667; /* of a row that nobody sent */
  send_reply(f, &reply);
  ep_reply_deinit(&reply);
}

/* Whether the test has made this file. */
static bool is_there(const fake *f, const char *name) {
  char path[4200];
  snprintf(path, sizeof path, "%s/%s", f->data_dir, name);
  return access(path, F_OK) == 0;
}

/* One executor, whose steps cost a millisecond. */
static void answer_calibrate(fake *f, const ep_command *command) {
  ep_reply reply = {.kind = EP_REPLY_CALIBRATED, .request = command->request};
  bool cpu = strcmp(f->device, "cpu") == 0, busy = is_there(f, "busy");
  ep_executor_cost *cost = &reply.calibration.executors[0];
  if (is_there(f, "deaf")) {
    char path[4200];
    snprintf(path, sizeof path, "%s/asked", f->data_dir);
    FILE *file = fopen(path, "w");
    if (!file || fclose(file) != 0) _exit(9);
    return;
  }
  snprintf(cost->executor, sizeof cost->executor, cpu ? "cpu/fused" : "cuda/general");
  cost->seconds[0] = 1e-3;
  reply.calibration.count = 1;
  if (busy) ep_fail(&reply.error, EP_BUSY, "a job came first");
  send_reply(f, &reply);
}

static void refuse_export(fake *f, const ep_command *command) {
  ep_reply reply = {.kind = EP_REPLY_EXPORTED, .request = command->request};
  ep_fail(&reply.error, EP_TOO_LARGE, "%s would be too large", command->file);
  send_reply(f, &reply);
}

static void refuse_plot(fake *f, const ep_command *command) {
  ep_reply reply = {.kind = EP_REPLY_PLOTTED, .request = command->request};
  ep_fail(&reply.error, EP_NOT_FOUND, "%s does not fit", command->plot.name);
  send_reply(f, &reply);
}

static void obey(fake *f, ep_command *command) {
  ep_reply probed = {.kind = EP_REPLY_PROBED, .request = command->request};
  switch (command->kind) {
  case EP_COMMAND_TRAIN: train_begin(f, command); return;
  case EP_COMMAND_CANCEL:
    f->cancelled = f->spec && strcmp(command->job, f->command.job) == 0;
    break;
  case EP_COMMAND_PAUSE: f->paused = f->spec && strcmp(command->job, f->command.job) == 0; break;
  case EP_COMMAND_PREDICT: answer_predict(f, command); break;
  case EP_COMMAND_EXPORT: refuse_export(f, command); break;
  case EP_COMMAND_PLOT: refuse_plot(f, command); break;
  case EP_COMMAND_PROBE: send_reply(f, &probed); break;
  case EP_COMMAND_CALIBRATE: answer_calibrate(f, command); break;
  case EP_COMMAND_HELP:
  case EP_COMMAND_RELEASE:
  case EP_COMMAND_HELPERS: break; /* of sweeps, which it has none of */
  }
  ep_command_deinit(command);
}

static void receive(int socket, void *block, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t got = recv(socket, (char *)block + done, bytes - done, 0);
    if (got <= 0) _exit(0);
    done += (size_t)got;
  }
}

static void command_receive(fake *f) {
  uint8_t header[EP_FRAME_HEADER_BYTES];
  ep_frame_kind kind;
  size_t bytes = 0;
  ep_command command = {0};
  ep_error error = {0};
  receive(f->socket, header, sizeof header);
  if (ep_frame_header(header, &kind, &bytes, &error) != EP_OK) _exit(7);
  uint8_t *payload = malloc(bytes + 1);
  receive(f->socket, payload, bytes);
  if (ep_command_decode(payload, bytes, &command, &error) != EP_OK) _exit(8);
  free(payload);
  obey(f, &command);
}

/* What a training that takes its time does every 5 ms. */
static void tick(fake *f) {
  if (named(f, "hang") || named(f, "silent")) return;
  if (named(f, "late") && f->epoch > 0 && !f->paused && !f->cancelled) return;
  if (f->cancelled && !named(f, "stubborn")) {
    say_finished(f, EP_CANCELLED);
    return;
  }
  if (f->paused && !named(f, "stubborn")) {
    f->holds = true;
    if (named(f, "late")) say_epochs(f, 2);
    f->holds = false;
    say_finished(f, EP_PAUSED);
    return;
  }
  if (named(f, "long") && ++f->ticks % 400 != 0) {
    say_progress(f, NULL, 0);
    return;
  }
  say_epochs(f, 1);
  if (f->epoch == f->spec->epochs) say_finished(f, EP_OK);
}

int main(int count, char **arguments) {
  fake f = {.device = "cpu", .data_dir = ".", .socket = -1};
  for (int i = 1; i < count; i++) {
    const char *value = i + 1 < count ? arguments[i + 1] : "";
    if (strcmp(arguments[i], "--list") == 0) return puts("cpu\ncuda:0") < 0;
    if (strcmp(arguments[i], "--device") == 0) f.device = value;
    if (strcmp(arguments[i], "--data-dir") == 0) f.data_dir = value;
    if (strcmp(arguments[i], "--socket") == 0) f.socket = atoi(value);
  }
  if (strcmp(f.device, "cuda:7") == 0 || is_there(&f, "refuse")) return 3;
  ep_reply ready = {.kind = EP_REPLY_READY};
  snprintf(ready.device.id, sizeof ready.device.id, "%s", f.device);
  snprintf(ready.device.name, sizeof ready.device.name, "a fake device");
  send_reply(&f, &ready);
  for (;;) {
    struct pollfd polled = {.fd = f.socket, .events = POLLIN};
    int ready_count = poll(&polled, 1, f.spec ? 5 : -1);
    if (ready_count > 0) command_receive(&f);
    if (ready_count == 0 && f.spec) tick(&f);
  }
}
