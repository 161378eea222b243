/* epoch-worker: one device, one context, one training at a time. epochd starts it, speaks to it
 * over a socket (api/wire/frame.h), and starts it again when it dies.
 *
 * The main thread reads commands, answers probes, and sends what the training thread has put into
 * the outbox; predictions have a thread of their own. The process ends when epochd's socket ends,
 * or when its device failed. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/arguments/arguments.h"
#include "api/arguments/help.h"
#include "api/hash/sha256.h"
#include "api/names.h"
#include "api/wire/frame.h"
#include "engine/data/sources/allowed_paths.h"
#include "engine/files/disk_wait.h"
#include "engine/files/path.h"
#include "engine/training/train.h"
#include "engine/worker/calibrator.h"
#include "engine/worker/device.h"
#include "engine/worker/helping.h"
#include "engine/worker/link.h"
#include "engine/worker/nodes.h"
#include "engine/worker/outbox.h"
#include "engine/worker/paths.h"
#include "engine/worker/relay/relay.h"
#include "engine/worker/replay.h"
#include "engine/worker/replies.h"
#include "engine/worker/sweeping.h"

enum { EXIT_USAGE = 2 };
enum { DISK_LOOK_MS = 1000 }; /* how often a training is looked for in waits for the disk */

/* One training, from its command to its FINISHED. */
typedef struct {
  ep_command command;
  ep_job_spec *spec;
  ep_job_result result;
  ep_error error; /* the device's, when it failed */
  ep_status status;
  time_t alive_second; /* when the training thread last said that it goes on */
  atomic_bool cancel, pause;
  ep_sweep_sharing *sharing; /* owned; NULL = memory is short, or none of it is shared */
  ep_help *before;           /* owned: the help that has the device still; NULL = none */
} training;

typedef struct {
  const char *device_name, *data_dir, *plugin;
  int64_t data_bytes_max, checkpoint_after_seconds;
  ep_link link;
  ep_device device;
  ep_replies answers;
  ep_calibrator calibrator;
  ep_outbox outbox;
  ep_helping helping;
  training *training; /* NULL while idle; main thread only */
  uint64_t disk_seen; /* of ep_disk_wait_active */
  time_t disk_second; /* of the last look */
  pthread_t thread;   /* of the last training, which may still be giving memory back */
  bool threaded;      /* there is one */
  ep_progress_record records[EP_OUTBOX_RECORDS];
  ep_trial_record trials[EP_OUTBOX_TRIALS];
} worker;

static ep_reply reply_of(const worker *w, ep_reply_kind kind) {
  ep_reply reply = {.kind = kind, .attempt = w->training->command.attempt};
  snprintf(reply.job, sizeof reply.job, "%s", w->training->command.job);
  return reply;
}

static void training_started(void *context, const ep_train_start *begun) {
  worker *w = context;
  ep_reply start = reply_of(w, EP_REPLY_STARTED);
  start.parameters = begun->plan->parameters;
  start.bytes = begun->plan->bytes;
  start.epoch = begun->epoch;
  snprintf(start.executor, sizeof start.executor, "%s", begun->executor);
  snprintf(start.note, sizeof start.note, "%s", begun->note);
  snprintf(start.remarks, sizeof start.remarks, "%s", begun->remarks);
  ep_outbox_start(&w->outbox, &start);
}

static void training_checkpoint(void *context, const ep_checkpoint *checkpoint,
                                const ep_error *failure) {
  worker *w = context;
  ep_reply reply = reply_of(w, EP_REPLY_CHECKPOINTED);
  reply.step = checkpoint->step;
  reply.epoch = checkpoint->epoch;
  reply.bytes = checkpoint->bytes;
  if (failure) reply.error = *failure;
  ep_outbox_checkpoint(&w->outbox, &reply);
}

static void training_waiting(void *context, const ep_error *why) {
  worker *w = context;
  ep_reply reply = reply_of(w, EP_REPLY_WAITING);
  reply.error = *why;
  ep_outbox_wait(&w->outbox, &reply);
}

static void training_report(void *context, const ep_progress_record *records, int count) {
  worker *w = context;
  ep_outbox_put(&w->outbox, records, count);
}

