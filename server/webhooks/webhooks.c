#include "server/webhooks/webhooks.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/metrics/metrics.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/process/spawn.h"
#include "server/webhooks/courier_link.h"
#include "server/webhooks/signature.h"
#include "server/webhooks/wire/address.h"

enum {
  SECOND_US = 1000000,
  RETRY_MS = 1000,                     /* after the store or the courier failed */
  IDLE_MS = 60000,                     /* the clock may have been set */
  CANDIDATES = 2 * EP_LIMIT_TRANSFERS, /* those under way, and as many others */
  GONE = 410,                          /* the receiver wants no more */
  STUCK_US = 6 * EP_LIMIT_DELIVERY_SECONDS * SECOND_US
};

_Static_assert((int)EP_SIGNATURE_TEXT_BYTES == (int)EP_MESSAGE_SIGNATURE_BYTES, "signatures fit");
_Static_assert((int)EP_DELIVERY_ID_BYTES == (int)EP_MESSAGE_ID_BYTES, "ids fit");
_Static_assert((int)EP_DELIVERY_FAULT_BYTES == (int)EP_MESSAGE_FAULT_BYTES, "faults fit");

/* One attempt. */
typedef struct {
  enum { FREE, SENT, ENDED } state; /* ENDED: the row is to be written */
  int64_t number, sent_us;
  ep_delivery delivery;
} flight;

struct ep_webhooks {
  ep_webhooks_options options; /* texts: secret_file is not used after the start */
  char *allow;                 /* owned */
  char program[EP_PATH_BYTES];
  ep_webhook_secrets secrets;
  int wake; /* an eventfd */
  atomic_bool stopping;
  pthread_t thread;

  /* The thread's alone. */
  ep_courier_link courier;
  int64_t numbers; /* of attempts, so far */
  flight flights[EP_LIMIT_TRANSFERS];
  ep_delivery due[CANDIDATES];
  ep_courier_request request;
};

int64_t ep_webhooks_backoff_us(int attempts) {
  int64_t seconds = attempts > 12 ? EP_LIMIT_BACKOFF_SECONDS : INT64_C(1) << (attempts - 1);
  return (seconds < EP_LIMIT_BACKOFF_SECONDS ? seconds : EP_LIMIT_BACKOFF_SECONDS) * SECOND_US;
}

/* What follows from an attempt. */
static void verdict_fill(ep_delivery *delivery, int status, const char *fault) {
  int64_t now_us = ep_clock_utc_us();
  int64_t next_us = now_us + ep_webhooks_backoff_us(++delivery->attempts);
  int64_t last_us = delivery->created_us + INT64_C(1) * EP_LIMIT_DELIVERY_DAY_SECONDS * SECOND_US;
  delivery->status = status;
  delivery->delivered = status >= 200 && status < 300;
  delivery->due_us = delivery->delivered || status == GONE || next_us > last_us ? 0 : next_us;
  delivery->fault[0] = 0;
  if (!delivery->delivered)
    snprintf(delivery->fault, sizeof delivery->fault, "%.255s",
             fault[0] ? fault : "the response was not a success");
}

/* What the job's owner is not told goes into the log, once a message. */
static void detail_log(const flight *one, const char *detail) {
  if (detail[0] && one->delivery.attempts == 0)
    ep_log(EP_LOG_WARNING, "job %s: webhook %d cannot be called: %.255s", one->delivery.job,
           one->delivery.hook, detail);
}

static void flight_end(flight *one, int status, const char *fault) {
  verdict_fill(&one->delivery, status, fault);
  one->state = ENDED;
}

/* Writes what came of it; where the disk refuses, the next round does, and the message is not sent
 * anew for that. */
static void flight_note(ep_webhooks *webhooks, flight *one) {
  ep_error error = {0};
  const ep_delivery *delivery = &one->delivery;
  if (ep_store_delivery_note(webhooks->options.store, delivery, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "a webhook of job %s: %s; trying again", delivery->job, error.message);
    return;
  }
  one->state = FREE;
  if (delivery->delivered) {
    ep_metrics_add(EP_COUNTER_WEBHOOKS_DELIVERED, 1);
  } else if (delivery->due_us == 0) {
    ep_metrics_add(EP_COUNTER_WEBHOOKS_FAILED, 1);
    ep_log(EP_LOG_WARNING, "job %s: webhook %d was given up after %d attempts: status %d, %s",
           delivery->job, delivery->hook, delivery->attempts, delivery->status, delivery->fault);
  }
}

