#include "server/slurm/gateway/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/json/problem.h"
#include "api/spec/spec.h"
#include "engine/files/free_space.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"
#include "server/process/log_output.h"
#include "server/slurm/gateway/shared.h"
#include "server/slurm/gateway/submissions.h"

enum { SESSIONS_MOST = EP_TICKETS + 64, LEAVE_MS = 1500, LOOK_MS = 20 };

typedef struct {
  ep_gateway *gateway;
  int socket;
} arrival;

static void *session_thread(void *context) {
  arrival *one = context;
  ep_gateway *gateway = one->gateway;
  ep_session_run(gateway, one->socket);
  free(one);
  atomic_fetch_sub(&gateway->sessions, 1);
  return NULL;
}

/* More connections than there can be workers are closed at once. */
static void connection_take(ep_gateway *gateway) {
  pthread_t thread;
  int socket = accept4(EP_GATEWAY_LISTENER, NULL, NULL, SOCK_CLOEXEC);
  if (socket < 0) return;
  arrival *one = malloc(sizeof *one);
  if (one && atomic_fetch_add(&gateway->sessions, 1) < SESSIONS_MOST) {
    *one = (arrival){gateway, socket};
    if (pthread_create(&thread, NULL, session_thread, one) == 0) {
      pthread_detach(thread);
      return;
    }
  }
  if (one) atomic_fetch_sub(&gateway->sessions, 1);
  free(one);
  close(socket);
}

/* What epochd says of a worker. */
static void worker_note(ep_gateway *gateway, const ep_control *control) {
  ep_tickets *tickets = gateway->tickets;
  pthread_mutex_lock(&tickets->mutex);
  ep_ticket *ticket = ep_tickets_find(tickets, control->worker);
  if (ticket && control->kind == EP_CONTROL_ADMIT) {
    ticket->admitted = true;
    ticket->keep = control->keep;
    ticket->taken = control->taken;
  } else if (ticket) {
    memcpy(ticket->text, control->text, sizeof ticket->text);
    ep_ticket_set(ticket, EP_TICKET_ENDED);
  }
  if (ticket) ep_ticket_wake(ticket);
  pthread_mutex_unlock(&tickets->mutex);
}

/* Until epochd's socket ends. */
static void gateway_loop(ep_gateway *gateway, ep_submissions *submissions) {
  enum { CONTROL, LISTENER, POLLED };
  struct pollfd polled[POLLED] = {[CONTROL] = {.fd = EP_GATEWAY_CONTROL, .events = POLLIN},
                                  [LISTENER] = {.fd = EP_GATEWAY_LISTENER, .events = POLLIN}};
  for (;;) {
    if (poll(polled, POLLED, -1) < 0 && errno != EINTR) return;
    if (polled[LISTENER].revents) connection_take(gateway);
    for (bool got = polled[CONTROL].revents != 0; got;) {
      ep_control control;
      int file = -1;
      if (ep_control_receive(EP_GATEWAY_CONTROL, &control, &file, &got, NULL) != EP_OK) return;
      if (file >= 0) close(file);
      if (got && control.kind == EP_CONTROL_WANT)
        ep_submissions_want(submissions, control.device, control.count, &control.request);
      else if (got)
        worker_note(gateway, &control);
      if (got && control.kind == EP_CONTROL_END) ep_submissions_wake(submissions);
    }
  }
}

/* Workers that were told to end get the time to hear it. The others are let go: epochd has died,
 * and they look for the next one. */
static void sessions_end(ep_gateway *gateway) {
  close(EP_GATEWAY_LISTENER); /* the next epochd's */
  atomic_store(&gateway->closing, true);
  pthread_mutex_lock(&gateway->tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) ep_ticket_wake(&gateway->tickets->ticket[i]);
  pthread_mutex_unlock(&gateway->tickets->mutex);
  for (int waited_ms = 0; waited_ms < LEAVE_MS && atomic_load(&gateway->sessions) > 0;
       waited_ms += LOOK_MS)
    poll(NULL, 0, LOOK_MS);
}

static bool setup_receive(ep_gateway_setup *setup) {
  ssize_t got;
  do got = recv(EP_GATEWAY_CONTROL, setup, sizeof *setup, 0);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof *setup;
}

static ep_status folder_make(const ep_gateway_setup *setup, char *path, size_t bytes,
                             ep_error *error) {
  snprintf(path, bytes, "%s/slurm", setup->data_dir);
  return ep_data_dir_create(path, error);
}

int ep_gateway_serve(void) {
  static ep_gateway_setup setup;
  static ep_tickets tickets;
  static ep_gateway gateway = {.setup = &setup, .tickets = &tickets, .control = EP_GATEWAY_CONTROL};
  char folder[sizeof setup.data_dir + 16], pin[EP_SHA256_HEX_BYTES];
  ep_certificate *certificate = NULL;
  ep_submissions *submissions = NULL;
  ep_error error = {0};
  /* Slurm's commands, which it starts, get neither. */
  fcntl(EP_GATEWAY_CONTROL, F_SETFD, FD_CLOEXEC);
  fcntl(EP_GATEWAY_LISTENER, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for epochd */
  ep_log_start(EP_LOG_INFO, EP_LOG_AUTO);
  ep_json_seed();
  if (!setup_receive(&setup)) return EXIT_FAILURE;
  ep_free_space_reserve(setup.reserve_bytes);
  ep_status status = ep_sha256_prepare(&error);
  if (status == EP_OK && setup.copies) status = ep_shared_put_program(&setup, &error);
  ep_shared_trim(&setup, true);
  if (status == EP_OK) status = folder_make(&setup, folder, sizeof folder, &error);
  if (status == EP_OK) status = ep_certificate_open(folder, &certificate, &error);
  if (status == EP_OK) status = ep_certificate_pin(certificate, pin, &error);
  if (status == EP_OK) status = ep_tickets_open(&tickets, &setup, &error);
  gateway.certificate = certificate;
  if (status == EP_OK) status = ep_submissions_start(&gateway, pin, &submissions, &error);
  if (status != EP_OK) {
    ep_log(EP_LOG_ERROR, "Slurm's gateway: %s", error.message);
    return EXIT_FAILURE;
  }
  ep_log(EP_LOG_INFO, "workers of Slurm connect to %s", setup.address);
  gateway_loop(&gateway, submissions);
  sessions_end(&gateway);
  _exit(EXIT_SUCCESS); /* what it knows is on disk, and its threads are waited for by nobody */
}