static void training_segment(void *context) {
  worker *w = context;
  ep_outbox_flush(&w->outbox);
}

static void training_done(void *context) {
  worker *w = context;
  ep_outbox_finish(&w->outbox);
}

/* At most one word a second: nothing is said faster than epochd's watchdog could care. */
static void training_alive(void *context) {
  worker *w = context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec == w->training->alive_second) return;
  w->training->alive_second = now.tv_sec;
  ep_outbox_alive(&w->outbox);
}

static ep_status spec_parse(training *t, ep_error *error) {
  ep_status status = ep_job_spec_load(t->command.spec, strlen(t->command.spec), &t->spec, error);
  /* Started again, it goes as it went before, whatever would be chosen today. */
  if (status == EP_OK && t->command.executor[0])
    memcpy(t->spec->executor, t->command.executor, sizeof t->spec->executor);
  return status;
}

/* The training did not begin: the job's fault, or the device's. */
static void training_refuse(worker *w, ep_status status, const ep_error *error) {
  training *t = w->training;
  if (ep_status_class(status) == EP_CLASS_DEVICE) {
    t->status = status;
    t->error = *error;
  } else {
    t->result.status = status;
    snprintf(t->result.message, sizeof t->result.message, "%s", error->message);
    snprintf(t->result.pointer, sizeof t->result.pointer, "%s", error->pointer);
  }
  training_done(w);
}

/* What the trainings of jobs and of sweeps have alike. */
static ep_training training_of(worker *w) {
  training *t = w->training;
  return (ep_training){
      .backend_ops = w->device.ops,
      .backend = w->device.backend,
      .device = w->device_name,
      .data_bytes_max = w->data_bytes_max,
      .gpus = t->command.gpus,
      .gpus_count = t->command.gpus_count,
      .cancel = &t->cancel,
      .pause = &t->pause,
      .sink = {.context = w, .alive = training_alive, .waiting = training_waiting}};
}

static void sweep_started(void *context, int64_t parameters, int64_t done) {
  worker *w = context;
  ep_reply start = reply_of(w, EP_REPLY_STARTED);
  start.parameters = parameters;
  start.epoch = done;
  ep_outbox_start(&w->outbox, &start);
}

static ep_status sweep_results(void *context, const ep_trial_record *records, int64_t count,
                               ep_error *error) {
  worker *w = context;
  (void)error;
  ep_outbox_put_trials(&w->outbox, records, count);
  return EP_OK;
}

static void sweep_wants(void *context, int helpers) {
  worker *w = context;
  ep_helping_want(&w->link, &w->training->command, helpers);
}

static ep_status sweep_points(void *context, uint64_t lease, const ep_trial_point *points,
                              int64_t count, ep_error *error) {
  worker *w = context;
  return ep_helping_send(&w->link, &w->training->command, lease, points, count, error);
}

static ep_sweep_run sweep_of(worker *w) {
  return (ep_sweep_run){.shared = training_of(w),
                        .sharing = w->training->sharing,
                        .wants = sweep_wants,
                        .points = sweep_points};
}

/* Until a help that was told to end has ended. This thread waits, and not the main one, which is to
 * hear of what epochd wants; the watchdog waits as long as that help says that it goes on. */
static void device_await(worker *w) {
  ep_help_await(w->training->before, training_alive, w);
  w->training->before = NULL;
}

static void *sweep_thread(void *context) {
  worker *w = context;
  training *t = w->training;
  ep_error error = {0};
  ep_sweep_run run = sweep_of(w);
  run.logged = t->command.epochs_logged;
  run.started = sweep_started;
  run.results = sweep_results;
  device_await(w);
  ep_status status =
      ep_sweeping_train(w->data_dir, t->command.job, t->command.spec, &run, &t->result, &error);
  if (status == EP_OK)
    training_done(w);
  else
    training_refuse(w, status, &error);
  return NULL;
}

/* The folds and repeats of a job that was trained; each result is in the job's folder. Nothing is
 * told of them: who shows the job reads them there. */
static ep_status parts_forget(void *context, const ep_trial_record *records, int64_t count,
                              ep_error *error) {
  (void)context, (void)records, (void)count, (void)error;
  return EP_OK;
}

