/* Tests of server/webhooks/webhooks.c: what falls due is sent when it does. */
#include "server/webhooks/webhooks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/process/clock.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

static ep_store *store;
static ep_delivery other; /* falls due while the thread looks at the first one */
static atomic_int firsts, others;

static void message_insert(int number) {
  ep_job_row row = {.state = EP_STATE_RUNNING,
                    .spec = "{\"webhooks\":[{\"url\":\"http://a/\",\"events\":[\"end\"]}]}",
                    .created_us = 1};
  snprintf(row.id, sizeof row.id, "job_%026d", number);
  assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  row.state = EP_STATE_SUCCEEDED;
  row.finished_us = ep_clock_utc_us();
  assert_ok(ep_store_job_update(store, &row, error));
}

/* The jobs are gone, so nothing is sent. */
static ep_status body_make(void *context, const ep_delivery *delivery, char **text,
                           ep_error *error) {
  (void)context;
  *text = NULL;
  if (strcmp(delivery->job, other.job) == 0) {
    atomic_fetch_add(&others, 1);
  } else if (atomic_fetch_add(&firsts, 1) == 0) {
    other.due_us = ep_clock_utc_us();
    ep_store_delivery_note(store, &other, NULL);
  }
  return ep_fail(error, EP_NOT_FOUND, "there is no such job");
}

static const char *secret_write(void) {
  const char *path = scratch_path("secret");
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs("whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n", file);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0600), 0);
  return path;
}

START_TEST(what_falls_due_meanwhile_is_sent) {
  ep_webhooks *webhooks = NULL;
  int count = 0;
  scratch_open();
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  message_insert(1);
  message_insert(2);
  ep_delivery found[EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT];
  assert_ok(ep_store_deliveries_of(store, "job_00000000000000000000000002", found, &count, error));
  ck_assert_int_eq(count, 1);
  other = found[0];
  other.due_us = INT64_MAX / 2;
  assert_ok(ep_store_delivery_note(store, &other, error));
  const ep_webhooks_options options = {
      .secret_file = secret_write(), .allow = "", .store = store, .body = body_make};
  assert_ok(ep_webhooks_start(&options, &webhooks, error));
  wait_until(atomic_load(&others) > 0);
  ep_webhooks_stop(webhooks);
  ep_store_close(store);
  scratch_close();
}
END_TEST

EP_SUITE("server/webhooks") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_set_timeout(all, 4); /* ten times that is less than the thread rests where nothing is due */
  tcase_add_test(all, what_falls_due_meanwhile_is_sent);
}
