#include "engine/worker/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/worker/relay/child.h"
#include "engine/worker/relay/clock.h"
#include "engine/worker/relay/connect.h"
#include "engine/worker/relay/folder.h"
#include "engine/worker/relay/handing_over.h"
#include "engine/worker/relay/nodes.h"

enum {
  EXIT_REFUSED = 4,
  RETRY_MS = 500,      /* between two tries to connect */
  PATIENCE_MS = 30000, /* of the first connection, until the gateway says how long */
  LEAVE_MS = 25000,    /* after SIGTERM; a scheduler gives 30 s */
  STORED_MS = 10000,   /* that epochd had a job's end, and has surely stored it */
  PAUSE_MS = 60000,    /* for a checkpoint, where epochd cannot be reached */
  GREETING_MS = 10000, /* of a handshake and a greeting */
  QUEUED_MOST_BYTES = 4 << 20
};

typedef struct {
  ep_connection connection;
  char secret[EP_SHA256_HEX_BYTES]; /* of the next connection */
  ep_relay_child child;
  ep_relay_folder folder;
  ep_relay_nodes nodes; /* other ones of the allocation */
  ep_held held;
  uint8_t *ready; /* the worker's first frame, which every gateway gets; owned */
  size_t ready_bytes;
  char job[EP_ID_BYTES]; /* that the worker has, or had last; "" = none */
  int attempt;
  int64_t epochs_logged; /* in the job's log, when the attempt began */
  uint64_t ended;        /* the job's last frame, which the gateway took; 0 = the job goes on */
  int64_t ended_ms;

  ep_channel *channel; /* NULL = there is no connection */
  bool greeted, welcomed;
  uint64_t sent;        /* the last frame that was put into this channel */
  ep_outgoing outgoing; /* one of the files before the next frame */
  ep_incoming incoming;
  int64_t greeting_ms; /* when the greeting must be over */
  int64_t retry_ms;    /* when the next connection is tried */
  int64_t lost_ms;     /* when the last connection ended */
  int64_t give_up_ms;  /* when no further one is tried; 0 = there is a connection */
  int64_t patience_ms;

  int signals;
  int64_t pause_ms; /* epochd was given up: until when the job may write its checkpoint; 0 = not */
  int64_t leave_ms; /* when it ends in any case; 0 = it was not told to end */
  bool over;
  int exit_code;
} relay;

/* Libraries of the worker have threads, which take a signal as well as this one: so a handler. */
static int signal_event = -1;

static void signal_note(int number) {
  const int before = errno;
  const uint64_t one = 1;
  (void)number;
  if (write(signal_event, &one, sizeof one) < 0) errno = before; /* it is noted already */
  errno = before;
}

static void relay_end(relay *r, int exit_code, const char *why) {
  if (r->over) return;
  fprintf(stderr, "epoch-worker: %s\n", why);
  r->over = true;
  r->exit_code = exit_code;
}

/* The connection ends; the next one is tried a little later. */
static void connection_lose(relay *r, const char *why) {
  fprintf(stderr, "epoch-worker: the connection to epochd: %s\n", why);
  ep_channel_close(r->channel);
  r->channel = NULL;
  ep_outgoing_abandon(&r->outgoing);
  ep_incoming_abandon(&r->incoming);
  ep_relay_folder_forget(&r->folder);
  r->greeted = r->welcomed = false;
  r->retry_ms = ep_relay_now_ms() + RETRY_MS;
  if (r->give_up_ms != 0) return;
  r->lost_ms = ep_relay_now_ms();
  r->give_up_ms = r->lost_ms + r->patience_ms;
}

static void connection_try(relay *r) {
  ep_error error = {0};
  int socket = -1;
  ep_status status = ep_relay_connect(r->connection.address, &socket, &error);
  if (status == EP_OK) {
    status = ep_channel_connect(socket, r->connection.pin, &r->channel, &error);
    if (status != EP_OK) close(socket);
  }
  if (status == EP_OK) {
    ep_channel_trust(r->channel); /* the pump ends it where it is another one */
    r->greeting_ms = ep_relay_now_ms() + GREETING_MS;
  } else {
    connection_lose(r, error.message);
  }
}