static ep_status parts_train(worker *w, ep_error *error) {
  training *t = w->training;
  ep_job_result result = {0};
  ep_sweep_run run = sweep_of(w);
  run.results = parts_forget;
  ep_status status =
      ep_sweeping_train_parts(w->data_dir, t->command.job, t->command.spec, &run, &result, error);
  if (status == EP_OK && result.status != EP_OK) {
    t->result.status = result.status; /* cancelled or paused, say */
    memcpy(t->result.message, result.message, sizeof t->result.message);
  }
  ep_job_result_deinit(&result);
  return status;
}

/* Of the training nothing is left once its last word is in the outbox. */
static void *training_thread(void *context) {
  worker *w = context;
  training *t = w->training;
  ep_training_paths paths;
  ep_error error = {0};
  device_await(w);
  ep_status status = spec_parse(t, &error);
  if (status == EP_OK)
    status = ep_training_paths_find(w->data_dir, t->command.job, t->spec, &paths, &error);
  if (status != EP_OK) {
    training_refuse(w, status, &error);
    return NULL;
  }
  ep_training job = training_of(w);
  job.spec = t->spec;
  job.spec_text = t->command.spec;
  job.dataset_folder = paths.dataset[0] ? paths.dataset : NULL;
  job.init_weights = paths.init_weights[0] ? paths.init_weights : NULL;
  job.job_folder = paths.job;
  job.epochs_logged = t->command.epochs_logged;
  job.thinning = t->command.thinning;
  /* no longer than what the job risks anyway */
  job.checkpoint_after_seconds =
      fmin((double)w->checkpoint_after_seconds, t->spec->checkpoint_every_seconds);
  job.sink = (ep_train_sink){w,
                             training_started,
                             training_report,
                             training_alive,
                             training_segment,
                             training_checkpoint,
                             training_waiting,
                             training_done};
  bool parts = ep_parts_count(&t->spec->parts) > 1; /* not of a finder: the spec says so */
  if (parts) job.sink.done = NULL;
  status = ep_replay_make(&job, w->data_dir, &error);
  if (status == EP_OK && ep_train(&job, &t->result, &error) != EP_OK) status = EP_DEVICE;
  if (status == EP_OK && !parts) return NULL; /* it has had its last word */
  if (status == EP_OK && t->result.status == EP_OK) status = parts_train(w, &error);
  if (status == EP_OK)
    training_done(w);
  else
    training_refuse(w, status, &error);
  return NULL;
}

static void training_destroy(training *t) {
  ep_job_result_deinit(&t->result);
  ep_job_spec_destroy(t->spec);
  ep_sweep_sharing_destroy(t->sharing);
  ep_command_deinit(&t->command);
  free(t);
}

/* Said before anything is done with the job: a worker that dies from here on may die of it. */
static ep_status begun_send(worker *w, ep_error *error) {
  ep_progress begun = {.attempt = w->training->command.attempt};
  memcpy(begun.job, w->training->command.job, sizeof begun.job);
  return ep_link_send_progress(&w->link, &begun, error);
}

