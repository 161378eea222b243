/* A budget of memory that many share. */
#include "server/process/budget.h"

#include <string.h>

#include "api/limits.h"
#include "tests/suite.h"

START_TEST(what_is_taken_is_bounded) {
  ep_budget budget = {.limit_bytes = 100};
  ep_error error = {0};
  ck_assert_int_eq(ep_budget_take(&budget, 60, &error), EP_OK);
  ck_assert_int_eq(ep_budget_take(&budget, 40, &error), EP_OK);
  ck_assert_int_eq(ep_budget_take(&budget, 0, &error), EP_OK);
  ck_assert_int_eq(ep_budget_take(&budget, 1, &error), EP_BUSY);
  ck_assert_int_eq(budget.used_bytes, 100);
  ep_budget_give(&budget, 60);
  ck_assert_int_eq(ep_budget_take(&budget, 60, &error), EP_OK);
}
END_TEST

START_TEST(what_never_fits_is_no_wait) {
  ep_budget budget = {.limit_bytes = 100};
  ep_error error = {0};
  ck_assert_int_eq(ep_budget_take(&budget, 101, &error), EP_TOO_LARGE);
  ck_assert_ptr_nonnull(strstr(error.message, "101 bytes"));
  ck_assert_int_eq(budget.used_bytes, 0);
}
END_TEST

START_TEST(what_is_forced_is_counted) {
  ep_budget budget = {.limit_bytes = 100};
  ep_budget_force(&budget, 150);
  ck_assert_int_eq(ep_budget_take(&budget, 0, NULL), EP_BUSY);
  ep_budget_give(&budget, 50);
  ck_assert_int_eq(ep_budget_take(&budget, 0, NULL), EP_OK);
}
END_TEST

static int64_t elsewhere_bytes;
static int64_t elsewhere(void) {
  return elsewhere_bytes;
}

START_TEST(what_is_counted_elsewhere_counts) {
  ep_budget budget = {.limit_bytes = 100, .counted_bytes = elsewhere};
  elsewhere_bytes = 60;
  ck_assert_int_eq(ep_budget_take(&budget, 40, NULL), EP_OK);
  ck_assert_int_eq(ep_budget_take(&budget, 1, NULL), EP_BUSY);
  elsewhere_bytes = 59;
  ck_assert_int_eq(ep_budget_take(&budget, 1, NULL), EP_OK);
}
END_TEST

/* From the least that --memory may be to the largest machine. */
START_TEST(shares_are_of_one_number) {
  for (int64_t total = 128 << 20; total > 0 && total <= INT64_MAX / 2; total *= 2) {
    const ep_memory_shares shares = ep_memory_shares_find(total, 0, 0);
    ck_assert_int_eq(shares.total_bytes, total);
    ck_assert_int_ge(shares.requests_bytes, EP_LIMIT_HTTP_BYTES_MIN);
    ck_assert_int_le(shares.requests_bytes, EP_LIMIT_HTTP_BYTES);
    ck_assert_int_ge(shares.metas_bytes, EP_LIMIT_CACHED_META_BYTES_MIN);
    ck_assert_int_ge(shares.jobs_bytes, total / 4);
    ck_assert_int_ge(shares.cpu_jobs, 1);
    if (total < 512 << 20) continue; /* where there is less, not all shares are used at once */
    ck_assert_int_le(shares.requests_bytes + shares.curves_bytes + shares.metas_bytes +
                         shares.readers * shares.ingest_bytes + shares.jobs_bytes,
                     total - EP_LIMIT_DAEMON_BYTES);
  }
  ck_assert_int_eq(ep_memory_shares_find(512 << 20, 0, 0).requests_bytes, 64 << 20);
  ck_assert_int_eq(ep_memory_shares_find(INT64_MAX, 0, 0).requests_bytes, EP_LIMIT_HTTP_BYTES);
}
END_TEST

EP_SUITE("server/process/budget") {
  TCase *tests = ep_suite_case(suite, "budget");
  tcase_add_test(tests, what_is_taken_is_bounded);
  tcase_add_test(tests, what_never_fits_is_no_wait);
  tcase_add_test(tests, what_is_forced_is_counted);
  tcase_add_test(tests, what_is_counted_elsewhere_counts);
  tcase_add_test(tests, shares_are_of_one_number);
}
