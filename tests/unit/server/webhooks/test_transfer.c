/* Tests of server/webhooks/courier/transfer.c: a name that does not resolve holds up nobody. This
 * program has a resolver and a steady clock of its own, which libcurl takes for the C library's. */
#include "server/webhooks/courier/transfer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/wait.h"

static atomic_int resolving, released;
static atomic_long ahead_seconds;

int clock_gettime(clockid_t clock, struct timespec *now) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_MONOTONIC) now->tv_sec += atomic_load(&ahead_seconds);
  return failed;
}

/* Answers when it is released, or after seconds that a failure takes. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out) {
  static struct sockaddr_in address = {.sin_family = AF_INET};
  static struct addrinfo private = {.ai_family = AF_INET,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_addrlen = sizeof address,
                                    .ai_addr = (struct sockaddr *)&address};
  (void)service, (void)hints;
  *out = NULL;
  if (strcmp(name, "none.example") == 0) return EAI_NONAME;
  if (strcmp(name, "private.example") == 0) {
    address.sin_addr.s_addr = htonl(0x0a000007); /* 10.0.0.7 */
    *out = &private;
    return 0;
  }
  atomic_fetch_add(&resolving, 1);
  for (int i = 0; i < 5000 && !atomic_load(&released); i++) ep_wait_moment();
  atomic_fetch_sub(&resolving, 1);
  return EAI_AGAIN;
}

void freeaddrinfo(struct addrinfo *list) {
  (void)list;
}

/* What comes of a call of this host. */
static void host_call(const char *host, ep_courier_reply *reply) {
  static ep_courier_request request;
  const ep_allowed_addresses allowed = {0};
  int running = 1, left = 0;
  CURLM *multi = curl_multi_init();
  snprintf(request.url, sizeof request.url, "http://%s/", host);
  ck_assert(transfer_start(multi, &allowed, &request));
  while (running) {
    ck_assert_int_eq(curl_multi_perform(multi, &running), CURLM_OK);
    if (running) ck_assert_int_eq(curl_multi_poll(multi, NULL, 0, 100, NULL), CURLM_OK);
  }
  CURLMsg *message = curl_multi_info_read(multi, &left);
  ck_assert_ptr_nonnull(message);
  transfer_end(multi, message->easy_handle, message->data.result, reply);
  curl_multi_cleanup(multi);
}

START_TEST(what_a_name_means_is_for_the_log_alone) {
  ep_courier_reply private, none;
  host_call("private.example", &private);
  host_call("none.example", &none);
  ck_assert_str_eq(private.fault, "private.example has no permitted address");
  ck_assert_str_eq(none.fault, "none.example has no permitted address");
  ck_assert_ptr_nonnull(strstr(private.detail, "private.example resolves to 10.0.0.7"));
  ck_assert_ptr_nonnull(strstr(none.detail, "Could not resolve host"));
}
END_TEST

START_TEST(a_name_that_does_not_resolve_holds_up_nobody) {
  static ep_courier_request request;
  const ep_allowed_addresses allowed = {0};
  ep_courier_reply reply = {.status = -1};
  CURLMsg *message = NULL;
  int running = 0, left = 0;
  CURLM *multi = curl_multi_init();
  request.number = 7;
  strcpy(request.url, "http://slow.example/");
  ck_assert(transfer_start(multi, &allowed, &request));
  ck_assert_int_eq(curl_multi_perform(multi, &running), CURLM_OK);
  wait_until(atomic_load(&resolving) == 1);
  atomic_store(&ahead_seconds, EP_LIMIT_DELIVERY_SECONDS + 1);
  ck_assert_int_eq(curl_multi_perform(multi, &running), CURLM_OK);
  message = curl_multi_info_read(multi, &left);
  ck_assert_ptr_nonnull(message);
  transfer_end(multi, message->easy_handle, message->data.result, &reply);
  ck_assert_int_eq(atomic_load(&resolving), 1); /* still: nobody waited for it */
  ck_assert_int_eq(reply.number, 7);
  ck_assert_int_eq(reply.status, 0);
  ck_assert_str_eq(reply.fault, "slow.example has no permitted address");
  ck_assert_ptr_nonnull(strstr(reply.detail, "timed out"));
  atomic_store(&released, 1);
  wait_until(atomic_load(&resolving) == 0);
  curl_multi_cleanup(multi);
}
END_TEST

EP_SUITE("transfer") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_set_timeout(all, 60);
  tcase_add_test(all, what_a_name_means_is_for_the_log_alone);
  tcase_add_test(all, a_name_that_does_not_resolve_holds_up_nobody);
}