static ep_status hello_put(relay *r, ep_error *error) {
  const char *job = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
  ep_record_hello hello;
  ep_relay_hello_fill(&hello, &r->connection, r->secret);
  hello.attempt = r->attempt;
  hello.has_all = r->held.has_all;
  hello.ended = r->ended != 0;
  hello.first = r->held.first;
  hello.last = ep_held_last(&r->held);
  if (job && task) snprintf(hello.slurm_job, sizeof hello.slurm_job, "%.15s_%.15s", job, task);
  ep_relay_text_copy(hello.job, sizeof hello.job, r->job);
  r->greeted = true;
  return ep_channel_put(r->channel, EP_RECORD_HELLO, 0, &hello, sizeof hello, NULL, 0, error);
}

static ep_status ready_put(relay *r, ep_error *error) {
  if (!r->ready) return EP_OK;
  return ep_channel_put(r->channel, EP_RECORD_FRAME, 0, r->ready, r->ready_bytes, NULL, 0, error);
}

/* epochd has all of the job that has ended: it says so, or begins another one. Until then epochd
 * may die with what the gateway took. */
static void ended_drop(relay *r) {
  ep_error error = {0};
  if (r->ended == 0) return;
  r->ended = 0;
  r->job[0] = 0;
  r->attempt = 0;
  ep_held_begin(&r->held);
  if (ep_relay_folder_clear(&r->folder, &error) != EP_OK) relay_end(r, EXIT_FAILURE, error.message);
}

static void taken_note(relay *r, uint64_t number) {
  const ep_held_frame *last = ep_held_find(&r->held, number);
  for (uint64_t i = r->held.taken + 1; last && i <= number; i++) {
    const ep_held_frame *frame = ep_held_find(&r->held, i);
    if (!frame || !frame->ends) continue;
    r->ended = i;
    r->ended_ms = ep_relay_now_ms();
  }
  ep_held_take(&r->held, number);
  if (!r->job[0]) ep_held_begin(&r->held); /* what helpers send is not needed twice */
}

static ep_status welcome_take(relay *r, const ep_record *record, ep_error *error) {
  ep_record_welcome welcome;
  ep_status status = ep_record_welcome_read(record, &welcome, error);
  if (status != EP_OK) return status;
  if (r->welcomed) return ep_fail(error, EP_MALFORMED, "a second welcome");
  memcpy(r->secret, welcome.secret, sizeof r->secret);
  r->patience_ms = welcome.reconnect_seconds * INT64_C(1000);
  r->give_up_ms = 0;
  r->welcomed = true;
  r->sent = welcome.taken;
  if (welcome.taken + 1 < r->held.first || welcome.taken > ep_held_last(&r->held))
    return ep_fail(error, EP_MALFORMED, "a welcome for other frames");
  taken_note(r, welcome.taken);
  if (r->ended <= welcome.taken) ended_drop(r);
  if (!welcome.keep && r->job[0])
    relay_end(r, EXIT_SUCCESS, "epochd has given up the job of this worker");
  return ready_put(r, error);
}

/* A training begins; *frame: another one for the worker, the caller's, where an attempt before has
 * left reports. */
static ep_status train_obey(relay *r, ep_command *train, uint8_t **frame, size_t *bytes,
                            ep_error *error) {
  bool changed = false;
  ended_drop(r);
  ep_status status = ep_relay_folder_begin(&r->folder, train->job, error);
  ep_held_begin(&r->held);
  memcpy(r->job, train->job, sizeof r->job);
  r->attempt = train->attempt;
  r->epochs_logged = train->epochs_logged;
  if (status == EP_OK) status = ep_relay_take_over(&r->folder, &r->held, train, &changed, error);
  if (status != EP_OK || !changed) return status;
  *frame = ep_command_encode(train, bytes);
  return *frame ? EP_OK : ep_fail_memory(error);
}

