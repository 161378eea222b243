#include "server/slurm/gateway/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "engine/handovers/handover.h"
#include "engine/tunnel/parcel.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/slurm/gateway/needs.h"
#include "server/slurm/gateway/place.h"
#include "server/slurm/gateway/shared.h"

#define GREETING_US INT64_C(10000000) /* for a handshake and a greeting */
#define FAREWELL_US INT64_C(2000000)  /* for the last record to a relay */
#define MOVES_US INT64_C(1000000)     /* between two words that files are on their way */
#define ORPHAN_US INT64_C(1000000)    /* between the end of epochd's socket and its word why */

enum { READ_BYTES = 256 << 10, QUEUED_MOST_BYTES = 4 << 20, LOOK_MS = 1000 };

typedef struct {
  ep_gateway *gateway;
  ep_channel *channel;
  ep_ticket *ticket; /* NULL until it is claimed */
  int connection;    /* the ticket's, of this thread */
  int wake;
  ep_record_hello hello;
  char secret[EP_SHA256_HEX_BYTES];

  int local;         /* to epochd's supervisor; -1 = none yet */
  int64_t orphan_us; /* when epochd's socket ended; 0 = it has not */
  uint8_t *in;       /* commands from epochd, not taken so far; owned */
  size_t in_bytes, in_capacity;
  uint8_t *out; /* a frame for epochd, not yet written; owned */
  size_t out_bytes, out_sent;
  uint64_t out_number;

  ep_place place;
  ep_needs needs; /* of the command at the beginning of `in` */
  bool preparing; /* its files are being sent */
  bool asking;    /* whether the relay has a folder: its reply is awaited */
  int next_need;
  int64_t moves_us; /* when epochd was told last that they are on their way */
  ep_outgoing outgoing;
  bool over;
} session;

static void session_end(session *s) {
  s->over = true;
}

/* What the ticket says by now: the thread is the ticket's own as long as it is connected. */
static ep_ticket ticket_look(session *s) {
  pthread_mutex_lock(&s->gateway->tickets->mutex);
  ep_ticket ticket = *s->ticket;
  pthread_mutex_unlock(&s->gateway->tickets->mutex);
  return ticket;
}

static void wake_empty(int wake) {
  uint64_t count;
  if (read(wake, &count, sizeof count) < 0) errno = 0; /* nobody woke it */
}

/* Until a HELLO is there (EP_OK), or it is over. */
static ep_status hello_await(session *s, ep_error *error) {
  const int64_t until_us = ep_clock_steady_us() + GREETING_US;
  ep_record record;
  ep_status status = EP_OK;
  while (status == EP_OK && !ep_channel_peek(s->channel, &record)) {
    struct pollfd polled = {.fd = ep_channel_socket(s->channel),
                            .events = ep_channel_events(s->channel, true)};
    if (ep_clock_steady_us() >= until_us || atomic_load(&s->gateway->closing))
      return ep_fail(error, EP_UNAVAILABLE, "no greeting came");
    if (!ep_channel_has_input(s->channel)) poll(&polled, 1, LOOK_MS);
    status = ep_channel_pump(s->channel, true, error);
  }
  if (status == EP_OK && record.kind != EP_RECORD_HELLO)
    status = ep_fail(error, EP_MALFORMED, "it did not send a greeting");
  if (status == EP_OK) status = ep_record_hello_read(&record, &s->hello, error);
  ep_channel_drop(s->channel);
  return status;
}

/* The last record, and its way to the relay. */
static void farewell(session *s, const char *why) {
  ep_error error = {0};
  const int64_t until_us = ep_clock_steady_us() + FAREWELL_US;
  size_t bytes = strnlen(why, EP_MESSAGE_BYTES - 1);
  if (ep_channel_put(s->channel, EP_RECORD_REFUSED, 0, why, bytes, NULL, 0, &error) != EP_OK)
    return;
  while (ep_channel_queued(s->channel) > 0 && ep_clock_steady_us() < until_us) {
    struct pollfd polled = {.fd = ep_channel_socket(s->channel), .events = POLLOUT};
    if (ep_channel_pump(s->channel, false, &error) != EP_OK) return;
    if (ep_channel_queued(s->channel) > 0) poll(&polled, 1, LOOK_MS);
  }
}

