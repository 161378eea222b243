/* Tests of server/webhooks/courier/transfer.c: a name that does not resolve holds up nobody. This
 * program has a resolver and a steady clock of its own, which libcurl takes for the C library's. */
#include "server/webhooks/courier/transfer.h"

#include <netdb.h>
#include <stdatomic.h>
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
  (void)name, (void)service, (void)hints;
  *out = NULL;
  atomic_fetch_add(&resolving, 1);
  for (int i = 0; i < 5000 && !atomic_load(&released); i++) ep_wait_moment();
  atomic_fetch_sub(&resolving, 1);
  return EAI_AGAIN;
}

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
  ck_assert_ptr_nonnull(strstr(reply.fault, "timed out"));
  atomic_store(&released, 1);
  wait_until(atomic_load(&resolving) == 0);
  curl_multi_cleanup(multi);
}
END_TEST

EP_SUITE("transfer") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_set_timeout(all, 60);
  tcase_add_test(all, a_name_that_does_not_resolve_holds_up_nobody);
}