/* A helper has no job of its own: an epochd that has just started takes it as an idle worker. */
static ep_status help_obey(relay *r, const ep_command *help, ep_error *error) {
  ended_drop(r);
  ep_held_begin(&r->held);
  ep_status status = ep_relay_folder_begin(&r->folder, help->job, error);
  r->folder.job[0] = 0; /* nothing of it is sent */
  return status;
}

static ep_status frame_obey(relay *r, const ep_record *record, ep_error *error) {
  ep_frame_kind kind = EP_FRAME_COMMAND;
  ep_command command = {0};
  ep_status status = ep_record_frame_read(record, &kind, error);
  const bool passes = kind == EP_FRAME_POINTS || kind == EP_FRAME_RESULTS;
  if (status == EP_OK && kind != EP_FRAME_COMMAND && !passes)
    status = ep_fail(error, EP_MALFORMED, "epochd sent no command");
  if (status == EP_OK && !passes)
    status = ep_command_decode(record->payload + EP_FRAME_HEADER_BYTES,
                               record->bytes - EP_FRAME_HEADER_BYTES, &command, error);
  uint8_t *changed = NULL;
  size_t bytes = 0;
  if (status == EP_OK && !passes && command.kind == EP_COMMAND_TRAIN)
    status = train_obey(r, &command, &changed, &bytes, error);
  if (status == EP_OK && !passes && command.kind == EP_COMMAND_HELP)
    status = help_obey(r, &command, error);
  ep_command_deinit(&command);
  if (status != EP_OK) return status;
  /* A child that has ended is noticed where it is read. */
  ep_status sent = ep_relay_child_send(&r->child, changed ? changed : record->payload,
                                       changed ? bytes : record->bytes, NULL);
  free(changed);
  return sent == EP_NO_MEMORY ? ep_fail_memory(error) : EP_OK;
}

static ep_status file_take(relay *r, const ep_record *record, ep_error *error) {
  ep_record_file file;
  ep_status status = ep_record_file_read(record, &file, error);
  ended_drop(r); /* it is the next job's */
  return status == EP_OK ? ep_incoming_begin(&r->incoming, r->folder.root, &file, error) : status;
}

static ep_status file_finish(relay *r, const ep_record *record, ep_error *error) {
  char hash[EP_SHA256_HEX_BYTES];
  ep_status status = ep_record_end_read(record, hash, error);
  return status == EP_OK ? ep_incoming_end(&r->incoming, hash, error) : status;
}

static ep_status folder_tell(relay *r, const ep_record *record, ep_error *error) {
  char name[EP_RECORD_NAME_BYTES];
  ep_status status = ep_record_folder_read(record, name, error);
  if (status != EP_OK) return status;
  ended_drop(r);
  const uint8_t have = ep_relay_folder_has(&r->folder, name);
  return ep_channel_put(r->channel, EP_RECORD_HAVE, 0, &have, 1, NULL, 0, error);
}

static ep_status record_take(relay *r, const ep_record *record, ep_error *error) {
  char text[EP_MESSAGE_BYTES];
  if (record->kind == EP_RECORD_REFUSED) {
    ep_record_text_read(record, text);
    relay_end(r, r->welcomed ? EXIT_SUCCESS : EXIT_REFUSED, text);
    return EP_OK;
  }
  if (record->kind == EP_RECORD_WELCOME) return welcome_take(r, record, error);
  if (!r->welcomed) return ep_fail(error, EP_MALFORMED, "a record before the welcome");
  switch (record->kind) {
  case EP_RECORD_FRAME: return frame_obey(r, record, error);
  case EP_RECORD_TAKEN: taken_note(r, record->number); return EP_OK;
  case EP_RECORD_FILE: return file_take(r, record, error);
  case EP_RECORD_DATA: return ep_incoming_data(&r->incoming, record->payload, record->bytes, error);
  case EP_RECORD_FILE_END: return file_finish(r, record, error);
  case EP_RECORD_FOLDER: return folder_tell(r, record, error);
  default: return ep_fail(error, EP_MALFORMED, "a record that is a relay's");
  }
}