/* epochd gets its end of a socket pair. */
static ep_status epochd_tell(session *s, ep_error *error) {
  int pair[2];
  ep_control control = {.kind = EP_CONTROL_ATTACH,
                        .attempt = s->hello.attempt,
                        .has_all = s->hello.has_all,
                        .ended = s->hello.ended,
                        .first = s->hello.first,
                        .last = s->hello.last};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return ep_fail(error, EP_IO, "no socket for a worker: %s", strerror(errno));
  memcpy(control.worker, s->ticket->worker, sizeof control.worker);
  memcpy(control.device, s->ticket->device, sizeof control.device);
  memcpy(control.node, s->hello.node, sizeof control.node);
  memcpy(control.job, s->hello.job, sizeof control.job);
  control.request = s->ticket->request;
  ep_status status = ep_control_send(s->gateway->control, &control, pair[1], error);
  close(pair[1]);
  s->local = pair[0];
  return status;
}

/* Until epochd has admitted the worker (EP_OK), or it is over. */
static ep_status admission_await(session *s, ep_error *error) {
  for (;;) {
    struct pollfd polled = {.fd = s->wake, .events = POLLIN};
    const ep_ticket ticket = ticket_look(s);
    if (ticket.connection != s->connection)
      return ep_fail(error, EP_UNAVAILABLE, "the connection is another one's by now");
    if (ticket.state == EP_TICKET_ENDED) return ep_fail(error, EP_FORBIDDEN, "%s", ticket.text);
    if (atomic_load(&s->gateway->closing))
      return ep_fail(error, EP_UNAVAILABLE, "epochd has ended");
    if (ticket.admitted) return EP_OK;
    poll(&polled, 1, LOOK_MS);
    wake_empty(s->wake);
  }
}

static ep_status welcome_put(session *s, ep_error *error) {
  const ep_ticket ticket = ticket_look(s);
  ep_record_welcome welcome = {.taken = ticket.taken, .keep = ticket.keep};
  welcome.reconnect_seconds = (int32_t)s->gateway->setup->reconnect_seconds;
  memcpy(welcome.secret, s->secret, sizeof s->secret);
  ep_channel_trust(s->channel);
  ep_status status =
      ep_channel_put(s->channel, EP_RECORD_WELCOME, 0, &welcome, sizeof welcome, NULL, 0, error);
  const bool had_all = s->hello.ended && ticket.taken >= s->hello.last;
  if (status == EP_OK && ticket.keep && !had_all)
    status = ep_place_begin(&s->place, s->gateway->setup->data_dir, s->hello.job, error);
  return status;
}

static void orphan_note(session *s) {
  if (s->orphan_us == 0) s->orphan_us = ep_clock_steady_us();
}