/* Takes ownership of the command's parts. */
static ep_status training_begin(worker *w, ep_command *command, ep_error *error) {
  if (w->training) {
    ep_command_deinit(command);
    return ep_fail(error, EP_INTERNAL, "already training");
  }
  training *t = calloc(1, sizeof *t);
  if (!t) {
    ep_command_deinit(command);
    return ep_fail_memory(error);
  }
  t->command = *command;
  t->sharing = ep_sweep_sharing_create();
  w->training = t;
  ep_status status = begun_send(w, error);
  if (status != EP_OK) return status; /* the process ends with its socket */
  ep_calibrator_stop(&w->calibrator);
  ep_helping_end(&w->helping, 0);
  t->before = ep_helping_take(&w->helping);
  if (w->threaded) pthread_join(w->thread, NULL);
  bool sweep = strncmp(t->command.job, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0;
  int failed = pthread_create(&w->thread, NULL, sweep ? sweep_thread : training_thread, w);
  w->threaded = !failed;
  if (failed) {
    w->training = NULL;
    training_destroy(t);
    return ep_fail(error, EP_NO_MEMORY, "no thread for the training: %s", strerror(failed));
  }
  return EP_OK; /* its last word is in the outbox; the process may end without it */
}

static ep_status training_end(worker *w, ep_error *error) {
  training *t = w->training;
  ep_status status = t->status;
  if (status == EP_OK) {
    ep_reply reply = reply_of(w, EP_REPLY_FINISHED);
    reply.result = t->result;
    status = ep_link_send_reply(&w->link, &reply, error);
  } else if (error) {
    *error = t->error;
  }
  w->training = NULL;
  training_destroy(t);
  return status;
}

/* A sign of life, where there is nothing else to say, is progress without a record. */
static ep_status progress_send(worker *w, const ep_outbox_content *content, ep_error *error) {
  bool trials = content->trials_count > 0;
  int count = trials ? content->trials_count : content->count;
  /* after its last word there is no training any more */
  if (count == 0 && (!content->alive || content->finished || !w->training)) return EP_OK;
  ep_progress progress = {.attempt = w->training->command.attempt,
                          .count = (uint32_t)count,
                          .records = w->records,
                          .trials = trials ? w->trials : NULL};
  snprintf(progress.job, sizeof progress.job, "%s", w->training->command.job);
  return ep_link_send_progress(&w->link, &progress, error);
}

/* Sends what the training thread has put into the outbox. */
static ep_status outbox_send(worker *w, ep_error *error) {
  ep_outbox_content content;
  ep_outbox_take(&w->outbox, &content, w->records, w->trials);
  ep_status status = EP_OK;
  if (content.started) status = ep_link_send_reply(&w->link, &content.start, error);
  if (status == EP_OK) status = progress_send(w, &content, error);
  if (status == EP_OK && content.checkpointed)
    status = ep_link_send_reply(&w->link, &content.checkpoint, error);
  if (status == EP_OK && content.waiting)
    status = ep_link_send_reply(&w->link, &content.wait, error);
  if (status == EP_OK && content.finished) status = training_end(w, error);
  return status;
}

static ep_status probe_answer(worker *w, const ep_command *command, ep_error *error) {
  ep_reply reply = {.kind = EP_REPLY_PROBED, .request = command->request};
  ep_status status = w->device.ops->probe(w->device.backend, &reply.error);
  if (status == EP_DEVICE) {
    if (error) *error = reply.error;
    return status;
  }
  return ep_link_send_reply(&w->link, &reply, error);
}

/* Takes ownership of the command's parts. */
static ep_status help_begin(worker *w, ep_command *command, ep_error *error) {
  ep_calibrator_stop(&w->calibrator);
  w->helping.shared = (ep_training){.backend_ops = w->device.ops,
                                    .backend = w->device.backend,
                                    .device = w->device_name,
                                    .data_bytes_max = w->data_bytes_max};
  w->helping.link = &w->link;
  w->helping.data_dir = w->data_dir;
  return ep_helping_begin(&w->helping, command, error);
}

/* Takes ownership of the command's parts. */
static ep_status command_obey(worker *w, ep_command *command, ep_error *error) {
  ep_status status = EP_OK;
  switch (command->kind) {
  case EP_COMMAND_TRAIN: return training_begin(w, command, error);
  case EP_COMMAND_CANCEL:
    if (w->training && strcmp(w->training->command.job, command->job) == 0)
      atomic_store(&w->training->cancel, true);
    break;
  case EP_COMMAND_PAUSE:
    if (w->training && strcmp(w->training->command.job, command->job) == 0)
      atomic_store(&w->training->pause, true);
    break;
  case EP_COMMAND_PREDICT:
  case EP_COMMAND_PLOT:
  case EP_COMMAND_EXPORT: return ep_replies_take(&w->answers, command, error);
  case EP_COMMAND_HELP: return help_begin(w, command, error);
  case EP_COMMAND_RELEASE: ep_helping_end(&w->helping, command->lease); break;
  case EP_COMMAND_HELPERS: /* of the job that it has: commands come in their order */
    if (w->training && w->training->sharing)
      ep_sweep_sharing_set(w->training->sharing, command->leases, command->leases_count);
    break;
  case EP_COMMAND_PROBE: status = probe_answer(w, command, error); break;
  case EP_COMMAND_CALIBRATE:
    status = ep_calibrator_start(&w->calibrator, command->request, error);
    if (w->training || ep_helping_is_active(&w->helping)) ep_calibrator_stop(&w->calibrator);
    break;
  }
  ep_command_deinit(command);
  return status;
}

/* Takes ownership of the input's parts. */
static ep_status input_take(worker *w, ep_link_input *input, ep_error *error) {
  if (input->kind == EP_FRAME_COMMAND) return command_obey(w, &input->command, error);
  const bool points = input->kind == EP_FRAME_POINTS;
  if (points) ep_helping_add(&w->helping, &input->points);
  if (!points && w->training && w->training->sharing)
    ep_sweep_sharing_results(w->training->sharing, &input->points);
  free(input->payload);
  return EP_OK;
}

static ep_status ready_send(worker *w, ep_error *error) {
  ep_reply reply = {.kind = EP_REPLY_READY};
  ep_status status = ep_device_describe(&w->device, w->device_name, &reply.device, error);
  if (status != EP_OK) return status;
  ep_calibrator_init(&w->calibrator, &w->device, &reply.device, &w->link);
  return ep_link_send_reply(&w->link, &reply, error);
}

/* A training that waits for the disk, at its end say, cannot report that it goes on: this thread
 * does. One that hangs anywhere else is silent, and epochd's watchdog ends it. A wait for the disk
 * may take as long as it takes: SIGKILL would not end it either. */
static void disk_alive(worker *w) {
  struct timespec now;
  if (!w->training) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec == w->disk_second) return;
  w->disk_second = now.tv_sec;
  if (ep_disk_wait_active(&w->disk_seen)) ep_outbox_alive(&w->outbox);
}