/* Sends the files before a frame; *done: all are queued. */
static ep_status files_put(relay *r, ep_held_files which, bool *done, ep_error *error) {
  *done = which == EP_FILES_NONE || !r->folder.job[0];
  ep_status status = EP_OK;
  while (status == EP_OK && !*done) {
    if (r->outgoing.file < 0)
      status = ep_relay_folder_send(&r->folder, which, r->channel, &r->outgoing, done, error);
    if (status == EP_OK) status = ep_outgoing_go_on(&r->outgoing, r->channel, error);
    if (r->outgoing.file >= 0) return status; /* the channel has enough */
  }
  if (status == EP_OK && which == EP_FILES_ALL && r->folder.job[0])
    status = ep_relay_folder_names(&r->folder, r->channel, error);
  return status;
}

static ep_status frames_put(relay *r, ep_error *error) {
  ep_status status = EP_OK;
  while (status == EP_OK && ep_channel_queued(r->channel) < QUEUED_MOST_BYTES) {
    const ep_held_frame *frame = ep_held_find(&r->held, r->sent + 1);
    bool done = false;
    if (!frame) return EP_OK;
    status = files_put(r, frame->files, &done, error);
    if (status != EP_OK || !done) return status;
    status = ep_channel_put(r->channel, EP_RECORD_FRAME, ++r->sent, frame->bytes, frame->count,
                            NULL, 0, error);
  }
  return status;
}

static void connection_serve(relay *r) {
  ep_error error = {0};
  ep_record record;
  ep_status status = ep_channel_pump(r->channel, true, &error);
  if (status == EP_FORBIDDEN) {
    relay_end(r, EXIT_REFUSED, error.message);
    return;
  }
  ep_status ended = status;
  ep_error why = error;
  status = EP_OK;
  while (status == EP_OK && !r->over && ep_channel_peek(r->channel, &record)) {
    status = record_take(r, &record, &error);
    ep_channel_drop(r->channel);
  }
  if (status == EP_OK && ended != EP_OK) {
    status = ended;
    error = why;
  }
  if (status == EP_OK && ep_channel_is_open(r->channel) && !r->greeted)
    status = hello_put(r, &error);
  if (status == EP_OK && r->welcomed) status = frames_put(r, &error);
  if (status == EP_OK && ep_channel_queued(r->channel) > 0)
    status = ep_channel_pump(r->channel, false, &error);
  if (status != EP_OK && !r->over) connection_lose(r, error.message);
}

/* What a frame of the worker means for the files, and for the job that it has. */
static ep_status frame_describe(relay *r, ep_frame_kind kind, ep_held_frame *frame, bool *ready,
                                ep_error *error) {
  const uint8_t *payload = frame->bytes + EP_FRAME_HEADER_BYTES;
  *ready = false;
  frame->files = EP_FILES_NONE;
  if (kind == EP_FRAME_POINTS || kind == EP_FRAME_RESULTS) return EP_OK;
  if (kind == EP_FRAME_PROGRESS || kind == EP_FRAME_TRIALS) {
    /* Trials, and the folds of a job, of which only signs of life are told. */
    ep_progress_prefix prefix;
    memcpy(&prefix, payload, sizeof prefix);
    if (kind == EP_FRAME_TRIALS || prefix.count == 0) frame->files = EP_FILES_TRIALS;
    return EP_OK;
  }
  ep_reply reply = {0};
  ep_status status = ep_reply_decode(payload, frame->count - EP_FRAME_HEADER_BYTES, &reply, error);
  if (status != EP_OK) return status;
  *ready = reply.kind == EP_REPLY_READY;
  if (reply.kind == EP_REPLY_FINISHED || reply.kind == EP_REPLY_CHECKPOINTED)
    frame->files = EP_FILES_ALL;
  frame->ends = reply.kind == EP_REPLY_FINISHED && strcmp(reply.job, r->job) == 0;
  ep_reply_deinit(&reply);
  return EP_OK;
}