static bool ended_note(ep_webhooks *webhooks) {
  bool left = false;
  for (int i = 0; i < EP_LIMIT_TRANSFERS; i++) {
    if (webhooks->flights[i].state == ENDED) flight_note(webhooks, &webhooks->flights[i]);
    left = left || webhooks->flights[i].state == ENDED;
  }
  return left;
}

/* All that were under way have failed. */
static void courier_lost(ep_webhooks *webhooks) {
  ep_log(EP_LOG_WARNING, "the process that calls webhooks has ended, and is started again");
  ep_courier_link_close(&webhooks->courier);
  for (int i = 0; i < EP_LIMIT_TRANSFERS; i++)
    if (webhooks->flights[i].state == SENT)
      flight_end(&webhooks->flights[i], 0, "the process that calls webhooks ended");
}

static void replies_take(ep_webhooks *webhooks) {
  ep_courier_reply reply;
  bool gone;
  while (ep_courier_link_receive(&webhooks->courier, &reply, &gone))
    for (int i = 0; i < EP_LIMIT_TRANSFERS; i++) {
      flight *one = &webhooks->flights[i];
      if (one->state != SENT || one->number != reply.number) continue;
      detail_log(one, reply.detail);
      flight_end(one, reply.status, reply.fault);
    }
  for (int i = 0; !gone && i < EP_LIMIT_TRANSFERS; i++)
    gone = webhooks->flights[i].state == SENT &&
           ep_clock_steady_us() - webhooks->flights[i].sent_us > STUCK_US;
  if (gone) courier_lost(webhooks);
}

/* A free flight for the delivery; NULL: it is under way, or there is none. */
static flight *flight_find(ep_webhooks *webhooks, const ep_delivery *delivery) {
  flight *unused = NULL;
  for (int i = 0; i < EP_LIMIT_TRANSFERS; i++) {
    flight *one = &webhooks->flights[i];
    if (one->state == FREE)
      unused = one;
    else if (strcmp(one->delivery.id, delivery->id) == 0)
      return NULL;
  }
  return unused;
}

static ep_status request_fill(ep_webhooks *webhooks, const ep_delivery *delivery, ep_error *error) {
  ep_courier_request *request = &webhooks->request;
  char *text = NULL;
  ep_status status = webhooks->options.body(webhooks->options.context, delivery, &text, error);
  size_t bytes = text ? strlen(text) : 0;
  if (status == EP_OK && bytes > sizeof request->body)
    status =
        ep_fail(error, EP_TOO_LARGE, "the message has more than %zu bytes", sizeof request->body);
  if (status == EP_OK) {
    memset(request, 0, offsetof(ep_courier_request, body));
    request->number = ++webhooks->numbers;
    request->time_s = ep_clock_utc_us() / SECOND_US;
    memcpy(request->url, delivery->url, sizeof request->url);
    memcpy(request->id, delivery->id, sizeof request->id);
    memcpy(request->body, text, bytes);
    request->body_bytes = (uint32_t)bytes;
    ep_webhook_sign(&webhooks->secrets, request->id, request->time_s, text, bytes,
                    request->signature);
  }
  free(text);
  return status;
}

/* false: nothing can be sent at the moment. */
static bool delivery_send(ep_webhooks *webhooks, const ep_delivery *delivery, flight *one) {
  ep_error error = {0};
  ep_status status = request_fill(webhooks, delivery, &error);
  if (status == EP_NOT_FOUND) return true; /* the job was deleted, and the row with it */
  one->delivery = *delivery;
  if (status != EP_OK) {
    flight_end(one, 0, error.message);
    return true;
  }
  if (ep_courier_link_open(&webhooks->courier, &error) != EP_OK) {
    ep_log(EP_LOG_ERROR, "webhooks: %s; trying again", error.message);
    return false;
  }
  if (!ep_courier_link_send(&webhooks->courier, &webhooks->request)) return false;
  one->state = SENT;
  one->number = webhooks->request.number;
  one->sent_us = ep_clock_steady_us();
  return true;
}

