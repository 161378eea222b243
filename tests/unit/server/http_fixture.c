#include "tests/unit/server/http_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/curves/curves.h"
#include "server/handlers/routes.h"
#include "tests/suite.h"
#include "tests/unit/server/fake_jobs.h"

char folder[] = "/tmp/epochd-http-XXXXXX";
static ep_config config;
ep_server server;
ep_curves curves;
static ep_http *http;
int port;
char answer[ANSWER_BYTES];

void start(int64_t watchers) {
  ep_error error = {0};
  char tmp[64];
  signal(SIGPIPE, SIG_IGN);
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(tmp, sizeof tmp, "%s/tmp", folder);
  ck_assert_int_eq(mkdir(tmp, 0700), 0);
  char *argv[] = {"epochd", "--listen=127.0.0.1:0", "--data-dir", folder,
                  "--max-upload-bytes=2000000"};
  ck_assert_int_eq(ep_config_read(5, argv, &config, &error), EP_OK);
  ep_curves_init(&curves);
  server = (ep_server){.config = &config,
                       .jobs = fake_jobs_create(folder),
                       .curves = &curves,
                       .held = {.limit_bytes = HELD_BYTES},
                       .routes = &EP_ROUTES,
                       .guard = {.listen_host = "127.0.0.1", .allow = ""},
                       .boot = "b"};
  ep_auth_init(&server.auth);
  ep_http_room room = ep_http_room_find();
  if (watchers) room = (ep_http_room){room.files, watchers + OTHERS, watchers};
  ck_assert_msg(ep_http_start(&server, &room, &http, &port, &error) == EP_OK, "%s", error.message);
}

void stop(void) {
  ep_http_stop(http);
  ck_assert_int_eq(fake_jobs_logs(server.jobs), 0);
  ck_assert_int_eq(fake_jobs_cancels(server.jobs), 0);
  fake_jobs_destroy(server.jobs);
  ep_http_destroy(http);
  ep_curves_deinit(&curves);
}

void setup(void) {
  start(0);
}

int dial(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int client = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_ge(client, 0);
  ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
  return client;
}

void say(int client, const char *text) {
  ck_assert_int_eq(send(client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

bool is_readable(int client, int patience_ms) {
  struct pollfd ready = {.fd = client, .events = POLLIN};
  return poll(&ready, 1, patience_ms) > 0;
}

bool hear(int client, const char *word, int patience_ms, size_t *used) {
  for (;;) {
    answer[*used] = 0;
    if (word && strstr(answer, word)) return true;
    if (!is_readable(client, patience_ms)) return false;
    ssize_t bytes = recv(client, answer + *used, ANSWER_BYTES - 1 - *used, 0);
    if (bytes <= 0) return false;
    *used += (size_t)bytes;
  }
}

int ask(const char *method, const char *target, const char *headers, const char *body) {
  char request[4096];
  size_t used = 0;
  int client = dial();
  int written = snprintf(request, sizeof request,
                         "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", method,
                         target, headers);
  if (body)
    written += snprintf(request + written, sizeof request - (size_t)written,
                        "Content-Length: %zu\r\n", strlen(body));
  snprintf(request + written, sizeof request - (size_t)written, "\r\n");
  say(client, request);
  if (body) send(client, body, strlen(body), MSG_NOSIGNAL); /* a refused head closes before it */
  hear(client, NULL, PATIENCE_MS, &used);
  close(client);
  return used > 12 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

int get(const char *target) {
  return ask("GET", target, "", NULL);
}