static ep_status frame_hold(relay *r, ep_frame_kind kind, const uint8_t *bytes, size_t count,
                            ep_error *error) {
  bool ready = false;
  ep_held_frame frame = {.bytes = malloc(count), .count = count};
  if (!frame.bytes) return ep_fail_memory(error);
  memcpy(frame.bytes, bytes, count);
  ep_status status = frame_describe(r, kind, &frame, &ready, error);
  if (status == EP_OK && ready && !r->ready) {
    r->ready = frame.bytes;
    r->ready_bytes = count;
    return r->welcomed ? ready_put(r, error) : EP_OK;
  }
  if (status == EP_OK && !ready) status = ep_held_add(&r->held, &frame, error);
  if (status != EP_OK || ready) free(frame.bytes);
  return status;
}

/* Whether frames of the worker are taken. One that must pause is read in any case: it takes no
 * command while it waits to be. */
static bool child_has_room(const relay *r) {
  return ep_held_has_room(&r->held) || r->pause_ms != 0 || r->leave_ms != 0;
}

static ep_status child_take(relay *r, ep_error *error) {
  ep_frame_kind kind;
  const uint8_t *frame;
  size_t bytes;
  ep_status status = EP_OK;
  while (child_has_room(r) &&
         ep_relay_child_peek(&r->child, &kind, &frame, &bytes, &status, error)) {
    status = frame_hold(r, kind, frame, bytes, error);
    if (status != EP_OK) return status;
    ep_relay_child_drop(&r->child, bytes);
  }
  return status;
}

/* Whether epochd may lack something of a job. One whose end it took long ago it has stored. */
static bool job_is_owed(const relay *r) {
  const bool stored = r->ended != 0 && (r->channel || r->lost_ms - r->ended_ms >= STORED_MS);
  return r->job[0] && r->folder.shared[0] && !stored;
}

/* Leaves the job to its next attempt, which else goes on from the last checkpoint that epochd has.
 */
static void hand_over(relay *r) {
  ep_error error = {0};
  if (!job_is_owed(r)) return;
  if (ep_relay_hand_over(&r->folder, &r->held, r->attempt, r->epochs_logged, &error) == EP_OK)
    fprintf(stderr, "epoch-worker: %s is left in the shared folder\n", r->job);
  else
    fprintf(stderr, "epoch-worker: %s cannot be left: %s\n", r->job, error.message);
}

/* Whether the gateway has all that the worker said. */
static bool all_is_taken(const relay *r) {
  return r->welcomed && r->held.taken == ep_held_last(&r->held);
}

/* There is no worker any more. What it said is handed on first; where the gateway does not take it,
 * it is left for the next attempt before that one can begin. */
static void loss_tell(relay *r, const char *cause) {
  ep_error error = {0};
  int64_t until_ms = ep_relay_now_ms() + GREETING_MS;
  while (r->welcomed && !r->over && !all_is_taken(r) && ep_relay_now_ms() < until_ms) {
    struct pollfd polled = {.fd = ep_channel_socket(r->channel),
                            .events = ep_channel_events(r->channel, true)};
    poll(&polled, 1, ep_channel_has_input(r->channel) ? 0 : RETRY_MS);
    connection_serve(r);
  }
  if (!r->over && !all_is_taken(r)) hand_over(r);
  until_ms = ep_relay_now_ms() + GREETING_MS;
  if (r->channel && r->welcomed)
    ep_channel_put(r->channel, EP_RECORD_GONE, 0, cause, strlen(cause), NULL, 0, &error);
  while (r->channel && ep_channel_queued(r->channel) > 0 && ep_relay_now_ms() < until_ms) {
    struct pollfd polled = {.fd = ep_channel_socket(r->channel), .events = POLLOUT};
    poll(&polled, 1, RETRY_MS);
    if (ep_channel_pump(r->channel, false, &error) != EP_OK) break;
  }
  relay_end(r, EXIT_FAILURE, cause);
}

/* The worker has ended, which it does not but with its device. */
static void child_lost(relay *r) {
  char cause[EP_MESSAGE_BYTES];
  ep_relay_child_end(&r->child, cause, sizeof cause);
  loss_tell(r, cause);
}

