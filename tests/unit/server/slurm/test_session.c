/* A connection to the gateway, over TLS, from the greeting on: a worker is admitted by epochd,
 * whose end is this test, and a stranger is refused and counted. */
#include "server/slurm/gateway/session.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

enum { LOOK_MS = 20 }; /* the first pump begins the handshake: nothing is there to be polled for */

static ep_gateway_setup config;
static ep_tickets tickets;
static ep_gateway gateway;
static int epochd; /* its end of the control socket */
static ep_certificate *certificate;
static char secret[EP_SHA256_HEX_BYTES];
static const ep_ticket *ticket;
static ep_channel *relay;
static pthread_t thread;

static void *session_run(void *context) {
  ep_session_run(&gateway, *(int *)context);
  return NULL;
}

/* The relay's side of a connection. */
static void connection_open(void) {
  static int pair[2];
  char pin[EP_SHA256_HEX_BYTES];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, session_run, &pair[0]), 0);
  assert_ok(ep_certificate_pin(certificate, pin, error));
  assert_ok(ep_channel_connect(pair[1], pin, &relay, error));
  ep_channel_trust(relay);
}

static void greet(const char *with) {
  ep_record_hello hello = {.first = 1};
  memcpy(hello.magic, EP_RECORD_MAGIC, sizeof hello.magic);
  snprintf(hello.version, sizeof hello.version, "%s", EP_VERSION);
  snprintf(hello.worker, sizeof hello.worker, "%s", ticket->worker);
  snprintf(hello.secret, sizeof hello.secret, "%s", with);
  snprintf(hello.node, sizeof hello.node, "n1");
  assert_ok(ep_channel_put(relay, EP_RECORD_HELLO, 0, &hello, sizeof hello, NULL, 0, error));
}

/* The next record; lent. */
static ep_record record_await(void) {
  ep_record record = {0};
  while (!ep_channel_peek(relay, &record)) {
    struct pollfd polled = {.fd = ep_channel_socket(relay),
                            .events = ep_channel_events(relay, true)};
    if (!ep_channel_has_input(relay)) poll(&polled, 1, LOOK_MS);
    if (ep_channel_pump(relay, true, NULL) != EP_OK && !ep_channel_peek(relay, &record)) break;
  }
  return record;
}

static ep_control told(void) {
  ep_control control = {0};
  int file = -1;
  bool got = false;
  struct pollfd polled = {.fd = epochd, .events = POLLIN};
  ck_assert_int_eq(poll(&polled, 1, 10000), 1);
  assert_ok(ep_control_receive(epochd, &control, &file, &got, error));
  ck_assert(got);
  if (file >= 0) close(file);
  return control;
}

static void setup(void) {
  char path[sizeof config.data_dir + 16];
  int pair[2];
  scratch_open();
  snprintf(config.data_dir, sizeof config.data_dir, "%s", scratch_dir);
  config.reconnect_seconds = 7;
  snprintf(path, sizeof path, "%s/slurm", config.data_dir);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  epochd = pair[1];
  assert_ok(ep_sha256_prepare(error));
  assert_ok(ep_certificate_open(path, &certificate, error));
  assert_ok(ep_tickets_open(&tickets, &config, error));
  gateway = (ep_gateway){
      .setup = &config, .certificate = certificate, .tickets = &tickets, .control = pair[0]};
  const ep_slurm_request request = {.partition = "gpu"};
  ticket = ep_tickets_add(&tickets, "slurm:gpu", &request, secret);
  ck_assert_ptr_nonnull(ticket);
}

static void teardown(void) {
  ep_channel_close(relay);
  pthread_join(thread, NULL);
  ep_certificate_close(certificate);
  close(epochd);
  close(gateway.control);
  scratch_close();
}

START_TEST(a_stranger_is_refused_and_counted) {
  char wrong[EP_SHA256_HEX_BYTES];
  memcpy(wrong, secret, sizeof wrong);
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  connection_open();
  greet(wrong);
  ck_assert_int_eq(record_await().kind, EP_RECORD_REFUSED);
  const ep_control control = told();
  ck_assert_int_eq(control.kind, EP_CONTROL_REFUSED);
  ck_assert_int_eq(control.count, 1);
  ck_assert_int_eq(ticket->state, EP_TICKET_WAITING);
}
END_TEST

START_TEST(a_worker_is_welcome_once_epochd_admits_it) {
  ep_record_welcome welcome;
  connection_open();
  greet(secret);
  ep_record record = {0};
  while (!ep_channel_is_open(relay) || ep_channel_queued(relay) > 0) {
    struct pollfd polled = {.fd = ep_channel_socket(relay),
                            .events = ep_channel_events(relay, true)};
    poll(&polled, 1, LOOK_MS);
    assert_ok(ep_channel_pump(relay, true, error));
  }
  const ep_control attached = told();
  ck_assert_int_eq(attached.kind, EP_CONTROL_ATTACH);
  ck_assert_str_eq(attached.worker, ticket->worker);
  ck_assert_str_eq(attached.request.partition, "gpu");
  ck_assert(!ep_channel_peek(relay, &record)); /* nobody has admitted it */
  pthread_mutex_lock(&tickets.mutex);
  ep_ticket *mine = ep_tickets_find(&tickets, ticket->worker);
  mine->admitted = mine->keep = true;
  ep_ticket_wake(mine);
  pthread_mutex_unlock(&tickets.mutex);
  record = record_await();
  assert_ok(ep_record_welcome_read(&record, &welcome, error));
  ck_assert_int_eq(welcome.reconnect_seconds, 7);
  ck_assert_str_ne(welcome.secret, secret);
}
END_TEST

EP_SUITE("server/slurm/gateway/session") {
  TCase *tests = ep_suite_case(suite, "session");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_stranger_is_refused_and_counted);
  tcase_add_test(tests, a_worker_is_welcome_once_epochd_admits_it);
}
