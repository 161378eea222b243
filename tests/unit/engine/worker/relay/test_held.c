/* The frames that a relay holds: what was not taken stays, and all of a running job, up to a
 * ceiling. */
#include "engine/worker/relay/held.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "tests/suite.h"

static void add(ep_held *held, size_t bytes, bool ends) {
  ep_held_frame frame = {.bytes = calloc(1, bytes), .count = bytes, .ends = ends};
  ck_assert_ptr_nonnull(frame.bytes);
  ck_assert_int_eq(ep_held_add(held, &frame, NULL), EP_OK);
}

START_TEST(a_running_job_keeps_its_frames) {
  ep_held held = EP_HELD_NONE;
  ep_held_begin(&held);
  for (int i = 0; i < 5; i++) add(&held, 8, false);
  ck_assert_uint_eq(ep_held_last(&held), 5);
  ep_held_take(&held, 3);
  ck_assert_uint_eq(held.first, 1); /* an epochd that has just started needs them */
  ck_assert(held.has_all);
  add(&held, 8, true);
  ep_held_take(&held, 6);
  ck_assert_uint_eq(held.first, 1); /* it may have died with the last of them */
  ep_held_begin(&held);
  ck_assert_uint_eq(held.count, 0);
  ck_assert_uint_eq(held.first, 7);
  ck_assert_uint_eq(held.bytes, 0);
  ck_assert(held.has_all);
  ep_held_deinit(&held);
}
END_TEST

START_TEST(beyond_the_ceiling_the_oldest_go) {
  ep_held held = EP_HELD_NONE;
  const size_t bytes = EP_LIMIT_HELD_FRAMES_BYTES / 4;
  ep_held_begin(&held);
  for (int i = 0; i < 4; i++) add(&held, bytes, false);
  ep_held_take(&held, 4);
  ck_assert_uint_eq(held.first, 1);
  ck_assert(held.has_all);
  add(&held, bytes, false);
  ep_held_take(&held, 5);
  ck_assert_uint_eq(held.first, 2);
  ck_assert(!held.has_all);
  ep_held_begin(&held); /* of another job none was dropped */
  ck_assert(held.has_all);
  ep_held_deinit(&held);
}
END_TEST

START_TEST(what_was_not_taken_stays) {
  ep_held held = EP_HELD_NONE;
  const size_t bytes = EP_LIMIT_HELD_FRAMES_BYTES / 4;
  ep_held_begin(&held);
  while (ep_held_has_room(&held)) add(&held, bytes, false);
  ck_assert_uint_eq(held.count, 8);
  ck_assert_uint_eq(held.first, 1);
  ep_held_take(&held, 99); /* there is no such frame */
  ck_assert_uint_eq(held.taken, 0);
  ck_assert_ptr_null(ep_held_find(&held, 0));
  ck_assert_ptr_null(ep_held_find(&held, 9));
  ck_assert_ptr_nonnull(ep_held_find(&held, 8));
  ep_held_take(&held, 8);
  ck_assert(ep_held_has_room(&held));
  ep_held_deinit(&held);
}
END_TEST

EP_SUITE("engine/worker/relay/held") {
  TCase *tests = ep_suite_case(suite, "held");
  tcase_add_test(tests, a_running_job_keeps_its_frames);
  tcase_add_test(tests, beyond_the_ceiling_the_oldest_go);
  tcase_add_test(tests, what_was_not_taken_stays);
}