/* Sends what is due by then; false: something is left that could not be. */
static bool due_send(ep_webhooks *webhooks, int64_t now_us) {
  ep_error error = {0};
  int count = 0;
  if (ep_store_deliveries_due(webhooks->options.store, now_us, webhooks->due, CANDIDATES, &count,
                              &error) != EP_OK)
    return false;
  for (int i = 0; i < count; i++) {
    flight *one = flight_find(webhooks, &webhooks->due[i]);
    if (one && !delivery_send(webhooks, &webhooks->due[i], one)) return false;
  }
  return true;
}

/* Until something is due that was not when it was looked for, or a reply or a wake comes. */
static int wait_ms(ep_webhooks *webhooks, int64_t looked_us) {
  int64_t due_us = 0;
  ep_error error = {0};
  if (ep_store_deliveries_next(webhooks->options.store, looked_us, &due_us, &error) != EP_OK)
    return RETRY_MS;
  int64_t left_us = due_us - ep_clock_utc_us();
  if (left_us <= 0) return 0;
  return left_us < INT64_C(1000) * IDLE_MS ? (int)(left_us / 1000) + 1 : IDLE_MS;
}

static void *webhooks_run(void *context) {
  ep_webhooks *webhooks = context;
  while (!atomic_load(&webhooks->stopping)) {
    replies_take(webhooks);
    bool again = ended_note(webhooks);
    const int64_t now_us = ep_clock_utc_us();
    again = !due_send(webhooks, now_us) || again;
    again = ended_note(webhooks) || again;
    int most_ms = wait_ms(webhooks, now_us);
    struct pollfd polled[] = {{.fd = webhooks->wake, .events = POLLIN},
                              {.fd = webhooks->courier.socket, .events = POLLIN}};
    poll(polled, 2, again && most_ms > RETRY_MS ? RETRY_MS : most_ms);
    uint64_t wakes;
    if (polled[0].revents && read(webhooks->wake, &wakes, sizeof wakes) < 0) continue;
  }
  return NULL;
}

static void webhooks_destroy(ep_webhooks *webhooks) {
  ep_courier_link_close(&webhooks->courier);
  if (webhooks->wake >= 0) close(webhooks->wake);
  explicit_bzero(&webhooks->secrets, sizeof webhooks->secrets);
  free(webhooks->allow);
  free(webhooks);
}

static ep_status webhooks_prepare(ep_webhooks *webhooks, ep_error *error) {
  static const char *const program = EP_COURIER_PROGRAM;
  ep_allowed_addresses allowed;
  const ep_webhooks_options *options = &webhooks->options;
  webhooks->allow = strdup(options->allow ? options->allow : "");
  webhooks->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!webhooks->allow) return ep_fail_memory(error);
  if (webhooks->wake < 0)
    return ep_fail(error, EP_UNAVAILABLE, "an eventfd for webhooks: %s", strerror(errno));
  ep_status status = ep_allowed_addresses_parse(webhooks->allow, &allowed, error);
  if (status == EP_OK)
    status = ep_webhook_secrets_read(options->secret_file, &webhooks->secrets, error);
  if (status == EP_OK && !ep_spawn_find(&program, 1, webhooks->program))
    status = ep_fail(error, EP_NOT_FOUND, "%s, which sends webhooks, not found beside this program",
                     program);
  webhooks->courier.program = webhooks->program;
  webhooks->courier.allow = webhooks->allow;
  if (status == EP_OK && pthread_create(&webhooks->thread, NULL, webhooks_run, webhooks) != 0)
    status = ep_fail(error, EP_UNAVAILABLE, "the webhook thread cannot be started");
  return status;
}

ep_status ep_webhooks_start(const ep_webhooks_options *options, ep_webhooks **out,
                            ep_error *error) {
  *out = NULL;
  ep_webhooks *webhooks = calloc(1, sizeof *webhooks);
  if (!webhooks) return ep_fail_memory(error);
  webhooks->options = *options;
  webhooks->courier.socket = -1;
  ep_status status = webhooks_prepare(webhooks, error);
  if (status != EP_OK) {
    webhooks_destroy(webhooks);
    return status;
  }
  *out = webhooks;
  return EP_OK;
}

void ep_webhooks_wake(ep_webhooks *webhooks) {
  if (webhooks && eventfd_write(webhooks->wake, 1) != 0) return; /* it is awake already */
}

void ep_webhooks_stop(ep_webhooks *webhooks) {
  if (!webhooks) return;
  atomic_store(&webhooks->stopping, true);
  ep_webhooks_wake(webhooks);
  pthread_join(webhooks->thread, NULL);
  webhooks_destroy(webhooks);
}