/* Until the socket ends (EP_OK) or something fails for good. */
static ep_status worker_run(worker *w, ep_error *error) {
  enum { SOCKET, OUTBOX };
  struct pollfd polled[] = {{.fd = w->link.socket, .events = POLLIN},
                            {.fd = w->outbox.wake, .events = POLLIN}};
  ep_status status = ready_send(w, error);
  while (status == EP_OK) {
    if (poll(polled, 2, w->training ? DISK_LOOK_MS : -1) < 0) {
      if (errno == EINTR) continue; /* what it said the last time still stands in `polled` */
      return ep_fail(error, EP_IO, "poll: %s", strerror(errno));
    }
    disk_alive(w);
    if (polled[SOCKET].revents) {
      ep_link_input input;
      bool ended = false;
      status = ep_link_receive(&w->link, &input, &ended, error);
      if (ended) return EP_OK;
      if (status == EP_OK) status = input_take(w, &input, error);
    }
    if (status == EP_OK && polled[OUTBOX].revents) status = outbox_send(w, error);
  }
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "device", .kind = EP_OPTION_TEXT, .value = "cpu|cuda:N", .doc = "the device to train on"},
  {.name = "data-dir", .kind = EP_OPTION_FILE, .value = "DIR", .doc = "the data folder of epochd"},
  {.name = "socket", .kind = EP_OPTION_INTEGER, .value = "FD", .max = INT32_MAX,
   .doc = "the descriptor of the socket to epochd"},
  {.name = "plugin", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "the CUDA plug-in (beside this program)"},
  {.name = "allow-path", .kind = EP_OPTION_LIST, .value = "DIR:…",
   .doc = "folders whose files a job may read"},
  {.name = "data-bytes-max", .kind = EP_OPTION_INTEGER, .value = "N", .max = INT64_MAX,
   .doc = "device memory that training rows may take (all free memory)"},
  {.name = "checkpoint-after", .kind = EP_OPTION_INTEGER, .value = "SECONDS", .max = 86400,
   .doc = "no checkpoint in the first seconds of a training (5)"},
  {.name = "connect", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "be a worker of the epochd of this connection file, on another machine"},
  {.name = "join", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "be a further node of the worker that writes this file"},
  {.name = "node-sockets", .kind = EP_OPTION_INTEGER, .value = "N", .max = EP_LIMIT_RANKS - 1,
   .doc = "further nodes of its trainings, whose sockets are behind --socket (0)"},
  {.name = "serve-node", .kind = EP_OPTION_INTEGER, .value = "FD", .max = INT32_MAX,
   .doc = "be the process of a further node: the descriptor of its socket"},
  {.name = "list", .kind = EP_OPTION_SWITCH, .doc = "print the available devices and exit"},
  {.name = "help", .kind = EP_OPTION_SWITCH, .doc = "print this help and exit"},
  {.name = NULL}};
