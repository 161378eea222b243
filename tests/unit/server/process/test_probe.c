/* probe.c: what it asks, and what it makes of each answer: a peer of one answer plays the daemon.
 */
#include "server/process/probe.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SHORT_MS = 300 };

typedef struct {
  int listener, port;
  const char *answer; /* NULL: takes the request and says nothing until the asker has gone */
  char request[1024];
  pthread_t thread;
} peer;

static void *serve(void *context) {
  peer *self = context;
  int asker = accept(self->listener, NULL, NULL);
  if (asker < 0) return NULL;
  ssize_t bytes = recv(asker, self->request, sizeof self->request - 1, 0);
  self->request[bytes > 0 ? bytes : 0] = 0;
  char end;
  if (self->answer)
    (void)!send(asker, self->answer, strlen(self->answer), MSG_NOSIGNAL);
  else
    (void)!recv(asker, &end, 1, 0);
  close(asker);
  return NULL;
}

static void peer_start(peer *self, const char *answer) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t bytes = sizeof address;
  *self = (peer){.answer = answer};
  self->listener = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_ge(self->listener, 0);
  ck_assert_int_eq(bind(self->listener, (struct sockaddr *)&address, bytes), 0);
  ck_assert_int_eq(listen(self->listener, 1), 0);
  ck_assert_int_eq(getsockname(self->listener, (struct sockaddr *)&address, &bytes), 0);
  self->port = ntohs(address.sin_port);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, serve, self), 0);
}

static void peer_end(peer *self) {
  shutdown(self->listener, SHUT_RDWR); /* should nobody have come */
  pthread_join(self->thread, NULL);
  close(self->listener);
}

static ep_error error;

static ep_status probe(const char *host, const char *answer, char request[1024]) {
  peer daemon;
  peer_start(&daemon, answer);
  ep_status status = ep_probe_ready(host, daemon.port, SHORT_MS, NULL, &error);
  peer_end(&daemon);
  if (request) memcpy(request, daemon.request, sizeof daemon.request);
  return status;
}

START_TEST(ready_is_ready) {
  char request[1024];
  static const char READY[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}\n";
  ck_assert_int_eq(probe("127.0.0.1", READY, request), EP_OK);
  ck_assert_ptr_eq(strstr(request, "GET /readyz HTTP/1.1\r\n"), request);
  ck_assert_ptr_nonnull(strstr(request, "\r\nHost: localhost\r\n"));
  ck_assert_int_eq(probe("0.0.0.0", READY, NULL), EP_OK); /* reached by the loopback */
  struct addrinfo *found; /* a system without /etc/hosts may not know the name */
  if (getaddrinfo("localhost", NULL, NULL, &found) != 0) return;
  freeaddrinfo(found);
  ck_assert_int_eq(probe("localhost", READY, NULL), EP_OK);
}
END_TEST

START_TEST(anything_else_is_not) {
  ck_assert_int_eq(probe("127.0.0.1",
                         "HTTP/1.1 503 Service Unavailable\r\n\r\n{\"detail\":\"no device\"}",
                         NULL),
                   EP_UNAVAILABLE);
  ck_assert_str_eq(error.message, "not ready: {\"detail\":\"no device\"}");
  ck_assert_int_eq(probe("127.0.0.1", "HTTP/1.1 2000 OK\r\n\r\n", NULL), EP_UNAVAILABLE);
  ck_assert_int_eq(probe("127.0.0.1", "", NULL), EP_UNAVAILABLE);
  static char endless[9000];
  memset(endless, 'x', sizeof endless - 1);
  ck_assert_int_eq(probe("127.0.0.1", endless, NULL), EP_UNAVAILABLE);
}
END_TEST

START_TEST(silence_ends) {
  ck_assert_int_eq(probe("127.0.0.1", NULL, NULL), EP_IO);
  peer daemon;
  peer_start(&daemon, "");
  ck_assert_int_eq(ep_probe_ready("127.0.0.1", daemon.port, SHORT_MS, NULL, &error),
                   EP_UNAVAILABLE);
  peer_end(&daemon); /* nobody listens there any more */
  ck_assert_int_eq(ep_probe_ready("127.0.0.1", daemon.port, SHORT_MS, NULL, &error), EP_IO);
}
END_TEST

START_TEST(a_place_is_needed) {
  ck_assert_int_eq(ep_probe_ready("127.0.0.1", 0, SHORT_MS, NULL, &error), EP_INVALID);
  ck_assert_int_eq(ep_probe_ready("256.0.0.1.invalid", 1, SHORT_MS, NULL, &error), EP_INVALID);
}
END_TEST

EP_SUITE("probe") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, ready_is_ready);
  tcase_add_test(all, anything_else_is_not);
  tcase_add_test(all, silence_ends);
  tcase_add_test(all, a_place_is_needed);
}
