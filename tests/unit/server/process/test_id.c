#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/id.h"
#include "tests/suite.h"

START_TEST(ids_grow) {
  char before[EP_ID_BYTES] = "", id[EP_ID_BYTES];
  for (int i = 0; i < 100000; i++) {
    ep_id_create(EP_JOB_PREFIX, id);
    ck_assert(ep_id_valid(id));
    ck_assert_int_gt(strcmp(id, before), 0);
    strcpy(before, id);
  }
}
END_TEST

START_TEST(ids_grow_past_one_that_was_seen) {
  char id[EP_ID_BYTES];
  const char *future = "job_7yzzzzzzzzzzzzzzzzzzzzzzzz"; /* the clock went back some millennia */
  ep_id_observe(future);
  ep_id_create(EP_JOB_PREFIX, id);
  ck_assert_int_gt(strcmp(id, future), 0);
  ck_assert_str_eq(id, "job_7z000000000000000000000000");
}
END_TEST

START_TEST(knows_what_an_id_is) {
  ck_assert(ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(ep_id_valid("swp_01kaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid("run_01kaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid(""));
  ck_assert(!ep_id_valid("job_"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaa/a"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaau")); /* u is not in the alphabet */
  ck_assert(!ep_id_valid("job_../../../../../etc/passwdx"));
  ck_assert(!ep_id_valid("job_81kaaaaaaaaaaaaaaaaaaaaaaa")); /* over 128 bits */
}
END_TEST

START_TEST(two_kinds_share_one_age) {
  char job[EP_ID_BYTES], sweep[EP_ID_BYTES], later[EP_ID_BYTES];
  ep_id_create(EP_JOB_PREFIX, job);
  ep_id_create(EP_SWEEP_PREFIX, sweep);
  ep_id_create(EP_JOB_PREFIX, later);
  ck_assert(ep_id_is_sweep(sweep) && !ep_id_is_sweep(job));
  ck_assert(ep_id_is_later(sweep, job) && ep_id_is_later(later, sweep));
  ck_assert(!ep_id_is_later(job, sweep) && !ep_id_is_later(job, job));
}
END_TEST

EP_SUITE("id") {
  if (sodium_init() < 0) exit(EXIT_FAILURE);
  TCase *tests = ep_suite_case(suite, "id");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, ids_grow);
  tcase_add_test(tests, ids_grow_past_one_that_was_seen);
  tcase_add_test(tests, knows_what_an_id_is);
  tcase_add_test(tests, two_kinds_share_one_age);
}