/* clang-format on */

static int usage(FILE *file, int code) {
  fputs("usage: epoch-worker --device cpu|cuda:N --data-dir DIR --socket FD [OPTIONS]\n"
        "       epoch-worker --list [--plugin FILE]\n"
        "       epoch-worker --connect FILE [--plugin FILE]\n"
        "       epoch-worker --join FILE\n\n"
        "epochd starts this program; with --connect and --join, a scheduler does.\n\n",
        file);
  ep_help_options(file, OPTIONS);
  return code;
}

/* A folder that is gone since epochd checked it does not stop the worker: other data trains. */
static void folders_allow(const ep_arguments *arguments) {
  for (int i = 0; i < arguments->given_count; i++) {
    ep_error error = {0};
    if (strcmp(arguments->given[i].option->name, "allow-path") == 0 &&
        ep_allowed_paths_add(arguments->given[i].value, &error) != EP_OK)
      fprintf(stderr, "epoch-worker: %s\n", error.message);
  }
}

int main(int argc, char **argv) {
  static worker w;
  static ep_arguments arguments;
  ep_error error = {0};
  ep_status status = ep_arguments_read(&arguments, argc, argv, 1, OPTIONS, NULL, NULL, &error);
  if (status != EP_OK) {
    fprintf(stderr, "epoch-worker: %s\n", error.message);
    return usage(stderr, EXIT_USAGE);
  }
  if (ep_arguments_has(&arguments, "help")) return usage(stdout, 0);
  w.device_name = ep_arguments_value(&arguments, "device");
  w.data_dir = ep_arguments_value(&arguments, "data-dir");
  w.plugin = ep_arguments_value(&arguments, "plugin");
  w.data_bytes_max = ep_arguments_integer(&arguments, "data-bytes-max", 0);
  w.checkpoint_after_seconds =
      ep_arguments_integer(&arguments, "checkpoint-after", EP_LIMIT_YOUNG_SECONDS);
  int socket = (int)ep_arguments_integer(&arguments, "socket", -1);
  if (ep_arguments_has(&arguments, "list")) return ep_devices_print(w.plugin);
  if (ep_worker_is_node(&arguments)) return ep_worker_run_node(&arguments);
  const char *connection = ep_arguments_value(&arguments, "connect");
  if (connection && ep_sha256_prepare(&error) == EP_OK)
    return ep_relay_run(connection, "/proc/self/exe", w.plugin);
  if (arguments.words_count > 0 || !w.device_name || !w.data_dir || socket < 0)
    return usage(stderr, EXIT_USAGE);

  ep_device_environment_complete(argv);
  folders_allow(&arguments);
  ep_device_walls_raise(w.device_name);
  ep_json_seed();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for epochd, which then ends the socket */
  status = ep_sha256_prepare(&error);
  if (status == EP_OK) status = ep_device_open(w.device_name, w.plugin, &w.device, &error);
  if (status == EP_OK && strcmp(w.device_name, "cpu") == 0)
    status = ep_worker_use_nodes(&w.device, socket,
                                 (int)ep_arguments_integer(&arguments, "node-sockets", 0), &error);
  if (status == EP_OK) status = ep_outbox_init(&w.outbox, &error);
  ep_link_init(&w.link, socket);
  if (status == EP_OK) status = ep_replies_start(&w.answers, &w.link, w.data_dir, &error);
  if (status == EP_OK) status = worker_run(&w, &error);
  if (status == EP_OK && w.threaded && !w.training) pthread_join(w.thread, NULL);
  if (status == EP_OK || status == EP_CANCELLED)
    _exit(0); /* a training may be under way: nobody wants it any more */
  fprintf(stderr, "epoch-worker %s: %s\n", w.device_name, error.message);
  _exit(EP_EXIT_DEVICE);
}