/* Another node has ended, and with it what the worker trains. */
static void node_lost(relay *r) {
  char cause[EP_MESSAGE_BYTES], worker[EP_MESSAGE_BYTES];
  ep_relay_nodes_lost(&r->nodes, cause, sizeof cause);
  ep_relay_child_end(&r->child, worker, sizeof worker);
  loss_tell(r, cause);
}

static void child_serve(relay *r) {
  ep_error error = {0};
  ep_status ended = ep_relay_child_read(&r->child, &error);
  ep_status status = child_take(r, &error);
  if (status != EP_OK) relay_end(r, EXIT_FAILURE, error.message);
  if (ended != EP_OK && !r->over) child_lost(r);
}

/* Tells the worker to pause its job, where epochd cannot. */
static void job_pause(relay *r) {
  ep_command command = {.kind = EP_COMMAND_PAUSE, .attempt = r->attempt};
  size_t bytes = 0;
  memcpy(command.job, r->job, sizeof command.job);
  uint8_t *frame = r->job[0] && r->ended == 0 ? ep_command_encode(&command, &bytes) : NULL;
  if (frame) ep_relay_child_send(&r->child, frame, bytes, NULL);
  free(frame);
}

/* SIGTERM: epochd is told, has the job write a checkpoint, and lets this worker go. */
static void leave_begin(relay *r) {
  uint64_t count;
  ep_reply reply = {.kind = EP_REPLY_LEAVING};
  ep_held_frame frame = {0};
  if (read(r->signals, &count, sizeof count) != (ssize_t)sizeof count || r->leave_ms != 0) return;
  r->leave_ms = ep_relay_now_ms() + LEAVE_MS;
  frame.bytes = ep_reply_encode(&reply, &frame.count);
  if (!frame.bytes || ep_held_add(&r->held, &frame, NULL) != EP_OK) free(frame.bytes);
  job_pause(r);
}

/* Whether the worker has said its last word of the job. */
static bool job_is_over(const relay *r) {
  bool over = false;
  for (uint64_t i = r->held.job_first; !over && i <= ep_held_last(&r->held); i++) {
    const ep_held_frame *frame = ep_held_find(&r->held, i);
    over = frame && frame->ends;
  }
  return over;
}

/* epochd is not reached any more: the job writes a checkpoint, for its next attempt. */
static void give_up(relay *r) {
  static const char why[] = "epochd cannot be reached";
  if (!job_is_owed(r)) {
    relay_end(r, EXIT_FAILURE, why);
    return;
  }
  fprintf(stderr, "epoch-worker: %s: the job writes a checkpoint\n", why);
  r->pause_ms = ep_relay_now_ms() + PAUSE_MS;
  if (!job_is_over(r)) job_pause(r);
}

static void deadlines_check(relay *r) {
  const int64_t now = ep_relay_now_ms();
  const bool paused = r->pause_ms != 0 && (now >= r->pause_ms || job_is_over(r));
  /* Slurm may kill it soon after SIGTERM, and large files take a while. */
  const bool leaves = r->leave_ms != 0 && !r->channel && job_is_owed(r) && job_is_over(r);
  if (paused || leaves || (r->leave_ms != 0 && now >= r->leave_ms)) {
    hand_over(r); /* what has not gone over the connection so far */
    relay_end(r, EXIT_FAILURE,
              paused || leaves ? "epochd was given up" : "the time to leave is over");
  }
  if (r->channel && !r->welcomed && now >= r->greeting_ms) connection_lose(r, "no greeting came");
  if (r->over || r->channel || r->pause_ms != 0) return;
  if (r->give_up_ms != 0 && now >= r->give_up_ms)
    give_up(r);
  else if (now >= r->retry_ms)
    connection_try(r);
}