/* Writes the frame that waits; what epochd does not take stays. */
static ep_status local_write(session *s, ep_error *error) {
  while (s->out_sent < s->out_bytes) {
    ssize_t sent = send(s->local, s->out + s->out_sent, s->out_bytes - s->out_sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return EP_OK;
    if (sent < 0) { /* epochd has ended: the relay keeps the frame for the next one */
      orphan_note(s);
      return EP_OK;
    }
    s->out_sent += (size_t)sent;
  }
  if (!s->out) return EP_OK;
  free(s->out);
  s->out = NULL;
  s->out_bytes = s->out_sent = 0;
  if (s->out_number == 0) return EP_OK;
  return ep_channel_put(s->channel, EP_RECORD_TAKEN, s->out_number, NULL, 0, NULL, 0, error);
}

/* A frame of the worker. epochd looks at what is in it. */
static ep_status frame_take(session *s, const ep_record *record, ep_error *error) {
  ep_frame_kind kind;
  ep_status status = ep_record_frame_read(record, &kind, error);
  if (status == EP_OK && kind == EP_FRAME_COMMAND)
    status = ep_fail(error, EP_MALFORMED, "a worker must not send commands");
  if (status != EP_OK) return status;
  s->out = malloc(record->bytes);
  if (!s->out) return ep_fail_memory(error);
  memcpy(s->out, record->payload, record->bytes);
  s->out_bytes = record->bytes;
  s->out_number = record->number;
  return local_write(s, error);
}

static void gone_tell(session *s, const ep_record *record) {
  ep_error error = {0};
  ep_control control = {.kind = EP_CONTROL_GONE};
  memcpy(control.worker, s->ticket->worker, sizeof control.worker);
  ep_record_text_read(record, control.text);
  if (ep_control_send(s->gateway->control, &control, -1, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "epochd cannot be notified of a worker's end: %s", error.message);
  pthread_mutex_lock(&s->gateway->tickets->mutex);
  if (s->ticket->connection == s->connection) ep_ticket_set(s->ticket, EP_TICKET_ENDED);
  pthread_mutex_unlock(&s->gateway->tickets->mutex);
  session_end(s);
}

static ep_status have_take(session *s, const ep_record *record, ep_error *error) {
  if (!s->asking || record->bytes != 1)
    return ep_fail(error, EP_MALFORMED, "an unexpected response");
  s->asking = false;
  const ep_need need = s->needs.needs[s->next_need - 1]; /* a copy: the list grows */
  if (record->payload[0]) return EP_OK;
  return ep_needs_add_folder(&s->needs, s->gateway->setup->data_dir, need.name, error);
}

static ep_status record_take(session *s, const ep_record *record, ep_error *error) {
  switch (record->kind) {
  case EP_RECORD_FRAME: return frame_take(s, record, error);
  case EP_RECORD_GONE: gone_tell(s, record); return EP_OK;
  case EP_RECORD_HAVE: return have_take(s, record, error);
  default: return ep_place_take(&s->place, record, error);
  }
}

/* Takes records as long as epochd takes the frames in them. */
static ep_status records_take(session *s, ep_error *error) {
  ep_record record;
  ep_status status = EP_OK;
  while (status == EP_OK && !s->over && !s->out && ep_channel_peek(s->channel, &record)) {
    status = record_take(s, &record, error);
    ep_channel_drop(s->channel);
  }
  return status;
}

static ep_status local_read(session *s, ep_error *error) {
  ep_frame_kind kind;
  size_t payload = 0, needed = s->in_bytes + READ_BYTES;
  if (s->in_bytes >= EP_FRAME_HEADER_BYTES &&
      ep_frame_header(s->in, &kind, &payload, error) == EP_OK &&
      payload + EP_FRAME_HEADER_BYTES > needed)
    needed = payload + EP_FRAME_HEADER_BYTES;
  if (needed > s->in_capacity) {
    uint8_t *grown = realloc(s->in, needed);
    if (!grown) return ep_fail_memory(error);
    s->in = grown;
    s->in_capacity = needed;
  }
  ssize_t got = read(s->local, s->in + s->in_bytes, s->in_capacity - s->in_bytes);
  if (got > 0) s->in_bytes += (size_t)got;
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) orphan_note(s);
  return EP_OK;
}

/* epochd ends a worker that is silent for long, which one is whose files take so long. */
static void moves_tell(void *context) {
  session *s = context;
  ep_control control = {.kind = EP_CONTROL_MOVES};
  const int64_t now_us = ep_clock_steady_us();
  if (now_us < s->moves_us + MOVES_US) return;
  s->moves_us = now_us;
  memcpy(control.worker, s->ticket->worker, sizeof control.worker);
  ep_control_send(s->gateway->control, &control, -1, NULL);
}

/* What an attempt before left in the shared folder. Without it the job goes on from its own last
 * checkpoint. */
static void handover_take(session *s, const ep_command *train) {
  const ep_gateway_setup *setup = s->gateway->setup;
  char folder[EP_PATH_BYTES];
  ep_error error = {0};
  int64_t step = -1;
  const ep_file_moves moves = {.moved = moves_tell, .context = s};
  const ep_handover_start start = {.shared = setup->shared_dir,
                                   .job_folder = folder,
                                   .job = train->job,
                                   .attempt = train->attempt,
                                   .epochs_logged = train->epochs_logged,
                                   .moves = &moves};
  if (!setup->shared_dir[0] ||
      ep_path_join(folder, NULL, setup->data_dir, "jobs", train->job, NULL) != EP_OK)
    return;
  if (ep_handover_take(&start, &step, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s: state of its last attempt: %s", train->job, error.message);
  if (step >= 0)
    ep_log(EP_LOG_INFO, "job %s: resumed from the state of its last attempt, at step %lld",
           train->job, (long long)step);
}

/* Looks at the command at the beginning: a training's files are sent first, and what a helper needs
 * of them. Points and results of a sweep pass as they are. */
static ep_status command_prepare(session *s, ep_frame_kind kind, size_t bytes, ep_error *error) {
  ep_command command = {0};
  const ep_gateway_setup *setup = s->gateway->setup;
  s->preparing = true;
  s->moves_us = ep_clock_steady_us();
  s->next_need = 0;
  if (kind != EP_FRAME_COMMAND) return EP_OK;
  ep_status status = ep_command_decode(s->in + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES,
                                       &command, error);
  if (status == EP_OK && command.kind == EP_COMMAND_TRAIN) {
    handover_take(s, &command);
    status = ep_needs_find(&s->needs, setup->data_dir, &command, error);
    if (status == EP_OK) status = ep_place_begin(&s->place, setup->data_dir, command.job, error);
  }
  if (status == EP_OK && command.kind == EP_COMMAND_HELP) { /* it sends no files */
    ep_place_deinit(&s->place);
    status = ep_needs_find_help(&s->needs, setup->data_dir, &command, error);
  }
  ep_command_deinit(&command);
  return status;
}

/* Begins to send the next file, or asks for the next folder. */
static ep_status need_begin(session *s, ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat state;
  const ep_need *need = &s->needs.needs[s->next_need++];
  if (need->folder) {
    ep_error why = {0}; /* else the files go over the connection */
    const ep_file_moves moves = {.moved = moves_tell, .context = s};
    if (ep_shared_put_dataset(s->gateway->setup, need->name, &moves, &why) != EP_OK)
      ep_log(EP_LOG_WARNING, "the shared folder: %s", why.message);
    moves_tell(s);
    s->asking = true;
    return ep_channel_put(s->channel, EP_RECORD_FOLDER, 0, need->name, sizeof need->name, NULL, 0,
                          error);
  }
  ep_status status = ep_path_join(path, error, s->gateway->setup->data_dir, need->name, NULL);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return EP_OK; /* a checkpoint that was removed meanwhile */
  if (file < 0 || fstat(file, &state) != 0) {
    if (file >= 0) close(file);
    return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  }
  return ep_outgoing_begin(&s->outgoing, s->channel, file, need->name, 0, state.st_size, error);
}

/* Sends what the command needs, as far as the channel takes it; *done: all of it. */
static ep_status needs_send(session *s, bool *done, ep_error *error) {
  ep_status status = EP_OK;
  *done = false;
  while (status == EP_OK && !s->asking) {
    if (s->outgoing.file >= 0) {
      const int64_t left = s->outgoing.left;
      status = ep_outgoing_go_on(&s->outgoing, s->channel, error);
      if (s->outgoing.left < left) moves_tell(s);
      if (s->outgoing.file >= 0) return status;
    } else if (s->next_need < s->needs.count) {
      status = need_begin(s, error);
    } else {
      *done = true;
      return EP_OK;
    }
  }
  return status;
}

/* Hands commands on, in their order, each behind its files. */
static ep_status commands_send(session *s, ep_error *error) {
  ep_status status = EP_OK;
  while (status == EP_OK && s->in_bytes >= EP_FRAME_HEADER_BYTES &&
         ep_channel_queued(s->channel) < QUEUED_MOST_BYTES) {
    ep_frame_kind kind;
    size_t bytes = 0;
    bool done = false;
    status = ep_frame_header(s->in, &kind, &bytes, error);
    bytes += EP_FRAME_HEADER_BYTES;
    if (status != EP_OK || s->in_bytes < bytes) return status;
    if (!s->preparing) status = command_prepare(s, kind, bytes, error);
    if (status == EP_OK) status = needs_send(s, &done, error);
    if (status != EP_OK || !done) return status;
    status = ep_channel_put(s->channel, EP_RECORD_FRAME, 0, s->in, bytes, NULL, 0, error);
    s->in_bytes -= bytes;
    memmove(s->in, s->in + bytes, s->in_bytes);
    ep_needs_deinit(&s->needs);
    s->preparing = false;
  }
  return status;
}

/* Whether epochd, or another connection of this worker, ends this one. */
static void ticket_check(session *s) {
  const ep_ticket ticket = ticket_look(s);
  if (ticket.connection != s->connection) {
    session_end(s);
  } else if (ticket.state == EP_TICKET_ENDED) {
    farewell(s, ticket.text);
    session_end(s);
  } else if (atomic_load(&s->gateway->closing) ||
             (s->orphan_us != 0 && ep_clock_steady_us() >= s->orphan_us + ORPHAN_US)) {
    session_end(s);
  }
}

static ep_status session_round(session *s, ep_error *error) {
  enum { WAKE, CHANNEL, LOCAL, POLLED };
  const bool reads = !s->out, hears = s->orphan_us == 0 && !s->preparing;
  struct pollfd polled[POLLED] = {
      [WAKE] = {.fd = s->wake, .events = POLLIN},
      [CHANNEL] = {.fd = ep_channel_socket(s->channel),
                   .events = ep_channel_events(s->channel, reads)},
      [LOCAL] = {.fd = hears || (s->out && s->orphan_us == 0) ? s->local : -1,
                 .events = (short)((hears ? POLLIN : 0) | (s->out ? POLLOUT : 0))}};
  const bool more = reads && ep_channel_has_input(s->channel);
  poll(polled, POLLED, more ? 0 : LOOK_MS);
  if (polled[WAKE].revents) wake_empty(s->wake);
  ep_status status = EP_OK;
  if (polled[LOCAL].revents & POLLOUT) status = local_write(s, error);
  if (status == EP_OK && hears && (polled[LOCAL].revents & (POLLIN | POLLHUP)))
    status = local_read(s, error);
  if (status == EP_OK) status = commands_send(s, error);
  ep_error ending = {0};
  ep_status ended = ep_channel_pump(s->channel, reads, &ending);
  if (status == EP_OK) status = records_take(s, error);
  if (status == EP_OK) status = commands_send(s, error); /* an answer may have come */
  if (status == EP_OK && ended == EP_OK && ep_channel_queued(s->channel) > 0)
    ended = ep_channel_pump(s->channel, false, &ending);
  if (status == EP_OK && ended != EP_OK) {
    status = ended;
    if (error) *error = ending;
  }
  ticket_check(s);
  return status;
}

/* A worker that sends what it must not ends; a connection that breaks may be made again. */
static void failure_handle(session *s, ep_status status, const ep_error *error) {
  const bool rogue = status == EP_MALFORMED || status == EP_TOO_LARGE || status == EP_FORBIDDEN ||
                     status == EP_CONFLICT;
  ep_log(EP_LOG_WARNING, "worker %s on %s: %s", s->ticket->worker, s->hello.node, error->message);
  if (!rogue) return;
  ep_control control = {.kind = EP_CONTROL_GONE};
  memcpy(control.worker, s->ticket->worker, sizeof control.worker);
  memcpy(control.text, error->message, sizeof control.text);
  ep_control_send(s->gateway->control, &control, -1, NULL);
  pthread_mutex_lock(&s->gateway->tickets->mutex);
  if (s->ticket->connection == s->connection) ep_ticket_set(s->ticket, EP_TICKET_ENDED);
  pthread_mutex_unlock(&s->gateway->tickets->mutex);
  farewell(s, error->message);
}

static void session_serve(session *s) {
  ep_error error = {0};
  ep_status status = welcome_put(s, &error);
  while (status == EP_OK && !s->over) status = session_round(s, &error);
  if (status != EP_OK && !s->over) failure_handle(s, status, &error);
}

static void session_leave(session *s) {
  if (s->ticket) {
    pthread_mutex_lock(&s->gateway->tickets->mutex);
    if (s->ticket->connection == s->connection) {
      s->ticket->wake = -1;
      if (s->ticket->state == EP_TICKET_CONNECTED) ep_ticket_set(s->ticket, EP_TICKET_AWAY);
    }
    pthread_mutex_unlock(&s->gateway->tickets->mutex);
  }
  ep_channel_close(s->channel);
  ep_place_deinit(&s->place);
  ep_outgoing_abandon(&s->outgoing);
  ep_needs_deinit(&s->needs);
  if (s->local >= 0) close(s->local);
  if (s->wake >= 0) close(s->wake);
  free(s->in);
  free(s->out);
}

/* Of how many connections epochd does not know so far that they were refused. */
static void refused_tell(ep_gateway *gateway) {
  ep_tickets *tickets = gateway->tickets;
  ep_control control = {.kind = EP_CONTROL_REFUSED};
  pthread_mutex_lock(&tickets->mutex);
  control.count = tickets->refused - tickets->told;
  if (control.count > 0 && ep_control_send(gateway->control, &control, -1, NULL) == EP_OK)
    tickets->told = tickets->refused;
  pthread_mutex_unlock(&tickets->mutex);
}

void ep_session_run(ep_gateway *gateway, int socket) {
  session s = {.gateway = gateway,
               .local = -1,
               .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
               .place = EP_PLACE_NONE,
               .outgoing = {.file = -1}};
  ep_error error = {0};
  ep_status status = ep_channel_listen(socket, gateway->certificate, &s.channel, &error);
  if (status != EP_OK) close(socket);
  if (status == EP_OK) status = hello_await(&s, &error);
  if (status != EP_OK) {
    ep_log(EP_LOG_WARNING, "a connection to the workers' port: %s", error.message);
    if (!atomic_load(&gateway->closing)) ep_tickets_refuse(gateway->tickets);
  } else {
    status = ep_tickets_claim(gateway->tickets, &s.hello, s.wake, &s.ticket, &s.connection,
                              s.secret, &error);
    if (status == EP_OK) status = epochd_tell(&s, &error);
    if (status == EP_OK) status = admission_await(&s, &error);
    if (status == EP_OK) session_serve(&s);
    if (status == EP_FORBIDDEN) farewell(&s, error.message);
  }
  refused_tell(gateway);
  session_leave(&s);
}
