/* Who takes which points: enough ahead, not more than a fair share, and all end together. */
#include "engine/sweep/shares.h"

#include "tests/suite.h"

enum { MOST = 8 };

START_TEST(one_by_one_they_get_some_ahead_by_their_pace) {
  ep_share_worker workers[] = {{.slots = 4}, {.slots = 4}, {.slots = 2}};
  /* as many as it trains at a time, before its pace is known */
  ck_assert_int_eq(ep_shares_next(workers, 3, 1, 1000), 4);
  ck_assert_int_eq(ep_shares_next(workers, 3, 2, 1000), 2);
  workers[1].has = 4;
  ck_assert_int_eq(ep_shares_next(workers, 3, 1, 1000), 0);
  workers[1].pace = 20; /* a quarter of a second: five more */
  ck_assert_int_eq(ep_shares_next(workers, 3, 1, 1000), 5);
  workers[1].has = 8;
  ck_assert_int_eq(ep_shares_next(workers, 3, 1, 1000), 1);
  workers[1].pace = 0.001; /* trainings of minutes: none waits there while another is idle */
  workers[1].has = 3;
  ck_assert_int_eq(ep_shares_next(workers, 3, 1, 1000), 1);
}
END_TEST

START_TEST(at_the_end_none_has_more_than_its_share) {
  ep_share_worker workers[] = {{.slots = 1}, {.slots = 1, .pace = 1000}};
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 100000), 251);
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 100), 50);
  workers[1].has = 50;
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 10), 0); /* the other one's, all of them */
  workers[1].has = 0;
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 1), 1);
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 0), 0);
}
END_TEST

START_TEST(one_that_is_not_ready_gets_none_and_has_its_share_kept) {
  ep_share_worker workers[] = {{.slots = 4000, .together = true}, {.slots = 0}};
  ck_assert_int_eq(ep_shares_next(workers, 2, 1, 10000), 0);
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 10000), 5000);
}
END_TEST

/* All of them, whoever asks first, and in whatever order. */
START_TEST(together_they_get_equal_parts_at_once) {
  for (int count = 1; count <= MOST; count++) {
    ep_share_worker workers[MOST] = {{0}};
    int64_t known = 10000;
    for (int i = 0; i < count; i++) workers[i] = (ep_share_worker){.slots = 4096, .together = true};
    for (int i = count - 1; i >= 0; i--) {
      const int64_t next = ep_shares_next(workers, count, i, known);
      ck_assert_int_le(next, (10000 + count - 1) / count);
      ck_assert_int_ge(next, 10000 / count - count);
      workers[i].has = next;
      known -= next;
    }
    ck_assert_int_eq(known, 0);
    ck_assert_int_eq(ep_shares_next(workers, count, 0, 500), 0); /* it has some */
  }
}
END_TEST

START_TEST(together_portions_are_of_a_second_and_the_last_ones_equal) {
  ep_share_worker workers[] = {{.slots = 64, .together = true, .pace = 1000},
                               {.slots = 64, .together = true, .pace = 1000}};
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 100000), 1000);
  workers[0].pace = 0; /* not known so far: as its slots say */
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 100000), 256);
  workers[0].pace = 1000;
  /* the other one is nearly through with what it has: it counts for little */
  workers[1].has = 1000;
  workers[1].since = 0.9;
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 900), 500);
  workers[1].since = 0;
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 900), 900);
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 20), 20);
  ck_assert_int_eq(ep_shares_next(workers, 2, 0, 40), 40);
}
END_TEST

EP_SUITE("engine/sweep/shares") {
  TCase *tests = ep_suite_case(suite, "shares");
  tcase_add_test(tests, one_by_one_they_get_some_ahead_by_their_pace);
  tcase_add_test(tests, at_the_end_none_has_more_than_its_share);
  tcase_add_test(tests, one_that_is_not_ready_gets_none_and_has_its_share_kept);
  tcase_add_test(tests, together_they_get_equal_parts_at_once);
  tcase_add_test(tests, together_portions_are_of_a_second_and_the_last_ones_equal);
}