static void relay_loop(relay *r) {
  enum { SIGNALS, NODES, CHILD, CHANNEL, POLLED };
  r->give_up_ms = ep_relay_now_ms() + r->patience_ms;
  while (!r->over) {
    deadlines_check(r);
    if (r->over) return;
    struct pollfd polled[POLLED] = {
        [SIGNALS] = {.fd = r->signals, .events = POLLIN},
        [NODES] = {.fd = r->nodes.note, .events = POLLIN},
        [CHILD] = {.fd = child_has_room(r) ? r->child.socket : -1,
                   .events = (short)(POLLIN | (r->child.out_bytes > 0 ? POLLOUT : 0))},
        [CHANNEL] = {.fd = r->channel ? ep_channel_socket(r->channel) : -1,
                     .events = r->channel ? ep_channel_events(r->channel, true) : 0}};
    bool more = r->channel && ep_channel_has_input(r->channel);
    if (poll(polled, POLLED, more ? 0 : RETRY_MS) < 0 && errno != EINTR) return;
    if (polled[SIGNALS].revents) leave_begin(r);
    if (polled[NODES].revents) {
      node_lost(r);
      return;
    }
    if (polled[CHILD].revents & POLLOUT) ep_relay_child_flush(&r->child, NULL);
    if (polled[CHILD].revents & (POLLIN | POLLHUP)) child_serve(r);
    if (r->channel && !r->over) connection_serve(r);
  }
}

/* The worker, and before it the other nodes of its allocation. */
static ep_status worker_start(relay *r, const char *program, const char *plugin, ep_error *error) {
  const long nodes = strtol(r->connection.nodes, NULL, 10);
  int sockets[EP_LIMIT_RANKS];
  ep_status status = EP_OK;
  if (nodes > 1)
    status = ep_relay_nodes_gather(&r->nodes, &r->connection, (int)nodes - 1, r->folder.path,
                                   r->signals, error);
  for (int i = 0; i < r->nodes.count; i++) sockets[i] = r->nodes.node[i].inner;
  if (status == EP_OK)
    status = ep_relay_child_start(&r->child, program, plugin, &r->connection, r->folder.path,
                                  sockets, r->nodes.count, error);
  return status == EP_OK ? ep_relay_nodes_start(&r->nodes, error) : status;
}

static ep_status relay_open(relay *r, const char *file, const char *program, const char *plugin,
                            ep_error *error) {
  const struct sigaction noting = {.sa_handler = signal_note, .sa_flags = SA_RESTART};
  signal(SIGPIPE, SIG_IGN);
  r->signals = signal_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sigaction(SIGTERM, &noting, NULL);
  sigaction(SIGINT, &noting, NULL);
  ep_status status = r->signals >= 0 ? ep_relay_connection_read(file, &r->connection, error)
                                     : ep_fail(error, EP_IO, "no signals: %s", strerror(errno));
  if (status != EP_OK) return status;
  memcpy(r->secret, r->connection.secret, sizeof r->secret);
  status = ep_relay_folder_open(&r->folder, r->connection.shared, error);
  return status == EP_OK ? worker_start(r, program, plugin, error) : status;
}

int ep_relay_run(const char *connection_file, const char *program, const char *plugin) {
  static relay r = {.child = {.socket = -1},
                    .folder = {.root = -1},
                    .nodes = EP_RELAY_NODES_NONE,
                    .held = EP_HELD_NONE,
                    .outgoing = {.file = -1},
                    .incoming = {.folder = -1, .file = -1},
                    .patience_ms = PATIENCE_MS,
                    .signals = -1};
  char cause[EP_MESSAGE_BYTES];
  ep_error error = {0};
  if (relay_open(&r, connection_file, program, plugin, &error) == EP_OK)
    relay_loop(&r);
  else
    relay_end(&r, EXIT_FAILURE, error.message);
  ep_channel_close(r.channel);
  ep_outgoing_abandon(&r.outgoing);
  ep_incoming_abandon(&r.incoming);
  if (r.child.pid > 0) ep_relay_child_end(&r.child, cause, sizeof cause);
  ep_relay_nodes_close(&r.nodes);
  ep_relay_folder_close(&r.folder);
  ep_held_deinit(&r.held);
  free(r.ready);
  return r.exit_code;
}
