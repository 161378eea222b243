/* A budget of memory that many share. */
#include "server/process/budget.h"

#include <string.h>

#include "api/limits.h"
#include "engine/host/memory.h"
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

START_TEST(the_memory_that_there_is_sets_it) {
  int64_t bytes = ep_budget_http_bytes(0), eighth = ep_memory_read().total_bytes / 8;
  ck_assert_int_eq(ep_budget_http_bytes(12345), 12345);
  ck_assert_int_ge(bytes, EP_LIMIT_HTTP_BYTES_MIN);
  ck_assert_int_le(bytes, EP_LIMIT_HTTP_BYTES);
  ck_assert(bytes == eighth || bytes == EP_LIMIT_HTTP_BYTES_MIN || bytes == EP_LIMIT_HTTP_BYTES);
}
END_TEST

EP_SUITE("server/process/budget") {
  TCase *tests = ep_suite_case(suite, "budget");
  tcase_add_test(tests, what_is_taken_is_bounded);
  tcase_add_test(tests, what_never_fits_is_no_wait);
  tcase_add_test(tests, what_is_forced_is_counted);
  tcase_add_test(tests, the_memory_that_there_is_sets_it);
}
