/* epoch-courier: calls the webhooks that epochd tells it to, behind walls: it reads what strangers
 * respond, and has neither the store nor a secret. `epoch-courier ALLOW`, with one end of a socket
 * as its standard input; it ends when that closes. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sandbox/sandbox.h"
#include "server/webhooks/courier/transfer.h"

enum {
  EXIT_USAGE = 2,
  WAIT_MS = 1000,
  MEMORY_BYTES = 512 << 20,
  STACK_BYTES = 512 << 10,
  FILES = 256
};

typedef struct {
  CURLM *multi;
  ep_allowed_addresses allowed;
  ep_courier_request request; /* the one being read */
} courier;

static void reply_send(const ep_courier_reply *reply) {
  ssize_t sent;
  do sent = send(EP_COURIER_SOCKET, reply, sizeof *reply, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
}

static void request_start(courier *self) {
  ep_courier_request *request = &self->request;
  request->url[sizeof request->url - 1] = 0;
  request->id[sizeof request->id - 1] = 0;
  request->signature[sizeof request->signature - 1] = 0;
  if (transfer_start(self->multi, &self->allowed, request)) return;
  reply_send(&(ep_courier_reply){.number = request->number, .fault = "memory is short"});
}

/* All requests that are there; false: the daemon is gone. */
static bool requests_take(courier *self) {
  for (;;) {
    ssize_t got = recv(EP_COURIER_SOCKET, &self->request, sizeof self->request, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (got < (ssize_t)offsetof(ep_courier_request, body) ||
        self->request.body_bytes > sizeof self->request.body ||
        (size_t)got != ep_courier_request_bytes(&self->request))
      return false;
    request_start(self);
  }
}

static void replies_send(CURLM *multi) {
  int left = 0;
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
    ep_courier_reply reply;
    if (message->msg != CURLMSG_DONE) continue;
    transfer_end(multi, message->easy_handle, message->data.result, &reply);
    reply_send(&reply);
  }
}

static void requests_serve(courier *self) {
  struct curl_waitfd socket = {.fd = EP_COURIER_SOCKET, .events = CURL_WAIT_POLLIN};
  int running = 0;
  while (requests_take(self) && curl_multi_perform(self->multi, &running) == CURLM_OK) {
    replies_send(self->multi);
    if (curl_multi_poll(self->multi, &socket, 1, WAIT_MS, NULL) != CURLM_OK) return;
  }
}

/* Threads resolve names. Of those that nobody waits for any more there may be many at a time. */
static void stacks_shrink(void) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv) {
  static courier self;
  ep_error error = {0};
  if (argc != 2 || ep_allowed_addresses_parse(argv[1], &self.allowed, &error) != EP_OK) {
    fprintf(stderr, "epoch-courier is started by epochd. %s\n", error.message);
    return EXIT_USAGE;
  }
  signal(SIGPIPE, SIG_IGN);
  stacks_shrink();
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(self.multi = curl_multi_init()))
    return EXIT_FAILURE;
  ep_sandbox_enter(
      &(ep_sandbox){.kind = EP_SANDBOX_COURIER, .memory_bytes = MEMORY_BYTES, .files = FILES});
  requests_serve(&self);
  _exit(EXIT_SUCCESS); /* without a wait for names that are being resolved */
}
